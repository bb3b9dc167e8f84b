package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tell writes to a terminal; one that is gone can't be told that either.
func tell(out io.Writer, format string, arguments ...any) {
	_ = say(out, format, arguments...)
}

// say writes text for people. What it says may repeat a file, a server's answer
// or a file's name, in which anybody may have written characters that command a
// terminal; those are written out.
func say(out io.Writer, format string, arguments ...any) error {
	_, err := io.WriteString(out, printable(fmt.Sprintf(format, arguments...)))
	return err
}

// printable returns text with every character escaped that is neither printable
// nor a line's end or a tab.
func printable(text string) string {
	return escaped(text, "\n\t")
}

// oneLine returns an error's or a record's text with the ends of lines escaped
// too, so that it can't pass for a line of ours.
func oneLine(text string) string { return escaped(text, "") }

func escaped(text, kept string) string {
	safe := func(r rune) bool { return unicode.IsPrint(r) || strings.ContainsRune(kept, r) }
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !safe(r) }) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case safe(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		text = text[size:]
	}
	return b.String()
}

// inLines returns an error's text, of joined errors each in a line of its own.
func inLines(err error) string {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		var texts, lines []string
		for _, part := range joined.Unwrap() {
			texts, lines = append(texts, part.Error()), append(lines, inLines(part))
		}
		if err.Error() == strings.Join(texts, "\n") {
			return strings.Join(lines, "\n")
		}
	}
	return oneLine(err.Error())
}
