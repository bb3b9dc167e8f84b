package demo

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	refereev1 "referee.example/proto/referee/v1"
)

var update = flag.Bool("update", false, "write the golden files anew")

type drawingCase struct {
	Name string          `json:"name"`
	Now  time.Time       `json:"now"`
	Last json.RawMessage `json:"last"`
	Game json.RawMessage `json:"game"`
}

func drawingCases(t *testing.T) []drawingCase { return drawingCasesIn(t, "testdata/games.json") }

func drawingCasesIn(t *testing.T, file string) []drawingCase {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []drawingCase
	err = json.Unmarshal(content, &cases)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func (c drawingCase) draw(t *testing.T, style Style) string {
	t.Helper()
	game, last := &refereev1.Game{}, &refereev1.Event{}
	err := protojson.Unmarshal(c.Game, game)
	if err != nil {
		t.Fatal(err)
	}
	if c.Last != nil {
		err = protojson.Unmarshal(c.Last, last)
		if err != nil {
			t.Fatal(err)
		}
	}
	players := []string{"player-1", "player-2", "player-3", "player-4"}
	if len(game.GetArmyChess().GetSeatSides()) < 4 {
		players = players[:2]
	}
	drawing, err := Draw(game, players, last, c.Now, style)
	if err != nil {
		t.Fatal(err)
	}
	return drawing
}

func TestDraw(t *testing.T) {
	styles := map[string]Style{"characters": {}, "letters": {ASCII: true}, "colour": {Colour: true}}
	for _, c := range drawingCases(t) {
		for name, style := range styles {
			t.Run(c.Name+"/"+name, func(t *testing.T) {
				compare(t, filepath.Join("testdata", "golden", c.Name+"."+name+".txt"), c.draw(t, style))
			})
		}
	}
}

// TestDrawAligns measures what a terminal would show: every rank as wide as the
// next, whatever stands on it, and as many lines as Lines says.
func TestDrawAligns(t *testing.T) {
	for _, c := range drawingCases(t) {
		for _, style := range []Style{{}, {ASCII: true}} {
			lines := strings.Split(strings.TrimSuffix(c.draw(t, style), "\n"), "\n")
			if len(lines) != Lines {
				t.Fatalf("%s: %d lines, want %d", c.Name, len(lines), Lines)
			}
			cell := 4
			if style.ASCII {
				cell = 3
			}
			for i, line := range lines[1 : Lines-1] {
				// " 8 ", the squares, " 8" and then, if anything, the panel.
				before, _, _ := strings.Cut(line[2:], " "+string(rune('8'-i)))
				if got := columns(before); got != 1+files*cell {
					t.Errorf("%s: rank %d is %d columns wide, want %d: %q", c.Name, ranks-i, got, 1+files*cell, line)
				}
			}
		}
	}
}

// columns is the width of what Draw draws: the ideographs and the zero sign
// have two columns.
func columns(text string) (width int) {
	for _, r := range text {
		if r >= 0x3000 {
			width++
		}
		width++
	}
	return width
}

func TestLettersAreASCII(t *testing.T) {
	for _, c := range drawingCases(t) {
		for _, r := range c.draw(t, Style{ASCII: true}) {
			if r >= 0x80 {
				t.Errorf("%s: %q is not ASCII", c.Name, r)
			}
		}
	}
}

func TestDrawRefuses(t *testing.T) {
	for _, text := range []string{"", "XXXX", strings.Repeat("X", 33), strings.Repeat("X", 31) + "Q"} {
		game := &refereev1.Game{View: &refereev1.Game_DarkChess{DarkChess: &refereev1.DarkChessView{Board: text}}}
		_, err := Draw(game, nil, nil, time.Time{}, Style{})
		if err == nil {
			t.Errorf("board %q was drawn", text)
		}
	}
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(got), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}
