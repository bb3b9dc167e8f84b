package junqi

import (
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"

	"referee.example/internal/rules"
)

var games = flag.Int("games", 2000, "whole games that each preset is played for")

// promised are the endings that each preset's rules have on the board, and that
// games by players who attack must all meet.
var promised = map[string][]rules.EndReason{
	"junqi-dark":              {rules.EndFlag, rules.EndNoLegalAction, rules.EndIdle},
	"junqi-dark-contest-2012": {rules.EndFlag, rules.EndNoLegalAction, rules.EndIdle},
	"junqi-flip":              {rules.EndFlag, rules.EndNoLegalAction, rules.EndIdle},
	"junqi-flip-simple":       {rules.EndFlag, rules.EndNoLegalAction, rules.EndIdle},
	"siguo":                   {rules.EndFlag, rules.EndNoLegalAction, rules.EndIdle},
}

// TestWholeGames plays whole games of every preset by seeded players who attack, and
// in each twentieth game do nothing but wait from ply 30 on:
// each ends as its rules promise, within their limit, and after its end nothing is
// legal any more. Every promised ending comes.
func TestWholeGames(t *testing.T) {
	for _, name := range presetNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := compiled(t, name)
			tally := make(map[rules.EndReason]int)
			plies, draws, n := 0, 0, *games
			for seed := range n {
				s := wholeGame(t, g, uint64(seed))
				tally[s.outcome.Reason]++
				plies += s.Ply()
				if s.outcome.Drawn() {
					draws++
				}
			}
			for _, reason := range promised[name] {
				if tally[reason] == 0 {
					t.Errorf("no game ended by %s", EndingName(reason))
				}
			}
			for reason := range tally {
				if reason != rules.EndMaxPlies && reason != rules.EndIdle && !slices.Contains(promised[name], reason) {
					t.Errorf("%d games ended by %s", tally[reason], EndingName(reason))
				}
			}
			t.Logf("%d games, %d plies on average, %d drawn: %s", n, plies/n, draws, tallied(tally))
		})
	}
}

func tallied(tally map[rules.EndReason]int) (text string) {
	for reason := range rules.EndReason(255) {
		if tally[reason] > 0 {
			text += fmt.Sprintf("%s %d, ", EndingName(reason), tally[reason])
		}
	}
	return text
}

// wholeGame plays one game to its end and judges that.
func wholeGame(t *testing.T, g *Game, seed uint64) State {
	s, ids := playWhole(t, g, seed)
	judgeOutcome(t, g, &s, ids, seed)
	return s
}

func playWhole(t testing.TB, g *Game, seed uint64) (State, *Identities) {
	dice := newDice(seed)
	ids := dice.identities(g)
	s := g.Start(rules.Seat(seed)%rules.Seat(g.Seats()), ids)
	for !s.outcome.Over() {
		if s.Ply() >= g.rules.MaxPlies {
			t.Fatalf("seed %d: beyond the limit of plies", seed)
		}
		a := dice.ply
		if seed%20 == 19 && s.Ply() > 30 {
			a = dice.quiet
		}
		if _, err := g.Play(&s, ids, Ply(a(g, &s, ids))); err != nil {
			t.Fatalf("seed %d, ply %d: %v", seed, s.Ply(), err)
		}
	}
	return s, ids
}

// judgeOutcome compares an ending with the position that it is said to rest on.
func judgeOutcome(t *testing.T, g *Game, s *State, ids *Identities, seed uint64) {
	o := s.outcome
	fail := func(why string) { t.Errorf("seed %d: %s: %s", seed, why, g.FullText(s, ids)) }
	if len(g.List(s, ids, nil)) != 0 || g.Check(s, ids, s.turn, rules.Flip(0)).Rule != RuleGameOver {
		fail("something is legal after the end")
	}
	if _, err := g.Play(s, ids, PutOut(0, rules.EndTime)); err == nil {
		fail("a seat is put out after the end")
	}
	teams := g.Teams()
	if o.Decided() && o.Winners != teams[0] && o.Winners != teams[1] {
		fail("the winners are no team")
	}
	switch o.Reason {
	case rules.EndFlag:
		lost := false
		for seat := range rules.Seat(g.Seats()) {
			side := g.Side(s, seat)
			if s.out.Has(seat) && !o.Winners.Has(seat) && g.flagStop(s, ids, side) == rules.NoSquare {
				lost = true
			}
		}
		if !o.Decided() || !lost {
			fail("no loser lost the flag")
		}
	case rules.EndNoLegalAction:
		for seat := range rules.Seat(g.Seats()) {
			if !o.Winners.Has(seat) && !s.out.Has(seat) && g.canAct(s, ids, seat) || o.Decided() && !o.Winners.Has(seat) && !s.out.Has(seat) {
				fail("a loser could move")
			}
		}
	case rules.EndIdle:
		if s.idle != int32(g.rules.Idle.Limit) || o.LastPly-o.FirstPly+1 != g.rules.Idle.Limit || o.LastPly != s.Ply() {
			fail("the idle plies don't prove it")
		}
		if (g.rules.Idle.Result == "loss") != o.Decided() || o.Winners.Has(s.turn) {
			fail("idleness is lost by the side to move, or drawn")
		}
	case rules.EndMaxPlies:
		if s.Ply() != g.rules.MaxPlies || o.Decided() {
			fail("not at the limit of plies")
		}
	default:
		fail("no such ending")
	}
	if err := g.validate(s); err != nil {
		fail(err.Error())
	}
}

// TestConcurrentGames: a Game may be shared.
func TestConcurrentGames(t *testing.T) {
	g := compiled(t, "siguo")
	want := wholeGame(t, g, 7)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if got := wholeGame(t, g, 7); got != want {
				t.Error("the same game went another way")
			}
		})
	}
	group.Wait()
}
