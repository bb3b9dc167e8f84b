package referee

import (
	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
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
	// drawn compares two pieces of the deck as the draw for the first move does:
	// positive where a goes first, 0 for another draw.
	drawn(a, b rules.Piece) int

	// conceals reports whether a seat's own ranks are secret, so that whatever it
	// does can be judged with the hidden at hand only.
	conceals() bool
	// reveal puts together what is hidden from what the game's seed dealt.
	reveal(dealt []byte) (hidden, error)

	start(first rules.Seat) Position
	// check returns why a seat may not do an action, or the zero Illegal. What it
	// says depends on nothing that the seat has not been shown.
	check(p *Position, h hidden, seat rules.Seat, a rules.Action) rules.Illegal
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
	action rules.Action // of a ply
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
	dealt []byte // dark chess: what lay on each square at the start
}

// Position is where a game stands on its board, as far as everybody has been
// shown it. It is a value: assigning it makes an independent copy. The zero
// Position is that of a game that is not being played yet.
type Position struct {
	dark banqi.State
}

// Turn returns the seat to move; whose turn it would be where the game is over.
func (p *Position) Turn() rules.Seat { return p.dark.Turn() }

// Ply returns how many plies were played.
func (p *Position) Ply() int { return p.dark.Ply() }

// Turns returns how many turns a seat has made.
func (p *Position) Turns(seat rules.Seat) int { return p.dark.Turns(seat) }

// Captures returns how many pieces of others a seat has captured.
func (p *Position) Captures(seat rules.Seat) int { return p.dark.Captures(seat) }

// Outcome returns how the board's rules ended the game; zero while they have not.
func (p *Position) Outcome() rules.Outcome { return p.dark.Outcome() }

// AwaitingRuling reports whether the result rests on a foul that an operator must
// rule on.
func (p *Position) AwaitingRuling() bool { return p.dark.AwaitingRuling() }

// inChain reports whether the seat to move has captured already in this turn and
// may go on capturing.
func (p *Position) inChain() bool { return p.dark.Chain() != rules.NoSquare }
