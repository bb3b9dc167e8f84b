package check

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
	"time"
)

// armyText is one side's placement. The front row of seat 0 is G0 to G4, that of seat 1
// F4 to F0; the flag of seat 1 is on A3.
const armyText = "98776/6.5.5/44.33/3.2.2/2MM11/MF1BB"

// forwardText has its bombs behind the front row.
const forwardText = "98776/B.5.B/44.33/3.2.2/2MM11/MF165"

// detail writes a detail: numbers as they are, texts and lists after their length.
type detail []byte

func (d detail) octets(octets ...byte) detail { return append(d, octets...) }
func (d detail) number(n int) detail          { return binary.AppendUvarint(d, uint64(n)) }
func (d detail) text(s string) detail         { return append(d.number(len(s)), s...) }

// armyGame is a match of one game in the dark, as clients and database hold it.
type armyGame struct {
	*Match
	h    History
	game *Game
}

var gameOver = time.Unix(1000, 0)

func newArmyGame() *armyGame {
	m := &Match{ID: "m", Players: []string{"ann", "ben"}, Logs: map[int][]Row{}}
	m.Rules.ArmyChess = &armyRules{Form: "dark", FlagAfterMines: true, EngineerScouts: true, LowestClearsMines: true}
	seed := make([]byte, 32)
	seed[0] = 1
	m.Games = []Game{{Number: 1, Status: gameEnded, Started: true, Seed: seed}}
	return &armyGame{Match: m, game: &m.Games[0]}
}

func (a *armyGame) add(kind, seat int, d detail) *Row {
	log := a.Logs[1]
	a.Logs[1] = append(log, Row{Game: 1, Seq: len(log) + 1, Kind: kind, Seat: seat, Detail: d, Transaction: string(rune('A' + len(log)))})
	return &a.Logs[1][len(log)]
}

func (a *armyGame) phase() *phase {
	return &phase{checker: newChecker(&a.h, nil), m: a.Match, g: a.game, seeds: [][]byte{[]byte("a"), []byte("b")}}
}

// start adds creation and start.
func (a *armyGame) start() {
	a.add(kindMatchCreated, Spectator, nil)
	d := detail{}.octets(0, 0, 2).text("a").text("b").octets(make([]byte, 32)...)
	a.add(kindGameStarted, Spectator, d.octets(0, 0)) // seat 0 moves first, by no draw
}

// place adds a seat's placement, as it was sent and committed to.
func (a *armyGame) place(seat, attempt int, text string) {
	e := a.add(kindPlacementSubmitted, seat, nil)
	request := [16]byte{byte(e.Seq)}
	e.Request = &request
	e.Detail = detail{}.number(attempt).octets(commitmentTo(e, attempt, a.phase().salt(seat, attempt), text)...)
	a.h.Calls = append(a.h.Calls, Call{Match: "m", Game: 1, RequestID: e.request(), Seat: seat, Placement: text, Outcome: Acknowledged})
}

// began begins play, in the commit of the last placement.
func (a *armyGame) began() {
	e := a.add(kindPlayBegan, Spectator, nil)
	e.Transaction = a.Logs[1][e.Seq-2].Transaction
}

// ply adds a move and what it told.
func (a *armyGame) ply(seat int, from, to string, d detail) *Row {
	e := a.add(kindPly, seat, d)
	e.ActionKind, e.FromSquare, e.ToSquare = 2, stopOf(from), stopOf(to)
	for i := range a.Logs[1] {
		e.Ply += btoi(a.Logs[1][i].Kind == kindPly)
	}
	return e
}

func stopOf(name string) int { return int(name[0]-'A')*5 + int(name[1]-'0') }

func verdict(n byte) detail { return detail{1, 0, n, 0, 0, 0, 0} }

// end adds the ending and opens the attempts that stood.
func (a *armyGame) end(reason, winners byte, void bool, attempts ...int) *Row {
	texts := map[int]string{}
	for i := range a.h.Calls {
		texts[a.h.Calls[i].Seat] = a.h.Calls[i].Placement // the latest stood
	}
	d := detail{}.octets(reason, winners, byte(btoi(void)), 0, 0, 2, 0, 0, 0).octets(make([]byte, 64)...).number(len(attempts))
	for seat, attempt := range attempts {
		if attempt == 0 {
			d = d.number(0).octets(make([]byte, 32)...).text("")
			continue
		}
		d = d.number(attempt).octets(a.phase().salt(seat, attempt)...).text(texts[seat])
	}
	e := a.add(kindGameEnded, Spectator, d)
	e.Committed = gameOver
	a.game.Winners, a.game.Void = int(winners), void
	return e
}

