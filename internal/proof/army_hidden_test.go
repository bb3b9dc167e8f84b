package proof

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
	refereev1 "referee.example/proto/referee/v1"
)

// TestArmyChessHides plays the same calls on two games of army chess that differ
// only in what a viewer, a seat or a spectator, has not been shown, and in which the
// same becomes public. All that the viewer can see must be the same, byte by byte,
// but for sealed material: answers, refusals, views, events, what may be done, the
// record, the replica's log, the rows of the database. Both dark forms are played,
// and the four players' also with partners who see each other's pieces; the flip
// form, in which nobody knows more than others, has a test of its own.
func TestArmyChessHides(t *testing.T) {
	h, other := newHouse(t), newHouse(t)
	ours, theirs := newStage(h), newStage(other)
	for _, form := range []struct {
		name, preset, visibility string
	}{{"dark", "junqi-dark", ""}, {"four", "siguo", ""}, {"partners", "siguo", "partner"}} {
		t.Run(form.name, func(t *testing.T) {
			ruleset := h.ruleset(ours.r, form.preset, func(r *refereev1.Ruleset) {
				untimed(r)
				if form.visibility != "" {
					r.GetArmyChess().Visibility = form.visibility
				}
			})
			apart := 0 // games that did differ
			rapid.Check(t, func(rt *rapid.T) {
				ours.t, theirs.t = rt, rt
				p := newArmyPlan(rt, ruleset)
				one, two := p.games(rt)
				if !slices.Equal(one, two) {
					apart++
				}
				p.compare(rt, ours.performArmy(p, one), theirs.performArmy(p, two))
			})
			if apart == 0 {
				t.Error("no two games differed")
			}
		})
	}
}

// compare wants the same to be seen of two games.
func (p *armyPlan) compare(rt *rapid.T, here, there []sight) {
	rt.Helper()
	for i := range min(len(here), len(there)) {
		if here[i] != there[i] {
			a, b := whereApart(here[i].seen, there[i].seen)
			rt.Fatalf("viewer %d, %s:\n%s\nand with other pieces:\n%s", p.viewer, here[i].what, a, b)
		}
	}
	if len(here) != len(there) {
		rt.Fatalf("viewer %d: %d things can be seen, and %d with other pieces", p.viewer, len(here), len(there))
	}
}

// armyPlan is a game of army chess that is to be played twice.
type armyPlan struct {
	engine  *junqi.Game
	ruleset *refereev1.Ruleset
	viewer  rules.Seat // NoSeat for a spectator
	create  *refereev1.CreateMatchRequest
	start   *refereev1.StartGameRequest
	ids     []string // of the requests, in their order
	steps   []armyStep
}

// armyStep is a call: an action of the seat to move, or what the viewer tries
// though it is refused.
type armyStep struct {
	seat   rules.Seat
	action rules.Action
	tried  bool
}

func newArmyPlan(rt *rapid.T, ruleset *refereev1.Ruleset) *armyPlan {
	g := armyEngine(rt, ruleset)
	return &armyPlan{
		engine: g, ruleset: ruleset, viewer: rules.Seat(rapid.IntRange(-1, g.Seats()-1).Draw(rt, "viewer")),
		create: armyCreation(g, ruleset), start: armyStart(g, ""),
	}
}

// games lays out a game, plays it on the engine, and finds another that differs
// from it in what the viewer has not been shown and plays on alike.
func (p *armyPlan) games(rt *rapid.T) (one, two []string) {
	dice := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "dice"), 1))
	a := &armyTable{t: rt, dice: dice, engine: p.engine, fierce: 2 + dice.IntN(6), ids: new(junqi.Identities)}
	for range p.engine.Seats() {
		a.placements = append(a.placements, randomPlacement(dice))
	}
	a.begin()
	p.play(a, rapid.IntRange(5, 40).Draw(rt, "plies"))
	for range len(p.steps) + p.engine.Seats() {
		p.ids = append(p.ids, newID())
	}
	return textsOf(a.placements), textsOf(p.twin(dice, a.placements))
}

func codesOf(deck []rules.Piece) (codes []byte) {
	for _, piece := range deck {
		codes = append(codes, byte(piece))
	}
	return codes
}

