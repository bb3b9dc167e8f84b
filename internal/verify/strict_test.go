package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"referee.example/internal/tlog"
)

// refusedAs are changes of the vectors' first line: a text in it, what stands in
// its place, and the key that is then refused.
var refusedAs = []struct{ name, from, to, key, problem string }{
	{"case of a key", `"game":1,`, `"Game":1,`, "Game", "unknown key"},
	{"case of a key beside the right one", `"game":1,`, `"game":1,"GAME":2,`, "GAME", "unknown key"},
	{"letter that folds to another", `"events":[`, `"eventſ":[`, "eventſ", "unknown key"},
	{"escape in a key", `"game":1,`, `"gam\u0065":1,`, `gam\u0065`, "unknown key"},
	{"case of a nested key", `"stake":"`, `"Stake":"`, "readable.Stake", "unknown key"},
	{"key twice", `"game":1,`, `"game":1,"game":1,`, "game", "twice"},
	{"key twice, apart", `"game":1,`, `"hashes":[],"game":1,`, "hashes", "twice"},
	{"nested key twice", `"stake":"`, `"stake":"1","stake":"`, "readable.stake", "twice"},
	{"key of a line of the settlement twice", `"why":"`, `"why":"x","why":"`, "settlement.lines.why", "twice"},
	{"key that is no principal's number", `"submitted_by":{`, `"submitted_by":{"a":"x",`, "readable.submitted_by.a", "unknown key"},
	{"key of another object", `"game":1,`, `"game":1,"stake":"1",`, "stake", "unknown key"},
	{"star for a key", `"submitted_by":{`, `"submitted_by":{"*":"x",`, "readable.submitted_by.*", "unknown key"},
	{"object for a number", `"game":1,`, `"game":{"game":1},`, "game.game", "unknown key"},
	{"two values", `"match_winners":[]}}`, `"match_winners":[]}}{}`, "events", "missing"},
	{"principal twice", `"submitted_by":{`, `"submitted_by":{"1":"x",`, "readable.submitted_by.1", "twice"},
	{"unknown key", `"game":1,`, `"game":1,"winner":0,`, "winner", "unknown key"},
	{"unknown nested key", `"stake":"`, `"steak":"1","stake":"`, "readable.steak", "unknown key"},
	{"missing key", `"game":1,`, ``, "game", "missing"},
	{"null", `"game":1,`, `"game":null,`, "game", "null"},
	{"nested null", `"void":false`, `"void":null`, "readable.void", "null"},
	{"negative game", `"game":1,`, `"game":-1,`, "game", "not a number from 0 to 65535"},
	{"game that is too large", `"game":1,`, `"game":65536,`, "game", "not a number from 0 to 65535"},
	{"game beyond integers", `"game":1,`, `"game":99999999999999999999,`, "game", "can't stand here"},
	{"broken game", `"game":1,`, `"game":1.5,`, "game", "can't stand here"},
	{"game with an exponent", `"game":1,`, `"game":1e0,`, "game", "can't stand here"},
	{"game as text", `"game":1,`, `"game":"1",`, "game", "can't stand here"},
	{"negative zero", `"game":1,`, `"game":-0,`, "game", "negative zero"},
	{"game 0 with more than its log", `"game":1,`, `"game":0,`, "game", "inclusion alone"},
	{"reason that is no byte", `"end_reason":`, `"end_reason":30`, "readable.end_reason", "can't stand here"},
	{"negative compensations", `"game":1,`, `"game":1,"compensations":-1,`, "compensations", "less than none"},
	{"amount that is no text", `"amount":"100"`, `"amount":100`, "", "string"},
	{"amount beyond 64 bits", `"amount":"100"`, `"amount":"9223372036854775808"`, "settlement.lines.amount", "can't stand here"},
	{"not base64", `"salt":"`, `"salt":"*`, "openings.salt", "base64"},
	{"line's end in base64", `"salt":"`, `"salt":"\n`, "openings.salt", "base64"},
	{"carriage return in base64", `"salt":"`, `"salt":"\r`, "openings.salt", "base64"},
	{"spare bits in base64", `"salt":"`, `"salt":"AB==","salt":"`, "openings.salt", "base64"},
	{"escape in base64", `"hashes":["`, `"hashes":["\u0041`, "hashes", "base64"},
	{"line's end in an event", `"events":["`, `"events":["\n`, "events", "base64"},
	{"zero before an amount", `"amount":"100"`, `"amount":"0100"`, "settlement.lines.amount", "whole number"},
	{"plus before an amount", `"amount":"100"`, `"amount":"+100"`, "settlement.lines.amount", "whole number"},
	{"negative zero as text", `"amount":"100"`, `"amount":"-0"`, "settlement.lines.amount", "whole number"},
	{"zero before a principal", `"submitted_by":{`, `"submitted_by":{"01":"x",`, "readable.submitted_by.01", "unknown key"},
	{"half a pair", `"platform":"p"`, `"platform":"\ud800"`, "readable.platform", "surrogate"},
	{"other half of a pair", `"platform":"p"`, `"platform":"\udc00"`, "readable.platform", "surrogate"},
	{"halves in the wrong order", `"platform":"p"`, `"platform":"\ude00\ud83d"`, "readable.platform", "surrogate"},
	{"two first halves", `"platform":"p"`, `"platform":"\ud83d\ud83d\ude00"`, "readable.platform", "surrogate"},
	{"halves apart", `"platform":"p"`, `"platform":"\ud83d \ude00"`, "readable.platform", "surrogate"},
	{"half before an escape", `"platform":"p"`, `"platform":"\ud83d\n"`, "readable.platform", "surrogate"},
	{"half in a player", `"players":["`, `"players":["\uD83D`, "readable.players", "surrogate"},
	{"carriage return at the end", `"match_winners":[]}}`, `"match_winners":[]}}` + "\r", "", "carriage return"},
	{"carriage return within", `"game":1,`, `"game":1,` + "\r", "", "carriage return"},
	{"blank line", `{"format"`, "\n" + `{"format"`, "", "blank"},
	{"line of spaces", `{"format"`, " \t\n" + `{"format"`, "", "blank"},
	{"nested too deep", `"game":1,`, `"game":[[[[1]]]],`, "game", "nested deeper"},
	{"invalid UTF-8", `"platform":"p"`, "\"platform\":\"\xff\"", "", "not UTF-8"},
	{"invalid UTF-8 in a key", `"platform":"p"`, "\"platform\":\"p\",\"\xc3\":1", "", "not UTF-8"},
	{"id in upper case", `"match_id":"019b76da`, `"match_id":"019B76DA`, "match_id", "lower case"},
	{"line's end in the format", `"format":"referee.v1 game"`, `"format":"referee.v1 game\n"`, "format", "not"},
	{"cut off", `"match_winners":[]}}`, ``, "", "end of JSON"},
}

