package junqi

import (
	"errors"

	"referee.example/internal/rules"
)

// ChangeKind is the kind of one change of a game. The numbers are stored: never
// renumber.
type ChangeKind uint8

// The kinds of change.
const (
	ChangeNone   ChangeKind = iota
	ChangePly               // the seat to move plays an action
	ChangePass              // the turn of the seat to move passes, for it expired
	ChangePutOut            // a seat is out: it resigned, its time is up, or its attempt was illegal
	ChangeLeave             // a player left the game
)

// Change is one thing that happens to a game.
type Change struct {
	Kind   ChangeKind
	Action rules.Action    // of a ply
	Seat   rules.Seat      // who is put out or left
	Reason rules.EndReason // why a seat is put out
}

// Ply returns the change that the seat to move plays a.
func Ply(a rules.Action) Change { return Change{Kind: ChangePly, Action: a} }

// Pass returns the change that the turn of the seat to move passes.
func Pass() Change { return Change{Kind: ChangePass} }

// PutOut returns the change that a seat is out for a reason.
func PutOut(seat rules.Seat, reason rules.EndReason) Change {
	return Change{Kind: ChangePutOut, Seat: seat, Reason: reason}
}

// Leave returns the change that a seat's player left the game (Rules.Leaver).
func Leave(seat rules.Seat) Change {
	return Change{Kind: ChangeLeave, Seat: seat, Reason: rules.EndDisconnection}
}

// Disclosure is all that the identities contribute to a game by one change. All
// of it is public; with it the change replays without any identity.
type Disclosure struct {
	Verdict Verdict
	Turned  rules.Piece // the piece that a flip turned
	Shown   rules.Piece // the defender that an engineer scouted
	Flag    bool        // the defender was a flag, and is lost, or carried from now on
	// Fallen are the sides that lost their marshal by it, as far as that reveals
	// anything, and FlagAt is where such a side's flag stands.
	Fallen rules.SeatSet
	FlagAt [rules.MaxSeats]rules.Square
	// Stuck are the seats without a legal move: those put out for it, in turn
	// order from the seat that was to move next, or all that were still in.
	Stuck rules.SeatSet
}

// Effect is what an applied change did. All of it is public, the same for every
// viewer.
type Effect struct {
	Disclosure
	Seat    rules.Seat    // who acted, passed, was put out or left
	Passed  bool          // the turn passed without a ply
	Out     rules.SeatSet // who is out because of it
	Settled bool          // it settled who plays which side
	Carrier rules.Square  // where the piece now stands that took a flag to carry it, else NoSquare
	Outcome rules.Outcome
}

// IllegalError is what Play, Judge and Apply answer for a change that the rules
// refuse.
type IllegalError struct{ rules.Illegal }

// Error returns the rule's name; Game.Describe has the sentence.
func (e *IllegalError) Error() string { return "illegal: " + string(e.Rule) }

// What Play, Judge and Apply answer about the identities or the disclosure that
// they were given. The texts tell nothing of an identity.
var (
	ErrIdentityMissing    = errors.New("the identity of a piece that decides was not given")
	ErrIdentityImpossible = errors.New("no such piece can still be face down")
	ErrDisclosure         = errors.New("the disclosure does not fit the change")
	ErrChange             = errors.New("no such change of this game")
)

// Play makes a change, judging it by the identities. On an error s is unchanged:
// *IllegalError, ErrChange, ErrIdentityMissing or ErrIdentityImpossible.
func (g *Game) Play(s *State, ids *Identities, c Change) (Effect, error) {
	if err := g.checkChange(s, ids, c); err != nil {
		return Effect{}, err
	}
	d, err := g.find(s, ids, c)
	if err != nil {
		return Effect{}, err
	}
	before := *s
	e := g.make(s, c, d)
	if !s.outcome.Over() {
		if e.Stuck, err = g.stuck(s, ids); err != nil {
			*s = before
			return Effect{}, err
		}
	}
	g.conclude(s, c, &e)
	return e, nil
}

// Judge returns what a change would make public. The errors are those of Play.
func (g *Game) Judge(s *State, ids *Identities, c Change) (Disclosure, error) {
	next := *s
	e, err := g.Play(&next, ids, c)
	return e.Disclosure, err
}

