package console

import (
	"fmt"
	"strings"

	"referee.example/internal/rules/junqi"
)

// A board of army chess is drawn in these units. The two players' rows stand
// closer than their columns, since pieces are wider than high.
const (
	armyMargin   = 74
	fourMargin   = 104 // there the names of the stops stand in it
	twoColumn    = 108
	twoRow       = 74
	twoRiver     = 40 // between the two sides
	fourCell     = 100
	fourStops    = 17 // across and down
	fourFirst    = 6  // the first row or column of the middle
	fourLast     = 10
	coordinateAt = 15 // from the edge
)

// armyGraph is a board of army chess, empty: what all its games have in common.
type armyGraph struct {
	Width, Height int
	Four          bool
	Roads, Rails  []string // paths
	Stops         []armyStop
	Labels        []label
	game          *junqi.Game
	at            map[string]point
}

type point struct{ x, y int }

type armyStop struct {
	X, Y int
	Kind string // "station", "camp" or "headquarters"
	Name string
}

// The boards are drawn once; they never change.
var armyTwo, armyFour = newArmyGraph(junqi.FormDark), newArmyGraph(junqi.FormFourPlayer)

func newArmyGraph(form string) *armyGraph {
	game, err := junqi.Compile(junqi.Rules{Form: form})
	if err != nil {
		panic("console: " + err.Error()) // the form is constant
	}
	g := &armyGraph{game: game, Four: form == junqi.FormFourPlayer, at: map[string]point{}}
	where := twoPlayerStop
	g.Width, g.Height = 2*armyMargin+4*twoColumn, 2*armyMargin+11*twoRow+twoRiver
	if g.Four {
		where = fourPlayerStop
		g.Width = 2*fourMargin + (fourStops-1)*fourCell
		g.Height = g.Width
	}
	stops := game.Stops()
	for _, stop := range stops {
		p := where(stop.Name)
		kind := "station"
		switch {
		case stop.Camp:
			kind = "camp"
		case stop.Headquarters:
			kind = "headquarters"
		}
		g.at[stop.Name] = p
		g.Stops = append(g.Stops, armyStop{p.x, p.y, kind, stop.Name})
	}
	for _, track := range game.Tracks() {
		path := g.path(g.at[stops[track.From].Name], g.at[stops[track.To].Name])
		if track.Rail {
			g.Rails = append(g.Rails, path)
		} else {
			g.Roads = append(g.Roads, path)
		}
	}
	g.label()
	return g
}

// twoPlayerStop is where a stop such as "G2" is drawn: row A is the top one.
func twoPlayerStop(name string) point {
	row, column := int(name[0]-'A'), int(name[1]-'0')
	p := point{armyMargin + column*twoColumn, armyMargin + row*twoRow}
	if name[0] >= 'G' {
		p.y += twoRiver
	}
	return p
}

// fourPlayerStop is where a stop such as "S51" is drawn. Each side counts its rows
// from the middle outwards and its columns from its own left.
func fourPlayerStop(name string) point {
	row, column := int(name[1]-'1'), int(name[2]-'1')
	var x, y int
	switch name[0] {
	case 'C':
		x, y = fourFirst+2*column, fourFirst+2*row
	case 'S':
		x, y = fourFirst+column, fourLast+1+row
	case 'E':
		x, y = fourLast+1+row, fourLast-column
	case 'N':
		x, y = fourLast-column, fourFirst-1-row
	default: // 'W'
		x, y = fourFirst-1-row, fourFirst+column
	}
	return point{fourMargin + x*fourCell, fourMargin + y*fourCell}
}

// path draws an edge: straight, or a quarter of a circle where a rail turns from
// one side of the four players' board into the next.
func (g *armyGraph) path(from, to point) string {
	const (
		near = fourMargin + (fourFirst-1)*fourCell
		far  = fourMargin + (fourLast+1)*fourCell
	)
	corner := func(p point) bool { return (p.x == near || p.x == far) != (p.y == near || p.y == far) }
	if g.Four && from.x != to.x && from.y != to.y && corner(from) && corner(to) {
		sweep := 0
		if bends(from, to, point{(near + far) / 2, (near + far) / 2}) {
			sweep = 1
		}
		return fmt.Sprintf("M%d %dA%d %d 0 0 %d %d %d", from.x, from.y, fourCell, fourCell, sweep, to.x, to.y)
	}
	return fmt.Sprintf("M%d %dL%d %d", from.x, from.y, to.x, to.y)
}

// bends reports whether the way from one point to another has a third on its left,
// as a screen shows it.
func bends(from, to, other point) bool {
	return (to.x-from.x)*(other.y-from.y)-(to.y-from.y)*(other.x-from.x) < 0
}

// label writes the coordinates: letters of rows and numbers of columns, or the
// letters of the sides.
func (g *armyGraph) label() {
	if !g.Four {
		for row := 'A'; row <= 'L'; row++ {
			g.Labels = append(g.Labels, label{coordinateAt / 2, g.at[string(row)+"0"].y, string(row)})
		}
		for column := '0'; column <= '4'; column++ {
			g.Labels = append(g.Labels, label{g.at["L"+string(column)].x, g.Height - coordinateAt, string(column)})
		}
		return
	}
	const at = 2 * coordinateAt
	for _, side := range g.game.SideLetters() {
		for column := '1'; column <= '5'; column++ {
			name := string(side) + "6" + string(column)
			p := g.at[name]
			switch side {
			case 'S':
				p.y = g.Height - at
			case 'N':
				p.y = at / 2
			case 'E':
				p.x = g.Width - at
			default:
				p.x = at / 2
			}
			g.Labels = append(g.Labels, label{p.x, p.y, strings.Replace(name, "6", "", 1)})
		}
	}
}
