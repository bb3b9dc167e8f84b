package demo

import (
	"fmt"
	"strings"
)

// The board of Chinese dark chess, as its text form has it.
const (
	files, ranks = 4, 8
	faceDown     = 'X'
	emptySquare  = '-'
	redLetters   = "KGMRNCP"
)

// board is a position as a viewer sees it: a letter a square, a1 first, then b1.
type board [files * ranks]byte

// parseBoard reads the text form: eight groups of four letters, rank 8 first.
func parseBoard(text string) (b board, err error) {
	letters := strings.NewReplacer("/", "", " ", "").Replace(text)
	if len(letters) != len(b) {
		return b, fmt.Errorf("a board of %d squares, not %d", len(letters), len(b))
	}
	for i := range b {
		letter := letters[i]
		if letter != faceDown && letter != emptySquare && !strings.ContainsRune(redLetters, rune(upper(letter))) {
			return b, fmt.Errorf("a board with the letter %q", letter)
		}
		b[(ranks-1-i/files)*files+i%files] = letter
	}
	return b, nil
}

// parseSquare reads a square such as "b3"; ok is false for anything else.
func parseSquare(name string) (square int, ok bool) {
	if len(name) != 2 || name[0] < 'a' || name[0] >= 'a'+files || name[1] < '1' || name[1] >= '1'+ranks {
		return 0, false
	}
	return int(name[1]-'1')*files + int(name[0]-'a'), true
}

func upper(letter byte) byte {
	if letter >= 'a' && letter <= 'z' {
		return letter - 'a' + 'A'
	}
	return letter
}

func isRed(letter byte) bool { return strings.IndexByte(redLetters, letter) >= 0 }

// isPiece tells a piece that lies face up.
func isPiece(letter byte) bool { return letter != faceDown && letter != emptySquare }

// enemies tells whether two face-up pieces are of different colours.
func enemies(a, b byte) bool { return isPiece(a) && isPiece(b) && isRed(a) != isRed(b) }
