package verify

import (
	"bytes"
	"strings"
	"testing"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// placements that every form allows.
var placements = []string{"98776/6.5.5/44.33/3.2.2/2MM11/MF1BB", "67789/5.6.5/33.44/2.3.2/1MM12/BFM1B"}

// army plays a whole match of army chess, some of whose turns expire.
func army(t testing.TB, id string, seed uint64) *table {
	t.Helper()
	r := preset(t, id)
	tb := newTable(t, r, seed)
	opener := referee.New(nil, referee.Presets{}, tb.keys, nil)
	for !tb.state.Status.Over() {
		tb.start()
		for n := 0; tb.state.Game.Status == referee.GamePlacing; n++ {
			seat := rules.Seat(n * 3 / 4) // seat 0 places twice
			tb.must(&referee.SubmitPlacement{Header: tb.header(seat%rules.Seat(r.Seats()), false), Placement: placements[n%2]})
		}
		for tb.playing() {
			tb.now += second
			if tb.dice.IntN(40) == 0 {
				tb.wait()
				continue
			}
			actions, err := opener.LegalActions(tb.state)
			if err != nil {
				t.Fatal(err)
			}
			tb.must(&referee.PlayAction{Header: tb.header(tb.turn(), true), Action: actions[tb.dice.IntN(len(actions))]})
		}
	}
	return tb
}

// TestArmyChessIsVerified: whole matches are sound, as a store holds them and as a
// file does, and what is changed is found at its event.
func TestArmyChessIsVerified(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"junqi-dark", "junqi-dark-contest-2012", "junqi-flip", "junqi-flip-simple", "siguo"} {
		tb := army(t, id, 3)
		tb.sound()
		file := exportedFile(tb)
		findings, games, err := verified(file)
		if err != nil || len(findings) != 0 || games != len(tb.logs)-1 {
			t.Fatalf("%s: %d games, %v, %v", id, games, lines(findings), err)
		}
		if dealt := tb.state.Rules.Deck() != nil; dealt != bytes.Contains(file, []byte(`"openings"`)) {
			t.Errorf("%s: a deal %t, and its openings", id, dealt)
		}
		for i := range tb.logs[1] {
			e := &tb.logs[1][i]
			if e.Kind != referee.EventPly {
				continue
			}
			if named := tb.state.Rules.FormatAction(e.Action, e.Turned); !bytes.Contains(file, []byte(`"`+named+`"`)) {
				t.Errorf("%s: no action is called %s", id, named)
			}
		}
	}
}

func TestArmyChessTampering(t *testing.T) {
	t.Parallel()
	tb := army(t, "junqi-dark", 4)
	find := func(kind referee.EventKind, detail bool) *referee.Event {
		for i := range tb.logs[1] {
			if e := &tb.logs[1][i]; e.Kind == kind && (len(e.Detail) > 0) == detail {
				return e
			}
		}
		t.Fatalf("no event of kind %s", kind)
		return nil
	}
	for _, c := range []struct {
		kind   referee.EventKind
		at     int // of the detail
		detail bool
		what   string
	}{
		{referee.EventPly, 2, true, "verdict"},
		{referee.EventPlacementSubmitted, 7, true, "commitment"},
		{referee.EventGameEnded, -7, true, "placements"},
	} {
		e := find(c.kind, c.detail)
		if c.kind == referee.EventPlacementSubmitted {
			for i := range tb.logs[1] { // the last one that was submitted stood
				if tb.logs[1][i].Kind == c.kind {
					e = &tb.logs[1][i]
				}
			}
		}
		kept := e.Detail
		e.Detail = bytes.Clone(kept)
		at := (c.at + len(kept)) % len(kept)
		e.Detail[at] ^= 1
		report := Check(tb.match(), nil)
		e.Detail = kept
		found := false
		for _, f := range report.Findings {
			found = found || f.Seq == e.Seq && (f.What == c.what || c.kind == referee.EventGameEnded && f.What == "hash")
		}
		if !found {
			t.Errorf("%s of event %d: %s", c.what, e.Seq, lines(report.Findings))
		}
	}
	tb.sound()
}

// TestSecondImplementationOfArmyChess has another language judge the commitments
// to placements, and the deal and the proofs of turned pieces.
func TestSecondImplementationOfArmyChess(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"junqi-dark", "junqi-flip", "siguo"} {
		tb := army(t, id, 5)
		if out, sound := python(t, write(t, exportedFile(tb))); !sound || !strings.HasPrefix(out, "1 games, 0 faults") {
			t.Errorf("%s: %s", id, out)
		}
		log := tb.logs[1]
		end := &log[len(log)-2]
		at := -1 // the last letter of a placement
		want := "commitment"
		if id == "junqi-flip" {
			at, want = len(end.Detail)-40, "root" // of the seed
		}
		end.Detail = bytes.Clone(end.Detail)
		end.Detail[(len(end.Detail)+at)%len(end.Detail)] ^= 1
		if out, sound := python(t, write(t, exportedFile(tb))); sound || !strings.Contains(out, ": "+want) {
			t.Errorf("%s, changed: %s", id, out)
		}
	}
}

// TestSealedPlacements: what a running game seals must be what its seats committed to.
func TestSealedPlacements(t *testing.T) {
	t.Parallel()
	tb := newTable(t, preset(t, "junqi-dark"), 6)
	check := referee.New(nil, referee.Presets{}, tb.keys, nil).CheckPlacements
	tb.begin()
	place := func(seat rules.Seat, n int) []byte {
		tb.must(&referee.SubmitPlacement{Header: tb.header(seat, false), Placement: placements[n]})
		return tb.state.Game.Placing.Sealed
	}
	found := func(sealed []byte) string {
		r, report, state := tb.record(), &Report{}, *tb.state
		state.Game.Placing = state.Game.Placing.WithSealed(sealed)
		r.State.Snapshot = state.Snapshot()
		report.Placements(r, check)
		if len(report.Findings) == 0 {
			return ""
		}
		return report.Findings[0].Found
	}
	first := place(0, 0)
	second := place(0, 1)
	for _, c := range []struct {
		sealed []byte
		want   string
	}{
		{second, ""}, {first, "others"}, {flipped(second), "bytes that none does"}, {nil, "others"},
	} {
		if got := found(c.sealed); got != c.want {
			t.Errorf("found %q, want %q", got, c.want)
		}
	}
	both := place(1, 1)
	if got := found(both) + found(second); got != "others" {
		t.Errorf("while it is played: %q", got)
	}
}
