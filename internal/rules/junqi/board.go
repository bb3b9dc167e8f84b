package junqi

import (
	"embed"
	"encoding/json"
	"errors"
	"math/bits"
	"strings"

	"referee.example/internal/rules"
)

const (
	// maxStops is how many stops the larger board has.
	maxStops = 129
	// setRoom is how many stops a set could hold; tables of that size need no
	// check of an index that came out of a set.
	setRoom = 192
)

// set is a set of stops: bit n%64 of word n/64 is stop n.
type set [setRoom / 64]uint64

// has reports whether stop is in the set; NoSquare is in none.
func (s *set) has(stop rules.Square) bool { return stop < maxStops && s[stop>>6]>>(stop&63)&1 != 0 }

func (s *set) add(stop rules.Square)    { s[stop>>6&3] |= 1 << (stop & 63) }
func (s *set) remove(stop rules.Square) { s[stop>>6&3] &^= 1 << (stop & 63) }

func (s set) or(t set) set     { return set{s[0] | t[0], s[1] | t[1], s[2] | t[2]} }
func (s set) and(t set) set    { return set{s[0] & t[0], s[1] & t[1], s[2] & t[2]} }
func (s set) andNot(t set) set { return set{s[0] &^ t[0], s[1] &^ t[1], s[2] &^ t[2]} }

// first returns the lowest stop of a set that is not empty.
func (s *set) first() rules.Square {
	for i, word := range s {
		if word != 0 {
			return rules.Square(i<<6 + bits.TrailingZeros64(word))
		}
	}
	return rules.NoSquare
}

func (s set) empty() bool { return s[0]|s[1]|s[2] == 0 }
func (s set) len() int {
	return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) + bits.OnesCount64(s[2])
}

// all yields the stops of the set, ascending.
func (s set) all(yield func(rules.Square) bool) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			if !yield(rules.Square(i<<6 + bits.TrailingZeros64(word))) {
				return
			}
		}
	}
}

// board is the graph that a form is played on. A Square is the number of a stop
// in the order of its data file.
type board struct {
	names []string
	stops int
	index map[string]rules.Square
	camps set
	hqs   set
	sides []boardSide

	road [setRoom]set              // neighbours by road
	rail [setRoom]set              // neighbours by rail
	rays [setRoom][][]rules.Square // along each rail line that leaves the stop, near to far
	line [setRoom]set              // all stops of those lines
	net  [setRoom]set              // all stops that rails lead to, turning at will
}

// boardSide is where a side places its pieces.
type boardSide struct {
	letter byte
	home   [placementStops]rules.Square // six rows front to back, each from the owner's left
	homes  set                          // the stations and headquarters among them
	hqs    set
}

//go:embed boards/*.json
var boardFiles embed.FS

// The boards are read once; they never change.
var boardTwo, boardFour = mustLoadBoard("two"), mustLoadBoard("four")

// boardFile is the form of the data files. Lists of stops are names separated by
// spaces; roads name each edge once, at its first stop.
type boardFile struct {
	Stops        []string `json:"stops"`
	Camps        string   `json:"camps"`
	Headquarters string   `json:"headquarters"`
	Sides        []struct {
		Letter string   `json:"letter"`
		Rows   []string `json:"rows"`
	} `json:"sides"`
	Rails []struct {
		Name  string `json:"name"`
		Stops string `json:"stops"`
	} `json:"rails"`
	Roads map[string]string `json:"roads"`
}

// mustLoadBoard reads a data file, which is part of the program: a fault in it is
// a fault of the build.
func mustLoadBoard(name string) *board {
	data, err := boardFiles.ReadFile("boards/" + name + ".json")
	var file boardFile
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		panic("board " + name + ": " + err.Error())
	}
	return file.build()
}

