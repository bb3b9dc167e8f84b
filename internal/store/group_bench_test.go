package store

import (
	"fmt"
	"testing"

	"referee.example/internal/referee"
)

// BenchmarkGroup commits plies of many matches in one statement; a move is one
// of them.
func BenchmarkGroup(b *testing.B) {
	for _, matches := range []int{1, 8, 32, 128} {
		b.Run(fmt.Sprintf("matches=%d", matches), func(b *testing.B) {
			d := newDesk(b)
			states := make([]*referee.State, matches)
			for i, id := range d.table(matches) {
				states[i] = d.load(id)
			}
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				batch := make([]*pending, matches)
				for i, s := range states {
					if s.Game.Status != referee.GamePlaying {
						s = d.load(d.started(d.now()))
					}
					c := d.plyOn(s, 0)
					batch[i] = pend(b.Context(), c)
					states[i] = c.State
				}
				d.group.unanswered += matches
				b.StartTimer()
				d.group.send(batch)
				for i, p := range batch {
					d.must(<-p.answer)
					states[i].Version++
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*matches), "µs/move")
		})
	}
}

// BenchmarkEndings ends games of many matches in one statement; a game is one of
// them.
func BenchmarkEndings(b *testing.B) {
	for _, matches := range []int{1, 8, 64, 256} {
		b.Run(fmt.Sprintf("matches=%d", matches), func(b *testing.B) {
			d := newDesk(b)
			for range b.N {
				b.StopTimer()
				batch := make([]*pending, matches)
				for i, id := range d.table(matches) {
					batch[i] = d.pendEnding(d.anEnding(id))
				}
				d.endings.unanswered += matches
				b.StartTimer()
				d.endings.send(batch)
				for _, p := range batch {
					d.must(<-p.answer)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*matches), "µs/game")
		})
	}
}
