package referee

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"referee.example/internal/clock"
	"referee.example/internal/rules"
)

// sound is a placement that every form allows.
const sound = "98776/6.5.5/44.33/3.2.2/2MM11/MF1BB"

// TestPlacementRaces: a placement comes too early, too late, twice, for a seat that
// has placed, with wrong pieces.
func TestPlacementRaces(t *testing.T) {
	a := newArmy(t, preset(t, "junqi-dark"), 1)
	refused := func(c Command, reason Reason, rule string) {
		t.Helper()
		before := a.state.Snapshot()
		refusal := a.do(c)
		if refusal == nil || refusal.Reason != reason || rule != "" && refusal.Meta["rule"] != rule {
			t.Fatalf("%v, want %s %s", refusal, reason, rule)
		}
		if strings.Contains(refusal.Error(), sound) {
			t.Fatalf("%v repeats the placement", refusal)
		}
		if !bytes.Equal(before, a.state.Snapshot()) {
			t.Fatal("a refused placement changed something")
		}
	}
	refused(a.submit(0, sound), ReasonGameNotRunning, "")
	a.start()
	if a.state.Game.Status != GamePlacing || a.state.Status != MatchPlaying {
		t.Fatalf("status %d", a.state.Game.Status)
	}
	refused(a.action(rules.Move(0, 1)), ReasonGameNotRunning, "")
	refused(&Resign{Header: a.header(0, false)}, ReasonGameNotRunning, "")
	refused(&ReportDisconnect{Header: a.header(rules.NoSeat, false), Gone: rules.SeatsOf(0)}, ReasonGameNotRunning, "")
	for _, bad := range []struct {
		text, rule string
		reason     Reason
	}{
		{"", "", ReasonInvalidField},
		{sound + "/", "", ReasonInvalidField},
		{strings.Replace(sound, "9", "x", 1), "", ReasonInvalidField},
		{strings.Replace(sound, "9", "8", 1), "wrong_counts", ReasonIllegalAction},
		{"98776/6M5.5/44.33/3.2.2/2.M11/MF1BB", "camp_not_empty", ReasonIllegalAction},
		{"98776/6.5.5/44.33/3.2.2/2MM11/FM1BB", "flag_not_in_headquarters", ReasonIllegalAction},
		{"M8776/6.5.5/44.33/3.2.2/29M11/MF1BB", "mine_outside_back_two_rows", ReasonIllegalAction},
		{"B8776/6.5.5/44.33/3.2.2/2MM11/MF1B9", "bomb_in_front_row", ReasonIllegalAction},
	} {
		refused(a.submit(1, bad.text), bad.reason, bad.rule)
	}
	if refusal := a.do(a.submit(1, "98776/6M5.5/44.33/3.2.2/2.M11/MF1BB")); refusal == nil || refusal.Message != "the mine on E3 may not stand in a camp: camps begin empty" {
		t.Errorf("a mine in a camp: %v", refusal)
	}
	refused(a.submit(rules.NoSeat, sound), ReasonInvalidField, "")
	if refusal := a.state.forbidden(&Header{Caller: Caller{Platform: "p", Player: "ann"}, Seat: 1}); refusal == nil || refusal.Reason != ReasonSeatForbidden {
		t.Fatalf("another player's seat: %v", refusal)
	}
	late := a.submit(0, sound)
	a.must(a.submit(1, sound))
	refused(late, ReasonStale, "")
	first, err := a.last().Placed()
	if err != nil || first.Attempt != 1 || a.last().Seat != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	a.must(a.submit(1, sound))
	again, err := a.last().Placed()
	if err != nil || again.Attempt != 2 || again.Commitment == first.Commitment {
		t.Fatalf("the same placement again: %+v after %+v, %v", again, first, err)
	}
	if ready := a.state.Game.Ready(); ready != rules.SeatsOf(1) {
		t.Fatalf("ready %b", ready)
	}
	other := placement(rand.New(rand.NewPCG(1, 1)))
	a.must(a.submit(0, other))
	if a.last().Kind != EventPlayBegan || a.state.Game.Status != GamePlaying || len(a.last().Detail) != 0 {
		t.Fatalf("%s", a.last().Kind)
	}
	refused(a.submit(0, sound), ReasonNoPlacementPhase, "")
	if got, err := a.referee().Placement(a.state, 0); got != other || err != nil {
		t.Fatalf("placement %q, %v", got, err)
	}
	a.finish(0)
	a.replayed()
	ended, err := a.log[len(a.log)-2].GameEnded()
	if err != nil || ended.Placements[0].Placement != other || ended.Placements[1].Attempt != 2 {
		t.Fatalf("%+v, %v", ended.Placements, err)
	}
	for seat, p := range ended.Placements {
		commitment := a.state.Context().CommitPlacement(uint8(seat), uint32(p.Attempt), p.Salt, p.Placement)
		found := false
		for i := range a.log {
			d, err := a.log[i].Placed()
			found = found || a.log[i].Kind == EventPlacementSubmitted && err == nil && d.Commitment == commitment
		}
		if !found {
			t.Errorf("seat %d committed to something else", seat)
		}
	}
}

