package server

import (
	"errors"
	"flag"
	"io"
	"testing"
	"time"

	refereev1 "referee.example/proto/referee/v1"
)

var exportEvents = flag.Int("export-events", 5000, "events that the benchmark of ExportGames exports")

// BenchmarkExportGames exports a history once each round and reports events a second.
func BenchmarkExportGames(b *testing.B) {
	l := newLogged(newRoom(b, options{}))
	start := time.Now()
	events := l.fill(*exportEvents)
	b.Logf("%d events played in %v", events, time.Since(start))
	l.step()
	b.ResetTimer()
	for range b.N {
		stream, err := l.audit.ExportGames(l.as("auditor"), &refereev1.ExportGamesRequest{})
		must(b, err)
		bytes := 0
		for {
			got, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			must(b, err)
			bytes += len(got.GetJson())
		}
		b.SetBytes(int64(bytes))
	}
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
