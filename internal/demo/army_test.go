package demo

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	refereev1 "referee.example/proto/referee/v1"
)

const armyGames = "testdata/army_games.json"

// TestDrawArmyChess draws the three forms.
func TestDrawArmyChess(t *testing.T) {
	styles := map[string]Style{"characters": {}, "letters": {ASCII: true}, "colour": {Colour: true}}
	for _, c := range drawingCasesIn(t, armyGames) {
		for name, style := range styles {
			t.Run(c.Name+"/"+name, func(t *testing.T) {
				compare(t, filepath.Join("testdata", "golden", c.Name+"."+name+".txt"), c.draw(t, style))
			})
		}
		for _, r := range c.draw(t, Style{ASCII: true}) {
			if r >= 0x80 {
				t.Errorf("%s: %q is not ASCII", c.Name, r)
			}
		}
	}
}

// TestDrawArmyChessAligns: every row's panel begins in the same column, whatever
// stands on the row.
func TestDrawArmyChessAligns(t *testing.T) {
	for _, c := range drawingCasesIn(t, armyGames) {
		for _, style := range []Style{{}, {ASCII: true}} {
			cell := 5
			if style.ASCII {
				cell = 4
			}
			lines := strings.Split(strings.TrimSuffix(c.draw(t, style), "\n"), "\n")
			width := 3 + 5*cell
			if c.Name == "army-four" {
				width = 3 + 17*cell
			}
			for i, line := range lines[1 : len(lines)-1] {
				at := strings.Index(line, "player-")
				if at < 0 {
					at = strings.Index(line, "  captured")
				}
				if at >= 0 && columns(line[:at]) != width+5 {
					t.Errorf("%s, row %d: the panel begins in column %d, not %d: %q", c.Name, i, columns(line[:at]), width+5, line)
				}
			}
		}
	}
}

// TestArmyBoardsHaveAllStops: 60 stops with ten camps and four headquarters, and 129
// with twenty and eight, no two of them at one place.
func TestArmyBoardsHaveAllStops(t *testing.T) {
	for seats, want := range map[int][3]int{2: {60, 10, 4}, 4: {129, 20, 8}} {
		b, err := newArmyBoard(&refereev1.ArmyChessView{SeatSides: make([]string, seats)})
		if err != nil {
			t.Fatal(err)
		}
		grounds, names := map[byte]int{}, map[string]bool{}
		for _, name := range b.names {
			grounds[b.ground(name)]++
			names[name] = true
		}
		if got := [3]int{len(names), grounds['('], grounds['{']}; got != want || len(b.names) != want[0] {
			t.Errorf("%d seats: %v stops, camps and headquarters at %d places, want %v", seats, got, len(b.names), want)
		}
	}
}

func TestDrawArmyChessRefuses(t *testing.T) {
	for _, p := range []*refereev1.ArmyChessPiece{{Square: "M0", Piece: "b9"}, {Square: "A0", Piece: "b"}, {Square: "S11", Piece: "S9"}} {
		view := &refereev1.ArmyChessView{SeatSides: []string{"b", "t"}, Pieces: []*refereev1.ArmyChessPiece{p}}
		if _, err := Draw(&refereev1.Game{View: &refereev1.Game_ArmyChess{ArmyChess: view}}, nil, nil, time.Time{}, Style{}); err == nil {
			t.Errorf("%v was drawn", p)
		}
	}
}

// TestRandomPlacements have a side's 25 pieces, flag, mines and bombs where they
// may stand; whether the referee takes them TestDemonstrationOfArmyChess shows.
func TestRandomPlacements(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(200) {
		text := randomPlacement(rand.New(rand.NewPCG(seed, 0)))
		seen[text] = true
		rows := strings.Split(text, "/")
		letters := []byte(strings.NewReplacer("/", "", ".", "").Replace(text))
		slices.Sort(letters)
		if string(letters) != "1112223334455667789BBFMMM" || len(rows) != armyRows || strings.Contains(rows[0], "B") ||
			strings.Contains(strings.Join(rows[:4], ""), "M") || rows[5][1] != 'F' && rows[5][3] != 'F' {
			t.Fatalf("%s", text)
		}
	}
	if len(seen) < 200 {
		t.Errorf("%d different placements of 200", len(seen))
	}
}
