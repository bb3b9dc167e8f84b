package check

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// army checks the games of a match of army chess: their placing, and each game played
// anew by its opened ranks.
func (c *checker) army(m *Match) {
	if m.Rules.ArmyChess == nil {
		return
	}
	texts := c.sentPlacements(m)
	c.fought[m.ID] = map[int][]int{}
	for i := range m.Games {
		g := &m.Games[i]
		var placements []string
		if m.Rules.ArmyChess.places() {
			if placements = c.placing(m, g, texts); placements == nil {
				c.fought[m.ID][g.Number] = make([]int, len(m.Players))
				continue
			}
		}
		c.replay(m, g, placements)
	}
}

// man is a piece in a game that is played anew.
type man struct {
	side, rank int // the rank is 0 while it is face down
	began      int // stop
	shown      bool
}

// fight is a game of army chess that is played anew from its log, by ranks that were
// secret while it ran.
type fight struct {
	*checker
	m     *Match
	game  int
	rules *armyRules
	board *armyBoard

	at       []*man // by stop
	played   [2]int // flip: who plays each side, or noSeat
	turned   [2]int // flip: the side of each seat's latest turn, or noSeat
	turn     int
	plies    int
	idle     int // plies since the latest attack or turn
	out      []bool
	captures []int
	mines    [4]int // lost by each side
	over     bool
	winners  int
	void     bool
	reason   int // why it is over

	shown []*Board       // in the order of events
	met   map[int]string // by event
}

const noSeat = -1

// replay plays a game anew: verdicts have to follow from the ranks, boards that were
// shown from what everybody had been told and the viewer's own pieces, the result from
// who was out; plies have to be such as the board allows, in turn, and whoever can't
// act has to be told so.
func (c *checker) replay(m *Match, g *Game, placements []string) {
	f := &fight{
		checker: c, m: m, game: g.Number, rules: m.Rules.ArmyChess, board: m.board(), played: [2]int{noSeat, noSeat}, turned: [2]int{noSeat, noSeat},
		out: make([]bool, len(m.Players)), captures: make([]int, len(m.Players)), shown: c.boards[m.ID][g.Number], met: map[int]string{},
	}
	f.set(placements)
	log := m.Logs[g.Number]
	began := !f.rules.places()
	for i := range log {
		e := &log[i]
		began = began || e.Kind == kindPlayBegan
		f.event(e)
		if began {
			f.compare(e)
		}
	}
	c.fought[m.ID][g.Number] = f.captures
	f.compareMet(log)
}

// set puts the pieces where they were placed, or face down on all stops but camps.
func (f *fight) set(placements []string) {
	f.at = make([]*man, len(f.board.names))
	for side, text := range placements {
		for place, letter := range strings.ReplaceAll(text, "/", "") {
			if rank := strings.IndexRune(rankLetters, letter); rank > 0 {
				stop := f.board.home(side, place)
				f.at[stop] = &man{side: side, rank: rank, began: stop}
			}
		}
	}
	if placements == nil {
		for stop := range f.at {
			if !f.board.isCamp(stop) {
				f.at[stop] = &man{began: stop, shown: true}
			}
		}
	}
}

func (f *fight) wrong(e *Row, format string, arguments ...any) {
	f.broken(Judged, f.m.ID, "event "+strconv.Itoa(e.Seq)+" of game "+strconv.Itoa(e.Game)+" "+format, arguments...)
}

// event makes the change that an event is.
func (f *fight) event(e *Row) {
	switch e.Kind {
	case kindGameStarted:
		f.turn = e.first()
		return
	case kindPly, kindServerPly:
		f.ply(e)
	case kindSeatOut:
		d, _ := e.disclosure()
		f.putOut(e.Seat, d.reason)
	case kindSeatLeft:
		if f.rules.Leaver == "unscored" && !f.out[(e.Seat+2)%len(f.out)] {
			f.over, f.void, f.reason = true, true, reasonDisconnection
			break
		}
		f.putOut(e.Seat, reasonDisconnection)
	case kindTurnPassed:
		if f.over || e.Seat != f.turn || len(f.out) < 4 {
			f.wrong(e, "passes a turn that was not there to pass")
		}
		f.turn = f.next(e.Seat)
	case kindGameEnded:
		f.end(e)
		return
	default:
		return
	}
	d, _ := e.disclosure()
	if stuck := f.nobodyCan(); stuck != d.stuck {
		f.wrong(e, "tells that seats %v can't act; by the board it is seats %v", seatsIn(d.stuck), seatsIn(stuck))
	}
	f.stuck(d.stuck)
	if e.Kind == kindPly || e.Kind == kindServerPly {
		f.tooLong()
	}
}

