package banqi

import (
	"errors"

	"referee.example/internal/rules"
)

// Manner is what an action is in its position.
type Manner uint8

// The manners of an action.
const (
	MannerNone     Manner = iota
	MannerFlip            // turns a face-down piece
	MannerStep            // moves to a neighbouring empty square
	MannerSlide           // moves along a clear line
	MannerCapture         // takes a neighbour by the capture matrix
	MannerDiagonal        // takes a neighbour by the horse's diagonal
	MannerJump            // a cannon takes over its screen
	MannerRush            // a chariot takes at a distance
	MannerStop            // ends a chain
)

// String returns the manner's name, such as "capture".
func (m Manner) String() string {
	return [...]string{"none", "flip", "step", "slide", "capture", "diagonal", "jump", "rush", "stop"}[min(m, MannerStop)]
}

// Effect is what an applied action did.
type Effect struct {
	Seat   rules.Seat // who acted
	Manner Manner
	Mover  rules.Piece // the piece that moved or took; NoPiece for a flip and a stop
	// Turned is the piece that was turned, by a flip or as a dark target.
	Turned rules.Piece
	// Captured is the piece that left the board, of either side: a failed
	// attacker may be lost. CapturedBy is the seat whose capture it is.
	Captured   rules.Piece
	CapturedBy rules.Seat
	// Failed says that a dark target turned out not to be takeable.
	Failed    bool
	TurnEnded bool
	Foul      Foul
	// Merit says that a player's last soldier took the enemy general (小兵立大功).
	Merit   bool
	Outcome rules.Outcome
}

// Foul is a technical foul that an action booked; Number 0 is none.
type Foul struct {
	Number     int // the seat's how manieth
	Disputable bool
}

// IllegalError is what Apply answers for an action that Check refuses.
type IllegalError struct{ rules.Illegal }

// Error returns the rule's name; Game.Describe has the sentence.
func (e *IllegalError) Error() string { return "illegal action: " + string(e.Rule) }

// What Apply answers about the identity it was given. The texts tell nothing of
// that identity.
var (
	ErrTurnedMissing    = errors.New("the action turns a piece whose identity was not given")
	ErrTurnedUnexpected = errors.New("the action turns no piece, but an identity was given")
	ErrTurnedImpossible = errors.New("no such piece can still be face down")
)

// Manner returns what a would be in s, where a is legal for the seat to move.
func (g *Game) Manner(s *State, a rules.Action) Manner {
	switch a.Kind {
	case rules.ActionFlip:
		return MannerFlip
	case rules.ActionStop:
		return MannerStop
	case rules.ActionMove:
		return g.moveManner(&s.board, a.From&31, a.To)
	}
	return MannerNone
}

func (g *Game) moveManner(b *board, from, to rules.Square) Manner {
	r := &g.reach[b.at[from]&rankMask]
	switch empty := b.at[to&31] == rules.NoPiece; {
	case empty && has(r.step[from], to):
		return MannerStep
	case empty:
		return MannerSlide
	case has(r.touch[from], to) && r.touch == &diagonal, has(r.leap[from], to):
		return MannerDiagonal
	case has(r.touch[from], to):
		return MannerCapture
	case r.jump:
		return MannerJump
	}
	return MannerRush
}

// takes returns the ranks that a rank takes in a manner.
func (r *reach) takes(m Manner) ranks {
	switch m {
	case MannerCapture:
		return r.touchTakes
	case MannerDiagonal:
		return r.leapTakes | r.touchTakes
	}
	return r.lineTakes
}

// Apply plays a for the seat to move. Where a turns a face-down piece
// (TurnsFace), turned is its identity, else NoPiece. On an error s is
// unchanged: *IllegalError, ErrTurnedMissing, ErrTurnedUnexpected or
// ErrTurnedImpossible.
func (g *Game) Apply(s *State, a rules.Action, turned rules.Piece) (Effect, error) {
	if i := g.Check(s, s.turn, a); !i.OK() {
		return Effect{}, &IllegalError{i}
	}
	if err := g.checkTurned(s, a, turned); err != nil {
		return Effect{}, err
	}
	return g.apply(s, a, turned, false), nil
}

func (g *Game) checkTurned(s *State, a rules.Action, turned rules.Piece) error {
	switch turns := g.TurnsFace(s, a); {
	case !turns && turned != rules.NoPiece:
		return ErrTurnedUnexpected
	case !turns:
		return nil
	case !known(turned):
		return ErrTurnedMissing
	case s.unseen(turned) <= 0:
		return ErrTurnedImpossible
	}
	return nil
}

