package proof

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
	refereev1 "referee.example/proto/referee/v1"
)

// armyPresets are the presets of army chess.
var armyPresets = []string{"junqi-dark", "junqi-dark-contest-2012", "junqi-flip", "junqi-flip-simple", "siguo"}

// armyTable is a match of army chess, and beside it the same game on an engine that
// knows what its players know between them.
type armyTable struct {
	t    tester
	h    *house
	r    *replica
	dice *rand.Rand
	game *refereev1.Game

	engine     *junqi.Game
	state      junqi.State
	ids        *junqi.Identities
	placements []junqi.Placement
	fierce     int // of ten actions that could be attacks, how many are
}

// armyEngine compiles the board of a ruleset as it comes over the wire.
func armyEngine(t tester, r *refereev1.Ruleset) *junqi.Game {
	t.Helper()
	b := r.GetArmyChess()
	g, err := junqi.Compile(junqi.Rules{
		Form: b.GetForm(), Visibility: b.GetVisibility(), Mine: b.GetMine(), LowestClearsMines: b.GetLowestClearsMines(),
		BombVsFlag: b.GetBombVsFlag(), FlagTaker: b.GetFlagTaker(), FlagAfterMines: b.GetFlagAfterMines(),
		FlagCarryHome: b.GetFlagCarryHome(), WeakerAttacks: b.GetWeakerAttacks(), FlagReveal: b.GetFlagReveal(),
		EngineerScouts: b.GetEngineerScouts(), HQProtects: b.GetHqProtects(), Colours: b.GetColours(),
		Idle:         junqi.Idle{Limit: int(b.GetIdle().GetLimit()), Result: b.GetIdle().GetResult()},
		IllegalMoves: b.GetIllegalMoves(), ResignFromPly: int(b.GetResignFromPly()), Leaver: b.GetLeaver(), MaxPlies: int(b.GetMaxPlies()),
	})
	must(t, err)
	return g
}

// armyCreation is a request that as many sit down as the ruleset has seats.
func armyCreation(g *junqi.Game, ruleset *refereev1.Ruleset) *refereev1.CreateMatchRequest {
	out := creation(ruleset)
	out.PlayerIds = []string{"ann", "bob", "cid", "dan"}[:g.Seats()]
	out.Balances = []int64{1000, 1000, 1000, 1000}[:g.Seats()]
	if id := ruleset.GetId(); id != "" {
		out.Rules = &refereev1.CreateMatchRequest_RulesetId{RulesetId: id}
	}
	return out
}

// armyStart starts the first game of a match of army chess.
func armyStart(g *junqi.Game, match string) *refereev1.StartGameRequest {
	out := starting(match, 1, 2)
	out.Balances = []int64{1000, 1000, 1000, 1000}[:g.Seats()]
	out.PlayerSeeds = [][]byte{{1}, {2}, {3}, {4}}[:g.Seats()]
	return out
}

// newArmyTable creates a match and starts its first game; where seats place their
// pieces, nobody has yet.
func newArmyTable(t tester, h *house, r *replica, ruleset *refereev1.Ruleset, dice *rand.Rand) *armyTable {
	t.Helper()
	a := &armyTable{t: t, h: h, r: r, dice: dice, fierce: 3 + dice.IntN(6), engine: armyEngine(t, ruleset), ids: new(junqi.Identities)}
	created, err := r.match.CreateMatch(h.as("east"), armyCreation(a.engine, ruleset))
	must(t, err)
	started, err := r.match.StartGame(h.as("east"), armyStart(a.engine, created.GetChange().GetGame().GetMatchId()))
	must(t, err)
	a.game = started.GetChange().GetGame()
	if !a.engine.Places() {
		a.begin()
	}
	return a
}

// begin starts the engine's game.
func (a *armyTable) begin() {
	if a.engine.Places() {
		a.ids = a.engine.Identities(a.placements)
	}
	a.state = a.engine.Start(0, a.ids)
}