// next is the seat whose turn comes after a seat's.
func (f *fight) next(seat int) int {
	for range f.out {
		if seat = (seat + 1) % len(f.out); !f.out[seat] {
			break
		}
	}
	return seat
}

// ply makes a ply, whose verdict has to follow from the ranks of the two that met.
func (f *fight) ply(e *Row) {
	const flip, move = 1, 2
	told, sound := e.disclosure()
	if f.over || e.Seat < 0 || e.Seat >= len(f.out) || f.out[e.Seat] || !sound || e.FromSquare >= len(f.at) || f.at[e.FromSquare] == nil {
		f.wrong(e, "is a ply of nobody who could play it")
		return
	}
	if e.Seat != f.turn {
		f.wrong(e, "is a ply of seat %d in the turn of seat %d", e.Seat, f.turn)
	}
	f.plies++
	f.idle++
	switch mover := f.at[e.FromSquare]; {
	case e.ActionKind == flip && mover.rank == 0 && e.Turned != 0:
		mover.side, mover.rank = e.Turned>>4, e.Turned&15
		f.idle = 0
		f.judge(e, told, nothingDisclosed)
		f.settle(e.Seat, mover.side)
	case e.ActionKind != move || e.ToSquare >= len(f.at):
		f.wrong(e, "is no action of this game")
	default:
		f.move(e, told)
	}
	f.turn = f.next(e.Seat)
}

// move makes a move or an attack, such as the board and what is known to all allow.
func (f *fight) move(e *Row, told disclosure) {
	if refusal := f.refused(e.Seat, e.FromSquare, e.ToSquare); refusal != "" {
		f.wrong(e, "%s", refusal)
	}
	mover, target := f.at[e.FromSquare], f.at[e.ToSquare]
	switch {
	case target == nil:
		f.judge(e, told, nothingDisclosed)
		f.at[e.ToSquare], f.at[e.FromSquare] = mover, nil
	case mover.rank > 0 && target.rank > 0 && mover != target:
		f.idle = 0
		f.Encounters++
		f.met[e.Seq] = f.board.piece(mover.side<<4|mover.rank) + " " + f.board.piece(target.side<<4|target.rank)
		f.judge(e, told, f.disclosed(mover, target))
		f.meet(e, told)
	}
}

// plays reports whether a seat plays a side.
func (f *fight) plays(seat, side int) bool {
	if f.rules.places() {
		return seat == side
	}
	return f.played[side&1] == seat
}

// settle settles who plays which side by a turn, as the presets have it: by the first
// piece of the game, or by two turns in a row of one seat that match; at the latest by
// the last piece.
func (f *fight) settle(seat, side int) {
	if f.played[0] != noSeat {
		return
	}
	down := slices.ContainsFunc(f.at, func(m *man) bool { return m != nil && m.rank == 0 })
	if f.rules.Colours == "first_piece" || f.turned[seat&1] == side || !down {
		f.played[side&1], f.played[1-side&1] = seat, 1-seat
	}
	f.turned[seat&1] = side
}

func (f *fight) friends(a, b int) bool { return a == b || len(f.out) == 4 && a%2 == b%2 }

// judge compares what a ply made public with what it should have.
func (f *fight) judge(e *Row, told, want disclosure) {
	told.stuck = 0 // which is judged when the ply has been made
	if told != want {
		f.wrong(e, "told %+v, which by the ranks is %+v (a verdict is 1 for the attacker, 2 for the defender, 3 for neither)", told, want)
	}
}

// disclosed is what an encounter tells everybody.
func (f *fight) disclosed(attacker, defender *man) disclosure {
	d := nothingDisclosed
	d.verdict, d.flag = f.encounter(attacker, defender)
	if f.rules.EngineerScouts && attacker.rank == engineer && d.verdict == defenderWon {
		d.shown = defender.side<<4 | defender.rank
	}
	if f.rules.places() && f.rules.FlagReveal != "never" {
		for _, lost := range f.lost(d.verdict, attacker, defender) {
			if lost.rank == marshal {
				d.flags[lost.side] = f.find(lost.side, flag)
			}
		}
	}
	return d
}

const (
	attackerWon = 1
	defenderWon = 2
	bothGone    = 3
)