func textsOf(placements []junqi.Placement) (texts []string) {
	for _, placement := range placements {
		texts = append(texts, placement.String())
	}
	return texts
}

// play plays on the engine and notes the calls; it stops before a ply that would
// end the game, which would open all.
func (p *armyPlan) play(a *armyTable, plies int) {
	for range plies {
		if p.viewer != rules.NoSeat && a.dice.IntN(4) == 0 {
			p.try(a)
		}
		action, next := a.choose(), a.state
		seat := a.state.Turn()
		if _, err := p.engine.Play(&next, a.ids, junqi.Ply(action)); err != nil || next.Outcome().Over() {
			break
		}
		p.steps = append(p.steps, armyStep{seat: seat, action: action})
		a.state = next
	}
}

// try notes an action of the viewer's that is refused, whoever is to move.
func (p *armyPlan) try(a *armyTable) {
	stop := func() rules.Square { return rules.Square(a.dice.IntN(p.engine.Squares())) }
	action := rules.Move(stop(), stop())
	if a.dice.IntN(5) == 0 {
		action = rules.Flip(stop())
	}
	if !p.engine.Check(&a.state, a.ids, p.viewer, action).OK() {
		p.steps = append(p.steps, armyStep{seat: p.viewer, action: action, tried: true})
	}
}

// twin swaps pieces of those whom the viewer may not see, as long as the same calls
// have the same effects.
func (p *armyPlan) twin(dice *rand.Rand, placements []junqi.Placement) []junqi.Placement {
	secret := func(seat int) bool {
		partner := p.ruleset.GetArmyChess().GetVisibility() == "partner" && p.viewer != rules.NoSeat && seat%2 == int(p.viewer)%2
		return seat != int(p.viewer) && !partner
	}
	two := slices.Clone(placements)
	for range 60 {
		seat := dice.IntN(len(two))
		i, j := dice.IntN(len(two[seat])), dice.IntN(len(two[seat]))
		if !secret(seat) || two[seat][i] == two[seat][j] {
			continue
		}
		before := two[seat]
		two[seat][i], two[seat][j] = before[j], before[i]
		if !p.alike(placements, two, rules.Seat(seat)) {
			two[seat] = before
		}
	}
	return two
}

// alike reports whether a seat may place so, and the same calls then tell the same.
func (p *armyPlan) alike(one, two []junqi.Placement, seat rules.Seat) bool {
	if !p.engine.CheckPlacement(seat, &two[seat]).OK() {
		return false
	}
	a, b := p.engine.Identities(one), p.engine.Identities(two)
	s, t := p.engine.Start(0, a), p.engine.Start(0, b)
	for _, step := range p.steps {
		if step.tried {
			continue // the viewer's own pieces are the same
		}
		first, err := p.engine.Play(&s, a, junqi.Ply(step.action))
		second, other := p.engine.Play(&t, b, junqi.Ply(step.action))
		if err != nil || other != nil || first != second {
			return false
		}
	}
	return s == t
}

// reshuffle deals the pieces that were not turned anew among themselves.
func reshuffle(dice *rand.Rand, dealt []byte, turned map[int]bool) []byte {
	var places []int
	for place := range dealt {
		if !turned[place] {
			places = append(places, place)
		}
	}
	two := slices.Clone(dealt)
	for i, from := range dice.Perm(len(places)) {
		two[places[i]] = dealt[places[from]]
	}
	return two
}

// viewerSeat is the plan's viewer as requests have it.
func (p *armyPlan) viewerSeat() *uint32 {
	if p.viewer == rules.NoSeat {
		return nil
	}
	seat := uint32(p.viewer)
	return &seat
}