func (f *boardFile) build() *board {
	b := &board{index: make(map[string]rules.Square)}
	for _, row := range f.Stops {
		for _, stop := range strings.Fields(row) {
			b.index[stop] = rules.Square(len(b.names))
			b.names = append(b.names, stop)
		}
	}
	b.stops = len(b.names)
	for _, stop := range b.list(f.Camps) {
		b.camps.add(stop)
	}
	for _, stop := range b.list(f.Headquarters) {
		b.hqs.add(stop)
	}
	for _, s := range f.Sides {
		side := boardSide{letter: s.Letter[0]}
		copy(side.home[:], b.list(strings.Join(s.Rows, " ")))
		for _, stop := range side.home {
			if !b.camps.has(stop) {
				side.homes.add(stop)
			}
		}
		side.hqs = side.homes.and(b.hqs)
		b.sides = append(b.sides, side)
	}
	for from, tos := range f.Roads {
		for _, to := range b.list(tos) {
			b.road[b.stop(from)].add(to)
			b.road[to].add(b.stop(from))
		}
	}
	for _, rail := range f.Rails {
		b.addRail(b.list(rail.Stops))
	}
	b.connect()
	return b
}

func (b *board) stop(name string) rules.Square {
	stop, ok := b.index[name]
	if !ok {
		panic("board: no stop " + name)
	}
	return stop
}

func (b *board) list(names string) []rules.Square {
	var stops []rules.Square
	for _, name := range strings.Fields(names) {
		stops = append(stops, b.stop(name))
	}
	return stops
}

// addRail lays one line: from each of its stops a ray goes each way.
func (b *board) addRail(line []rules.Square) {
	for i, stop := range line {
		var back []rules.Square
		for j := i - 1; j >= 0; j-- {
			back = append(back, line[j])
		}
		for _, ray := range [][]rules.Square{back, line[i+1:]} {
			if len(ray) > 0 {
				b.rays[stop] = append(b.rays[stop], ray)
				b.rail[stop].add(ray[0])
			}
		}
		for _, other := range line {
			if other != stop {
				b.line[stop].add(other)
			}
		}
	}
}

// connect finds what rails lead to from each stop of an empty board.
func (b *board) connect() {
	for stop := range b.stops {
		for next := range b.rail[stop].all {
			_, b.net[stop] = b.flood(next, &set{})
		}
	}
}

// flood returns the free stops that rails connect with stop, itself among them, and
// with them all stops, free or occupied, that they lead to. Rails keep to the first
// two words of a set: the boards are numbered so.
func (b *board) flood(stop rules.Square, occupied *set) (free, reached set) {
	free.add(stop)
	near := (*[2 * 64]set)(b.rail[:])
	f0, f1 := free[0], free[1]
	r0, r1 := f0, f1
	for n0, n1 := f0, f1; n0|n1 != 0; {
		var x0, x1 uint64
		for ; n0 != 0; n0 &= n0 - 1 {
			r := &near[bits.TrailingZeros64(n0)&63]
			x0 |= r[0]
			x1 |= r[1]
		}
		for ; n1 != 0; n1 &= n1 - 1 {
			r := &near[64|bits.TrailingZeros64(n1)&63]
			x0 |= r[0]
			x1 |= r[1]
		}
		r0, r1 = r0|x0, r1|x1
		n0, n1 = x0&^(occupied[0]|f0), x1&^(occupied[1]|f1)
		f0, f1 = f0|n0, f1|n1
	}
	return set{f0, f1}, set{r0, r1}
}

// sideOf returns the side of a letter, NoSide for none.
func (b *board) sideOf(letter byte) Side {
	for side := range b.sides {
		if b.sides[side].letter == letter {
			return Side(side)
		}
	}
	return NoSide
}

// ErrSquare is what ParseSquare answers for anything but a stop of the board.
var ErrSquare = errors.New("not a stop of this board")

// Squares returns how many stops the board of the form has.
func (g *Game) Squares() int { return g.board.stops }

// SquareName returns the name of a stop, such as "G2" or "S51"; "??" off the board.
func (g *Game) SquareName(stop rules.Square) string {
	if int(stop) >= g.board.stops {
		return "??"
	}
	return g.board.names[stop]
}

// ParseSquare returns the stop of a name. The error is ErrSquare.
func (g *Game) ParseSquare(name string) (rules.Square, error) {
	stop, ok := g.board.index[name]
	if !ok {
		return rules.NoSquare, ErrSquare
	}
	return stop, nil
}

// FindStop returns the stop of a name that is not known to be of either board, and
// how many players that board has: no name is on both. It is 0 for no stop.
func FindStop(name string) (stop rules.Square, seats int) {
	for _, b := range []*board{boardTwo, boardFour} {
		if stop, ok := b.index[name]; ok {
			return stop, len(b.sides)
		}
	}
	return rules.NoSquare, 0
}
