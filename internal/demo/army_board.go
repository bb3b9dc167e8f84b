package demo

import (
	"fmt"
	"math/rand/v2"
	"strings"

	refereev1 "referee.example/proto/referee/v1"
)

// A side of army chess has six rows of five stops, the front row first.
const (
	armyRows    = 6
	armyColumns = 5
)

// point is where a stop is drawn, to the right and down.
type point struct{ x, y int }

// armyBoard is where the stops of a board are drawn, and what stands on them.
type armyBoard struct {
	width, height int
	names         map[point]string
	pieces        map[string]string // by stop
	four          bool
}

// newArmyBoard lays out the board of a view: 5 by 12 stops with two players, with
// four a cross of 17 by 17 with nine stops in its centre.
func newArmyBoard(view *refereev1.ArmyChessView) (*armyBoard, error) {
	b := &armyBoard{width: armyColumns, height: 2 * armyRows, names: map[point]string{}, pieces: map[string]string{}}
	if b.four = len(view.GetSeatSides()) > 2; b.four {
		b.width, b.height = 2*armyRows+armyColumns, 2*armyRows+armyColumns
	}
	for row := range armyRows {
		for column := range armyColumns {
			b.addStops(row, column)
		}
	}
	for i := range 9 {
		if b.four {
			b.names[point{armyRows + 2*(i%3), armyRows + 2*(i/3)}] = fmt.Sprintf("C%d%d", i/3+1, i%3+1)
		}
	}
	known := map[string]bool{}
	for _, name := range b.names {
		known[name] = true
	}
	for _, p := range view.GetPieces() {
		if !known[p.GetSquare()] || len(p.GetPiece()) != 2 {
			return nil, fmt.Errorf("a piece %q on %q", p.GetPiece(), p.GetSquare())
		}
		b.pieces[p.GetSquare()] = p.GetPiece()
	}
	return b, nil
}

// addStops adds a stop of each side, the row counted from its front and the
// column from its owner's left.
func (b *armyBoard) addStops(row, column int) {
	const near = armyRows - 1               // the front row of North and West
	const far = armyRows + armyColumns      // that of South and East
	const last = armyRows + armyColumns - 1 // the centre's last column
	for side, at := range map[byte]point{
		'S': {armyRows + column, far + row}, 'E': {far + row, last - column},
		'N': {last - column, near - row}, 'W': {near - row, armyRows + column},
	} {
		if b.four {
			b.names[at] = fmt.Sprintf("%c%d%d", side, row+1, column+1)
		}
	}
	if !b.four {
		b.names[point{column, armyRows + row}] = fmt.Sprintf("%c%d", 'G'+row, column)
		b.names[point{armyColumns - 1 - column, armyRows - 1 - row}] = fmt.Sprintf("%c%d", 'F'-row, armyColumns-1-column)
	}
}

// ground is what an empty stop is: '(' a camp, '{' a headquarters, '-' a station.
func (b *armyBoard) ground(name string) byte {
	var row, column int
	switch {
	case b.four && name[0] == 'C':
		return '-'
	case b.four:
		row, column = int(name[1]-'1'), int(name[2]-'1')
	case name[0] >= 'G':
		row, column = int(name[0]-'G'), int(name[1]-'0')
	default:
		row, column = int('F'-name[0]), int(name[1]-'0')
	}
	switch {
	case row == 2 && column == 2, (row == 1 || row == 3) && (column == 1 || column == 3):
		return '('
	case row == armyRows-1 && (column == 1 || column == 3):
		return '{'
	}
	return '-'
}

// randomPlacement places a side's pieces as every ruleset allows: the flag in a
// headquarters, mines in the last two rows, no bomb in the front row.
func randomPlacement(dice *rand.Rand) string {
	var stops [armyRows * armyColumns]byte
	free := []int{}
	ground := &armyBoard{four: true}
	for i := range stops {
		stops[i] = '.'
		if ground.ground(fmt.Sprintf("S%d%d", i/armyColumns+1, i%armyColumns+1)) != '(' {
			free = append(free, i)
		}
	}
	dice.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
	put := func(piece byte, may func(stop int) bool) {
		for n, stop := range free {
			if may(stop) {
				stops[stop] = piece
				free = append(free[:n], free[n+1:]...)
				return
			}
		}
	}
	back, front := (armyRows-1)*armyColumns, armyColumns
	put('F', func(stop int) bool { return stop == back+1 || stop == back+3 })
	for range 3 {
		put('M', func(stop int) bool { return stop >= back-armyColumns })
	}
	for range 2 {
		put('B', func(stop int) bool { return stop >= front })
	}
	for _, piece := range []byte("9877665544333222111") {
		put(piece, func(int) bool { return true })
	}
	rows := make([]string, armyRows)
	for row := range rows {
		rows[row] = string(stops[row*armyColumns : (row+1)*armyColumns])
	}
	return strings.Join(rows, "/")
}

// chooseAttacking picks an action, an attack more often than not: whoever sees
// little of the other side learns by attacking.
func (p player) chooseAttacking(actions []*refereev1.LegalAction) *refereev1.LegalAction {
	var attacks []*refereev1.LegalAction
	for _, action := range actions {
		if action.GetWhat() == "attack" {
			attacks = append(attacks, action)
		}
	}
	if len(attacks) > 0 && p.dice.IntN(10) < 6 {
		actions = attacks
	}
	return actions[p.dice.IntN(len(actions))]
}