// encounter is the verdict of an attack, as the presets have it, and whether it takes
// a flag.
func (f *fight) encounter(a, d *man) (verdict int, takes bool) {
	switch {
	case d.rank == flag && f.flagProtected(d.side):
		return defenderWon, false
	case d.rank == flag && a.rank == bomb:
		return bothGone, true
	case d.rank == flag:
		return attackerWon, true
	case a.rank == bomb || d.rank == bomb || a.rank == d.rank:
		return bothGone, false
	case d.rank == mine && a.rank == engineer:
		return attackerWon, false
	case d.rank == mine && f.rules.LowestClearsMines && f.lowest(a):
		return bothGone, false
	case d.rank == mine || a.rank < d.rank:
		return defenderWon, false
	}
	return attackerWon, false
}

// flagProtected reports whether a side has mines left, where these protect its flag.
func (f *fight) flagProtected(side int) bool {
	return f.rules.FlagAfterMines && f.mines[side&3] < army[mine]
}

// lowest reports whether no ranked piece of a piece's side is lower.
func (f *fight) lowest(a *man) bool {
	for rank := engineer; rank < a.rank; rank++ {
		if f.find(a.side, rank) != noStop {
			return false
		}
	}
	return true
}

// find is the first stop of a side's piece of a rank, noStop for none.
func (f *fight) find(side, rank int) int {
	for stop, m := range f.at {
		if m != nil && m.side == side && m.rank == rank {
			return stop
		}
	}
	return noStop
}

func (f *fight) lost(verdict int, attacker, defender *man) []*man {
	switch verdict {
	case attackerWon:
		return []*man{defender}
	case defenderWon:
		return []*man{attacker}
	case bothGone:
		return []*man{attacker, defender}
	}
	return nil
}

// meet makes an encounter as it was told: later events rest on that.
func (f *fight) meet(e *Row, told disclosure) {
	attacker, defender := f.at[e.FromSquare], f.at[e.ToSquare]
	owner := defender.side
	if !f.rules.places() {
		owner = f.played[defender.side&1]
	}
	for side, stop := range told.flags {
		if stop != noStop && stop < len(f.at) && f.at[stop] != nil && f.at[stop].side == side {
			f.at[stop].shown = true
		}
	}
	for _, lost := range f.lost(told.verdict, attacker, defender) {
		if lost.rank == mine {
			f.mines[lost.side&3]++
		}
		if lost == attacker {
			f.at[e.FromSquare] = nil
			f.captures[owner]++
		} else {
			f.at[e.ToSquare] = nil
			f.captures[e.Seat]++
		}
	}
	if told.verdict == attackerWon {
		f.at[e.ToSquare], f.at[e.FromSquare] = attacker, nil
	}
	if told.shown != 0 {
		defender.shown = true
	}
	if told.flag {
		f.putOut(owner, reasonFlag)
	}
}

// putOut puts a seat out; with four its pieces go, and its partner plays on.
func (f *fight) putOut(seat, reason int) {
	if f.over || seat < 0 || seat >= len(f.out) {
		return
	}
	f.out[seat] = true
	partner := seat
	if len(f.out) == 4 {
		partner = (seat + 2) % 4
		for stop, m := range f.at {
			if m != nil && m.side == seat {
				f.at[stop] = nil
			}
		}
	}
	if f.out[partner] {
		f.lose(seat, reason)
	}
	if !f.over && seat == f.turn {
		f.turn = f.next(seat)
	}
}

// lose ends the game with the loss of a seat's team.
func (f *fight) lose(seat, reason int) {
	f.over, f.reason = true, reason
	for other := range f.out {
		if other%2 != seat%2 {
			f.winners |= 1 << other
		}
	}
}

// stuck puts those out of whom was told that they had no legal action; where it was
// all that are in, the game is drawn.
func (f *fight) stuck(told int) {
	if f.over || told == 0 {
		return
	}
	if told == f.in() {
		f.over, f.reason = true, reasonNoLegalAction
		return
	}
	for _, seat := range seatsIn(told) {
		f.putOut(seat, reasonNoLegalAction)
	}
}

// tooLong ends the game after too many plies, or too many in a row without contact.
func (f *fight) tooLong() {
	switch {
	case f.over:
	case f.rules.Idle.Limit > 0 && f.idle >= f.rules.Idle.Limit && f.rules.Idle.Result == "loss":
		f.lose(f.turn, reasonIdle)
	case f.rules.Idle.Limit > 0 && f.idle >= f.rules.Idle.Limit:
		f.over, f.reason = true, reasonIdle
	case f.rules.MaxPlies > 0 && f.plies >= f.rules.MaxPlies:
		f.over, f.reason = true, reasonMaxPlies
	}
}

