package verify

import "testing"

// BenchmarkCheck verifies a whole match; events/s is to be at least 100,000 on
// one core.
func BenchmarkCheck(b *testing.B) {
	m := whole(b, 1).match()
	events := 0
	b.ReportAllocs()
	for b.Loop() {
		r := Check(m, nil)
		if !r.Sound() {
			b.Fatal(r.Findings)
		}
		events += r.Events
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(0, "B/op")
}
