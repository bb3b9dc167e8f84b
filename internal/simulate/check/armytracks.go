package check

import "slices"

// The roads and rails of the two boards, laid by what they look like: each side's home
// is six rows of five, and what leads from one to another is rail.

const (
	homeColumns = 5
	homePlaces  = 30
	railRow     = 4 // the back one; the front row, 0, is the other
)

// campPlaces and headquartersPlaces are places of a home, counted as in a placement.
var campPlaces, headquartersPlaces = []int{6, 8, 12, 16, 18}, []int{26, 28}

// layTwoSeats lays the board of two: the homes' rails meet in both outer columns and
// in the middle one.
func (b *armyBoard) layTwoSeats() {
	b.rails, b.roads = make([][]int, len(b.names)), make([][]int, len(b.names))
	for _, column := range []int{0, homeColumns - 1} {
		b.lay(append(b.homeward(0, column), b.frontward(1, homeColumns-1-column)...))
	}
	b.lay([]int{b.home(0, 2), b.home(1, 2)})
	b.layHomes()
}

// layFourSeats lays the board of four: through the centre three lines lead from each
// home to the one opposite, and around each of its corners an arc to a neighbour's.
func (b *armyBoard) layFourSeats() {
	b.rails, b.roads = make([][]int, len(b.names)), make([][]int, len(b.names))
	for side := range 4 {
		b.lay(append(b.homeward(side, 0), b.frontward((side+3)%4, homeColumns-1)...))
	}
	// The centre, numbered row by row from the north west, as the south and the east
	// see it: where each of their columns enters it, and a step on.
	for side, centre := range [2]struct{ enter, across, on int }{{6, 1, -3}, {8, -3, -1}} {
		for n := range 3 {
			first := centre.enter + n*centre.across
			line := []int{first, first + centre.on, first + 2*centre.on}
			if n == 1 { // the middle columns have no rail
				line = append([]int{b.home(side, 2)}, append(line, b.home(side+2, 2))...)
			} else {
				line = append(append(b.homeward(side, 2*n), line...), b.frontward(side+2, homeColumns-1-2*n)...)
			}
			b.lay(line)
		}
	}
	b.layHomes()
}

// homeward is the rail of a home's column from the back to the front, and frontward the
// same as others enter it.
func (b *armyBoard) homeward(side, column int) (line []int) {
	for row := railRow; row >= 0; row-- {
		line = append(line, b.home(side, row*homeColumns+column))
	}
	return line
}

func (b *armyBoard) frontward(side, column int) []int {
	line := b.homeward(side, column)
	slices.Reverse(line)
	return line
}

// layHomes lays what every home has: rails along two rows, and roads between any two
// stops beside each other that no rail joins, and crosswise from camps.
func (b *armyBoard) layHomes() {
	for side := range b.letters {
		for _, row := range []int{0, railRow} {
			var line []int
			for column := range homeColumns {
				line = append(line, b.home(side, row*homeColumns+column))
			}
			b.lay(line)
		}
		for place := range homePlaces {
			if place%homeColumns < homeColumns-1 {
				b.pave(b.home(side, place), b.home(side, place+1))
			}
			if place+homeColumns < homePlaces {
				b.pave(b.home(side, place), b.home(side, place+homeColumns))
			}
		}
		for _, camp := range campPlaces {
			b.camps = append(b.camps, b.home(side, camp))
			for _, corner := range []int{-homeColumns - 1, -homeColumns + 1, homeColumns - 1, homeColumns + 1} {
				b.pave(b.home(side, camp), b.home(side, camp+corner))
			}
		}
		for _, place := range headquartersPlaces {
			b.headquarters = append(b.headquarters, b.home(side, place))
		}
	}
}

// lay lays a line of rail.
func (b *armyBoard) lay(line []int) {
	b.lines = append(b.lines, line)
	for i := range len(line) - 1 {
		join(b.rails, line[i], line[i+1])
	}
}