func TestStrictReading(t *testing.T) {
	t.Parallel()
	first := string(linesOf(t)[0])
	for _, c := range refusedAs {
		if !strings.Contains(first, c.from) {
			t.Fatalf("%s: the vectors have no %s", c.name, c.from)
		}
		line := strings.Replace(first, c.from, c.to, 1)
		_, _, err := verified([]byte(first + "\n" + line + "\n"))
		var format *FormatError
		if !errors.As(err, &format) || format.Line != 2 || format.Key != c.key || !strings.Contains(format.Problem, c.problem) {
			t.Errorf("%s: want key %q and %q, got %#v", c.name, c.key, c.problem, err)
		}
	}
}

// TestReadingLimits: what is longer than the limits is refused, and at them not.
func TestReadingLimits(t *testing.T) {
	t.Parallel()
	refusal := func(err error) string {
		var format *FormatError
		if !errors.As(err, &format) {
			return fmt.Sprint("another error: ", err)
		}
		return fmt.Sprintf("%d: %s", format.Line, format.Problem)
	}
	second := io.MultiReader(bytes.NewReader(append(linesOf(t)[0], '\n')), io.LimitReader(endless(' '), MaxLineBytes))
	err := Read(second, func(*Match) error { return nil })
	if got, want := refusal(err), fmt.Sprintf("2: longer than %d bytes", MaxLineBytes); got != want {
		t.Errorf("a line: %s", got)
	}
	if got := refusal(Read(io.LimitReader(endless(' '), MaxLineBytes-1), func(*Match) error { return nil })); got != "1: blank" {
		t.Errorf("a line at the limit: %s", got)
	}
	elements := []byte(`[` + strings.Repeat("1,", maxElements-1) + `1]`)
	if err := strict(elements); err != nil && strings.Contains(err.Error(), "elements") {
		t.Errorf("%d elements: %v", maxElements, err)
	}
	if err := strict([]byte(`[1,` + string(elements[1:]))); err == nil || !strings.Contains(err.Error(), "elements") {
		t.Errorf("one element more: %v", err)
	}
	line := &exportedGame{}
	if err := json.Unmarshal(linesOf(t)[0], line); err != nil {
		t.Fatal(err)
	}
	m := &Match{Ruleset: []byte(line.Ruleset)}
	if err := m.add(line, 1, maxMatchBytes); err != nil {
		t.Errorf("a match at the limit: %v", err)
	}
	if err := m.add(line, 2, 1); err == nil || !strings.Contains(err.Error(), "bytes together") {
		t.Errorf("a match of too many bytes: %v", err)
	}
	m = &Match{Ruleset: []byte(line.Ruleset)}
	for i := range maxGames {
		if err := m.add(line, i, 1); err != nil {
			t.Fatalf("line %d: %v", i, err)
		}
	}
	if err := m.add(line, maxGames, 1); err == nil || !strings.Contains(err.Error(), "lines of one match") {
		t.Errorf("a match of too many lines: %v", err)
	}
}