// apply plays a legal action. A probe asks only what would follow: it books
// fouls as undisputed, which needs no probe of its own.
func (g *Game) apply(s *State, a rules.Action, turned rules.Piece, probe bool) Effect {
	e := Effect{Seat: s.turn, Manner: g.Manner(s, a), CapturedBy: rules.NoSeat}
	switch e.Manner {
	case MannerFlip:
		e.Turned = turned
		s.flip(a.From, turned)
		g.breakQuiet(s)
	case MannerStop:
		s.chain = rules.NoSquare
		g.noteStop(s)
	case MannerStep, MannerSlide:
		e.Mover = s.board.at[a.From&31]
		g.judgeChase(s, a, &e, probe)
		g.quietMove(s, a, e.Mover)
	default:
		e.Mover = s.board.at[a.From&31]
		g.attack(s, a, turned, &e)
		g.breakQuiet(s)
	}
	s.ply++
	if s.chain == rules.NoSquare {
		g.endTurn(s, &e)
	}
	g.settle(s, e.Captured)
	e.Outcome = s.outcome
	return e
}

// endTurn passes the turn. A pause lasts for one turn of the chaser; one that
// this turn earned begins with the next.
func (g *Game) endTurn(s *State, e *Effect) {
	e.TurnEnded = true
	seat := s.turn & 1
	s.turns[seat]++
	s.rests[seat] = noRest
	if c := &s.chases[seat]; g.chaseFull(s, seat) && g.chase.Sanction == "pause" {
		s.rests[seat] = rest{c.by, c.on}
		if c.on == rules.NoSquare {
			s.rests[seat].target = first(c.targets)
		}
	}
	s.turn = 1 - seat
}

// flip turns the piece on a square; the first flip of a game assigns colours.
func (s *State) flip(square rules.Square, p rules.Piece) {
	s.board.set(square, p)
	if s.red != rules.NoSeat {
		return
	}
	if s.red = s.turn; colourOf(p) == Black {
		s.red = 1 - s.turn
	}
}

// breakQuiet ends all that lives on quiet plies only, after a flip or a capture.
func (g *Game) breakQuiet(s *State) {
	if !g.cumulative {
		s.idle = 0
	}
	s.history.clear()
	s.endChases()
}

// judgeChase books a foul for a quiet move that prolongs a chase beyond its
// limit, before it is played.
func (g *Game) judgeChase(s *State, a rules.Action, e *Effect, probe bool) {
	if !g.chaseFull(s, s.turn) || g.chase.Sanction != "foul" || !g.prolongs(s, s.turn, a) {
		return
	}
	disputable := !probe && g.chase.ForcedDeathExempt && g.forced(s, a)
	e.Foul = s.bookFoul(s.turn, disputable)
}

// quietMove plays a step or a slide.
func (g *Game) quietMove(s *State, a rules.Action, mover rules.Piece) {
	s.board.move(a.From, a.To)
	exempt := g.noteMove(s, s.turn, a.From, a.To)
	if g.repetition.Kind != "" {
		s.history.move(mover, a.From, a.To, exempt && g.repetition.ChaseExempt, g.keep())
	}
	g.countQuiet(s)
}

// noteStop counts the end of a chain, a quiet ply that moves nothing.
func (g *Game) noteStop(s *State) {
	if g.repetition.Kind != "" {
		s.history.stop(g.keep())
	}
	g.countQuiet(s)
}

// keep returns how many plies of history the repetition rule looks back on, 0 for all.
func (g *Game) keep() int {
	if g.repetition.Kind == "cycle" {
		return g.repetition.Times * longestCycle
	}
	return 0
}

// attack plays a capture of any manner, onto a face-up or a face-down piece.
func (g *Game) attack(s *State, a rules.Action, turned rules.Piece, e *Effect) {
	target := s.board.at[a.To]
	resting := &s.rests[(1-s.turn)&1]
	s.chain = rules.NoSquare
	if target == FaceDown {
		target, e.Turned = turned, turned
		enemy := colourOf(turned) != colourOf(e.Mover)
		if takes := g.reach[e.Mover&rankMask].takes(e.Manner); !enemy || takes&(1<<(turned&rankMask)) == 0 {
			e.Failed = true
			s.board.set(a.To, turned)
			if enemy && g.attackerLost {
				s.board.set(a.From, rules.NoPiece)
				s.capture(e, e.Mover, 1-s.turn)
				resting.followed(a.From, rules.NoSquare)
			}
			return
		}
	}
	e.Merit = g.feats && s.isMerit(e.Mover, target)
	s.board.move(a.From, a.To)
	s.capture(e, target, s.turn)
	resting.followed(a.From, a.To)
	if resting.piece == a.To {
		*resting = noRest
	}
	if g.chain {
		if _, more := g.targets(&s.board, a.To); more != 0 {
			s.chain = a.To
			s.rests[s.turn&1] = noRest // binds the first action of a turn only; piece or prey may be gone
		}
	}
}

// capture books a piece as captured by a seat.
func (s *State) capture(e *Effect, p rules.Piece, by rules.Seat) {
	s.captured[p&15]++
	e.Captured, e.CapturedBy = p, by
}

// isMerit reports whether mover is its side's last soldier and target the general.
func (s *State) isMerit(mover, target rules.Piece) bool {
	return mover&rankMask == soldier && target&rankMask == general && s.piecesOf(mover) == 1
}