func TestNothingToPlace(t *testing.T) {
	for _, id := range []string{"junqi-flip", "7club-standard"} {
		a := newArmy(t, preset(t, id), 1)
		a.start()
		if refusal := a.do(a.submit(0, sound)); refusal == nil || refusal.Reason != ReasonNoPlacementPhase {
			t.Errorf("%s: %v", id, refusal)
		}
	}
}

func TestPlacementsAreLimited(t *testing.T) {
	a := newArmy(t, preset(t, "junqi-dark"), 1)
	a.start()
	for range MaxPlacements {
		a.must(a.submit(0, sound))
	}
	if refusal := a.do(a.submit(0, sound)); refusal == nil || refusal.Meta["rule"] != "placements_spent" {
		t.Fatalf("%v", refusal)
	}
	a.must(a.submit(1, sound))
}

// TestPlacingExpires: the side that has not placed in time has lost, and where
// neither has the game is void; an outage gives back what it took.
func TestPlacingExpires(t *testing.T) {
	for _, c := range []struct {
		preset string
		placed []rules.Seat
		want   rules.Outcome
	}{
		{"junqi-dark", nil, rules.Outcome{Reason: rules.EndTime, Void: true}},
		{"junqi-dark", []rules.Seat{0}, rules.Outcome{Reason: rules.EndTime, Winners: rules.SeatsOf(0)}},
		{"junqi-dark-contest-2012", []rules.Seat{1}, rules.Outcome{Reason: rules.EndTime, Winners: rules.SeatsOf(1)}},
		{"siguo", []rules.Seat{0, 2, 3}, rules.Outcome{Reason: rules.EndTime, Winners: rules.SeatsOf(0, 2)}},
		{"siguo", []rules.Seat{0, 3}, rules.Outcome{Reason: rules.EndTime, Void: true}},
	} {
		a := newArmy(t, preset(t, c.preset), 1)
		a.start()
		started := a.now
		for _, seat := range c.placed {
			a.must(a.submit(seat, placement(a.dice)))
		}
		deadline, runs := a.state.Deadline()
		if want := started + clock.Time(a.state.Rules.Clock.PlacementMS*1000); !runs || deadline != want {
			t.Fatalf("deadline %d, want %d", deadline, want)
		}
		a.outages = []Outage{{started + 10*second, started + 40*second}}
		a.now = deadline + second
		a.settle()
		if moved, _ := a.state.Deadline(); moved != deadline+30*second {
			t.Fatalf("the deadline moved by %d", moved-deadline)
		}
		deadline += 30 * second
		a.now = deadline + clock.Grace/2
		var waiting rules.Seat = 1
		if refusal := a.do(a.submit(waiting, sound)); refusal == nil || refusal.Reason != ReasonExpiryPending {
			t.Fatalf("within the grace: %v", refusal)
		}
		a.now = deadline + clock.Grace
		if refusal := a.do(a.submit(waiting, sound)); refusal == nil {
			t.Fatal("placed after the time")
		}
		if got := a.state.Game.Outcome; got != c.want || a.state.Game.Status != GameEnded {
			t.Fatalf("%s, %v placed: %+v, want %+v", c.preset, c.placed, got, c.want)
		}
		a.settled()
		a.replayed()
	}
}

// TestPlacingIsNotCharged: the time to place is its own, and no part of a player's time
// for the game.
func TestPlacingIsNotCharged(t *testing.T) {
	a := newArmy(t, preset(t, "junqi-dark-contest-2012"), 1)
	a.start()
	a.must(a.submit(0, sound))
	a.now += 100 * second
	a.must(a.submit(1, sound))
	if deadline, runs := a.state.Deadline(); !runs || deadline != a.now+30*60*second {
		t.Fatalf("play began at %d, and the first turn ends at %d", a.now, deadline)
	}
}

// TestPlacingVoided: an operator may void a match while it is placed in.
func TestPlacingVoided(t *testing.T) {
	a := newArmy(t, preset(t, "siguo"), 1)
	a.start()
	a.must(a.submit(3, sound))
	a.must(&VoidMatch{Header: a.header(rules.NoSeat, false), Note: "the hall burns"})
	if a.state.Status != MatchVoid || a.state.Game.Placing.Revealed[3].Placement != sound || a.state.Game.Placing.Revealed[0].Attempt != 0 {
		t.Fatalf("%+v", a.state.Game.Placing)
	}
	a.settled()
	a.replayed()
}

// TestOpenPlay: in open play placements become public when play begins, and nothing
// is sealed after it.
func TestOpenPlay(t *testing.T) {
	open := preset(t, "junqi-dark").Ruleset
	board := *open.ArmyChess
	board.Visibility, board.FlagReveal, board.EngineerScouts = "open", "", false
	open.ID, open.ArmyChess = "", &board
	r, err := CompileRules(open)
	if err != nil {
		t.Fatal(err)
	}
	a := newArmy(t, r, 3)
	a.begin()
	began, err := a.last().Began()
	if err != nil || len(began.Placements) != 2 {
		t.Fatalf("%+v, %v", began, err)
	}
	if n := len(a.state.LegalActions()); n == 0 || n != len(a.actions()) {
		t.Fatalf("%d actions", n)
	}
	a.finish(0)
	a.settled()
	a.replayed()
}