// check runs the part of the checker that is about army chess.
func (a *armyGame) check() *checker {
	c := newChecker(&a.h, &Record{Matches: map[string]*Match{"m": a.Match}})
	c.sortCalls()
	c.sortBoards()
	c.army(a.Match)
	c.placementsSeen()
	return c
}

// played is a game with a bomb on a marshal, after which seat 1 resigned.
func played() *armyGame {
	a := newArmyGame()
	a.start()
	a.place(0, 1, strings.Replace(armyText, "98776", "89776", 1))
	a.place(0, 2, forwardText)
	a.place(1, 1, armyText)
	a.began()
	a.ply(0, "G2", "F2", verdict(bothGone))
	a.ply(1, "F4", "G4", verdict(attackerWon))
	a.ply(0, "G3", "G4", verdict(defenderWon))
	a.ply(1, "F3", "F2", nil)
	a.ply(0, "H4", "G4", detail{1, 0, bothGone, 0, 0, 1 << 1, byte(stopOf("A3")), 0})
	a.add(kindSeatOut, 1, detail{1, 20, 0, 0, 0, 0, 0})
	a.end(20, 1, false, 2, 1)
	return a
}

func TestAnArmyGameIsPlayedAnew(t *testing.T) {
	a := played()
	// As the viewers had to be shown it after the marshal's fall, the last ply.
	spectator := a.boardAfter(9, Spectator)
	for _, want := range []string{"A3=tF,", "A4=t?", "F2=t?F3", "G0=b?"} {
		if !strings.Contains(spectator, want) {
			t.Errorf("a spectator would be shown %s, without %s", spectator, want)
		}
	}
	if own := a.boardAfter(9, 0); !strings.Contains(own, "G0=b9?") || strings.Contains(own, "t9") || !strings.Contains(own, "A3=tF,") {
		t.Errorf("seat 0 would be shown %s", own)
	}
	a.h.Boards = []Board{
		{Match: "m", Viewer: Spectator, Game: 1, Seq: 11, Text: a.boardAfter(9, Spectator)}, {Match: "m", Viewer: 1, Game: 1, Seq: 11, Text: a.boardAfter(9, 1)},
		{Match: "m", Viewer: Spectator, Game: 1, Ply: 4, Text: "F2=t?,G0=b?"},
	}
	a.h.Placements = map[Placement]time.Time{
		{Match: "m", Viewer: 1, Text: a.h.Calls[0].Placement}: gameOver,
		{Match: "m", Viewer: 0, Text: a.h.Calls[0].Placement}: gameOver.Add(-time.Second),
	}
	c := a.check()
	if len(c.Violations) > 0 || c.Placements != 3 || c.Encounters != 4 || c.Boards != 3 {
		t.Errorf("%d placements, %d encounters, %d boards, %v", c.Placements, c.Encounters, c.Boards, c.Violations)
	}
	if got := c.fought["m"][1]; got[0] != 2 || got[1] != 4 {
		t.Errorf("captures %v", got)
	}
}

// fight is a game that is played anew, before its pieces are placed.
func (a *armyGame) fight() *fight {
	return &fight{checker: newChecker(&a.h, nil), m: a.Match, game: 1, rules: a.Rules.ArmyChess, board: a.board(), out: make([]bool, len(a.Players)),
		captures: make([]int, len(a.Players)), met: map[int]string{}}
}

// boardAfter is a board after some plies and what came before.
func (a *armyGame) boardAfter(plies, viewer int) string {
	f := a.fight()
	f.set([]string{forwardText, armyText})
	for i := range a.Logs[1] {
		if e := &a.Logs[1][i]; e.Kind == kindPly && e.Ply <= plies {
			f.event(e)
		}
	}
	return f.text(viewer)
}