// Apply makes a change that has been judged before: all that needs an identity is
// taken from the disclosure. On an error s is unchanged: *IllegalError, ErrChange
// or ErrDisclosure.
func (g *Game) Apply(s *State, c Change, d Disclosure) (Effect, error) {
	if err := g.checkPublic(s, c, d); err != nil {
		return Effect{}, err
	}
	next := *s
	e := g.make(&next, c, d)
	if (d.Shown != rules.NoPiece || d.Fallen != 0) && g.overdealt(&next) || !g.stuckFits(&next, d.Stuck) {
		return Effect{}, ErrDisclosure
	}
	e.Stuck = d.Stuck
	g.conclude(&next, c, &e)
	*s = next
	return e, nil
}

// checkChange judges a change with the identities at hand.
func (g *Game) checkChange(s *State, ids *Identities, c Change) error {
	var i rules.Illegal
	switch c.Kind {
	case ChangePly:
		if p := s.identity(ids, min(c.Action.From, maxStops)); c.Action.Kind == rules.ActionMove && isHidden(p) && SideOf(p) == g.Side(s, s.turn) {
			return ErrIdentityMissing
		}
		i = g.Check(s, ids, s.turn, c.Action)
	case ChangePass:
		if s.outcome.Over() {
			i = s.illegal(RuleGameOver)
		} else if !g.ExpiredTurnPasses() {
			return ErrChange
		}
	case ChangePutOut, ChangeLeave:
		return g.checkOut(s, c)
	default:
		return ErrChange
	}
	if !i.OK() {
		return &IllegalError{i}
	}
	return nil
}

// checkOut judges whether a seat may be put out, or leave.
func (g *Game) checkOut(s *State, c Change) error {
	switch {
	case s.outcome.Over():
		return &IllegalError{s.illegal(RuleGameOver)}
	case !g.in(s).Has(c.Seat):
		return &IllegalError{s.illegal(RuleOut)}
	case c == Leave(c.Seat), c == PutOut(c.Seat, rules.EndTime), c == PutOut(c.Seat, rules.EndDisconnection):
		return nil
	case c == PutOut(c.Seat, rules.EndResignation):
		if i := g.CheckResign(s, c.Seat); !i.OK() {
			return &IllegalError{i}
		}
		return nil
	case c == PutOut(s.turn, rules.EndIllegalAction) && g.rules.IllegalMoves == "lose":
		return nil
	}
	return ErrChange
}

// find returns what the identities have to say about a legal change, apart from
// who is stuck after it.
func (g *Game) find(s *State, ids *Identities, c Change) (d Disclosure, err error) {
	if c.Kind != ChangePly {
		return d, nil
	}
	a := c.Action
	if a.Kind == rules.ActionFlip {
		return g.findTurned(s, ids, a.From)
	}
	if s.at[a.To] == rules.NoPiece {
		return d, nil
	}
	attacker, defender := s.identity(ids, a.From), s.identity(ids, a.To)
	if !known(attacker) || !known(defender) {
		return d, ErrIdentityMissing
	}
	e := g.encounter(s, ids, a.From, a.To)
	d.Verdict, d.Flag = e.verdict, e.flag
	if g.rules.EngineerScouts && RankOf(attacker) == Engineer && d.Verdict == DefenderWon {
		d.Shown = defender
	}
	if RankOf(attacker) == Marshal && (d.Verdict == DefenderWon || d.Verdict == BothGone) {
		g.revealFlag(s, ids, SideOf(attacker), &d)
	}
	if RankOf(defender) == Marshal && (d.Verdict == AttackerWon || d.Verdict == BothGone) {
		g.revealFlag(s, ids, SideOf(defender), &d)
	}
	return d, nil
}

func (g *Game) findTurned(s *State, ids *Identities, stop rules.Square) (d Disclosure, err error) {
	if ids != nil {
		d.Turned = ids[stop]
	}
	if !g.isPiece(d.Turned) {
		return d, ErrIdentityMissing
	}
	if !g.canBeTurned(s, d.Turned) {
		return d, ErrIdentityImpossible
	}
	return d, nil
}

// isPiece reports whether p is a piece with a rank of a side of this form.
func (g *Game) isPiece(p rules.Piece) bool { return known(p) && int(SideOf(p)) < len(g.board.sides) }

