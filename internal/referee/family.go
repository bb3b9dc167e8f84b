package referee

import (
	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
	"referee.example/internal/rules/junqi"
	"referee.example/internal/series"
)

// family is a ruleset's board, ready to judge by: all that one family of games
// does otherwise than another. darkChess and armyChess are the two that there
// are; nothing else in this package knows a board. Positions are changed by
// apply, requestCount and ruleFoul alone.
type family interface {
	// sides are the two parties of a game, which between them have all seats.
	sides() series.Sides

	// deck is what is dealt, in the order that a shuffle starts from; nil where
	// seats place their pieces.
	deck() []byte
	// dealt is the place in the deal of the piece that began on a square.
	dealt(square rules.Square) int
	// compares reports whether a draw of two pieces can decide who moves first.
	compares() bool
	// drawn compares such pieces: positive where a goes first, 0 for another draw.
	drawn(a, b rules.Piece) int

	// places reports whether a game begins with seats placing their pieces.
	places() bool
	// checkPlacement returns the first rule that a seat's placement breaks. The
	// error is for text that is no placement; it does not repeat it.
	checkPlacement(seat rules.Seat, text string) (rules.Illegal, error)
	// open reports whether the placements become public when play begins.
	open() bool

	// conceals reports whether a seat's own ranks are secret, so that whatever it
	// does can be judged with the hidden at hand only.
	conceals() bool
	// reveal puts together what is hidden from what the game's seed dealt, or from
	// the placements by seat, empty for a seat that has not placed.
	reveal(dealt []byte, placements []string) (hidden, error)

	// start is the position before the first ply. It needs what is hidden where
	// that becomes public with it.
	start(first rules.Seat, h hidden) Position
	// check returns why a seat may not do an action, or the zero Illegal. What it
	// says depends on nothing that the seat has not been shown.
	check(p *Position, h hidden, seat rules.Seat, a rules.Action) rules.Illegal
	// illegalLoses reports whether an attempt that is refused so costs its seat the
	// game.
	illegalLoses(i rules.Illegal) bool
	// checkResign returns why a seat may not resign now, or the zero Illegal.
	checkResign(p *Position, seat rules.Seat) rules.Illegal
	// putsOut reports whether a seat that resigns, expires or leaves is out by a
	// change of the board, after which the game may go on; elsewhere it has lost.
	putsOut() bool
	// passes reports whether an expired turn that does not lose passes, rather than
	// being played by the server.
	passes() bool
	// list returns the legal actions of the seat to move.
	list(p *Position, h hidden) []rules.Action
	// turnsFace reports whether a legal action turns a piece, and on which square.
	turnsFace(p *Position, a rules.Action) (rules.Square, bool)
	// judge returns what becomes public by a legal change: the piece that it turns,
	// and the detail of its event as far as the hidden decides it.
	judge(p *Position, h hidden, c change) (turned rules.Piece, detail []byte, err error)
	// apply makes a change that has been judged, now or long ago, by what became
	// public alone.
	apply(p *Position, c change, turned rules.Piece, detail []byte) (Effect, error)
	requestCount(p *Position, seat rules.Seat) rules.Illegal
	ruleFoul(p *Position, confirm bool) error

	// encode and decode are the position's stored form, text its readable one.
	encode(p *Position) []byte
	decode(b []byte) (Position, error)
	text(p *Position) string

	// describe is a refusal in words; squareName and pieceName name its parts.
	describe(i rules.Illegal) string
	squareName(square rules.Square) string
	pieceName(piece rules.Piece) string
}

// change is what an event does to the board.
type change struct {
	kind   EventKind
	seat   rules.Seat
	action rules.Action    // of a ply
	reason rules.EndReason // of a seat that is put out
}

// Effect is what an event did to the board, as far as the match is concerned.
type Effect struct {
	Captured  rules.Piece
	Detail    []byte // of the event: what became public, and what is worth telling
	TurnEnded bool   // the turn has passed to another seat
	Outcome   rules.Outcome
}

// hidden is what a game keeps secret, as its family holds it. The zero value is
// at hand where nothing hidden has a say.
type hidden struct {
	dealt []byte            // dark chess: what lay on each square at the start
	ids   *junqi.Identities // army chess: what began on each stop
}

// Position is where a game stands on its board, as far as everybody has been
// shown it. It is a value: assigning it makes an independent copy. The zero
// Position is that of a game that is not being played yet.
type Position struct {
	dark banqi.State
	army *junqi.State // of army chess; what it points to is never changed
}

// Turn returns the seat to move; whose turn it would be where the game is over.
func (p *Position) Turn() rules.Seat {
	if p.army != nil {
		return p.army.Turn()
	}
	return p.dark.Turn()
}

// Ply returns how many plies were played.
func (p *Position) Ply() int {
	if p.army != nil {
		return p.army.Ply()
	}
	return p.dark.Ply()
}

// Turns returns how many turns a seat has made; turns that passed are none.
func (p *Position) Turns(seat rules.Seat) int {
	if p.army != nil {
		return p.army.Turns(seat)
	}
	return p.dark.Turns(seat)
}

// Captures returns how many pieces of others were lost to a seat.
func (p *Position) Captures(seat rules.Seat) int {
	if p.army != nil {
		return p.army.Captures(seat)
	}
	return p.dark.Captures(seat)
}

// Out returns the seats that are out of the game while it goes on without them.
func (p *Position) Out() rules.SeatSet {
	if p.army != nil {
		return p.army.Out()
	}
	return 0
}

// Outcome returns how the board's rules ended the game; zero while they have not.
func (p *Position) Outcome() rules.Outcome {
	if p.army != nil {
		return p.army.Outcome()
	}
	return p.dark.Outcome()
}

// AwaitingRuling reports whether the result rests on a foul that an operator must
// rule on.
func (p *Position) AwaitingRuling() bool { return p.army == nil && p.dark.AwaitingRuling() }

// inChain reports whether the seat to move has captured already in this turn and
// may go on capturing.
func (p *Position) inChain() bool { return p.army == nil && p.dark.Chain() != rules.NoSquare }
