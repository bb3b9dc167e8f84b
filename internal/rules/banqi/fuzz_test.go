package banqi

import (
	"bytes"
	"slices"
	"testing"

	"referee.example/internal/rules"
)

// seedStates are the cases' positions, as starting points for the fuzzers.
func seedStates(f *testing.F) (texts []string) {
	for _, file := range []string{"cases.json", "own_cases.json"} {
		var cases []ruleCase
		readJSON(f, file, &cases)
		for _, c := range cases {
			texts = append(texts, c.Position)
			if c.Text != "" {
				texts = append(texts, c.Text)
			}
		}
	}
	return texts
}

// fuzzGames are rulesets that between them use every part of a state.
func fuzzGames(f *testing.F) []*Game {
	var all []*Game
	for _, name := range []string{"7club-standard", "mingjian-2026", "chase-exempt-positions", "open-chain-positions", "gametower-dark-chain-rush", "daily"} {
		all = append(all, compiled(f, name))
	}
	return all
}

// FuzzParseState: whatever is read is a valid state that is written and read
// again as itself and can be played.
func FuzzParseState(f *testing.F) {
	games := fuzzGames(f)
	for _, text := range seedStates(f) {
		for i := range games {
			f.Add(uint8(i), text)
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, text string) {
		g := games[int(i)%len(games)]
		s, err := g.ParseState(text)
		if err != nil {
			return
		}
		checkState(t, g, &s)
	})
}

// FuzzDecodeBinary: no bytes crash it, and what it takes has no other spelling.
func FuzzDecodeBinary(f *testing.F) {
	games := fuzzGames(f)
	for _, text := range seedStates(f) {
		for i, g := range games {
			if s, err := g.ParseState(text); err == nil {
				f.Add(uint8(i), g.AppendBinary(nil, &s))
			}
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, b []byte) {
		g := games[int(i)%len(games)]
		s, err := g.DecodeBinary(b)
		if err != nil {
			return
		}
		if again := g.AppendBinary(nil, &s); !bytes.Equal(again, b) {
			t.Fatalf("%x was read as %x", b, again)
		}
		checkState(t, g, &s)
	})
}

// checkState writes, reads and plays a state that a decoder accepted.
func checkState(t *testing.T, g *Game, s *State) {
	text := g.Text(s)
	again, err := g.ParseState(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if again := g.Text(&again); again != text {
		t.Fatalf("text %s\nagain %s", text, again)
	}
	binary := g.AppendBinary(nil, s)
	if _, err := g.DecodeBinary(binary); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, a := range g.List(s, nil) {
		next := *s
		for p := rules.NoPiece; p < codes; p++ {
			if _, err := g.Apply(&next, a, p); err == nil {
				break
			}
		}
	}
	if !slices.Equal(g.AppendBinary(nil, s), binary) {
		t.Fatalf("playing a copy changed %s", text)
	}
}

// FuzzParseAction: whatever is read is written as it was.
func FuzzParseAction(f *testing.F) {
	for _, text := range []string{"stop", "a1", "b3(n)", "a4-a5", "a4-a5(k)", "pass", "d8-d9", "a1-a2(X)", "", "a1(", "(n)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, turned, err := ParseAction(text)
		if err != nil {
			return
		}
		if again := FormatAction(a, turned); again != text {
			t.Fatalf("%q was read as %q", text, again)
		}
	})
}