// randomPlacement places a side's pieces as the rules allow, in no other order.
func randomPlacement(dice *rand.Rand) junqi.Placement {
	const layout = "98776/6.5.5/44.33/3.2.2/2MM11/MF1BB"
	placement, err := junqi.ParsePlacement(layout)
	if err != nil {
		panic(err)
	}
	var p junqi.Placement
	var free []int // stops that take any piece, front row first
	for i, rank := range placement {
		if rank != junqi.NoRank {
			free = append(free, i)
		}
	}
	put := func(rank junqi.Rank, may func(i int) bool) {
		var where []int
		for n, i := range free {
			if may(i) {
				where = append(where, n)
			}
		}
		n := where[dice.IntN(len(where))]
		p[free[n]] = rank
		free = slices.Delete(free, n, n+1)
	}
	const columns, headquarters, other = 5, 26, 28
	put(junqi.Flag, func(i int) bool { return i == headquarters || i == other })
	for range 3 {
		put(junqi.Mine, func(i int) bool { return i >= 4*columns })
	}
	for range 2 {
		put(junqi.Bomb, func(i int) bool { return i >= columns })
	}
	for _, rank := range placement {
		if rank >= junqi.Engineer && rank <= junqi.Marshal {
			put(rank, func(int) bool { return true })
		}
	}
	return p
}

// placing is a request of a seat to place its pieces.
func placing(game *refereev1.Game, seat uint32, placement string) *refereev1.SubmitPlacementRequest {
	return &refereev1.SubmitPlacementRequest{MatchId: game.GetMatchId(), Game: game.GetGame(), RequestId: newID(),
		ExpectedSeq: game.GetNextSeq(), Seat: &seat, Placement: placement}
}

// place submits a placement of every seat.
func (a *armyTable) place() {
	a.t.Helper()
	if !a.engine.Places() {
		return
	}
	for seat := range a.engine.Seats() {
		a.placements = append(a.placements, randomPlacement(a.dice))
		got, err := a.r.match.SubmitPlacement(a.h.as("east"), placing(a.game, uint32(seat), a.placements[seat].String()))
		must(a.t, err)
		a.game = got.GetChange().GetGame()
	}
	a.begin()
}

// choose picks an action of the seat to move: often an attack, a flag's or a winning
// one rather than another. The players know what lies there, so that games come to
// a point.
func (a *armyTable) choose() rules.Action {
	actions := a.engine.List(&a.state, a.ids, nil)
	var attacks, winning []rules.Action
	for _, action := range actions {
		if action.Kind != rules.ActionMove || a.state.At(action.To) == rules.NoPiece {
			continue
		}
		attacks = append(attacks, action)
		switch d, err := a.engine.Judge(&a.state, a.ids, junqi.Ply(action)); {
		case err == nil && d.Flag:
			return action
		case err == nil && d.Verdict == junqi.AttackerWon:
			winning = append(winning, action)
		}
	}
	if len(winning) > 0 {
		attacks = winning
	}
	switch luck := a.dice.IntN(10); {
	case len(attacks) > 0 && luck < a.fierce:
		actions = attacks
	case luck%2 == 0:
		return a.approach(actions)
	}
	return actions[a.dice.IntN(len(actions))]
}

// approach picks the move that brings a piece nearest to a flag of the other side;
// any action where that is not known.
func (a *armyTable) approach(actions []rules.Action) rules.Action {
	best, nearest := actions[a.dice.IntN(len(actions))], 1000
	mine := a.engine.Teams()[a.state.Turn()%2]
	for stop := range a.engine.Squares() {
		flag := a.ids[stop]
		if junqi.RankOf(flag) != junqi.Flag || mine.Has(a.engine.Seat(&a.state, junqi.SideOf(flag))) || a.state.Out().Has(a.engine.Seat(&a.state, junqi.SideOf(flag))) {
			continue
		}
		x, y := grid(a.engine.SquareName(rules.Square(stop)))
		for _, action := range actions {
			if action.Kind != rules.ActionMove {
				continue
			}
			toX, toY := grid(a.engine.SquareName(action.To))
			if away := max(x-toX, toX-x) + max(y-toY, toY-y); away < nearest || away == nearest && a.dice.IntN(2) == 0 {
				best, nearest = action, away
			}
		}
	}
	return best
}

