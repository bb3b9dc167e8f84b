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
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
	refereev1 "referee.example/proto/referee/v1"
)

// flipHouses are rules of the flip form under which what is refused, told or won rests
// on pieces that may still lie face down: on which are left, on which is the lowest, on
// whose they are.
var flipHouses = []func(*refereev1.ArmyChessRules){
	func(*refereev1.ArmyChessRules) {}, // as the house has it: two own turns, flags after mines
	func(r *refereev1.ArmyChessRules) {
		r.Colours, r.Mine, r.WeakerAttacks, r.BombVsFlag = "previous_piece", "refused", "refused", "refused"
	},
	func(r *refereev1.ArmyChessRules) {
		r.Colours, r.Mine, r.LowestClearsMines, r.FlagTaker, r.WeakerAttacks = "first_engineer", "bounce", true, "lowest", "refused"
	},
	func(r *refereev1.ArmyChessRules) {
		r.Colours, r.BombVsFlag, r.FlagTaker, r.HqProtects = "first_piece", "bomb_lost", "engineer", true
	},
}

// flipRulesets are the flip form's rules untimed, with draws to offer, and so that nobody
// may resign before his game has gone on for longer than any here.
func (s *stage) flipRulesets() (out []*refereev1.Ruleset) {
	for _, change := range flipHouses {
		out = append(out, s.h.ruleset(s.r, "junqi-flip", func(r *refereev1.Ruleset) {
			untimed(r)
			r.DrawOffers = &refereev1.DrawOfferRules{Limit: 3}
			r.GetArmyChess().ResignFromPly = 1000
			change(r.GetArmyChess())
		}))
	}
	return out
}

// TestTheFlipFormHides plays the same calls, legal and refused, of both seats, on two
// deals that agree on every stop which the calls turn and may differ on all others.
// Nobody has been shown what lies there, so that all that can be seen has to be the
// same for everybody, byte by byte, but for sealed material: answers, refusals,
// headers, the views of both seats and of spectators and what may be done after every
// ply, watchers' events, the record, the replica's log, the rows of the database.
func TestTheFlipFormHides(t *testing.T) {
	h, other := newHouse(t), newHouse(t)
	ours, theirs := newStage(h), newStage(other)
	for house, ruleset := range ours.flipRulesets() {
		t.Run(fmt.Sprint("house ", house+1), func(t *testing.T) {
			apart, plies, most := 0, 0, 0 // games that did differ, and how far they went
			rapid.Check(t, func(rt *rapid.T) {
				ours.t, theirs.t = rt, rt
				p := newFlipPlan(rt, ruleset)
				two := reshuffle(p.dice, p.dealt, p.turned)
				if !slices.Equal(p.dealt, two) {
					apart, plies, most = apart+1, plies+p.state.Ply(), max(most, p.state.Ply())
				}
				here, game := ours.performFlip(p, p.dealt)
				there, _ := theirs.performFlip(p, two)
				if want := p.state.Ply() + 1; int(game.GetNextPly()) != want {
					rt.Fatalf("the service is at ply %d, the engine at %d", game.GetNextPly(), want)
				}
				sameSeen(rt, here, there)
			})
			t.Logf("%d pairs of games that differed, of %d plies together, %d the most", apart, plies, most)
			if apart == 0 {
				t.Error("no two games differed")
			}
		})
	}
}

// TestTheFlipFormHidesNothingElse is the check of the check: the same comparison finds
// two deals that differ on a stop which was turned.
func TestTheFlipFormHidesNothingElse(t *testing.T) {
	h, other := newHouse(t), newHouse(t)
	ours, theirs := newStage(h), newStage(other)
	ruleset := ours.flipRulesets()[0]
	found := false
	rapid.Check(t, func(rt *rapid.T) {
		ours.t, theirs.t = rt, rt
		if found {
			return // once is enough
		}
		p := newFlipPlan(rt, ruleset)
		two := reshuffle(p.dice, p.dealt, nil) // of the turned ones, too
		here, _ := ours.performFlip(p, p.dealt)
		there, _ := theirs.performFlip(p, two)
		found = !slices.Equal(here, there)
	})
	if !found {
		t.Error("what was turned is not seen: the comparison proves nothing")
	}
}

// flipPlan is a game of the flip form that is to be played twice.
type flipPlan struct {
	engine *junqi.Game
	state  junqi.State
	ids    *junqi.Identities
	dice   *rand.Rand
	dealt  []byte
	turned map[int]bool // places in the deal
	begin  beginning
	calls  []func(game *refereev1.Game) proto.Message
}

// newFlipPlan deals a game, plays it on the engine, and notes the calls; it stops before
// a ply that would end the game, which would open all. Most games are short, some go on
// for long, and all turn seldom, so that much lies face down.
func newFlipPlan(rt *rapid.T, ruleset *refereev1.Ruleset) *flipPlan {
	g := armyEngine(rt, ruleset)
	p := &flipPlan{engine: g, dice: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "dice"), 2)), turned: map[int]bool{},
		begin: beginning{armyCreation(g, ruleset), armyStart(g, "")}}
	deck := g.Deck()
	p.dice.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	p.ids, p.dealt = g.Dealt(deck), codesOf(deck)
	p.state = g.Start(0, p.ids)
	plies := rapid.IntRange(1, 30).Draw(rt, "plies")
	if rapid.IntRange(0, 5).Draw(rt, "deep") == 0 {
		plies *= 5
	}
	for range plies {
		for p.dice.IntN(3) == 0 {
			p.disturb()
		}
		action, next := p.choose(), p.state
		if _, err := g.Play(&next, p.ids, junqi.Ply(action)); err != nil || next.Outcome().Over() {
			break
		}
		if action.Kind == rules.ActionFlip {
			p.turned[g.DealIndex(action.From)] = true
		}
		p.state = next
		p.call(func(game *refereev1.Game) proto.Message { return playing(game, p.wire(action)) })
	}
	return p
}

