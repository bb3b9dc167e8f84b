package verify

import (
	"bytes"
	"syscall"
	"testing"
	"time"
)

// BenchmarkCheck verifies a whole match. Of one core's time at least 100,000
// events a second are due; the rest of the machine does not count.
func BenchmarkCheck(b *testing.B) {
	m := whole(b, 1).match()
	events := 0
	b.ReportAllocs()
	began := cpu(b)
	for b.Loop() {
		r := Check(m, nil)
		if !r.Sound() {
			b.Fatal(r.Findings)
		}
		events += r.Events
	}
	b.ReportMetric(float64(events)/(cpu(b)-began).Seconds(), "events/cpu-s")
}

// cpu returns the processor time that this process has taken.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkFile reads an exported match and verifies it, as `referee verify`
// does. The same is due as of BenchmarkCheck.
func BenchmarkFile(b *testing.B) {
	file := exportedFile(whole(b, 1))
	events := 0
	b.ReportAllocs()
	b.SetBytes(int64(len(file)))
	began := cpu(b)
	for b.Loop() {
		err := Read(bytes.NewReader(file), func(m *Match) error {
			r := Check(m, nil)
			if !r.Sound() {
				b.Fatal(r.Findings)
			}
			events += r.Events
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(events)/(cpu(b)-began).Seconds(), "events/cpu-s")
}
