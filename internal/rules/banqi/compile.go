package banqi

import "referee.example/internal/rules"

// Game is a compiled Rules value: tables that the generator reads and limits
// that the endings read. It never changes and may be used concurrently.
type Game struct {
	reach [8]reach // by rank; index 0 is unused and reaches nothing

	chain        bool
	attackerLost bool // a failed dark capture costs the attacker

	idle        Idle
	cumulative  bool
	allFaceUp   bool
	onRequest   bool
	repetition  Repetition
	chase       Chase
	bySide      bool // a chase is made by any piece of its side
	tracked     bool // some rule needs to know who chases whom
	foulsToLose int
	maxPlies    int
	order       []rules.EndReason
	feats       bool
}

// reach is how one rank moves and takes. What a house changes is a value here,
// so that the generator never asks for a house.
type reach struct {
	step  *[squares]uint32 // neighbours it moves to when empty
	touch *[squares]uint32 // neighbours it takes on
	leap  *[squares]uint32 // neighbours it also takes on, by a rule of their own

	touchTakes, leapTakes, lineTakes ranks  // what it takes there, and along lines
	touchDark, leapDark, lineDark    uint32 // all ones where a face-down target is allowed

	jump  bool // takes along a line over exactly one piece
	rush  bool // takes the first piece of a line at distance 2 or more
	slide bool // moves any distance along a clear line
	far   bool // there is more than step and touch
}

// Geometry by square: neighbours along files and ranks, neighbours along
// diagonals, no square at all, and the four lines that leave a square.
var orthogonal, diagonal, lines = geometry()

var nowhere [squares]uint32

// ray is the squares of the lines that leave a square. Squares lie in
// ascending order on the lines up (to rank 8) and right (to file d), in
// descending order on the other two.
type ray struct{ up, right, down, left uint32 }

func geometry() (orthogonal, diagonal [squares]uint32, lines [squares]ray) {
	walk := func(square, files, ranks int, far bool) uint32 {
		var set uint32
		for file, rank := square%4+files, square/4+ranks; file >= 0 && file < 4 && rank >= 0 && rank < 8; file, rank = file+files, rank+ranks {
			set |= 1 << (4*rank + file)
			if !far {
				break
			}
		}
		return set
	}
	for s := range squares {
		orthogonal[s] = walk(s, 0, 1, false) | walk(s, 1, 0, false) | walk(s, 0, -1, false) | walk(s, -1, 0, false)
		diagonal[s] = walk(s, 1, 1, false) | walk(s, 1, -1, false) | walk(s, -1, 1, false) | walk(s, -1, -1, false)
		lines[s] = ray{walk(s, 0, 1, true), walk(s, 1, 0, true), walk(s, 0, -1, true), walk(s, -1, 0, true)}
	}
	return orthogonal, diagonal, lines
}

// Compile makes the tables for r. The error is a *rules.InvalidError where Validate
// refuses r.
func Compile(r Rules) (*Game, error) {
	if fields := r.Validate(); len(fields) > 0 {
		return nil, &rules.InvalidError{Fields: fields}
	}
	g := &Game{
		chain:        r.Chain,
		attackerLost: r.FailedAttacker == "lost",
		idle:         r.Idle,
		cumulative:   r.Idle.Count == "cumulative",
		allFaceUp:    r.Idle.When == "all_face_up",
		onRequest:    r.Idle.Trigger == "on_request",
		repetition:   r.Repetition,
		chase:        r.Chase,
		bySide:       r.Chase.Chaser == "side",
		tracked:      r.Chase.Chaser != "" || r.Repetition.ChaseExempt,
		foulsToLose:  r.FoulsToLose,
		maxPlies:     r.MaxPlies,
		feats:        r.Feats,
	}
	order := r.EndingOrder
	if len(order) == 0 {
		order = DefaultEndingOrder()
	}
	for _, name := range order {
		g.order = append(g.order, endingNames[name])
	}
	g.compileReach(r)
	return g, nil
}

func (g *Game) compileReach(r Rules) {
	for rank := range g.reach {
		g.reach[rank] = reach{step: &nowhere, touch: &nowhere, leap: &nowhere}
	}
	for i := range rankLetters {
		letter := rankLetters[i : i+1]
		rank, _ := rankOf(letter)
		takes, _ := rankSet(r.CaptureMatrix[letter])
		g.reach[rank].step = &orthogonal
		g.reach[rank].touch = &orthogonal
		g.reach[rank].touchTakes = takes
	}
	g.compileHorse(r.Horse)
	g.compileLines(r)
	for rank := range g.reach {
		p := &g.reach[rank]
		p.touchDark = darkTargets(r.DarkCapture, p.touchTakes)
		p.leapDark = darkTargets(r.DarkCapture, p.leapTakes)
		p.lineDark = darkTargets(p.rush && r.RushDark || p.jump && r.DarkCapture, p.lineTakes)
		p.far = p.leapTakes != 0 || p.jump || p.rush || p.slide
	}
}

func (g *Game) compileHorse(kind string) {
	rank, _ := rankOf("N")
	horse := &g.reach[rank]
	switch kind {
	case "diagonal_captures":
		horse.leap, horse.leapTakes = &diagonal, allRanks
	case "diagonal_only":
		horse.step, horse.touch, horse.touchTakes = &diagonal, &diagonal, allRanks
	}
}

func (g *Game) compileLines(r Rules) {
	rank, _ := rankOf("C")
	cannon := &g.reach[rank]
	cannon.lineTakes, _ = rankSet(r.CannonTargets)
	cannon.jump = cannon.lineTakes != 0

	rank, _ = rankOf("R")
	chariot := &g.reach[rank]
	chariot.slide = r.ChariotSlide
	switch r.ChariotRush {
	case "any_rank":
		chariot.rush, chariot.lineTakes = true, allRanks
	case "matrix":
		chariot.rush, chariot.lineTakes = true, chariot.touchTakes
	}
}

// darkTargets returns the mask for face-down targets: none where the rules
// allow none, nor for a way of taking that never takes anything.
func darkTargets(allowed bool, takes ranks) uint32 {
	if !allowed || takes == 0 {
		return 0
	}
	return ^uint32(0)
}