// canBeTurned reports whether such a piece may still be face down.
func (g *Game) canBeTurned(s *State, p rules.Piece) bool {
	side, rank := SideOf(p), RankOf(p)
	up := 0
	for stop := range s.own[side&3].all {
		if s.at[stop] == p {
			up++
		}
	}
	return up+int(s.captured[side&1][rank]) < int(deckCount[rank])
}

func (g *Game) revealFlag(s *State, ids *Identities, side Side, d *Disclosure) {
	if !g.reveals {
		return
	}
	if stop := g.flagStop(s, ids, side); stop != rules.NoSquare {
		d.Fallen |= rules.SeatsOf(rules.Seat(side))
		d.FlagAt[side&3] = stop
	}
}

// make changes the state as the change and the disclosure say, up to the question
// who is stuck. Both have been checked.
func (g *Game) make(s *State, c Change, d Disclosure) Effect {
	e := Effect{Disclosure: d, Seat: s.turn, Carrier: rules.NoSquare}
	e.Stuck = 0
	switch c.Kind {
	case ChangePly:
		g.makePly(s, c.Action, &e)
		s.ply++
		s.turns[e.Seat&3]++
		g.passTurn(s)
	case ChangePass:
		e.Passed = true
		s.turn = g.next(s, s.turn)
	case ChangePutOut, ChangeLeave:
		e.Seat = c.Seat
		if c.Kind == ChangeLeave && g.unscored(s, c.Seat) {
			s.outcome = rules.Outcome{Reason: c.Reason, Void: true}
			break
		}
		g.putOut(s, c.Seat, c.Reason, &e)
		if s.turn == c.Seat {
			g.passTurn(s)
		}
	}
	return e
}

// passTurn gives the turn to the next seat that is in, while the game goes on.
func (g *Game) passTurn(s *State) {
	if !s.outcome.Over() {
		s.turn = g.next(s, s.turn)
	}
}

func (g *Game) makePly(s *State, a rules.Action, e *Effect) {
	s.idle++
	switch {
	case a.Kind == rules.ActionFlip:
		s.lift(a.From)
		s.put(a.From, e.Turned, 0)
		e.Settled = g.settleColours(s, e.Turned)
		s.idle = 0
	case s.at[a.To] == rules.NoPiece:
		g.relocate(s, a.From, a.To)
	default:
		g.attack(s, a.From, a.To, e)
		s.idle = 0
	}
	if g.carries {
		g.bringHome(s, e)
	}
}

// relocate moves the piece on a stop, with what it carries, to an empty one.
func (g *Game) relocate(s *State, from, to rules.Square) {
	p, origin := s.lift(from)
	s.put(to, p, origin)
	for i := range s.carried {
		if s.carried[i].by == from {
			s.carried[i].by = to
		}
	}
}

// attack plays an encounter as its verdict says.
func (g *Game) attack(s *State, from, to rules.Square, e *Effect) {
	mover, owner := g.Seat(s, SideOf(s.at[from])), g.Seat(s, SideOf(s.at[to]))
	for side := range Side(rules.MaxSeats) {
		if e.Fallen.Has(rules.Seat(side)) {
			s.at[e.FlagAt[side]], s.origin[e.FlagAt[side]] = PieceOf(side, Flag), 0
		}
	}
	switch e.Verdict {
	case AttackerWon:
		g.lose(s, to, mover)
		g.relocate(s, from, to)
		if e.Flag && g.carries {
			s.carried[owner&1] = carry{by: to, from: to}
			e.Carrier = to
			return
		}
	case DefenderWon:
		g.lose(s, from, owner)
		if e.Shown != rules.NoPiece {
			s.at[to], s.origin[to] = e.Shown, 0
		}
	case BothGone:
		g.lose(s, from, owner)
		g.lose(s, to, mover)
	}
	if e.Flag {
		g.putOut(s, owner, rules.EndFlag, e)
	}
}

// lose takes a piece off the board as lost to a seat.
func (g *Game) lose(s *State, stop rules.Square, to rules.Seat) {
	p, _ := s.lift(stop)
	if g.flip {
		s.captured[SideOf(p)&1][p&rankMask]++
	}
	s.captures[to&3]++
	for i := range s.carried {
		if s.carried[i].by == stop {
			s.carried[i].by = rules.NoSquare // bringHome puts the flag back
		}
	}
}