// TestArmyChessGoneWrong changes one thing of a sound game after the other: each is found.
func TestArmyChessGoneWrong(t *testing.T) {
	before, salt := gameOver.Add(-time.Second), func(a *armyGame) [32]byte { return [32]byte(a.phase().salt(0, 1)) }
	for name, test := range map[string]struct {
		change  func(a *armyGame)
		promise string
	}{
		"a verdict": {func(a *armyGame) { a.Logs[1][7].Detail = verdict(defenderWon) }, Judged},
		"a flag's stop": {func(a *armyGame) {
			a.Logs[1][10].Detail = detail{1, 0, bothGone, 0, 0, 1 << 1, byte(stopOf("A1")), 0}
		}, Judged},
		"a marshal that fell in silence": {func(a *armyGame) { a.Logs[1][10].Detail = verdict(bothGone) }, Judged},
		"a piece of the other side":      {func(a *armyGame) { a.Logs[1][9].FromSquare = stopOf("G0") }, Judged},
		"a mine that moves":              {func(a *armyGame) { a.Logs[1][9].FromSquare, a.Logs[1][9].ToSquare = stopOf("B3"), stopOf("C3") }, Judged},
		"a flag that moves":              {func(a *armyGame) { a.Logs[1][9].FromSquare, a.Logs[1][9].ToSquare = stopOf("A3"), stopOf("F2") }, Judged},
		"a turn on the rail":             {func(a *armyGame) { a.Logs[1][9].ToSquare = stopOf("G2") }, Judged},
		"a ply out of turn":              {func(a *armyGame) { a.Logs[1] = append(a.Logs[1][:9], a.Logs[1][10:]...) }, Judged},
		"a turn that passes, of two":     {func(a *armyGame) { a.Logs[1][9].Kind = kindTurnPassed }, Judged},
		"a seat told stuck that is not":  {func(a *armyGame) { a.Logs[1][9].Detail = detail{1, 0, 0, 0, 0, 0, 1} }, Judged},
		"an idle game that goes on":      {func(a *armyGame) { a.Rules.ArmyChess.Idle.Limit = 1 }, Judged},
		"a game too long":                {func(a *armyGame) { a.Rules.ArmyChess.MaxPlies = 4 }, Judged},
		"another reason":                 {func(a *armyGame) { a.Logs[1][12].Detail[0] = reasonTime }, Judged},
		"a piece from nowhere":           {func(a *armyGame) { a.Logs[1][9].FromSquare = stopOf("C1") }, Judged},
		"the winner":                     {func(a *armyGame) { a.Logs[1][12].Detail[1] = 2 }, Judged},
		"a winner of a game that goes on": {func(a *armyGame) {
			a.Logs[1] = append(a.Logs[1][:11], a.Logs[1][12])
		}, Judged},
		"a board with a rank too many": {func(a *armyGame) {
			text := strings.Replace(a.boardAfter(4, Spectator), "G0=b?", "G0=b9?", 1)
			a.h.Boards = []Board{{Match: "m", Viewer: Spectator, Game: 1, Seq: 10, Text: text}}
		}, Hidden},
		"the board of the other seat": {func(a *armyGame) {
			a.h.Boards = []Board{{Match: "m", Viewer: 1, Game: 1, Seq: 10, Text: a.boardAfter(4, 0)}}
		}, Hidden},
		"a rank in a list of what could be attacked": {func(a *armyGame) {
			a.h.Boards = []Board{{Match: "m", Viewer: Spectator, Game: 1, Ply: 4, Text: "F2=t8"}}
		}, Hidden},
		"what met, while the game ran": {func(a *armyGame) { a.record("b7 t7", before) }, Hidden},
		"what had not met":             {func(a *armyGame) { a.record("b7 t8", gameOver) }, Judged},
		"the text of another seat": {func(a *armyGame) {
			a.h.Placements = map[Placement]time.Time{{Match: "m", Viewer: 1, Text: a.h.Calls[0].Placement}: before}
		}, Hidden},
		"the text of a seat, to a spectator": {func(a *armyGame) {
			a.h.Placements = map[Placement]time.Time{{Match: "m", Viewer: Spectator, Text: a.h.Calls[0].Placement}: before}
		}, Hidden},
		"a text that nobody had sent": {func(a *armyGame) {
			a.h.Placements = map[Placement]time.Time{{Match: "m", Viewer: 1, Text: strings.Replace(armyText, "98", "89", 1) + "."}: before}
		}, Hidden},
		"a salt": {func(a *armyGame) {
			a.h.Secrets = map[string]map[[32]byte]time.Time{"m": {salt(a): before}}
		}, Hidden},
		"an opening's salt":     {func(a *armyGame) { a.Logs[1][12].Detail[75]++ }, Placed},
		"an opening's text":     {func(a *armyGame) { d := a.Logs[1][12].Detail; d[len(d)-1] = '1' }, Placed},
		"an opening's attempt":  {func(a *armyGame) { a.Logs[1][12].Detail[74] = 1 }, Placed},
		"an opening left out":   {func(a *armyGame) { d := a.Logs[1][12].Detail; a.Logs[1][12].Detail = d[:73] }, Placed},
		"a commitment":          {func(a *armyGame) { a.Logs[1][2].Detail[1]++ }, Placed},
		"an attempt":            {func(a *armyGame) { a.Logs[1][3].Detail[0] = 3 }, Placed},
		"play that never began": {func(a *armyGame) { a.Logs[1] = append(a.Logs[1][:5], a.Logs[1][6:]...) }, Placed},
		"play that began later": {func(a *armyGame) { a.Logs[1][5].Transaction = "later" }, Placed},
		"play that began twice": {func(a *armyGame) { a.Logs[1][9].Kind = kindPlayBegan }, Placed},
		"a ply before that":     {func(a *armyGame) { a.Logs[1][3], a.Logs[1][6] = a.Logs[1][6], a.Logs[1][3] }, Placed},
		"a placement after it": {func(a *armyGame) {
			a.Logs[1][9].Kind, a.Logs[1][9].Detail = kindPlacementSubmitted, a.Logs[1][2].Detail
		}, Placed},
		"a placement that no rules allow": {func(a *armyGame) { a.h.Calls[0].Placement = strings.Replace(armyText, "2MM", "M2M", 1)[1:] }, Judged},
		"one that they allow, refused": {func(a *armyGame) {
			a.h.Calls = append(a.h.Calls, Call{Match: "m", RequestID: "r", Placement: armyText, Outcome: Refused, Reason: "ILLEGAL_ACTION"})
		}, Judged},
	} {
		a := played()
		test.change(a)
		found := map[string]bool{}
		for _, v := range a.check().Violations {
			found[v.Promise] = true
		}
		if !found[test.promise] {
			t.Errorf("%s is not found; found are %v", name, found)
		}
	}
}

