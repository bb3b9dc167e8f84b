package junqi

import (
	"syscall"
	"testing"
	"time"

	"referee.example/internal/rules"
)

// midgames are positions out of whole games after some encounters; in the dark ones
// the side to move has engineers on the rails.
var midgames = map[string]string{
	"junqi-dark": "A1=tF?,A2=tM?,A3=t2?,B0=tM?,B1=t1?,B2=t6?,B4=tM?,C0=t5?,D1=t8?,E3=t4?,F0=t7?,F2=tB?,G4=b1?,G2=b9?,H1=b7?,I0=b1?,J1=b4?,J3=b8?,K0=b2?,K1=bM?,K2=b3?,K4=b5?,L1=bF?,L2=bM?,L0=bM?,L4=b3? seat=0",
	"junqi-flip": "A0=b3?,A1=t5?,A2=b6,A4=tM,B0=t1,B2=b9,B4=t7?,C0=tB,C4=b1,D2=t4,E0=b2?,F1=tF?,F4=t8,G0=b5,G3=t2?,H4=bM,I2=t6,J0=b7?,K2=bB,K4=b1,L0=t3?,L1=bF?,L3=t9,L4=b4 seat=0 colours=b,t",
	"siguo":      "S11=S1?,S15=S5?,S22=S9?,S24=S7?,S33=S4?,S42=S8?,S51=SM?,S53=S1?,S52=S3?,S61=SM?,S62=SF?,S64=S2?,S55=S6?,E11=E4?,E15=E9?,E24=E7?,E42=E3?,E51=EM?,E53=E1?,E62=EF?,E61=EM?,N13=N6?,N22=N9?,N35=N1?,N44=N5?,N51=NM?,N53=N2?,N62=NF?,N64=N3?,W12=W6?,W31=W1?,W24=W8?,W42=W4?,W55=WM?,W53=W5?,W62=WF?,W61=WM?,C12=W7?,C33=E6? seat=0",
}

// cpuOf measures the processor time that a benchmark's loop takes, which other
// programs on the machine disturb less than the time on the wall. Call it before
// the loop, and what it returns after it.
func cpuOf(b *testing.B) (report func()) {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() {
		b.ReportMetric(float64((used()-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
	}
}

func midgame(b testing.TB, name string) (*Game, State, *Identities) {
	b.Helper()
	g := compiled(b, name)
	s, ids, err := g.ParsePosition(midgames[name])
	if err != nil {
		b.Fatal(err)
	}
	return g, s, ids
}

// BenchmarkList lists all legal actions of a midgame position.
func BenchmarkList(b *testing.B) {
	for _, name := range []string{"junqi-dark", "junqi-flip", "siguo"} {
		b.Run(name, func(b *testing.B) {
			g, s, ids := midgame(b, name)
			dst := make([]rules.Action, 0, MaxActions)
			b.ReportAllocs()
			cpu := cpuOf(b)
			for b.Loop() {
				dst = g.List(&s, ids, dst[:0])
			}
			cpu()
			b.ReportMetric(float64(len(dst)), "actions")
		})
	}
}

// BenchmarkSlowList lists the same by the slow generator of the tests.
func BenchmarkSlowList(b *testing.B) {
	g, s, ids := midgame(b, "junqi-dark")
	given := readBoard(b, "two")
	slow := newSlowGame(g.rules, &given)
	slow.set(g, &s, ids)
	cpu := cpuOf(b)
	for b.Loop() {
		slow.moves('b')
	}
	cpu()
}

// BenchmarkCheck checks one action: a step, an attack, a ride along a rail.
func BenchmarkCheck(b *testing.B) {
	for name, action := range map[string]string{"junqi-dark": "G2-F2", "junqi-flip": "B2-B0", "siguo": "S55-S25"} {
		b.Run(name, func(b *testing.B) {
			g, s, ids := midgame(b, name)
			a, _, err := g.ParseAction(action)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			cpu := cpuOf(b)
			for b.Loop() {
				if i := g.Check(&s, ids, s.turn, a); !i.OK() {
					b.Fatal(g.Describe(i))
				}
			}
			cpu()
		})
	}
}

// BenchmarkEngineer checks an engineer's ride round corners of the rails.
func BenchmarkEngineer(b *testing.B) {
	for name, action := range map[string]string{"junqi-dark": "G4-F2", "siguo": "S11-N41"} {
		b.Run(name, func(b *testing.B) {
			g, s, ids := midgame(b, name)
			a, _, err := g.ParseAction(action)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			cpu := cpuOf(b)
			for b.Loop() {
				if i := g.Check(&s, ids, s.turn, a); !i.OK() {
					b.Fatal(g.Describe(i))
				}
			}
			cpu()
		})
	}
}

// BenchmarkPlay plays one quiet ply, with all that follows from it: whether the next
// side has an action is looked for.
func BenchmarkPlay(b *testing.B) {
	for name, action := range map[string]string{"junqi-dark": "H1-H2", "siguo": "S24-S34"} {
		b.Run(name, func(b *testing.B) {
			g, start, ids := midgame(b, name)
			a, _, _ := g.ParseAction(action)
			s := start
			b.ReportAllocs()
			cpu := cpuOf(b)
			for b.Loop() {
				s = start
				if _, err := g.Play(&s, ids, Ply(a)); err != nil {
					b.Fatal(err)
				}
			}
			cpu()
		})
	}
}

// BenchmarkWholeGame plays whole games by players who attack, who look at every
// legal action themselves.
func BenchmarkWholeGame(b *testing.B) {
	for _, name := range presetNames {
		b.Run(name, func(b *testing.B) {
			g := compiled(b, name)
			plies, seed := 0, uint64(0)
			cpu := cpuOf(b)
			for b.Loop() {
				s, _ := playWhole(b, g, seed)
				plies += s.Ply()
				seed++
			}
			cpu()
			b.ReportMetric(float64(plies)/float64(b.N), "plies/game")
		})
	}
}

// BenchmarkBinary writes a state in binary form.
func BenchmarkBinary(b *testing.B) {
	g, s, _ := midgame(b, "siguo")
	dst := g.AppendBinary(nil, &s)
	b.ReportAllocs()
	cpu := cpuOf(b)
	for b.Loop() {
		dst = g.AppendBinary(dst[:0], &s)
	}
	cpu()
	b.ReportMetric(float64(len(dst)), "bytes")
}

// TestNoAllocations: listing, checking and playing a move allocate nothing.
func TestNoAllocations(t *testing.T) {
	for name := range midgames {
		g, s, ids := midgame(t, name)
		dst := g.List(&s, ids, make([]rules.Action, 0, MaxActions))
		var a rules.Action
		for _, a = range dst {
			if a.Kind == rules.ActionMove {
				break
			}
		}
		for what, run := range map[string]func(){
			"list":  func() { dst = g.List(&s, ids, dst[:0]) },
			"check": func() { g.Check(&s, ids, s.turn, a) },
			"refuse": func() {
				g.Check(&s, ids, s.turn, rules.Move(a.From, a.From))
			},
			"play": func() {
				next := s
				if _, err := g.Play(&next, ids, Ply(a)); err != nil {
					t.Fatal(err)
				}
			},
		} {
			if n := testing.AllocsPerRun(100, run); n != 0 {
				t.Errorf("%s: %s allocates %v times", name, what, n)
			}
		}
	}
}
