package demo

import (
	"bytes"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	refereev1 "referee.example/proto/referee/v1"
)

// TestReport prints every game of a match and its score.
func TestReport(t *testing.T) {
	content, err := os.ReadFile("testdata/match.json")
	if err != nil {
		t.Fatal(err)
	}
	match := &refereev1.Match{}
	err = protojson.Unmarshal(content, match)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := &screen{out: &out, players: []string{"player-1", "player-2"}}
	for _, game := range match.GetGames() {
		change := &refereev1.Change{
			Game:   &refereev1.Game{Game: game.GetGame(), Result: game.GetResult(), Settlement: game.GetSettlement()},
			Events: []*refereev1.Event{{Game: game.GetGame(), Ply: 10 * game.GetGame()}},
		}
		err = s.gameEnded(change)
		if err != nil {
			t.Fatal(err)
		}
	}
	err = s.matchEnded(match)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "testdata/golden/report.txt", out.String())
}
