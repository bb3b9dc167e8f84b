package server

import (
	"errors"
	"flag"
	"io"
	"runtime"
	"syscall"
	"testing"
	"time"

	refereev1 "referee.example/proto/referee/v1"
)

var exportEvents = flag.Int("export-events", 5000, "events that the benchmark of ExportGames exports")

// streamAll exports everything and calls each with every message.
func (r *room) streamAll(t testing.TB, each func(*refereev1.ExportGamesResponse)) {
	t.Helper()
	stream, err := r.audit.ExportGames(r.as("auditor"), &refereev1.ExportGamesRequest{})
	must(t, err)
	for {
		got, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return
		}
		must(t, err)
		each(got)
	}
}

// BenchmarkExportGames exports a history once each round: events a second, and
// events a second of the processor's time that this process, server and client
// together, spent on it.
func BenchmarkExportGames(b *testing.B) {
	l := newLogged(newRoom(b, options{}))
	start := time.Now()
	events := l.fill(*exportEvents)
	b.Logf("%d events played in %v", events, time.Since(start).Round(time.Second))
	l.step()
	runtime.GC()
	spent := processorTime(b)
	b.ResetTimer()
	var heap uint64
	for range b.N {
		bytes, games, exported := 0, 0, 0
		l.streamAll(b, func(got *refereev1.ExportGamesResponse) {
			bytes += len(got.GetJson())
			exported += int(got.GetEvents())
			if games++; games%1000 == 0 {
				var memory runtime.MemStats
				runtime.ReadMemStats(&memory)
				heap = max(heap, memory.HeapInuse)
			}
		})
		if exported != events {
			b.Fatalf("%d events exported, %d played", exported, events)
		}
		b.SetBytes(int64(bytes))
	}
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(events)*float64(b.N)/(processorTime(b)-spent).Seconds(), "events/cpu-s")
	b.ReportMetric(float64(heap)/1e6, "heap-MB")
}

func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// live is what is live on the heap, in bytes.
func live() int64 {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc)
}

// largestHeap is by how much an export made what is live on the heap grow, at most:
// the history that was just played has left its own.
func (r *room) largestHeap() (largest int64, bytes int) {
	for range 3 { // pools keep what they hold through two collections
		runtime.GC()
	}
	games, before := 0, live()
	r.streamAll(r.t, func(got *refereev1.ExportGamesResponse) {
		bytes += len(got.GetJson())
		if games++; games%20 == 0 {
			largest = max(largest, live()-before)
		}
	})
	return largest, bytes
}

// TestExportNeedsConstantMemory exports a history and one ten times as long: what
// is live meanwhile does not grow with it, but for some megabytes of pooled
// buffers, a part of what the long one hands out.
func TestExportNeedsConstantMemory(t *testing.T) {
	r := newRoom(t, options{})
	r.fill(5_000)
	r.largestHeap() // what the first call leaves for the next ones
	short, shortBytes := r.largestHeap()
	for range 9 { // the most of as many looks as the long one has
		again, _ := r.largestHeap()
		short = max(short, again)
	}
	r.fill(52_000)
	long, longBytes := r.largestHeap()
	t.Logf("%d bytes of export: %d bytes live; %d: %d", shortBytes, short, longBytes, long)
	if longBytes < 7*shortBytes || longBytes < 8<<20 {
		t.Fatalf("the long export has %d bytes, the short one %d", longBytes, shortBytes)
	}
	if long > short+5<<20 {
		t.Errorf("%d bytes are live in the long export, %d in the short one", long, short)
	}
}
