package junqi

import "referee.example/internal/rules"

// Stop is a stop of a board, for whoever draws it.
type Stop struct {
	Name         string
	Camp         bool
	Headquarters bool
}

// Track is an edge of a board, the lower of its stops first.
type Track struct {
	From, To rules.Square
	Rail     bool
}

// Stops returns the stops of the form's board in the order of their numbers.
func (g *Game) Stops() []Stop {
	stops := make([]Stop, g.board.stops)
	for n := range stops {
		stops[n] = Stop{g.board.names[n], g.board.camps.has(rules.Square(n)), g.board.hqs.has(rules.Square(n))}
	}
	return stops
}

// Tracks returns the edges of the form's board, each once, by their stops.
func (g *Game) Tracks() (tracks []Track) {
	for n := range g.board.stops {
		from := rules.Square(n)
		for to := range g.board.rail[from].or(g.board.road[from]).all {
			if to > from {
				tracks = append(tracks, Track{from, to, g.board.rail[from].has(to)})
			}
		}
	}
	return tracks
}

// Home returns the stops of a side in the order of a Placement.
func (g *Game) Home(side Side) []rules.Square {
	home := g.board.sides[side].home
	return home[:]
}

// SideLetters returns the letters of the form's sides, in their order.
func (g *Game) SideLetters() string {
	letters := make([]byte, 0, rules.MaxSeats)
	for side := range g.board.sides {
		letters = append(letters, g.board.sides[side].letter)
	}
	return string(letters)
}
