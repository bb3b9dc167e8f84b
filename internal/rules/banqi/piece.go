package banqi

import (
	"errors"
	"strings"

	"referee.example/internal/rules"
)

// A piece's code is its colour's bit (8 for black) and its rank from 1, the
// soldier, to 7, the general, so that codes of one colour compare by rank.
// FaceDown takes the code that would be "black, no rank".
const (
	RedSoldier rules.Piece = iota + 1
	RedCannon
	RedHorse
	RedChariot
	RedElephant
	RedAdvisor
	RedGeneral
	FaceDown // a piece whose identity nobody has been shown
	BlackSoldier
	BlackCannon
	BlackHorse
	BlackChariot
	BlackElephant
	BlackAdvisor
	BlackGeneral
)

const (
	rankMask  = 7 // the part of a code that is the rank
	colourBit = 8 // the part of a code that is the colour
	soldier   = 1
	general   = 7
	codes     = 16
)

// letters are the field's letters by code: capitals for red, X for a
// face-down piece, - for an empty square (dark-chess rules, section 1).
const letters = "-PCNRMGKXpcnrmgk"

// names are the characters on the discs by code.
var names = [codes]string{
	"", "兵", "炮", "傌", "俥", "相", "仕", "帥",
	"暗", "卒", "包", "馬", "車", "象", "士", "將",
}

// words are the English names by rank.
var words = [8]string{"", "soldier", "cannon", "horse", "chariot", "elephant", "advisor", "general"}

// deckCount is how many pieces of each rank a side has.
var deckCount = [8]uint8{0, 5, 2, 2, 2, 2, 2, 1}

// perSide is how many pieces a side has.
const perSide = 16

// Colour is a side of the board. Which seat plays it follows from a game's
// first flip.
type Colour int8

// The colours; NoColour is every seat's before the first flip.
const (
	NoColour Colour = -1
	Red      Colour = 0
	Black    Colour = 1
)

// String returns "red", "black" or "unassigned".
func (c Colour) String() string {
	switch c {
	case Red:
		return "red"
	case Black:
		return "black"
	}
	return "unassigned"
}

// ErrPiece is what ParsePiece answers for anything but one piece letter.
var ErrPiece = errors.New("not a piece letter")

// ErrSquare is what ParseSquare answers for anything but a1 to d8.
var ErrSquare = errors.New("not a square from a1 to d8")

// known reports whether p is a piece with an identity.
func known(p rules.Piece) bool { return p < codes && p&rankMask != 0 }

// colourOf returns the colour of a piece with an identity.
func colourOf(p rules.Piece) Colour { return Colour(p >> 3) }

// PieceColour returns the colour of p, NoColour for none and for FaceDown.
func PieceColour(p rules.Piece) Colour {
	if !known(p) {
		return NoColour
	}
	return colourOf(p)
}

// PieceLetter returns the letter of p: KGMRNCP for red, kgmrncp for black,
// X face down, - for no piece, ? for a code that is none of them.
func PieceLetter(p rules.Piece) byte {
	if p >= codes {
		return '?'
	}
	return letters[p]
}

// ParsePiece returns the piece of a letter. It takes neither X nor -, which
// name no identity; the error is ErrPiece.
func ParsePiece(letter byte) (rules.Piece, error) {
	i := strings.IndexByte(letters, letter)
	if i < 0 || !known(rules.Piece(i)) {
		return rules.NoPiece, ErrPiece
	}
	return rules.Piece(i), nil
}

// PieceName returns the character on p's disc, such as 帥 or 卒; 暗 face down,
// empty for no piece.
func PieceName(p rules.Piece) string {
	if p >= codes {
		return ""
	}
	return names[p]
}

// pieceWords returns p in English, such as "red chariot".
func pieceWords(p rules.Piece) string {
	switch {
	case p == FaceDown:
		return "face-down piece"
	case !known(p):
		return "piece"
	}
	return colourOf(p).String() + " " + words[p&rankMask]
}

// Higher compares two pieces by rank, whatever their colours, as the draw for
// the first move does: positive where a is higher, negative where b is, 0 for
// equal ranks (dark-chess rules, section 1: K > G > M > R > N > C > P).
func Higher(a, b rules.Piece) int { return int(a&rankMask) - int(b&rankMask) }

// Deck returns the 32 pieces in the fixed order that a deal starts from: red's,
// then black's, each K, G, G, M, M, R, R, N, N, C, C and five P.
func Deck() [32]rules.Piece {
	var deck [32]rules.Piece
	n := 0
	for _, side := range [2]rules.Piece{0, colourBit} {
		for rank := rules.Piece(general); rank >= soldier; rank-- {
			for range deckCount[rank] {
				deck[n] = side | rank
				n++
			}
		}
	}
	return deck
}
