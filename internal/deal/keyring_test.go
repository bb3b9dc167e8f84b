package deal

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

// testKey is a key whose bytes are all b, in base64.
func testKey(b byte) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string([]byte{b}), KeySize)))
}

func TestParseKeyring(t *testing.T) {
	a, b := testKey(1), testKey(2)
	longest := strings.Repeat("k", MaxKeyIDBytes)
	cases := map[string]struct {
		text, current string
		others        []string
	}{
		"one":               {"a:" + a, "a", nil},
		"the first is it":   {"new:" + b + "\nold:" + a + "\n", "new", []string{"old"}},
		"empty lines":       {"\n\n a:" + a + " \n\n\tb:" + b + "\n", "a", []string{"b"}},
		"lines of Windows":  {"a:" + a + "\r\nb:" + b + "\r\n", "a", []string{"b"}},
		"every sign":        {"A-z_0.9:" + a, "A-z_0.9", nil},
		"longest id":        {longest + ":" + a, longest, nil},
		"ids differ by one": {"k1:" + a + "\nk2:" + b, "k1", []string{"k2"}},
	}
	for name, c := range cases {
		ring, err := ParseKeyring(c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if ring.Current() != c.current {
			t.Errorf("%s: current is %q", name, ring.Current())
		}
		for _, id := range append(c.others, c.current) {
			if !ring.Has(id) {
				t.Errorf("%s: no key %q", name, id)
			}
		}
		if len(ring.keys) != len(c.others)+1 || ring.Has("absent") || ring.Has("") {
			t.Errorf("%s: %d keys", name, len(ring.keys))
		}
	}
}

func TestParseKeyringRefuses(t *testing.T) {
	a, b := testKey(0xa7), testKey(0xb9)
	short := base64.StdEncoding.EncodeToString(make([]byte, KeySize-1))
	long := base64.StdEncoding.EncodeToString(make([]byte, KeySize+1))
	cases := map[string]struct {
		text    string
		line    int
		problem string
	}{
		"empty":             {"", 0, "no key"},
		"blank":             {" \n\t\n", 0, "no key"},
		"no colon":          {a, 1, "no colon"},
		"no id":             {":" + a, 1, "id"},
		"id too long":       {strings.Repeat("k", MaxKeyIDBytes+1) + ":" + a, 1, "id"},
		"id and key turned": {a + ":a", 1, "id"},
		"space in the id":   {"a b:" + a, 1, "id"},
		"id not ASCII":      {"clé:" + a, 1, "id"},
		"control character": {"a\x00:" + a, 1, "id"},
		"no key":            {"a:", 1, "0 bytes"},
		"short key":         {"a:" + short, 1, "31 bytes"},
		"long key":          {"a:" + long, 1, "33 bytes"},
		"hexadecimal":       {"a:" + strings.Repeat("a7", KeySize), 1, "48 bytes"},
		"no padding":        {"a:" + strings.TrimRight(a, "="), 1, "base64"},
		"URL alphabet":      {"a:" + strings.Repeat("_", 43) + "=", 1, "base64"},
		"loose last bits":   {"a:" + a[:42] + "d=", 1, "base64"},
		"second colon":      {"a::" + a, 1, "base64"},
		"a comment":         {"a:" + a + " # current", 1, "base64"},
		"same id":           {"a:" + a + "\n\na:" + b, 3, "id stands on an earlier line"},
		"same key":          {"a:" + a + "\nb:" + b + "\nc:" + a, 3, "key is that of line 1"},
		"second line bad":   {"a:" + a + "\nb:" + short, 2, "31 bytes"},
	}
	for name, c := range cases {
		ring, err := ParseKeyring(c.text)
		var refusal *KeyringError
		if !errors.As(err, &refusal) || refusal.Line != c.line || !strings.Contains(refusal.Problem, c.problem) {
			t.Errorf("%s: %v, want line %d and %q", name, err, c.line, c.problem)
			continue
		}
		if ring.Current() != "" || len(ring.keys) != 0 {
			t.Errorf("%s: refused, but with keys", name)
		}
		for _, key := range []string{a, b, short, long} {
			if strings.Contains(err.Error(), key[:8]) {
				t.Errorf("%s: the error shows a key: %v", name, err)
			}
		}
	}
}
