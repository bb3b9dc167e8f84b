package junqi

import (
	"reflect"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
	"referee.example/internal/rules"
)

// TestNonInterference: two games that differ only in ranks that a viewer has not
// been shown, and that were told the same of every encounter, give the viewer equal
// views, equal actions and equal refusals at every ply.
func TestNonInterference(t *testing.T) {
	for _, name := range []string{"junqi-dark", "junqi-dark-contest-2012", "junqi-flip", "siguo", "bounce", "flag_carry_home", "flip_strict", "hq_protects", "partners", "scouts"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := compiled(t, name)
			var compared atomic.Int64
			rapid.Check(t, func(t *rapid.T) {
				r := randomGame(t, g, 80)
				if r.s.outcome.Over() { // then everything is shown
					return
				}
				viewer := rules.Seat(rapid.IntRange(-1, g.Seats()-1).Draw(t, "viewer"))
				dice := newDice(rapid.Uint64().Draw(t, "swaps"))
				for range 6 {
					ids, changed := dice.swapped(g, r, viewer)
					if changed && silent(t, g, r, ids, viewer) {
						compared.Add(1)
					}
				}
			})
			if n := compared.Load(); n < 20 {
				t.Errorf("only %d pairs of games were told the same", n)
			} else {
				t.Logf("%d pairs of games compared", n)
			}
		})
	}
}

// swapped exchanges the ranks of two pieces of one side that the viewer can't tell
// apart, up to three times.
func (d dice) swapped(g *Game, r *game, viewer rules.Seat) (*Identities, bool) {
	ids := *r.ids
	var secret []rules.Square
	for stop := range r.start.occupied().all {
		if p := r.start.at[stop]; !g.sees(&r.start, viewer, p) {
			secret = append(secret, stop)
		}
	}
	changed := false
	for range 1 + d.IntN(3) {
		a, b := secret[d.IntN(len(secret))], secret[d.IntN(len(secret))]
		if !g.flip && SideOf(ids[a]) != SideOf(ids[b]) || ids[a] == ids[b] {
			continue
		}
		ids[a], ids[b] = ids[b], ids[a]
		changed = true
	}
	return &ids, changed && ids != *r.ids
}

// silent plays the log of a game under other identities. It reports false where
// these would have been told otherwise, or would not have allowed it.
func silent(t *rapid.T, g *Game, r *game, ids *Identities, viewer rules.Seat) bool {
	ours, theirs := r.start, r.start
	for _, p := range r.log {
		e, err := g.Play(&theirs, ids, p.change)
		if err != nil || e.Disclosure != p.told {
			return false
		}
	}
	theirs = r.start
	for i, p := range r.log {
		if i%16 == 0 || i >= len(r.log)-g.Seats() {
			judgeSilence(t, g, &ours, &theirs, r.ids, ids, viewer)
		}
		a, errOurs := g.Play(&ours, r.ids, p.change)
		b, errTheirs := g.Play(&theirs, ids, p.change)
		if errOurs != nil || errTheirs != nil || a != b {
			t.Fatalf("told the same, but %+v and %+v", a, b)
		}
	}
	if ours != theirs || g.Text(&ours) != g.Text(&theirs) {
		t.Fatalf("told the same, but\n%s\n%s", g.Text(&ours), g.Text(&theirs))
	}
	judgeSilence(t, g, &ours, &theirs, r.ids, ids, viewer)
	return true
}

// judgeSilence compares all that two games give to a viewer.
func judgeSilence(t *rapid.T, g *Game, ours, theirs *State, a, b *Identities, viewer rules.Seat) {
	equal := reflect.DeepEqual(g.View(ours, a, viewer), g.View(theirs, b, viewer))
	if viewer == ours.turn {
		equal = equal && reflect.DeepEqual(g.List(ours, a, nil), g.List(theirs, b, nil))
		for from := range rules.Square(g.Squares()) {
			for to := from % 7; int(to) < g.Squares(); to += 7 {
				action := rules.Move(from, to)
				i, j := g.Check(ours, a, viewer, action), g.Check(theirs, b, viewer, action)
				equal = equal && i == j
			}
		}
	}
	if !equal {
		t.Fatalf("seat %d is shown what it may not see\n%s\n%s", viewer, g.FullText(ours, a), g.FullText(theirs, b))
	}
}

