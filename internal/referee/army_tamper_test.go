package referee

import (
	"bytes"
	"slices"
	"testing"

	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
)

// rechained returns the log with the hashes that its events would have: whoever
// can change an event can change those too.
func rechained(log []Event) []Event {
	log = slices.Clone(log)
	var head [32]byte
	for i := range log {
		if log[i].Seq == 1 {
			head = [32]byte{}
		}
		log[i].Hash = log[i].chain(head)
		head = log[i].Hash
	}
	return log
}

// TestArmyTampering changes one thing of a finished game after the other: judging
// it again finds each at its event.
func TestArmyTampering(t *testing.T) {
	r := armyRules(t, "junqi-dark", func(_ *Ruleset, b *junqi.Rules) { b.EngineerScouts = true })
	a := newArmy(t, r, 11)
	a.begin()
	a.finish(0)
	end := len(a.log) - 2
	at := func(fits func(e *Event) bool) int {
		t.Helper()
		i := slices.IndexFunc(a.log, func(e Event) bool { return fits(&e) })
		if i < 0 {
			t.Fatal("the game has no such event")
		}
		return i
	}
	verdict := func(v junqi.Verdict) int {
		return at(func(e *Event) bool {
			d, err := e.Disclosed()
			return e.Kind == EventPly && err == nil && d.Verdict == v && d.Shown == 0 && d.Fallen == 0
		})
	}
	disclose := func(e *Event, change func(d *Disclosed)) {
		d, err := e.Disclosed()
		if err != nil {
			t.Fatal(err)
		}
		change(&d)
		e.Detail = d.encode()
	}
	reveal := func(e *Event, change func(p []RevealedPlacement)) {
		d, err := e.GameEnded()
		if err != nil {
			t.Fatal(err)
		}
		change(d.Placements)
		e.Detail = d.encode()
	}
	lastOf := func(seat rules.Seat) int {
		return at(func(e *Event) bool {
			d, err := e.Placed()
			return e.Kind == EventPlacementSubmitted && e.Seat == seat && err == nil && d.Attempt == a.state.Game.Placing.Attempts[seat]
		})
	}
	won, lost := verdict(junqi.AttackerWon), verdict(junqi.DefenderWon)
	fell := slices.IndexFunc(a.log, func(e Event) bool {
		d, err := e.Disclosed()
		return e.Kind == EventPly && err == nil && d.Fallen != 0
	})
	placed := lastOf(1)
	for _, c := range []struct {
		name   string
		event  int // that is changed
		change func(e *Event)
		found  int // where it is found
	}{
		{"a won encounter is lost", won, func(e *Event) { disclose(e, func(d *Disclosed) { d.Verdict = junqi.DefenderWon }) }, won},
		{"a lost encounter is a trade", lost, func(e *Event) { disclose(e, func(d *Disclosed) { d.Verdict = junqi.BothGone }) }, lost},
		{"an encounter is none", won, func(e *Event) { e.Detail = nil }, won},
		{"a flag is taken", won, func(e *Event) { disclose(e, func(d *Disclosed) { d.Flag = true }) }, won},
		{"somebody is stuck", lost, func(e *Event) { disclose(e, func(d *Disclosed) { d.Stuck = 1 }) }, lost},
		{"a shown piece", lost, func(e *Event) {
			disclose(e, func(d *Disclosed) { d.Shown = junqi.PieceOf(junqi.Side(1-e.Seat), junqi.Mine) })
		}, lost},
		{"a fallen marshal", fell, func(e *Event) {
			disclose(e, func(d *Disclosed) { d.Fallen, d.FlagAt = 0, [rules.MaxSeats]rules.Square{} })
		}, fell},
		{"a detail spelt otherwise", lost, func(e *Event) { e.Detail = append(e.Detail, 0) }, lost},
		{"another commitment", placed, func(e *Event) { e.Detail = slices.Clone(e.Detail); e.Detail[9]++ }, placed},
		{"another attempt", placed, func(e *Event) { e.Detail = slices.Clone(e.Detail); e.Detail[0]++ }, placed},
		{"another placement", end, func(e *Event) {
			reveal(e, func(p []RevealedPlacement) { p[1].Placement = sound })
		}, placed},
		{"an impossible placement", end, func(e *Event) {
			reveal(e, func(p []RevealedPlacement) { p[1].Placement = "x" })
		}, placed},
		{"another salt", end, func(e *Event) { reveal(e, func(p []RevealedPlacement) { p[0].Salt[0]++ }) }, end},
		{"another seed", end, func(e *Event) {
			d, err := e.GameEnded()
			if err != nil {
				t.Fatal(err)
			}
			d.ServerSeed[0]++
			e.Detail = d.encode()
		}, min(lastOf(0), placed)},
	} {
		log := slices.Clone(a.log)
		c.change(&log[c.event])
		if bytes.Equal(log[c.event].Detail, a.log[c.event].Detail) {
			t.Errorf("%s: nothing changed", c.name)
		}
		at, err := rejudged(r, rechained(log))
		if err == nil || at != c.found {
			t.Errorf("%s: found at event %d (%v), want %d", c.name, at, err, c.found)
		}
	}
	if at, err := rejudged(r, rechained(a.log)); err != nil {
		t.Fatalf("the untouched log: event %d, %v", at, err)
	}
}
