package referee

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"referee.example/internal/deal"
	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
)

// armyMatches is how many matches of each preset of army chess are played.
var armyMatches = flag.Uint64("army-matches", 6, "matches of each preset of army chess")

// armyPresets are the houses' rulesets of army chess.
var armyPresets = []string{"junqi-dark", "junqi-dark-contest-2012", "junqi-flip", "junqi-flip-simple", "siguo"}

// placement returns a legal placement, by the dice.
func placement(dice *rand.Rand) string {
	const camps, headquarters = "6.8.12.16.18", "26.28"
	in := func(list string, i int) bool { return slices.Contains(splitInts(list), i) }
	var p junqi.Placement
	var free []int
	for i := range p {
		if !in(camps, i) {
			free = append(free, i)
		}
	}
	dice.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
	put := func(rank junqi.Rank, n int, fits func(i int) bool) {
		for range n {
			at := slices.IndexFunc(free, fits)
			p[free[at]] = rank
			free = slices.Delete(free, at, at+1)
		}
	}
	put(junqi.Flag, 1, func(i int) bool { return in(headquarters, i) })
	put(junqi.Mine, 3, func(i int) bool { return i >= 20 })
	put(junqi.Bomb, 2, func(i int) bool { return i >= 5 })
	for rank, n := range map[junqi.Rank]int{
		junqi.Marshal: 1, junqi.General: 1, junqi.MajorGeneral: 2, junqi.Brigadier: 2, junqi.Colonel: 2,
		junqi.Major: 2, junqi.Captain: 3, junqi.Lieutenant: 3, junqi.Engineer: 3,
	} {
		put(rank, n, func(int) bool { return true })
	}
	return p.String()
}

func splitInts(list string) (numbers []int) {
	n := 0
	for _, c := range list + "." {
		if c == '.' {
			numbers, n = append(numbers, n), 0
		} else {
			n = 10*n + int(c-'0')
		}
	}
	return numbers
}

// army is a table of army chess with dice of its own.
type army struct {
	*table
	dice *rand.Rand
}

func newArmy(t testing.TB, r *Rules, seed uint64) *army {
	return &army{newTable(t, r), rand.New(rand.NewPCG(seed, 8))}
}

// referee is one that has the table's keys.
func (a *army) referee() *Referee { return New(nil, Presets{}, a.keys, nil) }

func (a *army) submit(seat rules.Seat, text string) Command {
	return &SubmitPlacement{Header: a.header(seat, false), Placement: text}
}

// begin starts the next game and lets all seats place, in any order and some of
// them more than once.
func (a *army) begin() {
	a.t.Helper()
	a.start()
	if !a.state.Rules.Places() {
		return
	}
	for a.state.Game.Status == GamePlacing {
		a.now += second
		a.must(a.submit(rules.Seat(a.dice.IntN(len(a.state.Players))), placement(a.dice)))
	}
}

func (a *army) actions() []rules.Action {
	a.t.Helper()
	actions, err := a.referee().LegalActions(a.state)
	if err != nil {
		a.t.Fatal(err)
	}
	return actions
}

// some plays a legal action by the dice, an attack more often than not.
func (a *army) some() {
	a.t.Helper()
	actions := a.actions()
	chosen := actions[a.dice.IntN(len(actions))]
	for _, action := range actions {
		if action.Kind == rules.ActionMove && a.state.Game.Position.army.At(action.To) != rules.NoPiece && a.dice.IntN(3) > 0 {
			chosen = action
			break
		}
	}
	a.play(chosen)
}

// finish plays the running game to its end; chance lets turns expire.
func (a *army) finish(expiring int) {
	a.t.Helper()
	for a.state.Game.Status == GamePlaying {
		a.now += second
		deadline, runs := a.state.Deadline()
		if runs && expiring > 0 && a.dice.IntN(expiring) == 0 {
			a.now = deadline + second
			a.settle()
			continue
		}
		a.some()
	}
}

