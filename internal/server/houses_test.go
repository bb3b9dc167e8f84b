package server

import (
	"strings"
	"testing"

	"referee.example/internal/deal"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// arranged deals one arrangement, given by its letters from a1, b1 on.
func arranged(t testing.TB, letters string) referee.Dealer {
	t.Helper()
	pieces := make([]byte, len(letters))
	for i := range letters {
		piece, err := banqi.ParsePiece(letters[i])
		must(t, err)
		pieces[i] = byte(piece)
	}
	return func(deal.Material, []byte) []byte { return pieces }
}

// directedGame is a game of testdata/directed_games.json, found by playing
// random games until one came to what its name says.
type directedGame struct {
	Deal    string `json:"deal"`
	Actions string `json:"actions"`
}

func directed(t testing.TB, name string) directedGame {
	t.Helper()
	var games map[string]directedGame
	readCases(t, "testdata/directed_games.json", &games)
	if games[name].Deal == "" {
		t.Fatalf("no game %q", name)
	}
	return games[name]
}

// composed is a preset's ruleset as a caller's own, with seat 0 to begin.
func (r *room) composed(preset string, change func(*refereev1.Ruleset)) func(*refereev1.CreateMatchRequest) {
	r.t.Helper()
	got, err := r.rules.GetRuleset(r.as("east"), &refereev1.GetRulesetRequest{RulesetId: preset})
	must(r.t, err)
	own := got.GetRuleset()
	own.Id, own.Description, own.Decisions, own.FirstMover = "", "", nil, referee.FirstMoverNamed
	change(own)
	return func(c *refereev1.CreateMatchRequest) {
		c.Rules = &refereev1.CreateMatchRequest_Ruleset{Ruleset: own}
	}
}

// playNotation plays actions written in the notation, the seats as it comes.
func (t *table) playNotation(actions string) {
	t.t.Helper()
	for _, text := range strings.Fields(actions) {
		action, _, err := banqi.ParseAction(text)
		must(t.t, err)
		t.play(protoAction(action, squareName))
	}
}

func (t *table) callTime(seat *uint32, portion uint32) error {
	t.t.Helper()
	got, err := t.match.CallTime(t.as("east"), &refereev1.CallTimeRequest{
		MatchId: t.id, Game: t.game.GetGame(), RequestId: t.room.id(), ExpectedSeq: t.game.GetNextSeq(), Seat: seat, PortionMs: portion,
	})
	if err == nil {
		t.saw(got.GetChange())
	}
	return err
}

func (t *table) ruleFoul(confirm bool) {
	t.t.Helper()
	got, err := t.match.RuleFoul(t.as("operator"), &refereev1.RuleFoulRequest{
		MatchId: t.id, Game: t.game.GetGame(), RequestId: t.room.id(), ExpectedSeq: t.game.GetNextSeq(), Confirm: confirm, Note: "seen on the board",
	})
	must(t.t, err)
	t.saw(got.GetChange())
}

// record is the audit record of the present game.
func (t *table) record() *refereev1.GameRecord {
	t.t.Helper()
	got, err := t.audit.GetGameRecord(t.as("auditor"), &refereev1.GetGameRecordRequest{MatchId: t.id, Game: t.game.GetGame()})
	must(t.t, err)
	return got.GetRecord()
}

// TestRulings plays to a loss by a disputable foul, where the match waits for
// an operator, and sees that the settlement follows the rulings.
func TestRulings(t *testing.T) {
	for _, test := range []struct {
		game    string
		fouls   uint32
		rulings []bool
		lost    bool
	}{
		{"disputable foul", 1, []bool{true}, true},
		{"disputable foul", 1, []bool{false}, false},
		{"two disputable fouls", 2, []bool{true, true}, true},
		{"two disputable fouls", 2, []bool{true, false}, false},
		{"two disputable fouls", 2, []bool{false}, false},
	} {
		game := directed(t, test.game)
		r := newRoom(t, options{deal: arranged(t, game.Deal)})
		tb := r.started(r.composed("mingjian-2026", func(own *refereev1.Ruleset) {
			own.GetDarkChess().GetChase().Length = 1
			own.GetDarkChess().FoulsToLose = test.fouls
			own.Stakes = &refereev1.StakeRules{EntryMultiple: 1, NextMultiple: 1, LossMultiple: 1}
		}))
		tb.judgeRulings(game, test.rulings, test.lost)
	}
}

func (t *table) judgeRulings(game directedGame, rulings []bool, lost bool) {
	t.t.Helper()
	if clock := t.game.GetClock(); !clock.GetOpening() || clock.GetDeadlineTime() != nil {
		t.t.Fatalf("the opening is timed: %v", clock)
	}
	must(t.t, t.callTime(nil, 0))
	if clock := t.game.GetClock(); clock.GetOpening() || clock.GetDeadlineTime() == nil {
		t.t.Fatalf("the arbiter's call started no clock: %v", clock)
	}
	t.playNotation(game.Actions)
	fouler := (uint32(len(strings.Fields(game.Actions))) + 1) % 2
	for i, confirm := range rulings {
		if t.game.GetStatus() != refereev1.GameStatus_GAME_STATUS_AWAITING_RULING || t.game.GetClock().GetDeadlineTime() != nil {
			t.t.Fatalf("before ruling %d: %v, clock %v", i, t.game.GetStatus(), t.game.GetClock())
		}
		request := t.action(flip("a1"))
		request.Seat = proto.Uint32(1 - fouler)
		_, err := t.match.PlayAction(t.as("east"), request)
		wanted{codes.FailedPrecondition, "GAME_NOT_RUNNING", ""}.check(t.t, err)
		t.ruleFoul(confirm)
	}
	if !lost {
		if t.game.GetStatus() != refereev1.GameStatus_GAME_STATUS_PLAYING || t.game.GetClock().GetRunningSeat() != 1-fouler {
			t.t.Errorf("after a waiver: %v, clock %v", t.game.GetStatus(), t.game.GetClock())
		}
		return
	}
	result, settlement := t.game.GetResult(), t.game.GetSettlement()
	if result.GetReason() != refereev1.EndReason_END_REASON_FOULS || len(result.GetWinnerSeats()) != 1 || result.GetWinnerSeats()[0] != 1-fouler {
		t.t.Errorf("result %v", result)
	}
	if line := settlement.GetLines()[0]; line.GetAmount() != 100 || line.GetPayer() != []string{"ann", "bob"}[fouler] {
		t.t.Errorf("settlement %v", settlement)
	}
}

// TestFeatAndSceneFee plays a little soldier's great merit, which the record
// tells and the result does not, and ends a game that costs a scene fee.
func TestFeatAndSceneFee(t *testing.T) {
	game := directed(t, "merit")
	r := newRoom(t, options{deal: arranged(t, game.Deal)})
	tb := r.started(r.composed("gametower-standard", func(*refereev1.Ruleset) {}), func(c *refereev1.CreateMatchRequest) {
		c.Charges = &refereev1.Charges{SceneFee: 7}
	})
	tb.playNotation(game.Actions)
	plies := uint32(len(strings.Fields(game.Actions)))
	if own := tb.last.GetEvents()[0]; own.GetFeat() != "great_merit" || own.GetPly() != plies {
		t.Errorf("the ply's event %v", own)
	}
	for _, e := range tb.record().GetEvents() {
		if (e.GetFeat() != "") != (e.GetPly() == plies && e.GetKind() == refereev1.EventKind_EVENT_KIND_PLY) {
			t.Errorf("ply %d has the feat %q", e.GetPly(), e.GetFeat())
		}
	}
	change := tb.resign(1)
	want := map[string]int64{"stake bob ann": 100, "scene_fee ann ": 7}
	for _, line := range change.GetGame().GetSettlement().GetLines() {
		key := line.GetWhy() + " " + line.GetPayer() + " " + line.GetPayee()
		if want[key] != line.GetAmount() {
			t.Errorf("line %v", line)
		}
		delete(want, key)
	}
	if len(want) != 0 {
		t.Errorf("the settlement lacks %v", want)
	}
}

// position is the board as the engine reads it from the game's view.
func (t *table) position(g *banqi.Game) banqi.State {
	t.t.Helper()
	s, err := g.ParseState(t.game.GetDarkChess().GetState())
	must(t.t, err)
	return s
}

// board is the engine for a composed ruleset's board.
func board(t testing.TB, own *refereev1.Ruleset) *banqi.Game {
	t.Helper()
	converted, err := ruleset(own)
	must(t, err)
	g, err := banqi.Compile(*converted.DarkChess)
	must(t, err)
	return g
}

// shuffle plays on until the game ends: flips first, then each seat moves a
// piece to and fro, or anything to come to that.
func (t *table) shuffle(g *banqi.Game) {
	t.t.Helper()
	var last [2]rules.Action
	for t.game.GetStatus() == refereev1.GameStatus_GAME_STATUS_PLAYING {
		s := t.position(g)
		actions := g.List(&s, nil)
		chosen := actions[len(actions)-1]
		for _, a := range actions {
			back := a == rules.Move(last[s.Turn()].To, last[s.Turn()].From)
			if s.FaceDownCount() > 0 || back {
				chosen = a
				break
			}
			if g.Manner(&s, a) == banqi.MannerStep && g.Manner(&s, chosen) != banqi.MannerStep {
				chosen = a
			}
		}
		if g.Manner(&s, chosen) == banqi.MannerStep {
			last[s.Turn()] = chosen
		}
		t.play(protoAction(chosen, squareName))
	}
}

// TestProvingPlies ends games by repetition and idleness through the service:
// the answer names the plies that prove it, and the record holds them.
func TestProvingPlies(t *testing.T) {
	for _, test := range []struct {
		name   string
		rules  func(*refereev1.DarkChessRules)
		reason refereev1.EndReason
		plies  uint32 // that prove it
	}{
		{"a cycle of four plies, three times", func(b *refereev1.DarkChessRules) {
			b.Repetition = &refereev1.RepetitionRules{Kind: "cycle", Times: 3}
		}, refereev1.EndReason_END_REASON_REPETITION, 12},
		{"a position, three times", func(b *refereev1.DarkChessRules) {
			b.Repetition = &refereev1.RepetitionRules{Kind: "position", Times: 3}
		}, refereev1.EndReason_END_REASON_REPETITION, 9},
		{"ten quiet plies", func(b *refereev1.DarkChessRules) {
			b.Idle = &refereev1.IdleRules{Limit: 10}
		}, refereev1.EndReason_END_REASON_IDLE, 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRoom(t, options{deal: tidy})
			var engine *banqi.Game
			tb := r.started(r.composed("sinica-2019", func(own *refereev1.Ruleset) {
				own.GetDarkChess().Idle, own.GetDarkChess().Repetition = nil, nil
				test.rules(own.GetDarkChess())
				engine = board(t, own)
			}), func(c *refereev1.CreateMatchRequest) { c.Stake, c.Charges, c.Balances = 0, nil, []int64{0, 0} })
			tb.shuffle(engine)
			result := tb.last.GetGame().GetResult()
			last := result.GetLastPly()
			if result.GetReason() != test.reason || last != tb.last.GetEvents()[0].GetPly() || last-result.GetFirstPly()+1 != test.plies {
				t.Fatalf("result %v after ply %d", result, tb.last.GetEvents()[0].GetPly())
			}
			tb.judgeProof(result, test.reason)
		})
	}
}

// judgeProof reads the proving plies in the record: the last quiet ones, each
// like the one four before it.
func (t *table) judgeProof(result *refereev1.GameResult, reason refereev1.EndReason) {
	t.t.Helper()
	notation := map[uint32]string{}
	for _, e := range t.record().GetEvents() {
		if e.GetKind() == refereev1.EventKind_EVENT_KIND_PLY {
			notation[e.GetPly()] = e.GetNotation()
			// The first occurrence of a position may arise from a flip or capture.
			if quiet := e.GetTurned() == "" && e.GetCaptured() == ""; !quiet && e.GetPly() > result.GetFirstPly() {
				t.t.Errorf("ply %d, %s, is not quiet", e.GetPly(), e.GetNotation())
			}
		}
	}
	for ply := result.GetFirstPly() + 5; ply <= result.GetLastPly() && reason == refereev1.EndReason_END_REASON_REPETITION; ply++ {
		if notation[ply] != notation[ply-4] {
			t.t.Errorf("ply %d is %s, ply %d was %s", ply, notation[ply], ply-4, notation[ply-4])
		}
	}
}