// TestPairsOfSurrogates: whole ones are a character, and a backslash that is
// escaped begins no escape.
func TestPairsOfSurrogates(t *testing.T) {
	t.Parallel()
	for text, broken := range map[string]bool{
		``: false, `a`: false, `\ud83d\ude00`: false, `\uD83D\uDE00\ud83d\ude00x`: false, `\\ud800`: false, `\\\\ud800\n`: false,
		`\\\ud800`: true, `x\ud800`: true, `\ud800\u0041`: true, `\ud83d\ude00\ude00`: true, `\ud800\\udc00`: true,
	} {
		if brokenPair([]byte(text)) != broken {
			t.Errorf("%s: %t", text, !broken)
		}
	}
}

// TestQuotesAreSaidOnce: what a refusal repeats stands in one pair of quotes.
func TestQuotesAreSaidOnce(t *testing.T) {
	t.Parallel()
	line := string(linesOf(t)[0])
	for change, want := range map[[2]string]string{
		{`"format":"referee.v1 game"`, `"format":"\u001b[2J"`}: `line 1: key "format": "\x1b[2J", not "referee.v1 game"`,
		{`"match_id":"`, `"match_id":"\u001b`}:                 `line 1: key "match_id": "\x1b`,
		{`"game":1,`, "\"\u202e\":1,"}:                         `line 1: key "\u202e": unknown key`,
	} {
		_, _, err := verified([]byte(strings.Replace(line, change[0], change[1], 1) + "\n"))
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), `\\`) {
			t.Errorf("%s: %v", change[1], err)
		}
	}
}