// replayed replays the log as it stands and judges it again, and compares both with
// the state that the decisions led to.
func (a *army) replayed() {
	a.t.Helper()
	s := NewReplay(a.state.Rules)
	for i := range a.log {
		if err := s.Replay(&a.log[i]); err != nil {
			a.t.Fatal(err)
		}
	}
	s.Game.Sealed, s.Next.Sealed = a.state.Game.Sealed, a.state.Next.Sealed
	if d := s.Differences(a.state); len(d) > 0 {
		a.t.Fatalf("the replay differs: %+v", d)
	}
	if at, err := rejudged(a.state.Rules, a.log); err != nil {
		a.t.Fatalf("event %d: %v", at, err)
	}
}

// rejudged judges the games of a log again. It returns the event at fault: its
// index, -1 for none.
func rejudged(r *Rules, log []Event) (int, error) {
	s := NewReplay(r)
	for i := 0; i < len(log); {
		h := Hindsight{Deal: Deal}
		for j := i; j < len(log) && log[j].Game == log[i].Game; j++ {
			if d, err := log[j].GameEnded(); log[j].Kind == EventGameEnded && err == nil {
				h.Seed, h.Next, h.Placements = deal.Seed(d.ServerSeed), d.NextCommitment, d.Placements
			}
		}
		d, err := Rejudge(s, &log[i], h)
		if err == nil && d.Refusal != nil {
			err = d.Refusal
		}
		if err != nil {
			return i, fmt.Errorf("%s can't follow: %w", log[i].Kind, err)
		}
		for j := range d.Events {
			if i+j >= len(log) {
				return i + j, fmt.Errorf("%s is missing", d.Events[j].Kind)
			}
			if want, got := EncodeEvent(&d.Events[j]), EncodeEvent(&log[i+j]); !bytes.Equal(want, got) {
				return i + j, fmt.Errorf("%s should be %x and is %x", d.Events[j].Kind, want, got)
			}
		}
		i += len(d.Events)
		s = d.State
	}
	return -1, nil
}

// settled checks the settlement of the game that ended last.
func (a *army) settled() {
	a.t.Helper()
	g := &a.state.Game
	settlement, err := a.state.Settlement(g.Number)
	if err != nil {
		a.t.Fatal(err)
	}
	net, err := settlement.Net()
	if err != nil {
		a.t.Fatal(err)
	}
	sum := net.House
	for _, n := range net.Seats {
		sum += n
	}
	if sum != 0 {
		a.t.Fatalf("the settlement sums to %d", sum)
	}
	lines := 0
	if g.Outcome.Decided() {
		lines = len(a.state.Players) / 2
	}
	if stakes := len(settlement.Lines); stakes < lines || lines == 0 && stakes != 0 {
		a.t.Fatalf("%d lines for %+v", stakes, g.Outcome)
	}
}

// TestArmyChessMatches plays whole matches of each preset by seeded players, from
// creation to settlement.
func TestArmyChessMatches(t *testing.T) {
	for _, id := range armyPresets {
		t.Run(id, func(t *testing.T) {
			reasons := map[rules.EndReason]int{}
			kinds := map[EventKind]int{}
			plies := 0
			for seed := range *armyMatches {
				a := newArmy(t, preset(t, id), seed)
				for !a.state.Status.Over() && a.state.Game.Number < 4 {
					a.begin()
					expiring := 0
					if seed%2 == 1 && a.state.Rules.Clock.TurnMS > 0 {
						expiring = 6
					}
					a.finish(expiring)
					a.settled()
					reasons[a.state.Game.Outcome.Reason]++
					plies += a.state.Game.Position.Ply()
				}
				if !a.state.Status.Over() {
					t.Fatalf("seed %d: no match ends", seed)
				}
				for i := range a.log {
					kinds[a.log[i].Kind]++
				}
				a.replayed()
			}
			t.Logf("%d plies, endings %v, events %v", plies, reasons, kinds)
		})
	}
}
