package junqi

import (
	"fmt"
	"slices"
	"testing"
)

// TestGraph: what is drawn of a board is the given graph, each edge once.
func TestGraph(t *testing.T) {
	for name, form := range map[string]string{"two": FormDark, "four": FormFourPlayer} {
		g, err := Compile(Rules{Form: form})
		if err != nil {
			t.Fatal(err)
		}
		given := readBoard(t, name)
		stops := g.Stops()
		for _, stop := range stops {
			kind := map[[2]bool]string{{}: "station", {true, false}: "camp", {false, true}: "hq"}[[2]bool{stop.Camp, stop.Headquarters}]
			if kind == "" || given.Nodes[stop.Name] != kind {
				t.Errorf("%s: %s is a %q, want %q", name, stop.Name, kind, given.Nodes[stop.Name])
			}
		}
		tracks := g.Tracks()
		if len(stops) != len(given.Nodes) || len(tracks) != len(given.Edges) {
			t.Errorf("%s: %d stops and %d edges, want %d and %d", name, len(stops), len(tracks), len(given.Nodes), len(given.Edges))
		}
		for _, track := range tracks {
			kind := "road"
			if track.Rail {
				kind = "rail"
			}
			from, to := stops[track.From].Name, stops[track.To].Name
			if !slices.Contains(given.Edges, fmt.Sprintf("%s %s %s", from, kind, to)) &&
				!slices.Contains(given.Edges, fmt.Sprintf("%s %s %s", to, kind, from)) {
				t.Errorf("%s: there is no %s from %s to %s", name, kind, from, to)
			}
		}
		for side, letter := range g.SideLetters() {
			if home := g.Home(Side(side)); len(home) != placementStops || g.PieceText(PieceOf(Side(side), Flag)) != string(letter)+"F" {
				t.Errorf("%s: side %c has %d stops", name, letter, len(home))
			}
		}
	}
}