// endless is a reader of one byte for ever.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// FuzzStrict: what is accepted means the same to a reader that takes the first
// of two equal keys, the last, or any case: it has each key once and as written.
func FuzzStrict(f *testing.F) {
	file, err := os.ReadFile(vectors)
	if err != nil {
		f.Fatal(err)
	}
	first, _, _ := bytes.Cut(file, []byte("\n"))
	for _, c := range refusedAs {
		f.Add(bytes.Replace(first, []byte(c.from), []byte(c.to), 1))
	}
	f.Add(first)
	f.Add([]byte(`{"a":"\\\"","a":1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		x, _, err := parseLine(line)
		if err != nil {
			return
		}
		var loose map[string]json.RawMessage
		if err := json.Unmarshal(line, &loose); err != nil {
			t.Fatal(err)
		}
		again := &exportedGame{}
		for key, value := range loose {
			// One key after the other, each in a decoder of its own.
			if key != strings.ToLower(key) {
				t.Errorf("key %q passes", key)
			}
			if err := json.Unmarshal(fmt.Appendf(nil, "{%q:%s}", key, value), again); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(encode(x), encode(again)) {
			t.Errorf("two readings of %q", line)
		}
	})
}

// TestFindingsArePrintable puts what commands a terminal into every text of a
// file: no finding, note or error repeats it.
func TestFindingsArePrintable(t *testing.T) {
	t.Parallel()
	const evil = "\x1b[2J\x1b]0;owned\x07\nmatch 1: sound\u009b31m\u202e"
	g := linesOf(t)
	files := [][]byte{
		editedLine(t, g[0], func(x *exportedGame) {
			r := x.Readable
			r.Platform, r.ExternalRef, r.TableRef, r.Started, r.Ended = evil, evil, evil, evil, evil
			r.Players, r.Actions = []string{evil, evil}, []string{evil}
			line := &x.Settlement.Lines[0]
			line.Payer, line.Payee, line.Why = evil, evil, evil
			x.Settlement.Lines = append(x.Settlement.Lines, *line)
			x.Inclusion = &tlog.Inclusion{Checkpoint: evil + "\n1\n" + evil + "\n\n" + evil}
		}),
		editedLine(t, g[0], func(x *exportedGame) {
			x.Ruleset = strings.Replace(x.Ruleset, `"dark_chess"`, `"`+`evil\u001b\u009b`+`"`, 1)
		}),
		editedLine(t, g[0], func(x *exportedGame) { x.Ruleset = evil }),
		editedLine(t, g[0], func(x *exportedGame) { x.Format = evil }),
		editedLine(t, g[0], func(x *exportedGame) { x.MatchID = evil }),
		editedLine(t, g[0], func(x *exportedGame) { x.Settlement.SettlementID = evil }),
		bytes.Replace(g[0], []byte(`"game":`), []byte(`"`+strings.ReplaceAll(evil, "\n", "")+`":1,"game":`), 1),
		bytes.Replace(g[0], []byte(`"game":`), []byte(evil), 1),
		bytes.Replace(g[0], []byte(`"amount":"100"`), []byte(`"amount":"`+"\u009b\u202e"+`"`), 1),
	}
	said := 0
	for i, file := range files {
		for _, key := range []bool{false, true} {
			var texts []string
			err := Read(bytes.NewReader(file), func(m *Match) error {
				var together Files
				r := Check(m, nil)
				if key {
					r = Check(m, newNotary(t).public)
				}
				together.Compare(evil, m, r)
				together.Compare("b", m, r)
				for _, f := range r.Findings {
					texts = append(texts, f.String())
				}
				texts = append(texts, r.Notes...)
				return nil
			})
			if err != nil {
				texts = append(texts, err.Error())
			}
			for _, text := range texts {
				if said++; strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Errorf("file %d: %q", i, text)
				}
			}
			if len(texts) == 0 {
				t.Errorf("file %d: nothing was found", i)
			}
		}
	}
	if said < 20 {
		t.Errorf("only %d texts", said)
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("棋", maxShownBytes)
	for text, want := range map[string]string{
		"":             "",
		`a "b" \`:      `a "b" \`,
		"暗棋":           "暗棋",
		"a\x1b[2Jb":    `"a\x1b[2Jb"`,
		"a\nb":         `"a\nb"`,
		"\xff":         `"\xff"`,
		"\u202e":       `"\u202e"`,
		"a\u009b":      `"a\u009b"`,
		long:           long[:999] + "... (3000 bytes)",
		long[:999]:     long[:999],
		long + "\x00!": long[:999] + "... (3002 bytes)",
	} {
		if got := Shown(text); got != want {
			t.Errorf("%.20q: %q", text, got)
		}
	}
	if broken := strings.Repeat("\x80", 5000); len(Shown(broken)) > 5*maxShownBytes {
		t.Error("text that isn't UTF-8 is not cut")
	}
}

// TestExportedTextIsPrintable: an export may be printed, and reads the same.
func TestExportedTextIsPrintable(t *testing.T) {
	t.Parallel()
	const evil = "\x7f\u009b\u202e\U000e0001\x1b棋"
	line := encode(&exportedGame{Ruleset: evil})
	if bytes.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("%q", line)
	}
	var back exportedGame
	if err := json.Unmarshal(line, &back); err != nil || back.Ruleset != evil {
		t.Errorf("%q, %v", back.Ruleset, err)
	}
	if !slices.Contains([]rune(string(line)), '棋') {
		t.Error("what can be read is escaped")
	}
	hostile := PrintableJSON([]byte("{\"a\":\"\x1b[2J\n\x9b\"}"))
	if string(hostile) != `{"a":"\u001b[2J\u000a`+"\ufffd"+`"}` {
		t.Errorf("%q", hostile)
	}
}
