package verify

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxShownBytes is how much of a recorded text a finding or a note repeats.
const maxShownBytes = 1000

// Shown returns text that came from a record in a form that a terminal or a log
// can take: in quotes if there is anything in it that can't be printed, such as
// the control characters by which a terminal is commanded or a line's end, and
// cut if it is long.
func Shown(text string) string {
	text = shortened(text)
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// quoted is Shown for a text that stands in quotes whatever is in it.
func quoted(text string) string { return strconv.Quote(shortened(text)) }

func shortened(text string) string {
	if n := len(text); n > maxShownBytes {
		cut := maxShownBytes
		for cut > maxShownBytes-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = fmt.Sprintf("%s... (%d bytes)", text[:cut], n)
	}
	return text
}