// grid is where a stop lies on paper, to the right and down.
func grid(name string) (x, y int) {
	if len(name) == 2 {
		return int(name[1] - '0'), int(name[0] - 'A')
	}
	row, column := int(name[1]-'1'), int(name[2]-'1')
	switch name[0] {
	case 'S':
		return 6 + column, 11 + row
	case 'E':
		return 11 + row, 10 - column
	case 'N':
		return 10 - column, 5 - row
	case 'W':
		return 5 - row, 6 + column
	}
	return 6 + 2*column, 6 + 2*row // the centre
}

// wireAction is an action of the board as a request has it.
func (a *armyTable) wireAction(action rules.Action) *refereev1.Action {
	if action.Kind == rules.ActionFlip {
		return flip(a.engine.SquareName(action.From))
	}
	return move(a.engine.SquareName(action.From), a.engine.SquareName(action.To))
}

// play plays an action on the service and on the engine, and compares what is told
// of it.
func (a *armyTable) play(action rules.Action) *refereev1.Change {
	a.t.Helper()
	got, err := a.r.match.PlayAction(a.h.as("east"), playing(a.game, a.wireAction(action)))
	must(a.t, err)
	a.took(action, got.GetChange())
	return got.GetChange()
}

// took plays an action on the engine that the service took.
func (a *armyTable) took(action rules.Action, change *refereev1.Change) {
	a.t.Helper()
	seat := a.state.Turn()
	ply := change.GetEvents()[0]
	if turned := ply.GetTurned(); turned != "" {
		piece, err := a.engine.ParsePiece(turned)
		must(a.t, err)
		a.ids[action.From] = piece
	}
	effect, err := a.engine.Play(&a.state, a.ids, junqi.Ply(action))
	must(a.t, err)
	a.game = change.GetGame()
	a.compare(ply, &effect)
	a.compareView(seat)
}

// compare compares an event with what the engine says of the change.
func (a *armyTable) compare(e *refereev1.Event, effect *junqi.Effect) {
	a.t.Helper()
	told := e.GetDisclosure()
	flags := map[string]bool{}
	for _, flag := range told.GetFlags() {
		flags[fmt.Sprintf("%d on %s", flag.GetSeat(), flag.GetSquare())] = true
	}
	for seat := range rules.Seat(a.engine.Seats()) {
		if flag := fmt.Sprintf("%d on %s", seat, a.engine.SquareName(effect.FlagAt[seat])); flags[flag] != effect.Fallen.Has(seat) {
			a.t.Fatal("the flag of seat", flag, "is told:", flags[flag])
		}
	}
	stuck := rules.SeatSet(0)
	for _, seat := range told.GetStuckSeats() {
		stuck |= rules.SeatsOf(rules.Seat(seat))
	}
	shown := ""
	if effect.Shown != rules.NoPiece {
		shown = a.engine.PieceText(effect.Shown)
	}
	if int(told.GetVerdict()) != int(effect.Verdict) || told.GetFlag() != effect.Flag || told.GetShown() != shown || stuck != effect.Stuck {
		a.t.Fatal("told", told, "and the engine says", fmt.Sprintf("%+v", effect.Disclosure))
	}
}

// compareView compares a seat's view of the game as it stands with the engine's.
func (a *armyTable) compareView(seat rules.Seat) {
	a.t.Helper()
	view := a.game.GetArmyChess()
	if a.game.GetStatus() == refereev1.GameStatus_GAME_STATUS_PLAYING {
		want := a.engine.FullText(&a.state, a.engine.Known(&a.state, a.ids, seat))
		board := strings.Fields(want)[0]
		if view.GetState() != want || view.GetBoard() != board {
			a.t.Fatal("seat", seat, "sees", view.GetState(), "and should", want)
		}
		if int(a.game.GetToMove()) != int(a.state.Turn()) || len(view.GetPieces()) != strings.Count(board, "=") {
			a.t.Fatal("to move", a.game.GetToMove(), "pieces", view.GetPieces(), "of", want)
		}
	}
}

// playOut plays the game to its end.
func (a *armyTable) playOut() {
	a.t.Helper()
	for a.game.GetStatus() == refereev1.GameStatus_GAME_STATUS_PLAYING {
		a.play(a.choose())
	}
}
