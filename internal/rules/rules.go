// Package rules holds the words that every family of games shares: who acts,
// what is asked for, what a rule answers and how a game ends. A family (dark
// chess in package banqi) gives its own meaning to squares and pieces; nothing
// here knows a board.
package rules

import "math/bits"

// Seat is a participant's place at the table, counted from 0. Colours, teams
// and who moves first are facts about seats, never names for them.
type Seat int8

// NoSeat stands where no seat is meant: a draw's winner, an event of the referee.
const NoSeat Seat = -1

// MaxSeats is the largest table any family uses (four-player army chess).
const MaxSeats = 4

// SeatSet is a set of seats, bit n for seat n.
type SeatSet uint8

// SeatsOf returns the set of the given seats. NoSeat adds nothing.
func SeatsOf(seats ...Seat) SeatSet {
	var set SeatSet
	for _, seat := range seats {
		if seat >= 0 {
			set |= 1 << uint(seat)
		}
	}
	return set
}

// Has reports whether seat is in the set.
func (s SeatSet) Has(seat Seat) bool { return seat >= 0 && s&(1<<uint(seat)) != 0 }

// Len returns how many seats the set holds.
func (s SeatSet) Len() int { return bits.OnesCount8(uint8(s)) }

// Square is the index of a stop on a family's board, from 0.
type Square uint8

// NoSquare stands where an action or a refusal has no square.
const NoSquare Square = 255

// Piece is a family's code for one kind of piece of one side; 0 is no piece.
type Piece uint8

// NoPiece stands where nothing was turned or captured.
const NoPiece Piece = 0

// ActionKind is the kind of one board action.
type ActionKind uint8

// The kinds of action. A move covers steps, captures, jumps and rushes: which
// of them it is follows from the position.
const (
	ActionNone ActionKind = iota
	ActionFlip            // turn the piece on From
	ActionMove            // move or capture from From to To
	ActionStop            // end a chain of captures
)

// Action is one board action as a player asks for it: one ply if accepted.
type Action struct {
	Kind ActionKind
	From Square // NoSquare for ActionStop
	To   Square // NoSquare for ActionFlip and ActionStop
}

// Flip returns the action that turns the piece on square.
func Flip(square Square) Action { return Action{Kind: ActionFlip, From: square, To: NoSquare} }

// Move returns the action that moves from one square to another.
func Move(from, to Square) Action { return Action{Kind: ActionMove, From: from, To: to} }

// Stop returns the action that ends a chain.
func Stop() Action { return Action{Kind: ActionStop, From: NoSquare, To: NoSquare} }

// EndReason is how a game ended. The numbers are stored: never renumber.
type EndReason uint8

// The endings. Those up to EndIllegalAction are found by a family's rules after a
// ply; the others are the referee's.
const (
	EndNone           EndReason = 0
	EndAllCaptured    EndReason = 1  // a side's last piece was captured
	EndFouls          EndReason = 2  // too many technical fouls
	EndNoLegalAction  EndReason = 3  // the side to move has no legal action
	EndRepetition     EndReason = 4  // a cycle or a position came too often
	EndIdle           EndReason = 5  // too many quiet plies
	EndMaxPlies       EndReason = 6  // the ruleset's length limit
	EndFlag           EndReason = 7  // a side's flag was taken or blown up
	EndIllegalAction  EndReason = 8  // an illegal action, where that loses
	EndResignation    EndReason = 20 // a seat resigned
	EndTime           EndReason = 21 // a clock ran out, or one expiry too many
	EndDisconnection  EndReason = 22 // the platform reported a seat as gone
	EndAgreement      EndReason = 23 // a draw was offered and accepted
	EndAllGone        EndReason = 24 // every seat disconnected at once: void
	EndMatchVoided    EndReason = 25 // an operator voided the match
	EndMatchAbandoned EndReason = 26 // the match ended before this game started
)

// Outcome is the result of a game. The zero value is a game still going on.
type Outcome struct {
	Reason  EndReason
	Winners SeatSet // empty for a draw or a void game
	Void    bool    // the game counts for nothing and moves nothing
	// FirstPly and LastPly are the plies that prove an ending by repetition or
	// idleness; both 0 where the last ply proves it alone.
	FirstPly, LastPly int
}

// Over reports whether the game has ended.
func (o Outcome) Over() bool { return o.Reason != EndNone }

// Decided reports whether somebody won.
func (o Outcome) Decided() bool { return o.Over() && o.Winners != 0 }

// Drawn reports whether the game ended as a draw.
func (o Outcome) Drawn() bool { return o.Over() && o.Winners == 0 && !o.Void }

// Rule is a family's stable name for the rule that refuses an action, such as
// "not_adjacent"; the empty rule refuses nothing.
type Rule string

// Illegal is a refusal by the rules of a board. The zero value means legal.
// It is a plain value so that checking an action allocates nothing.
type Illegal struct {
	Rule Rule
	// Squares and Pieces are those the refusal is about, in the order that the
	// rule's sentence names them; NoSquare and NoPiece where there are fewer.
	Squares [2]Square
	Pieces  [2]Piece
	Count   int // a length or a limit the rule speaks of, such as a chase's
}

// OK reports whether the action was legal.
func (i Illegal) OK() bool { return i.Rule == "" }