// pave lays a road where there is no rail.
func (b *armyBoard) pave(one, other int) {
	if !slices.Contains(b.rails[one], other) {
		join(b.roads, one, other)
	}
}

func join(near [][]int, one, other int) {
	if !slices.Contains(near[one], other) {
		near[one], near[other] = append(near[one], other), append(near[other], one)
	}
}

// way reports whether a road or a rail leads a piece from a stop to another, what
// stands there aside: one step by road, any distance along one line of rail while
// nothing stands between, and for engineers by rails with turns.
func (f *fight) way(rank, from, to int) bool {
	switch {
	case from == to:
		return false
	case slices.Contains(f.board.roads[from], to):
		return true
	case rank == engineer:
		return f.rides(from, to)
	}
	return slices.ContainsFunc(f.board.lines, func(line []int) bool { return f.along(line, from, to) })
}

func (f *fight) along(line []int, from, to int) bool {
	i, j := slices.Index(line, from), slices.Index(line, to)
	if i < 0 || j < 0 {
		return false
	}
	between := line[min(i, j)+1 : max(i, j)]
	return !slices.ContainsFunc(between, func(stop int) bool { return f.at[stop] != nil })
}

// rides looks for a way by rail over empty stops.
func (f *fight) rides(from, to int) bool {
	seen, next := map[int]bool{from: true}, []int{from}
	for len(next) > 0 {
		stop := next[0]
		next = next[1:]
		if slices.Contains(f.board.rails[stop], to) {
			return true
		}
		for _, on := range f.board.rails[stop] {
			if f.at[on] == nil && !seen[on] {
				seen[on], next = true, append(next, on)
			}
		}
	}
	return false
}

// refused is why a seat could not make a move from a stop where something stands;
// empty if it could.
func (f *fight) refused(seat, from, to int) string {
	mover, target := f.at[from], f.at[to]
	switch {
	case mover.rank == 0 || mover.rank == mine || mover.rank == flag || !f.plays(seat, mover.side):
		return "moves a piece that its seat could not move"
	case f.rules.places() && f.board.isHeadquarters(from):
		return "leaves a headquarters"
	case !f.way(mover.rank, from, to):
		return "goes where neither road nor rail leads"
	case target == nil:
		return ""
	case target.rank == 0 || f.friends(mover.side, target.side):
		return "attacks what nobody may attack"
	case f.board.isCamp(to):
		return "attacks a piece in a camp"
	case !f.rules.places() && target.rank == flag && f.flagProtected(target.side):
		return "attacks a flag that everybody sees protected"
	}
	return ""
}

// canAct reports whether a seat could act if it were its turn. Who can go far can also
// go one step, so that it is enough to look at what is near.
func (f *fight) canAct(seat int) bool {
	for from, m := range f.at {
		if m == nil {
			continue
		}
		if m.rank == 0 {
			return true // to be turned
		}
		for _, near := range [][]int{f.board.roads[from], f.board.rails[from]} {
			if slices.ContainsFunc(near, func(to int) bool { return f.refused(seat, from, to) == "" }) {
				return true
			}
		}
	}
	return false
}

// nobodyCan are the seats that have to be told to be without a legal action: from the
// one whose turn it is to the first that has one, each put out before the next is
// looked at; all that are in where none has.
func (f *fight) nobodyCan() (stuck int) {
	if f.over || f.canAct(f.turn) {
		return 0
	}
	in, some := f.in(), false
	for _, seat := range seatsIn(in) {
		some = some || f.canAct(seat)
	}
	if !some {
		return in
	}
	then := *f
	then.at, then.out = slices.Clone(f.at), slices.Clone(f.out)
	for !then.over && !then.canAct(then.turn) {
		stuck |= 1 << then.turn
		then.putOut(then.turn, reasonNoLegalAction)
	}
	return stuck
}

// in are the seats that are still in.
func (f *fight) in() (seats int) {
	for seat, out := range f.out {
		if !out {
			seats |= 1 << seat
		}
	}
	return seats
}
