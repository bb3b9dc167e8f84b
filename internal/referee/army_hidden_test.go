package referee

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
)

// told is what a viewer can learn of a match as it stands: the board, the record,
// what is stored in clear and, of the seat to move, what it may do. Commitments,
// ciphertext and hashes over them are masked.
func (a *army) told(viewer rules.Seat, answers *[]string) {
	a.t.Helper()
	view, ok, err := a.referee().ArmyChess(a.state, viewer)
	if err != nil {
		a.t.Fatal(err)
	}
	own, err := a.referee().Placement(a.state, viewer)
	if err != nil {
		a.t.Fatal(err)
	}
	*answers = append(*answers, fmt.Sprintf("%+v %t %q", view, ok, own))
	if ok && a.state.Game.Status == GamePlaying && a.turn() == viewer {
		*answers = append(*answers, fmt.Sprint(a.actions()))
	}
	masked := *a.state
	masked.Game.Head, masked.Game.Sealed, masked.Game.Commitment, masked.Game.Root = [32]byte{}, nil, [32]byte{}, [32]byte{}
	masked.Game.Placing = masked.Game.Placing.WithSealed(nil)
	*answers = append(*answers, fmt.Sprintf("%x", masked.Snapshot()))
	for _, e := range a.log[max(0, len(a.log)-3):] {
		if d, err := e.Placed(); e.Kind == EventPlacementSubmitted && err == nil {
			d.Commitment = [32]byte{}
			e.Detail = d.encode()
		}
		if d, err := e.Started(); e.Kind == EventGameStarted && err == nil {
			d.Root = [32]byte{}
			e.Detail = d.encode()
		}
		*answers = append(*answers, fmt.Sprintf("%x", EncodeEvent(&e)))
	}
}

// probes are actions, most of them illegal, that a viewer tries.
func (a *army) probes(viewer rules.Seat, answers *[]string) {
	dice := rand.New(rand.NewPCG(uint64(len(a.log)), 3))
	stops := a.state.Rules.ArmyChessGame().Squares()
	for range 60 {
		action := rules.Move(rules.Square(dice.IntN(stops)), rules.Square(dice.IntN(stops)))
		h := a.header(viewer, true)
		d, err := Decide(a.state, &PlayAction{Header: h, Action: action}, a.env())
		if err != nil {
			a.t.Fatal(err)
		}
		if d.Refusal != nil {
			*answers = append(*answers, fmt.Sprintf("%v %v", d.Refusal, d.Refusal.Meta))
		}
	}
}

// exchanged swaps two ranked pieces of a placement, neither of which began on a
// stop that touched says was touched. It returns false if there are none.
func exchanged(game *junqi.Game, side rules.Seat, text string, touched map[rules.Square]bool, dice *rand.Rand) (string, bool) {
	p, err := junqi.ParsePlacement(text)
	if err != nil {
		return "", false
	}
	// The identities say which index of the placement stands on which stop.
	all := make([]junqi.Placement, game.Seats())
	var free []int
	for i, rank := range p {
		if rank == junqi.NoRank || rank > junqi.Marshal {
			continue
		}
		only := junqi.Placement{}
		only[i] = rank
		all[side] = only
		for stop, piece := range game.Identities(all) {
			if piece != rules.NoPiece && !touched[rules.Square(stop)] {
				free = append(free, i)
			}
		}
	}
	for range 50 {
		if len(free) < 2 {
			break
		}
		i, j := free[dice.IntN(len(free))], free[dice.IntN(len(free))]
		if p[i] != p[j] {
			p[i], p[j] = p[j], p[i]
			return p.String(), true
		}
	}
	return "", false
}

// TestHiddenRanksChangeNothing plays the same plies in two games that differ in
// ranks which a viewer was not shown and which had no say in anything: all that
// the viewer can learn is the same, byte for byte.
func TestHiddenRanksChangeNothing(t *testing.T) {
	for _, id := range []string{"junqi-dark", "junqi-dark-contest-2012", "siguo"} {
		t.Run(id, func(t *testing.T) {
			compared := 0
			for seed := range uint64(8) {
				compared += hiddenRanks(t, preset(t, id), seed)
			}
			if compared < 4 {
				t.Errorf("only %d games were compared", compared)
			}
		})
	}
}

func hiddenRanks(t *testing.T, r *Rules, seed uint64) int {
	viewer := rules.Seat(seed % 2)
	dice := rand.New(rand.NewPCG(seed, 12))
	placements := make([]string, r.Seats())
	for seat := range placements {
		placements[seat] = placement(dice)
	}
	const plies = 24
	first := newArmy(t, r, seed)
	var script []rules.Action
	touched := map[rules.Square]bool{}
	first.place(placements, nil)
	for first.state.Game.Status == GamePlaying && len(script) < plies {
		first.now += second
		origins := map[rules.Square]rules.Square{}
		view, _, err := first.referee().ArmyChess(first.state, rules.NoSeat)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range view.Pieces {
			origins[p.Stop] = p.Origin
		}
		first.some()
		for i := range first.log {
			if e := &first.log[i]; e.Kind == EventPly && e.Ply == len(script)+1 {
				script = append(script, e.Action)
				for _, stop := range []rules.Square{e.Action.From, e.Action.To} {
					if origin, there := origins[stop]; there {
						touched[origin] = true
					}
				}
				break
			}
		}
	}
	if first.state.Game.Status != GamePlaying {
		return 0
	}
	other := append([]string{}, placements...)
	differ := false
	for seat := range other {
		if rules.Seat(seat) == viewer {
			continue
		}
		for range 4 {
			if text, ok := exchanged(r.ArmyChessGame(), rules.Seat(seat), other[seat], touched, dice); ok {
				other[seat] = text
			}
		}
		differ = differ || other[seat] != placements[seat]
	}
	if !differ {
		return 0
	}
	here, there := seen(t, r, seed, placements, script, viewer), seen(t, r, seed, other, script, viewer)
	for i := range min(len(here), len(there)) {
		if here[i] != there[i] {
			t.Fatalf("seed %d: viewer %d learns\n%s\nand with other ranks\n%s", seed, viewer, here[i], there[i])
		}
	}
	if len(here) != len(there) {
		t.Fatalf("seed %d: %d answers and %d", seed, len(here), len(there))
	}
	// A player who saw the others' ranks would tell the games apart.
	seat := viewer ^ 1
	if other[seat] != placements[seat] && fmt.Sprint(seen(t, r, seed, placements, script, seat)) == fmt.Sprint(seen(t, r, seed, other, script, seat)) {
		t.Fatalf("seed %d: seat %d can't tell its own ranks apart", seed, seat)
	}
	return 1
}

// place lets all seats place in order; look is called after each.
func (a *army) place(placements []string, look func()) {
	a.start()
	for seat, text := range placements {
		a.now += second
		a.must(a.submit(rules.Seat(seat), text))
		if look != nil {
			look()
		}
	}
}

// seen plays a script and returns all that a viewer and a spectator learn on the way.
func seen(t *testing.T, r *Rules, seed uint64, placements []string, script []rules.Action, viewer rules.Seat) (answers []string) {
	b := newArmy(t, r, seed)
	look := func() {
		b.told(viewer, &answers)
		b.told(rules.NoSeat, &answers)
	}
	b.place(placements, look)
	for _, action := range script {
		b.probes(viewer, &answers)
		b.now += second
		b.play(action)
		look()
	}
	return answers
}
