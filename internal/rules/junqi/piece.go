package junqi

import (
	"errors"
	"strings"

	"referee.example/internal/rules"
)

// Side is one of the armies of a board, counted from 0 in turn order: bottom and
// top with two players, South, East, North and West with four. In the dark forms
// a side is its seat; in the flip form a turned piece decides who plays which.
type Side int8

// NoSide is every seat's in the flip form until colours are settled.
const NoSide Side = -1

// Rank is what a piece is, whoever owns it.
type Rank uint8

// The ranks. The ranked pieces count from the engineer, 1, to the marshal, 9.
const (
	NoRank Rank = iota
	Engineer
	Lieutenant
	Captain
	Major
	Colonel
	Brigadier
	MajorGeneral
	General
	Marshal
	Bomb
	Mine
	Flag
)

const (
	faceDown = 14 // in the place of a rank, without a side: FaceDown
	hidden   = 15 // in the place of a rank: one whose rank was not shown

	ranks     = 16
	rankMask  = 15
	sideShift = 4
	codes     = rules.MaxSeats << sideShift
)

// FaceDown is a piece of the flip form that nobody has turned: neither side nor
// rank are known.
const FaceDown rules.Piece = faceDown

// PieceOf returns the code of a rank of a side: the side in the high four bits,
// the rank in the low ones.
func PieceOf(side Side, rank Rank) rules.Piece {
	return rules.Piece(side)<<sideShift | rules.Piece(rank)
}

// Hidden returns the code of a piece of a side whose rank was not shown.
func Hidden(side Side) rules.Piece { return rules.Piece(side)<<sideShift | hidden }

// RankOf returns the rank of a piece, NoRank for none and for one not shown.
func RankOf(p rules.Piece) Rank {
	if r := Rank(p & rankMask); r <= Flag {
		return r
	}
	return NoRank
}

// SideOf returns the side of a piece, NoSide for none and for FaceDown.
func SideOf(p rules.Piece) Side {
	if p == rules.NoPiece || p == FaceDown {
		return NoSide
	}
	return Side(p >> sideShift)
}

// isHidden reports whether p is a piece of a known side and an unknown rank.
func isHidden(p rules.Piece) bool { return p&rankMask == hidden }

// known reports whether p is a piece with a rank.
func known(p rules.Piece) bool { return p < codes && RankOf(p) != NoRank }

// mobile reports whether a rank ever moves.
func (r Rank) mobile() bool { return r >= Engineer && r <= Bomb }

// ranked reports whether a rank is compared with others.
func (r Rank) ranked() bool { return r >= Engineer && r <= Marshal }

// deckCount is how many pieces of each rank a side has.
var deckCount = [ranks]uint8{
	Engineer: 3, Lieutenant: 3, Captain: 3, Major: 2, Colonel: 2, Brigadier: 2, MajorGeneral: 2, General: 1, Marshal: 1,
	Bomb: 2, Mine: 3, Flag: 1,
}

// perSide is how many pieces a side has.
const perSide = 25

// rankLetters are the field's letters by rank (army-chess rules, section 1).
const rankLetters = "-123456789BMF"

// rankNames are the characters on the pieces by rank.
var rankNames = [...]string{
	"", "工兵", "排长", "连长", "营长", "团长", "旅长", "师长", "军长", "司令", "炸弹", "地雷", "军旗",
}

// rankWords are the English names by rank.
var rankWords = [...]string{
	"piece", "engineer", "lieutenant", "captain", "major", "colonel", "brigadier", "major general", "general", "marshal",
	"bomb", "mine", "flag",
}

// Letter returns the letter of a rank, - for NoRank.
func (r Rank) Letter() byte { return rankLetters[min(r, Flag)] }

// Name returns the characters on the piece, such as 司令; empty for NoRank.
func (r Rank) Name() string { return rankNames[min(r, Flag)] }

// String returns the rank in English.
func (r Rank) String() string { return rankWords[min(r, Flag)] }

// ErrPiece is what ParsePiece answers for anything but a side's letter and a
// rank's letter.
var ErrPiece = errors.New("not a piece such as b9")

// parseRank returns the rank of a letter, NoRank for none.
func parseRank(letter byte) Rank {
	return Rank(max(strings.IndexByte(rankLetters, letter), 0))
}

// PieceText returns a piece as positions write it: "b9"; "t?" where only the
// side is known, "??" face down, "--" for no piece.
func (g *Game) PieceText(p rules.Piece) string {
	switch side := SideOf(p); {
	case p == rules.NoPiece:
		return "--"
	case side == NoSide || int(side) >= len(g.board.sides):
		return "??"
	case isHidden(p):
		return string([]byte{g.board.sides[side].letter, '?'})
	default:
		return string([]byte{g.board.sides[side].letter, RankOf(p).Letter()})
	}
}

// ParsePiece returns the piece of a text such as "b9". The error is ErrPiece.
func (g *Game) ParsePiece(text string) (rules.Piece, error) {
	if len(text) != 2 {
		return rules.NoPiece, ErrPiece
	}
	side, rank := g.board.sideOf(text[0]), parseRank(text[1])
	if side == NoSide || rank == NoRank {
		return rules.NoPiece, ErrPiece
	}
	return PieceOf(side, rank), nil
}

// Deck returns the pieces of all sides in the fixed order that a deal starts
// from: side by side, each from the flag down to the three engineers.
func (g *Game) Deck() []rules.Piece {
	deck := make([]rules.Piece, 0, perSide*len(g.board.sides))
	for side := range g.board.sides {
		for rank := Flag; rank >= Engineer; rank-- {
			for range deckCount[rank] {
				deck = append(deck, PieceOf(Side(side), rank))
			}
		}
	}
	return deck
}