// TestViews: what each viewer sees of one position.
func TestViews(t *testing.T) {
	for _, c := range []struct {
		rules, position string
		views           map[rules.Seat]string
	}{
		{"junqi-dark", "A1=tF,B0=t3?C0,G2=b9?,L1=bF? seat=0", map[rules.Seat]string{
			rules.NoSeat: "A1=tF,B0=t?C0,G2=b?,L1=b?", 0: "A1=tF,B0=t?C0,G2=b9?,L1=bF?", 1: "A1=tF,B0=t3?C0,G2=b?,L1=b?",
		}},
		{"junqi-dark", "A1=t4,B0=t3?C0,G2=b9?,L1=bF? seat=1 ply=3 turns=2,1 out=1 outcome=flag:0:0:0", map[rules.Seat]string{
			rules.NoSeat: "A1=t4,B0=t3?C0,G2=b9?,L1=bF?", 0: "A1=t4,B0=t3?C0,G2=b9?,L1=bF?", 1: "A1=t4,B0=t3?C0,G2=b9?,L1=bF?",
		}},
		{"junqi-flip", "A0=t9?,B0=t3,G2=b9 seat=0 colours=b,t", map[rules.Seat]string{
			rules.NoSeat: "A0=??,B0=t3,G2=b9", 0: "A0=??,B0=t3,G2=b9", 1: "A0=??,B0=t3,G2=b9",
		}},
		{"siguo", "S11=S9?S13,S62=SF?,E62=EF?,N62=NF?,W62=WF? seat=0", map[rules.Seat]string{
			rules.NoSeat: "S11=S?S13,S62=S?,E62=E?,N62=N?,W62=W?", 0: "S11=S9?S13,S62=SF?,E62=E?,N62=N?,W62=W?",
			2: "S11=S?S13,S62=S?,E62=E?,N62=NF?,W62=W?",
		}},
		{"partners", "S11=S9?S13,S62=SF?,E62=EF?,N62=NF?,W62=WF? seat=0", map[rules.Seat]string{
			rules.NoSeat: "S11=S?S13,S62=S?,E62=E?,N62=N?,W62=W?", 0: "S11=S9?S13,S62=SF?,E62=E?,N62=NF?,W62=W?",
			2: "S11=S9?S13,S62=SF?,E62=E?,N62=NF?,W62=W?", 3: "S11=S?S13,S62=S?,E62=EF?,N62=N?,W62=WF?",
		}},
		{"open_four", "S11=S9,E62=EF,N51=N2,W62=WF seat=0", map[rules.Seat]string{rules.NoSeat: "S11=S9,E62=EF,N51=N2,W62=WF", 3: "S11=S9,E62=EF,N51=N2,W62=WF"}},
	} {
		g := compiled(t, c.rules)
		s, ids, err := g.ParsePosition(c.position)
		if err != nil {
			t.Fatalf("%s: %v", c.position, err)
		}
		for viewer, want := range c.views {
			v := g.View(&s, ids, viewer)
			if v.Board != want {
				t.Errorf("%s: seat %d sees %s, want %s", c.rules, viewer, v.Board, want)
			}
			for _, p := range v.Pieces {
				origin := rules.NoSquare
				if isHidden(s.at[p.Stop]) {
					origin = s.origin[p.Stop]
				}
				if p.Origin != origin || p.Public != known(s.at[p.Stop]) || !p.Public && known(p.Piece) && p.Piece != s.secret(ids, p.Stop) {
					t.Errorf("%s: seat %d sees %+v", c.rules, viewer, p)
				}
			}
		}
	}
}