// call notes a call, under a request id that both games have of it.
func (p *flipPlan) call(request func(game *refereev1.Game) proto.Message) {
	id := newID()
	p.calls = append(p.calls, func(game *refereev1.Game) proto.Message {
		m := request(game).ProtoReflect()
		m.Set(m.Descriptor().Fields().ByName("request_id"), protoreflect.ValueOfString(id))
		return m.Interface()
	})
}

func (p *flipPlan) wire(action rules.Action) *refereev1.Action {
	return (&armyTable{engine: p.engine}).wireAction(action)
}

// choose turns a piece now and then, and otherwise attacks or moves, if it can.
func (p *flipPlan) choose() rules.Action {
	var flips, moves, attacks []rules.Action
	for _, a := range p.engine.List(&p.state, p.ids, nil) {
		switch {
		case a.Kind == rules.ActionFlip:
			flips = append(flips, a)
		case p.state.At(a.To) != rules.NoPiece:
			attacks = append(attacks, a)
		default:
			moves = append(moves, a)
		}
	}
	for _, from := range [][]rules.Action{attacks, moves} {
		if len(from) > 0 && p.dice.IntN(5) > 1 {
			return from[p.dice.IntN(len(from))]
		}
	}
	all := slices.Concat(flips, moves, attacks)
	if len(flips) > 0 {
		all = flips
	}
	return all[p.dice.IntN(len(all))]
}

// disturb notes a call that is no ply: mostly refused, by either seat.
func (p *flipPlan) disturb() {
	seat := uint32(p.dice.IntN(2))
	stop := func() rules.Square { return rules.Square(p.dice.IntN(p.engine.Squares())) }
	switch p.dice.IntN(12) {
	case 0:
		p.call(func(game *refereev1.Game) proto.Message { return offering(game, seat) })
	case 1:
		p.call(func(game *refereev1.Game) proto.Message { return answering(game, seat, false) })
	case 2:
		p.call(func(game *refereev1.Game) proto.Message { return resigning(game, seat) })
	case 3:
		p.call(func(game *refereev1.Game) proto.Message {
			return placing(game, seat, "98776/6.5.5/44.33/3.2.2/2MM11/MF1BB")
		})
	case 4:
		action := p.choose()
		p.call(func(game *refereev1.Game) proto.Message {
			request := playing(game, p.wire(action))
			request.ExpectedPly--
			return request
		})
	default:
		action := rules.Move(stop(), stop())
		if p.dice.IntN(4) == 0 {
			action = rules.Flip(stop())
		} else if p.dice.IntN(2) == 0 { // from where a piece stands to where one stands
			action.From, action.To = p.occupied(action.From), p.occupied(action.To)
		}
		if p.engine.Check(&p.state, p.ids, rules.Seat(seat), action).OK() {
			return
		}
		p.call(func(game *refereev1.Game) proto.Message {
			request := playing(game, p.wire(action))
			request.Seat = &seat
			return request
		})
	}
}

// occupied is the next stop from one on where a face-up piece stands; that one if there
// is none.
func (p *flipPlan) occupied(from rules.Square) rules.Square {
	for i := range p.engine.Squares() {
		stop := rules.Square((int(from) + i) % p.engine.Squares())
		if piece := p.state.At(stop); piece != rules.NoPiece && piece != junqi.FaceDown {
			return stop
		}
	}
	return from
}

// performFlip plays the plan on a deal and returns all that anybody can see, and the
// game as it then stands.
func (s *stage) performFlip(p *flipPlan, dealt []byte) (sights []sight, game *refereev1.Game) {
	game = s.begin(dealt, p.begin)
	id := game.GetMatchId()
	s.log.take()
	see := func(what string, seen any) { sights = append(sights, sight{what, mask(s.t, id, seen)}) }
	for i, request := range p.calls {
		var header, trailer metadata.MD
		message := request(game)
		method, answer := methodOf(message)
		err := s.r.conn.Invoke(s.named(fmt.Sprintf("call-%d", i)), method, message, answer, grpc.Header(&header), grpc.Trailer(&trailer))
		what := fmt.Sprintf("call %d", i+1)
		see("header and trailer of "+what, fmt.Sprint(header, trailer))
		see("answer of "+what, answer)
		see("refusal of "+what, status.Convert(err).Proto())
		for _, detail := range status.Convert(err).Details() {
			see("detail of the refusal of "+what, detail)
		}
		if err != nil {
			continue
		}
		game = answer.(interface{ GetChange() *refereev1.Change }).GetChange().GetGame()
		s.look(id, what, see)
	}
	for _, viewer := range viewers() {
		s.watch(id, viewer, see)
	}
	see("log", s.logLines())
	s.rows(id, see)
	return sights, game
}
