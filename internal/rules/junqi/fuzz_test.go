package junqi

import (
	"bytes"
	"errors"
	"testing"

	"referee.example/internal/rules"
)

// fuzzGames are rulesets that between them use every part of a state.
func fuzzGames(f *testing.F) []*Game {
	var all []*Game
	for _, name := range []string{"junqi-dark", "flip_previous", "siguo", "flag_carry_home", "open_four", "flip_strict"} {
		all = append(all, compiled(f, name))
	}
	return all
}

// seedGames returns states out of whole games, starts and ends among them.
func seedGames(g *Game, visit func(s *State, ids *Identities, log []RecordEntry)) {
	for seed := range uint64(3) {
		dice := newDice(seed)
		ids := dice.identities(g)
		s := g.Start(0, ids)
		var log []RecordEntry
		for ply := 0; !s.outcome.Over() && ply < 200; ply++ {
			if ply%37 == 0 {
				visit(&s, ids, log)
			}
			c := dice.change(g, &s, ids)
			e, err := g.Play(&s, ids, c)
			if err != nil {
				panic(err)
			}
			log = append(log, RecordEntry{c, e.Turned})
		}
		visit(&s, ids, log)
	}
}

// FuzzParsePosition: whatever is read is a valid state that is written and read
// again as itself and can be played.
func FuzzParsePosition(f *testing.F) {
	games := fuzzGames(f)
	for i, g := range games {
		seedGames(g, func(s *State, ids *Identities, _ []RecordEntry) {
			f.Add(uint8(i), g.FullText(s, ids))
			f.Add(uint8(i), g.Text(s))
		})
	}
	f.Add(uint8(3), "K3=b5?,L1=bF?,A4=t2?,L4=b2? seat=0 ply=2 carry1=K3<A1")
	f.Fuzz(func(t *testing.T, i uint8, text string) {
		g := games[int(i)%len(games)]
		s, ids, err := g.ParsePosition(text)
		if err != nil {
			return
		}
		full := g.FullText(&s, ids)
		again, idsAgain, err := g.ParsePosition(full)
		if err != nil || again != s || g.FullText(&again, idsAgain) != full {
			t.Fatalf("%v\n%s", err, full)
		}
		checkState(t, g, &s, ids)
	})
}

// FuzzDecodeBinary: no bytes crash it, and what it takes has no other spelling.
func FuzzDecodeBinary(f *testing.F) {
	games := fuzzGames(f)
	for i, g := range games {
		seedGames(g, func(s *State, _ *Identities, _ []RecordEntry) { f.Add(uint8(i), g.AppendBinary(nil, s)) })
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
		checkState(t, g, &s, new(Identities))
	})
}

// checkState writes, reads and plays a state that a decoder accepted.
func checkState(t *testing.T, g *Game, s *State, ids *Identities) {
	text := g.Text(s)
	again, err := g.ParseState(text)
	if err != nil || again != *s {
		t.Fatalf("%v\n%s\n%s", err, text, g.Text(&again))
	}
	fromBinary, err := g.DecodeBinary(g.AppendBinary(nil, s))
	if err != nil || fromBinary != *s {
		t.Fatalf("%v\n%s", err, text)
	}
	for viewer := rules.NoSeat; viewer < rules.MaxSeats; viewer++ {
		g.View(s, ids, viewer)
	}
	for _, a := range g.List(s, ids, nil) {
		next := *s
		e, err := g.Play(&next, ids, Ply(a))
		if err != nil {
			continue // an identity may be missing
		}
		public := *s
		if replayed, err := g.Apply(&public, Ply(a), e.Disclosure); err != nil || replayed != e || public != next {
			t.Fatalf("%s: %v\n%s", g.FormatAction(a, e.Turned), err, g.FullText(s, ids))
		}
		if err := g.validate(&next); err != nil {
			t.Fatalf("%s leads to %v\n%s", g.FormatAction(a, e.Turned), err, g.FullText(s, ids))
		}
	}
	if g.Text(s) != text {
		t.Fatalf("playing a copy changed %s", text)
	}
}

// FuzzParseRecord: whatever is read is written as it was, and replays or is refused
// with a line.
func FuzzParseRecord(f *testing.F) {
	games := fuzzGames(f)
	for i, g := range games {
		seedGames(g, func(_ *State, ids *Identities, log []RecordEntry) {
			r := &Record{Entries: log}
			if g.Places() {
				for side := range g.board.sides {
					r.Placements = append(r.Placements, g.Placement(ids, Side(side)))
				}
			}
			f.Add(uint8(i), g.FormatRecord(r))
		})
	}
	f.Fuzz(func(t *testing.T, i uint8, text string) {
		g := games[int(i)%len(games)]
		r, err := g.ParseRecord(text)
		if err != nil {
			return
		}
		if again := g.FormatRecord(r); again != text {
			t.Fatalf("%q was read as %q", text, again)
		}
		s, ids, _, err := g.Replay(r)
		if err == nil {
			checkState(t, g, &s, ids)
			return
		}
		var refused *RecordError
		if !errors.As(err, &refused) || refused.Line == 0 {
			t.Fatalf("%v names no line", err)
		}
	})
}

// FuzzParseChange: whatever is read is written as it was.
func FuzzParseChange(f *testing.F) {
	games := fuzzGames(f)
	for _, text := range []string{"A1-A2", "A1", "A1(t5)", "pass", "out=1:time", "leave=0", "S11-C33", "A1(", "", "-", "A1()", "out=1:", "none", "out=0:illegal_action"} {
		for i := range games {
			f.Add(uint8(i), text)
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, text string) {
		g := games[int(i)%len(games)]
		c, turned, err := g.ParseChange(text)
		if err != nil {
			return
		}
		if again := g.FormatChange(c, turned); again != text {
			t.Fatalf("%q was read as %q", text, again)
		}
		s := g.Start(0, newDice(0).identities(g))
		if _, err := g.Play(&s, nil, c); err != nil && s.Ply() != 0 {
			t.Fatalf("%q: refused, but played", text)
		}
	})
}

// FuzzParsePlacement: whatever is read is written as it was and judged.
func FuzzParsePlacement(f *testing.F) {
	games := fuzzGames(f)
	for _, text := range []string{"98776/6.5.5/44.33/3.2.2/2MM11/MF1BB", "98776/6.5.5/44.33/3.2.2/2MM11/MF1B", "-8776/6.5.5/44.33/3.2.2/2MM11/MF1BB", ""} {
		f.Add(uint8(0), text)
	}
	f.Fuzz(func(t *testing.T, i uint8, text string) {
		g := games[int(i)%len(games)]
		p, err := ParsePlacement(text)
		if err != nil {
			return
		}
		if again := p.String(); again != text {
			t.Fatalf("%q was read as %q", text, again)
		}
		refused := g.CheckPlacement(0, &p)
		if !refused.OK() && g.Describe(refused) == string(refused.Rule) {
			t.Fatalf("no words for %q", refused.Rule)
		}
		if ids := g.Identities([]Placement{p}); g.Places() && refused.OK() && g.Placement(ids, 0) != p {
			t.Fatalf("%q comes back otherwise", text)
		}
	})
}
