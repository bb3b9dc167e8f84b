package check

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
)

// TestTheEngineAndTheCheckerAgree plays whole games of every preset on the engine that
// referees them, and has the checker, which has none of its code, play them anew: it
// allows every ply, and where it is asked, exactly the moves that the engine does; it
// tells the same seats stuck, and comes to the same end.
func TestTheEngineAndTheCheckerAgree(t *testing.T) {
	ended := map[rules.EndReason]int{}
	for _, preset := range []string{"junqi-dark", "junqi-dark-contest-2012", "junqi-flip", "junqi-flip-simple", "siguo"} {
		content, err := os.ReadFile("../../referee/presets/" + preset + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var engine struct {
			ArmyChess junqi.Rules `json:"army_chess"`
		}
		a := newArmyGame()
		a.Rules = ruleset{}
		if err := errors.Join(json.Unmarshal(content, &engine), json.Unmarshal(content, &a.Rules)); err != nil {
			t.Fatal(err)
		}
		g, err := junqi.Compile(engine.ArmyChess)
		if err != nil {
			t.Fatal(err)
		}
		if g.Seats() == 4 {
			a.Players = []string{"s", "e", "n", "w"}
		}
		p := &pair{t: t, a: a, game: g, dice: rand.New(rand.NewPCG(1, uint64(len(preset)))), ended: ended}
		for range 30 {
			p.play()
		}
		t.Logf("%s: %d plies, %d moves compared", preset, p.plies, p.compared)
	}
	if ended[rules.EndNoLegalAction] == 0 || ended[rules.EndFlag] == 0 || ended[rules.EndIdle] == 0 {
		t.Errorf("no games ended as they had to: %v", ended)
	}
}

// pair plays the same games on the engine and by the checker.
type pair struct {
	t     *testing.T
	a     *armyGame
	game  *junqi.Game
	dice  *rand.Rand
	state junqi.State
	ids   *junqi.Identities
	f     *fight

	plies, compared int
	ended           map[rules.EndReason]int
}

func (p *pair) play() {
	p.t.Helper()
	p.f = p.a.fight()
	p.f.played, p.f.turned = [2]int{noSeat, noSeat}, [2]int{noSeat, noSeat}
	if p.game.Places() {
		placements := make([]junqi.Placement, p.game.Seats())
		texts := make([]string, len(placements))
		for seat := range placements {
			texts[seat] = p.shuffled([]string{armyText, forwardText}[p.dice.IntN(2)])
			placement, err := junqi.ParsePlacement(texts[seat])
			if err != nil || !p.game.CheckPlacement(rules.Seat(seat), &placement).OK() {
				p.t.Fatal(texts[seat], err)
			}
			placements[seat] = placement
		}
		p.ids = p.game.Identities(placements)
		p.f.set(texts)
	} else {
		deck := p.game.Deck()
		p.dice.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		p.ids = p.game.Dealt(deck)
		p.f.set(nil)
	}
	first := rules.Seat(p.dice.IntN(p.game.Seats()))
	p.state, p.f.turn = p.game.Start(first, p.ids), int(first)
	for !p.state.Outcome().Over() {
		if p.dice.IntN(20) == 0 {
			p.compare()
		}
		seat, action := p.state.Turn(), p.choose()
		p.make(&Row{Kind: kindPly, Seat: int(seat), ActionKind: int(action.Kind), FromSquare: int(action.From), ToSquare: int(action.To)}, junqi.Ply(action))
		p.plies++
		if p.game.Seats() == 4 && p.dice.IntN(20) == 0 && !p.state.Outcome().Over() {
			p.make(&Row{Kind: kindTurnPassed, Seat: int(p.state.Turn())}, junqi.Pass())
		}
	}
	o := p.state.Outcome()
	p.ended[o.Reason]++
	if !p.f.over || p.f.winners != int(o.Winners) || p.f.reason != int(o.Reason) {
		p.t.Fatalf("ended as %+v, and for the checker over %t, winners %b, reason %d", o, p.f.over, p.f.winners, p.f.reason)
	}
}

// shuffled is a placement with its ranked pieces, which may stand anywhere, in another
// order.
func (p *pair) shuffled(text string) string {
	letters := []byte(text)
	var places []int
	for i, letter := range letters {
		if letter >= '1' && letter <= '9' {
			places = append(places, i)
		}
	}
	p.dice.Shuffle(len(places), func(i, j int) {
		letters[places[i]], letters[places[j]] = letters[places[j]], letters[places[i]]
	})
	return string(letters)
}

// make makes a change on both.
func (p *pair) make(e *Row, c junqi.Change) {
	p.t.Helper()
	d, err := p.game.Play(&p.state, p.ids, c)
	if err != nil {
		p.t.Fatal(err)
	}
	e.Turned = int(d.Turned)
	if d.Turned = 0; d.Disclosure != (junqi.Disclosure{}) {
		e.Detail = detail{}.octets(1, 0, byte(d.Verdict), byte(d.Shown), byte(btoi(d.Flag)), byte(d.Fallen))
		for side := range d.FlagAt {
			if d.Fallen.Has(rules.Seat(side)) {
				e.Detail = append(e.Detail, byte(d.FlagAt[side]))
			}
		}
		e.Detail = append(e.Detail, byte(d.Stuck))
	}
	p.f.event(e)
	if len(p.f.Violations) > 0 {
		p.t.Fatal(p.game.FullText(&p.state, p.ids), p.f.Violations)
	}
}

// compare asks both about every move of the seat to move.
func (p *pair) compare() {
	p.t.Helper()
	for from := range p.f.at {
		for to := range p.f.at {
			if p.f.at[from] == nil {
				continue
			}
			action := rules.Move(rules.Square(from), rules.Square(to))
			illegal := p.game.Check(&p.state, p.ids, p.state.Turn(), action)
			if refusal := p.f.refused(int(p.state.Turn()), from, to); illegal.OK() != (refusal == "") {
				p.t.Fatalf("%s in %s: %q, and for the checker %q", p.game.FormatAction(action, rules.NoPiece), p.game.FullText(&p.state, p.ids), illegal.Rule, refusal)
			}
			p.compared++
		}
	}
}

// choose picks attacks before turns, and turns before other moves, so that games end.
func (p *pair) choose() rules.Action {
	actions := p.game.List(&p.state, p.ids, nil)
	var attacks, flips []rules.Action
	for _, a := range actions {
		switch {
		case a.Kind == rules.ActionFlip:
			flips = append(flips, a)
		case p.state.At(a.To) != rules.NoPiece:
			attacks = append(attacks, a)
		}
	}
	switch {
	case len(attacks) > 0 && p.dice.IntN(4) > 0:
		actions = attacks
	case len(flips) > 0 && p.dice.IntN(4) > 0:
		actions = flips
	}
	return actions[p.dice.IntN(len(actions))]
}
