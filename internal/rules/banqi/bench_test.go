package banqi

import (
	"syscall"
	"testing"
	"time"

	"referee.example/internal/rules"
)

// midgame is a position out of a random game: 12 pieces face up, 11 face down.
const midgame = "-X-M/m-NX/XR-g/p-XP/XC--/X-mr/G-X-/XPGX red"

// cpuOf measures the processor time that a benchmark's loop takes, which other
// programs on the machine disturb less than the time on the wall. Call it before
// the loop, and what it returns after it.
func cpuOf(b *testing.B) (report func() (spent time.Duration)) {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() time.Duration {
		spent := used() - before
		b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "cpu-ns/op")
		return spent
	}
}

// BenchmarkList lists all legal actions of a midgame position.
func BenchmarkList(b *testing.B) {
	for _, name := range []string{"7club-standard", "gametower-dark-chain-rush"} {
		b.Run(name, func(b *testing.B) {
			g := compiled(b, name)
			s := position(b, g, midgame)
			dst := make([]rules.Action, 0, MaxActions)
			b.ReportAllocs()
			cpu := cpuOf(b)
			for b.Loop() {
				dst = g.List(&s, dst[:0])
			}
			cpu()
			b.ReportMetric(float64(len(dst)), "actions")
		})
	}
}

// BenchmarkCheckApply checks and applies one action of a midgame position
// (Apply does both): quiet steps there and back, so that it stays midgame.
func BenchmarkCheckApply(b *testing.B) {
	for _, name := range []string{"7club-standard", "sinica-2019", "icga"} {
		b.Run(name, func(b *testing.B) {
			g := compiled(b, name)
			start := position(b, g, midgame)
			steps := [2]rules.Action{rules.Move(13, 14), rules.Move(16, 17)}
			actions := []rules.Action{
				steps[0], steps[1], reverse(steps[0]), reverse(steps[1]),
			}
			s, n := start, 0
			b.ReportAllocs()
			cpu := cpuOf(b)
			for b.Loop() {
				if n == len(actions)*2 {
					s, n = start, 0
				}
				a := actions[n%len(actions)]
				if _, err := g.Apply(&s, a, rules.NoPiece); err != nil {
					b.Fatal(err)
				}
				n++
			}
			cpu()
		})
	}
}

// BenchmarkPerft counts to depth 5 with the last ply in bulk.
func BenchmarkPerft(b *testing.B) {
	g := compiled(b, "standard")
	s := position(b, g, "MpCg/pPmc/gPrK/NGPk/NpmP/RGcR/MCPn/nprp red")
	leaves := int64(0)
	b.ReportAllocs()
	cpu := cpuOf(b)
	for b.Loop() {
		leaves += g.perft(&s.board, Red, 5, nil)
	}
	b.ReportMetric(float64(leaves)/cpu().Seconds()/1e6, "Mleaves/cpu-s")
}

// BenchmarkRandomGame plays whole random games from the first flip.
func BenchmarkRandomGame(b *testing.B) {
	for _, name := range []string{"7club-standard", "standard-idle-50", "icga"} {
		b.Run(name, func(b *testing.B) {
			g := compiled(b, name)
			dice := newDice(1)
			plies, games := 0, 0
			b.ReportAllocs()
			cpu := cpuOf(b)
			for b.Loop() {
				s := g.Start(0)
				deal := dice.deal()
				dice.playOut(g, &s, deal)
				plies += s.Ply()
				games++
			}
			b.ReportMetric(float64(plies)/float64(games), "plies/game")
			b.ReportMetric(float64(games)/cpu().Seconds(), "games/cpu-s")
		})
	}
}

func reverse(a rules.Action) rules.Action { return rules.Move(a.To, a.From) }
