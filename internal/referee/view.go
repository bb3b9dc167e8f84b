package referee

import (
	"context"
	"fmt"
	"sync"

	"referee.example/internal/deal"
	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
	"referee.example/internal/rules/junqi"
)

// Board returns the board of a started game of dark chess as a viewer may see it.
func (s *State) Board(viewer rules.Seat) banqi.View {
	return s.Rules.family.(*darkChess).View(&s.Game.Position.dark, viewer)
}

// BoardText returns the whole state of the board as text.
func (s *State) BoardText() string { return s.Rules.family.text(&s.Game.Position) }

// LegalActions lists what the seat to move may do; none outside play, and none
// where seats have secrets of their own: Referee.LegalActions opens those.
func (s *State) LegalActions() []rules.Action {
	if s.Game.Status != GamePlaying || s.Rules.family.conceals() {
		return nil
	}
	return s.Rules.family.list(&s.Game.Position, hidden{})
}

// WouldBe tells what a legal action would be, and the piece that it would capture,
// if that is face up, or attack, as everybody sees it.
func (s *State) WouldBe(a rules.Action) (what string, target rules.Piece) {
	p := &s.Game.Position
	if p.army != nil {
		if a.Kind == rules.ActionMove {
			target = p.army.At(a.To)
		}
		return whatOf(p.army, junqi.Ply(a)), target
	}
	if a.Kind == rules.ActionMove && p.dark.At(a.To) != banqi.FaceDown {
		target = p.dark.At(a.To)
	}
	return s.Rules.family.(*darkChess).Manner(&p.dark, a).String(), target
}

// Arrangement returns what lay on each square at the start of the present
// game, once its seed has been revealed; nil before and for a game that was
// never started.
func (r *Referee) Arrangement(s *State) []byte {
	g := &s.Game
	if g.Status != GameEnded || g.Started == 0 {
		return nil
	}
	return r.deal(s.material(g.ServerSeed), s.Rules.family.deck())
}

// Prover opens the commitments to squares that a game's plies have turned. It is
// safe for concurrent use.
type Prover struct {
	tree   deal.Tree
	family family
}

// Prover returns the present game's; the game must have been started. Open it
// only for squares that have been turned.
func (r *Referee) Prover(s *State) (*Prover, error) {
	deck := s.Rules.family.deck()
	if deck == nil {
		return nil, fmt.Errorf("game %d of match %s: %w: nothing was dealt", s.Game.Number, s.ID, errReplay)
	}
	key := GameKey{Match: s.ID, Game: s.Game.Number}
	if known := r.provers.get(key); known != nil {
		return known, nil
	}
	seed := deal.Seed(s.Game.ServerSeed)
	if s.Game.Status != GameEnded {
		var err error
		if seed, err = OpenSeed(r.keys, s.Context(), s.Game.Sealed); err != nil {
			return nil, err
		}
	}
	material := s.material(seed)
	prover := &Prover{tree: material.Tree(r.deal(material, deck)), family: s.Rules.family}
	r.provers.put(key, prover)
	return prover, nil
}

// ProverOf is Prover for a game of the match, the present one or an earlier one, whose
// seeds are in the state after its start: that is replayed if this replica has not
// proved anything of the game yet.
func (r *Referee) ProverOf(ctx context.Context, s *State, game int) (*Prover, error) {
	if known := r.provers.get(GameKey{Match: s.ID, Game: game}); known != nil {
		return known, nil
	}
	if s.Game.Number != game {
		var err error
		if s, _, err = r.GameAtPly(ctx, s, game, 0); err != nil {
			return nil, err
		}
	}
	return r.Prover(s)
}

// proversLimit bounds the provers that a replica keeps, each of some 4 KiB.
const proversLimit = 4096

// provers keeps those of the games that pieces were turned in last: building one
// costs more than all else that a move does here, and a game, once started, has
// the same for ever. Losing them costs time only, so that when there are too many
// all go.
type provers struct {
	mu     sync.Mutex
	byGame map[GameKey]*Prover
}

func (p *provers) get(key GameKey) *Prover {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byGame[key]
}

func (p *provers) put(key GameKey, prover *Prover) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byGame == nil || len(p.byGame) >= proversLimit {
		p.byGame = map[GameKey]*Prover{}
	}
	p.byGame[key] = prover
}

// Open proves the piece that a ply turned.
func (p *Prover) Open(e *Event) deal.Opening { return p.tree.Open(p.family.dealt(e.turnedSquare())) }

// Judgement is the verdict on an action outside any match.
type Judgement struct {
	Illegal     rules.Illegal
	Description string // of the refusal
	Manner      banqi.Manner
	Effect      banqi.Effect
	Next        string   // the state after it, as text
	NextWords   []string // who is to move and what is legal, or how the game ended
	NextSide    string
	Notation    string
}

// Judge judges an action in a position given as text. A state or a turned
// piece that can't be is an InvalidField refusal.
func Judge(r *Rules, text string, seat rules.Seat, a rules.Action, turned rules.Piece) (Judgement, error) {
	game, ok := r.family.(*darkChess)
	if !ok {
		return Judgement{}, InvalidField("rules", "must be of dark chess")
	}
	position, err := game.ParseState(text)
	if err != nil {
		return Judgement{}, InvalidField("state", "%s", err)
	}
	if seat == rules.NoSeat {
		seat = position.Turn()
	}
	if seat < 0 || int(seat) >= r.Seats() {
		return Judgement{}, InvalidField("seat", "must be from 0 to %d", r.Seats()-1)
	}
	if illegal := game.Check(&position, seat, a); !illegal.OK() {
		return Judgement{Illegal: illegal, Description: game.Describe(illegal)}, nil
	}
	j := Judgement{Manner: game.Manner(&position, a), Notation: banqi.FormatAction(a, turned)}
	if j.Effect, err = game.Apply(&position, a, turned); err != nil {
		return Judgement{}, InvalidField("turned", "%s", err)
	}
	j.Next = game.Text(&position)
	j.NextWords = game.Words(&position)
	j.NextSide = position.Colour(position.Turn()).String()
	return j, nil
}
