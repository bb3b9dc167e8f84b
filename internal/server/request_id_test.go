package server

import (
	"testing"

	"pgregory.net/rapid"

	"referee.example/internal/referee"
)

// An id is taken in the form in which it is written, and in no other.
func TestIDsHaveOneForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := referee.ID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		text := id.String()
		if got, ok := parseID(text); got != id || ok != (id != referee.ID{}) {
			t.Fatalf("%s was read as %s, %t", text, got, ok)
		}
		changed := []byte(text)
		at := rapid.IntRange(0, len(changed)-1).Draw(t, "at")
		changed[at] = rapid.Byte().Draw(t, "with")
		if got, ok := parseID(string(changed)); ok && got.String() != string(changed) {
			t.Fatalf("%q was read as %s", changed, got)
		}
		for _, other := range []string{text[:35], text + "0", "", "{" + text + "}", text[:8] + text[9:]} {
			if got, ok := parseID(other); ok {
				t.Fatalf("%q was read as %s", other, got)
			}
		}
	})
}
