package clock

import "testing"

var (
	benchSystem = System{TurnMS: 30_000, Extensions: 10, ExtensionMS: 10_000, OnExpiry: ExpiryLoses}
	benchBytes  []byte
	benchTime   Time
)

// BenchmarkTurn is the clock's whole part in a ply: deadline, charge, next
// turn, and the two encodings that the ply stores.
func BenchmarkTurn(b *testing.B) {
	c := benchSystem.Start(2)
	c.StartTurn(0, 1_700_000_000_000_000)
	buf := make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		benchTime, _ = c.Deadline(benchSystem)
		seat, at := c.Running, c.TurnStart+1_000_000
		c.EndTurn(benchSystem, at)
		c.StartTurn(1-seat, at)
		benchBytes = c.AppendBinary(c.AppendStores(buf[:0]))
	}
}

func BenchmarkDecodeBinary(b *testing.B) {
	c := benchSystem.Start(2)
	c.StartTurn(0, 1_700_000_000_000_000)
	encoded := c.AppendBinary(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := DecodeBinary(encoded); err != nil {
			b.Fatal(err)
		}
	}
}