// end compares a result with what the board came to. A game that goes on by the board
// can only be ended from outside it, and then nobody wins.
func (f *fight) end(e *Row) {
	end, _ := e.ending()
	switch {
	case f.over && (end.winners != f.winners || end.void != f.void || end.reason != f.reason):
		f.wrong(e, "has winners %b, void %t, reason %d; by the board they are %b, %t, %d", end.winners, end.void, end.reason, f.winners, f.void, f.reason)
	case !f.over && (end.winners != 0 || end.reason < reasonAgreement):
		f.wrong(e, "has winners %b for reason %d, and no side was out", end.winners, end.reason)
	}
}

// text is the board as a viewer has to be shown it: each piece with its rank where that
// was shown to all, with its rank and a question mark where he knows it, and with the
// stop that it began on where not everybody knows it.
func (f *fight) text(viewer int) string {
	var cells []string
	for stop, m := range f.at {
		if m == nil {
			continue
		}
		cell := f.board.name(stop) + "=" + f.public(m)
		if m.rank != 0 && !m.shown {
			if f.m.knows(viewer, m.side) {
				cell = f.board.name(stop) + "=" + f.board.piece(m.side<<4|m.rank) + "?"
			}
			if m.began != stop {
				cell += f.board.name(m.began)
			}
		}
		cells = append(cells, cell)
	}
	if len(cells) == 0 {
		return "-"
	}
	return strings.Join(cells, ",")
}

// public is a piece as everybody sees it.
func (f *fight) public(m *man) string {
	switch {
	case m.rank == 0:
		return "??"
	case !m.shown:
		return string([]byte{f.board.letters[m.side], '?'})
	}
	return f.board.piece(m.side<<4 | m.rank)
}

// compare compares the boards that were shown as of an event with the board.
func (f *fight) compare(e *Row) {
	texts := map[int]string{}
	for _, shown := range f.shown {
		switch {
		case f.over:
		case shown.Seq == e.Seq:
			want, ok := texts[shown.Viewer]
			if !ok {
				want = f.text(shown.Viewer)
				texts[shown.Viewer] = want
			}
			f.Boards++
			if shown.Text != want {
				f.broken(Hidden, f.m.ID, "after event %d of game %d viewer %d was shown %s instead of %s", e.Seq, e.Game, shown.Viewer, shown.Text, want)
			}
		case shown.Seq == 0 && shown.Ply == e.Ply && e.boardStands():
			f.compareTargets(e, shown)
		}
	}
}

// boardStands reports whether the board stands, after the event, as it does until the
// next ply, but for seats that go out.
func (e *Row) boardStands() bool {
	return e.Kind == kindPly || e.Kind == kindServerPly || e.Kind == kindPlayBegan || e.Kind == kindGameStarted
}

// compareTargets compares what was listed as what could be attacked.
func (f *fight) compareTargets(e *Row, shown *Board) {
	f.Boards++
	for cell := range strings.SplitSeq(shown.Text, ",") {
		name, piece, _ := strings.Cut(cell, "=")
		stop := slices.Index(f.board.names, name)
		if stop < 0 || f.at[stop] == nil || f.public(f.at[stop]) != piece {
			f.broken(Hidden, f.m.ID, "after ply %d of game %d %s was listed as what could be attacked", e.Ply, e.Game, cell)
		}
	}
}

// compareMet checks that which pieces had met was told of ended games alone, and truly.
func (f *fight) compareMet(log []Row) {
	for _, call := range f.calls[f.m.ID] {
		for _, e := range call.Events {
			if e.Game != f.game || e.Met == "" {
				continue
			}
			if e.Met != f.met[e.Seq] {
				f.broken(Judged, f.m.ID, "in event %d of game %d met, as told, %s, and as played %s", e.Seq, e.Game, e.Met, f.met[e.Seq])
			}
			if last := &log[len(log)-1]; call.Answered.Before(last.Committed) {
				f.broken(Hidden, f.m.ID, "what met in event %d of game %d was told before the game had ended", e.Seq, e.Game)
			}
		}
	}
}

// sortBoards sorts what was shown by game, each game's by event.
func (c *checker) sortBoards() {
	for i := range c.history.Boards {
		b := &c.history.Boards[i]
		if c.boards[b.Match] == nil {
			c.boards[b.Match] = map[int][]*Board{}
		}
		c.boards[b.Match][b.Game] = append(c.boards[b.Match][b.Game], b)
	}
	for _, games := range c.boards {
		for _, boards := range games {
			slices.SortFunc(boards, func(a, b *Board) int {
				return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Ply, b.Ply), cmp.Compare(a.Viewer, b.Viewer), cmp.Compare(a.Text, b.Text))
			})
		}
	}
}
