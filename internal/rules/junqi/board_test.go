package junqi

import (
	"slices"
	"strings"
	"testing"

	"referee.example/internal/rules"
)

// TestBoards: both boards are the given graphs, stop for stop, edge for edge and
// line for line.
func TestBoards(t *testing.T) {
	for name, b := range map[string]*board{"two": boardTwo, "four": boardFour} {
		given := readBoard(t, name)
		var ours, theirs []string
		for stop := range rules.Square(b.stops) {
			kind := "station"
			if b.camps.has(stop) {
				kind = "camp"
			} else if b.hqs.has(stop) {
				kind = "hq"
			}
			if got := given.Nodes[b.names[stop]]; got != kind {
				t.Errorf("%s: %s is a %s, want %q", name, b.names[stop], kind, got)
			}
			for kind, edges := range map[string]*[setRoom]set{"road": &b.road, "rail": &b.rail} {
				for to := range edges[stop].all {
					ours = append(ours, b.names[stop]+" "+kind+" "+b.names[to])
				}
			}
		}
		for _, edge := range given.Edges {
			f := strings.Fields(edge)
			theirs = append(theirs, edge, f[2]+" "+f[1]+" "+f[0])
		}
		slices.Sort(ours)
		slices.Sort(theirs)
		if !slices.Equal(ours, theirs) || len(slices.Compact(theirs)) != 2*len(given.Edges) {
			t.Errorf("%s: the edges differ", name)
		}
		if len(given.Nodes) != b.stops || given.Counts["nodes"] != b.stops {
			t.Errorf("%s: %d stops, want %d", name, b.stops, len(given.Nodes))
		}
		for stop := range b.stops {
			if b.rail[stop][2] != 0 || stop >= 128 && !b.rail[stop].empty() {
				t.Errorf("%s: the rails of %s leave the first two words", name, b.names[stop])
			}
		}
		testLines(t, name, b, &given)
	}
}

// testLines: from each stop the rays are the parts of the given lines before and
// after it, near to far.
func testLines(t *testing.T, name string, b *board, given *givenBoard) {
	want := make(map[string][]string)
	for _, text := range given.Lines {
		line := strings.Fields(text)
		for i, stop := range line {
			before := slices.Clone(line[:i])
			slices.Reverse(before)
			for _, part := range [][]string{before, line[i+1:]} {
				if len(part) > 0 {
					want[stop] = append(want[stop], strings.Join(part, " "))
				}
			}
		}
	}
	for stop := range b.stops {
		var got []string
		for _, ray := range b.rays[stop] {
			var names []string
			for _, next := range ray {
				names = append(names, b.names[next])
			}
			got = append(got, strings.Join(names, " "))
		}
		slices.Sort(got)
		slices.Sort(want[b.names[stop]])
		if !slices.Equal(got, want[b.names[stop]]) {
			t.Errorf("%s: from %s the lines are %q, want %q", name, b.names[stop], got, want[b.names[stop]])
		}
	}
}

// TestHomes: each side places on 23 stations and 2 headquarters around 5 camps, and
// no two sides share a stop. The front row is nearest to the others.
func TestHomes(t *testing.T) {
	for name, b := range map[string]*board{"two": boardTwo, "four": boardFour} {
		var all set
		for side := range b.sides {
			s := &b.sides[side]
			if s.homes.len() != perSide || s.hqs.len() != 2 || !s.homes.and(all).empty() {
				t.Errorf("%s: side %c has %d stops to fill, %d of them headquarters", name, s.letter, s.homes.len(), s.hqs.len())
			}
			all = all.or(s.homes)
			for i, stop := range s.home {
				row, column := i/5, i%5
				camp := row >= 1 && row <= 3 && (row+column)%2 == 0 && column%4 != 0
				if hq := row == 5 && column%2 == 1; b.camps.has(stop) != camp || b.hqs.has(stop) != hq {
					t.Errorf("%s: %s is in row %d, column %d of side %c", name, b.names[stop], row+1, column+1, s.letter)
				}
				if name := b.names[stop]; len(b.sides) == 4 && name != string([]byte{s.letter, byte('1' + row), byte('1' + column)}) {
					t.Errorf("%s is in row %d, column %d of side %c", name, row+1, column+1, s.letter)
				}
			}
		}
	}
	for letter, stops := range map[byte]string{'b': "G0 G4 L0 L4", 't': "F4 F0 A4 A0"} {
		home := &boardTwo.sides[boardTwo.sideOf(letter)].home
		got := boardTwo.names[home[0]] + " " + boardTwo.names[home[4]] + " " + boardTwo.names[home[25]] + " " + boardTwo.names[home[29]]
		if got != stops {
			t.Errorf("the corners of side %c are %s, want %s", letter, got, stops)
		}
	}
}