// record has an auditor read, at an instant, what met in the first ply.
func (a *armyGame) record(met string, at time.Time) {
	a.h.Calls = append(a.h.Calls, Call{Match: "m", Answered: at, Events: []Event{{Game: 1, Seq: 7, Met: met}}})
}

// TestTheTimeToPlace: who was not ready when it ran out has lost.
func TestTheTimeToPlace(t *testing.T) {
	for name, test := range map[string]struct {
		placed  []int
		winners byte
		void    bool
		sound   bool
	}{
		"seat 0 alone":            {[]int{0}, 1, false, true},
		"seat 1 alone":            {[]int{1}, 2, false, true},
		"nobody":                  {nil, 0, true, true},
		"nobody, a draw":          {nil, 0, false, false},
		"the one who was late":    {[]int{0}, 2, false, false},
		"nobody's, one was ready": {[]int{0}, 0, true, false},
		"all were ready":          {[]int{0, 1}, 1, false, false},
	} {
		a := newArmyGame()
		a.start()
		attempts := []int{0, 0}
		for _, seat := range test.placed {
			a.place(seat, 1, armyText)
			attempts[seat] = 1
		}
		a.add(kindPlacementExpired, Spectator, nil)
		a.end(reasonTime, test.winners, test.void, attempts...)
		if v := a.check().Violations; (len(v) == 0) != test.sound {
			t.Errorf("%s: %v", name, v)
		}
	}
}

// TestPlacementsOfDocuments: salt and commitment are those of an example that others
// computed (internal/deal has it too).
func TestPlacementsOfDocuments(t *testing.T) {
	id := [16]byte{1, 2, 3}
	seed := make([]byte, 32)
	copy(seed, []byte{4, 5, 6})
	p := &phase{m: &Match{Logs: map[int][]Row{2: {{MatchID: id}}}}, g: &Game{Number: 2, Seed: seed}, seeds: [][]byte{[]byte("ann's"), nil}}
	salt := p.salt(1, 3)
	if got := hex.EncodeToString(salt); got != "af5769f73c898e12eb6524a03aca6e64c7d1501485917b5d9a413c8db63abe0e" {
		t.Errorf("salt %s", got)
	}
	got := hex.EncodeToString(commitmentTo(&Row{MatchID: id, Game: 2, Seat: 1}, 3, salt, armyText))
	if got != "696bfcb96b878725dbef52f962173169385136e01fc55250278bfc860e2a5ddd" {
		t.Errorf("commitment %s", got)
	}
}

func TestPlaceable(t *testing.T) {
	for text, sound := range map[string]bool{
		armyText:                              true,
		"98776/6.5.5/44.33/3.2.2/2MM11/1FMBB": true,
		"98776/6.5.5/44.33/3.2.2/2MM11/MB1FB": true,
		"98776/6.5.5/44.33/3.2.2/2MM11/FM1BB": false, // flag in no headquarters
		"98776/6.5.5/44.33/3.M.2/22M11/MF1BB": false, // mine in the third last row
		"9877B/6.5.5/44.33/3.2.2/2MM11/MF16B": false, // bomb in the front row
		"98776/665.5/44.33/3.2.2/.MM11/MF1BB": false, // camp
		"98776/6.5.5/44.33/3.2.2/1MM11/MF1BB": false, // four engineers
		"98776/6.5.5/44.33/3.2.2/2MM11/MF1B":  false,
		"98776-6.5.5/44.33/3.2.2/2MM11/MF1BB": false,
		"98776/6.5.5/44.33/3.2.2/2MM11/MF1Bx": false,
		"":                                    false,
	} {
		if placeable(text) != sound {
			t.Errorf("%s: %t", text, !sound)
		}
	}
}

