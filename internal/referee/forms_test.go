package referee

import (
	"runtime"
	"testing"
	"time"
)

// form is a preset and the plies of a game of it, each with the state before it.
type form struct {
	preset string
	keys   *Referee
	plies  []move
	took   time.Duration
	bytes  int
}

// playedForm plays one game and keeps every ply.
func playedForm(b *testing.B, id string) *form {
	a := newArmy(b, preset(b, id), 5)
	a.begin()
	f := &form{preset: id, keys: a.referee()}
	for a.state.Game.Status == GamePlaying {
		a.now += second
		m := move{before: a.state}
		n := len(a.log)
		if a.state.Rules.ArmyChess == nil {
			a.play(a.choose())
		} else {
			a.some()
		}
		m.event = a.log[n]
		m.c = &PlayAction{Action: m.event.Action, Header: Header{Caller: Caller{Platform: "p", Principal: 1}, Match: a.state.ID, Game: 1,
			RequestID: m.event.RequestID, Expected: m.event.Ply, Seat: m.event.Seat}}
		f.plies = append(f.plies, m)
	}
	return f
}

// BenchmarkForms decides every ply of a game of dark chess and of each form of army
// chess and writes the snapshot after it, game by game in turn in one loop, so that
// whatever else the machine does befalls all.
func BenchmarkForms(b *testing.B) {
	var forms []*form
	for _, id := range []string{"7club-standard", "junqi-dark", "junqi-flip", "siguo"} {
		forms = append(forms, playedForm(b, id))
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	rounds := 0
	for b.Loop() {
		for _, f := range forms {
			began := threadTime(b)
			for i := range f.plies {
				m := &f.plies[i]
				d, err := Decide(m.before, m.c, Env{Arrival: m.event.Time, Now: m.event.Time, Keys: f.keys.keys, Deal: f.keys.deal})
				if err != nil || d.Refusal != nil {
					b.Fatal(f.preset, m.event.Ply, err, d.Refusal)
				}
				f.bytes += len(d.State.Snapshot())
			}
			f.took += threadTime(b) - began
		}
		rounds++
	}
	for _, f := range forms {
		plies := float64(rounds * len(f.plies))
		b.ReportMetric(float64(f.took.Nanoseconds())/plies, "ns/"+f.preset)
		b.ReportMetric(float64(f.bytes)/plies, "B/"+f.preset)
	}
	b.ReportMetric(0, "ns/op")
}