// performArmy plays the plan with some placements and returns all that its viewer
// can see.
func (s *stage) performArmy(p *armyPlan, placements []string) (sights []sight) {
	created, err := s.r.match.CreateMatch(s.h.as("east"), proto.CloneOf(p.create))
	must(s.t, err)
	id := created.GetChange().GetMatch().GetMatchId()
	start := proto.CloneOf(p.start)
	start.MatchId = id
	started, err := s.r.match.StartGame(s.h.as("east"), start)
	must(s.t, err)
	game := started.GetChange().GetGame()
	s.log.take()
	see := func(what string, seen any) { sights = append(sights, sight{what, mask(s.t, id, seen)}) }
	names := &armyTable{engine: p.engine}
	for i, placement := range placements {
		request := placing(game, uint32(i), placement)
		request.RequestId = p.ids[i]
		game = s.callArmy(p, i, rules.Seat(i), request, game, see)
		s.lookArmy(p, id, fmt.Sprintf("placement %d", i), see)
	}
	for i, step := range p.steps {
		request := playing(game, names.wireAction(step.action))
		seat := uint32(step.seat)
		request.RequestId, request.Seat = p.ids[len(placements)+i], &seat
		game = s.callArmy(p, len(placements)+i, step.seat, request, game, see)
		if !step.tried {
			s.lookArmy(p, id, fmt.Sprintf("call %d", i), see)
		}
	}
	match, err := s.r.match.GetMatch(s.named("match"), &refereev1.GetMatchRequest{MatchId: id})
	must(s.t, err)
	see("match", match)
	s.watch(id, p.viewerSeat(), see)
	see("log", s.logLines())
	s.rows(id, see)
	return sights
}

// callArmy makes a call. What it is answered the viewer sees where it is the
// viewer's own call; of others' it sees the events.
func (s *stage) callArmy(p *armyPlan, i int, seat rules.Seat, request proto.Message, game *refereev1.Game, see func(string, any)) *refereev1.Game {
	var header, trailer metadata.MD
	var method string
	var answer interface {
		proto.Message
		GetChange() *refereev1.Change
	}
	switch request.(type) {
	case *refereev1.SubmitPlacementRequest:
		method, answer = refereev1.MatchService_SubmitPlacement_FullMethodName, &refereev1.SubmitPlacementResponse{}
	default:
		method, answer = refereev1.MatchService_PlayAction_FullMethodName, &refereev1.PlayActionResponse{}
	}
	err := s.r.conn.Invoke(s.named(fmt.Sprintf("call-%d", i)), method, request, answer, grpc.Header(&header), grpc.Trailer(&trailer))
	what := fmt.Sprintf("call %d, of seat %d", i, seat)
	see("header and trailer of "+what, fmt.Sprint(header, trailer))
	see("refusal of "+what, status.Convert(err).Proto())
	for _, detail := range status.Convert(err).Details() {
		see("detail of the refusal of "+what, detail)
	}
	if seat == p.viewer {
		see("answer of "+what, answer)
	}
	if err != nil {
		return game
	}
	for _, event := range answer.GetChange().GetEvents() {
		see("event of "+what, event)
	}
	return answer.GetChange().GetGame()
}

// lookArmy sees the game as the viewer does, and what the viewer may do.
func (s *stage) lookArmy(p *armyPlan, id, after string, see func(string, any)) {
	got, err := s.r.match.GetGame(s.named("look"), &refereev1.GetGameRequest{MatchId: id, ViewerSeat: p.viewerSeat()})
	must(s.t, err)
	see("view after "+after, got)
	listed, err := s.r.match.ListLegalActions(s.named("list"), &refereev1.ListLegalActionsRequest{MatchId: id, ViewerSeat: p.viewerSeat()})
	see("legal actions after "+after, listed)
	see("refusal to list after "+after, status.Convert(err).Proto())
}

// TestArmyChessHidesFromOthers is the check of the check: the same comparison, made
// for a viewer to whom the pieces that differ belong, finds them.
func TestArmyChessHidesFromOthers(t *testing.T) {
	h, other := newHouse(t), newHouse(t)
	ours, theirs := newStage(h), newStage(other)
	found := false
	rapid.Check(t, func(rt *rapid.T) {
		ours.t, theirs.t = rt, rt
		if found {
			return // once is enough
		}
		p := newArmyPlan(rt, h.ruleset(ours.r, "junqi-dark", untimed))
		p.viewer = 0
		one, two := p.games(rt)
		p.viewer = 1 // whose pieces were swapped
		here, there := ours.performArmy(p, one), theirs.performArmy(p, two)
		found = found || !slices.Equal(one, two) && !slices.Equal(here, there)
	})
	if !found {
		t.Error("a seat does not see its own pieces: the comparison proves nothing")
	}
}