// TestEncounters: the table of the rules, and what the houses have of their own.
func TestEncounters(t *testing.T) {
	dark, plain := &armyRules{FlagAfterMines: true, LowestClearsMines: true}, &armyRules{}
	for _, test := range []struct {
		rules              *armyRules
		attacker, defender int
		alone, takes       bool // alone is without other pieces left
		want               int
	}{
		{plain, 9, 8, false, false, attackerWon}, {plain, 8, 9, false, false, defenderWon}, {plain, 5, 5, false, false, bothGone},
		{plain, engineer, 2, false, false, defenderWon}, {plain, engineer, mine, false, false, attackerWon},
		{plain, 9, mine, false, false, defenderWon}, {plain, 9, mine, true, false, defenderWon},
		{plain, bomb, 9, false, false, bothGone}, {plain, 2, bomb, false, false, bothGone}, {plain, engineer, bomb, false, false, bothGone},
		{plain, bomb, mine, false, false, bothGone}, {plain, bomb, bomb, false, false, bothGone},
		{plain, bomb, flag, false, true, bothGone}, {plain, 2, flag, false, true, attackerWon}, {plain, engineer, flag, false, true, attackerWon},
		{dark, 9, mine, false, false, defenderWon}, {dark, 9, mine, true, false, bothGone}, {dark, engineer, mine, true, false, attackerWon},
		{dark, 2, flag, false, false, defenderWon}, {dark, bomb, flag, false, false, defenderWon}, {dark, 2, flag, true, true, attackerWon},
		{dark, bomb, flag, true, true, bothGone},
	} {
		f := &fight{rules: test.rules, board: twoSeats, out: make([]bool, 2)}
		f.set([]string{armyText, armyText})
		if test.alone {
			f.at, f.mines = make([]*man, len(twoSeats.names)), [4]int{3, 3}
		}
		if got, takes := f.encounter(&man{side: 0, rank: test.attacker}, &man{side: 1, rank: test.defender}); got != test.want || takes != test.takes {
			t.Errorf("%c on %c, %+v: %d, %t", rankLetters[test.attacker], rankLetters[test.defender], test, got, takes)
		}
	}
}

// TestFourSeatsSettle: each loser pays the winner of the same place, and a team out has
// lost as one.
func TestFourSeatsSettle(t *testing.T) {
	m := &Match{ID: "m", Players: []string{"s", "e", "n", "w"}, Stake: 100, Fee: 7, SceneFee: 3, Penalty: 11}
	m.Rules.Stakes.LossMultiple = 1
	m.Games = []Game{{Number: 1, Status: gameEnded, Winners: 1<<1 | 1<<3, EndReason: reasonDisconnection, Disconnected: 1 << 2}}
	m.Logs = map[int][]Row{1: {{Kind: kindGameEnded, Transaction: "t"}}}
	sound := []Line{{"s", "e", 100, "stake"}, {"n", "w", 100, "stake"}, {"e", "", 7, "fee"}, {"w", "", 7, "fee"},
		{"e", "", 3, "scene_fee"}, {"w", "", 3, "scene_fee"}, {"n", "", 11, "disconnection_penalty"}}
	for name, test := range map[string]struct {
		lines    []Line
		captures int
		sound    bool
	}{
		"sound":               {sound, 5, true},
		"crosswise":           {append([]Line{{"s", "w", 100, "stake"}, {"n", "e", 100, "stake"}}, sound[2:]...), 5, false},
		"one loser alone":     {append(sound[:1:1], sound[2:]...), 5, false},
		"the winner captures": {sound, 9, false},
		"somebody else":       {append([]Line{{"x", "e", 100, "stake"}}, sound[1:]...), 5, false},
	} {
		m.Settlements = []StoredSettlement{{Settlement: Settlement{Game: 1, Multiple: 1, Lines: test.lines}, Captures: test.captures, Transaction: "t"}}
		c := newChecker(&History{}, &Record{})
		c.fought["m"] = map[int][]int{1: {2, 9, 3, 0}}
		if c.settlements(m); (len(c.Violations) == 0) != test.sound {
			t.Errorf("%s: %v", name, c.Violations)
		}
	}
}
