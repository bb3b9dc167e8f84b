package proof

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/deal"
	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
	refereev1 "referee.example/proto/referee/v1"
)

// recordedGame is a game that another engine recorded.
type recordedGame struct {
	Ruleset         string            `json:"ruleset"`
	FirstFlipColour string            `json:"first_flip_colour"`
	Plies           int               `json:"plies"`
	Flips           int               `json:"flips"`
	Actions         []string          `json:"actions"`
	Result          string            `json:"result"`
	Why             string            `json:"why"`
	FinalPosition   map[string]string `json:"final_position"`
}

func loadRecordedGame(t *testing.T) recordedGame {
	t.Helper()
	content, err := os.ReadFile("testdata/recorded-game.json")
	must(t, err)
	var game recordedGame
	must(t, json.Unmarshal(content, &game))
	if game.Plies != len(game.Actions) || game.Plies != 282 || game.Flips != 32 || game.Result != "draw" {
		t.Fatalf("the record is another one: %d actions, %+v", len(game.Actions), game)
	}
	return game
}

// parse reads an action such as "b3(n)" or "a4-a5" and the piece it turns.
func parse(t *testing.T, text string) (action *refereev1.Action, turned string) {
	t.Helper()
	if square, rest, ok := strings.Cut(text, "("); ok {
		return flip(square), strings.TrimSuffix(rest, ")")
	}
	from, to, ok := strings.Cut(text, "-")
	if !ok {
		t.Fatalf("%q is no action", text)
	}
	return move(from, to), ""
}

// recordedRuleset is the record's ruleset, composed from its words: "standard
// capture matrix; idle limit 50, always, automatic; no repetition, no chase
// rule; no clock".
func recordedRuleset() *refereev1.Ruleset {
	return &refereev1.Ruleset{
		Family: &refereev1.Ruleset_DarkChess{DarkChess: &refereev1.DarkChessRules{
			CaptureMatrix: map[string]string{
				"K": "KGMRNC", "G": "GMRNCP", "M": "MRNCP", "R": "RNCP", "N": "NCP", "P": "PK",
			},
			CannonTargets: "KGMRNCP",
			Idle:          &refereev1.IdleRules{Limit: 50, Count: "consecutive", When: "always", Trigger: "automatic"},
			MaxPlies:      1000,
		}},
		FirstMover: "named",
		Clock:      &refereev1.ClockRules{},
		Series:     &refereev1.SeriesRules{ValidGames: 1},
		Stakes:     &refereev1.StakeRules{EntryMultiple: 9, NextMultiple: 4, LossMultiple: 2, ReducedMultiple: 1, ReducedFromCaptures: 9},
	}
}

// finalBoard writes the record's last position as a view shows boards.
func (g recordedGame) finalBoard() string {
	var ranks []string
	for rank := 8; rank >= 1; rank-- {
		group := ""
		for file := 'a'; file <= 'd'; file++ {
			piece := g.FinalPosition[fmt.Sprintf("%c%d", file, rank)]
			if piece == "" {
				piece = "-"
			}
			group += piece
		}
		ranks = append(ranks, group)
	}
	return strings.Join(ranks, "/")
}

// checkDraw checks that the game ended as recorded, on the last 50 plies.
func (g recordedGame) checkDraw(t *testing.T, result *refereev1.GameResult) {
	t.Helper()
	if result.GetReason() != refereev1.EndReason_END_REASON_IDLE || len(result.GetWinnerSeats()) != 0 || result.GetVoid() {
		t.Errorf("the game ended with %v, want a draw by the idle limit", result)
	}
	if result.GetFirstPly() != uint32(g.Plies-49) || result.GetLastPly() != uint32(g.Plies) {
		t.Errorf("plies %d to %d are given as evidence, want %d to %d", result.GetFirstPly(), result.GetLastPly(), g.Plies-49, g.Plies)
	}
}

// TestRecordedGameIsJudgedAsRecorded replays it through ValidateAction, which
// knows of no match and sees each flip's piece from the caller.
func TestRecordedGameIsJudgedAsRecorded(t *testing.T) {
	game := loadRecordedGame(t)
	h := newHouse(t)
	r := h.start()
	state, flips := "XXXX/XXXX/XXXX/XXXX/XXXX/XXXX/XXXX/XXXX unassigned", 0
	for ply, text := range game.Actions {
		action, turned := parse(t, text)
		if turned != "" {
			flips++
		}
		got, err := r.rules.ValidateAction(h.as("east"), &refereev1.ValidateActionRequest{
			Rules: &refereev1.ValidateActionRequest_Ruleset{Ruleset: recordedRuleset()},
			State: state, Action: action, Turned: turned,
		})
		if err != nil || !got.GetLegal() {
			t.Fatalf("ply %d, %s: %v %v", ply+1, text, got.GetIllegal(), err)
		}
		if got.GetNotation() != text {
			t.Errorf("ply %d is written %s, recorded %s", ply+1, got.GetNotation(), text)
		}
		if last := ply == len(game.Actions)-1; (got.GetResult() != nil) != last {
			t.Fatalf("ply %d of %d: result %v", ply+1, len(game.Actions), got.GetResult())
		} else if last {
			game.checkDraw(t, got.GetResult())
		}
		state = got.GetNextState()
	}
	if flips != game.Flips {
		t.Errorf("%d flips, recorded %d", flips, game.Flips)
	}
	if board, _, _ := strings.Cut(state, " "); board != game.finalBoard() {
		t.Errorf("the last board is %s, recorded %s", board, game.finalBoard())
	}
}

// arrangement is what lay face down where, as the flips showed.
func (g recordedGame) arrangement(t *testing.T) []byte {
	t.Helper()
	pieces := make([]byte, 32)
	for _, text := range g.Actions {
		action, turned, err := banqi.ParseAction(text)
		must(t, err)
		if turned != rules.NoPiece {
			pieces[action.From] = byte(turned)
		}
	}
	return pieces
}

// TestRecordedGameIsPlayedAsRecorded plays it as a match whose first game has
// the recorded deal; the game that the draw makes necessary is then decided.
func TestRecordedGameIsPlayedAsRecorded(t *testing.T) {
	record := loadRecordedGame(t)
	h := newHouse(t)
	pieces := record.arrangement(t)
	r := h.startDealt(func(deal.Material, []byte) []byte { return pieces }, t.Output())
	game := h.newGame(r, recordedRuleset())
	var last *refereev1.Change
	for ply, text := range record.Actions {
		if game.GetStatus() != refereev1.GameStatus_GAME_STATUS_PLAYING {
			t.Fatalf("the game ended before ply %d: %v", ply+1, game.GetResult())
		}
		action, turned := parse(t, text)
		got, err := r.match.PlayAction(h.as("east"), playing(game, action))
		if err != nil {
			t.Fatalf("ply %d, %s: %v", ply+1, text, err)
		}
		last = got.GetChange()
		if game = last.GetGame(); last.GetEvents()[0].GetTurned() != turned || last.GetEvents()[0].GetNotation() != text {
			t.Errorf("ply %d is %s, recorded %s", ply+1, last.GetEvents()[0].GetNotation(), text)
		}
		if ply == 0 && game.GetDarkChess().GetSeatColours()[0] != record.FirstFlipColour {
			t.Errorf("the first flip gives %s, recorded %s", game.GetDarkChess().GetSeatColours()[0], record.FirstFlipColour)
		}
	}
	record.checkDraw(t, game.GetResult())
	if got := game.GetDarkChess().GetBoard(); got != record.finalBoard() {
		t.Errorf("the last board is %s, recorded %s", got, record.finalBoard())
	}
	match := last.GetMatch()
	if match.GetStatus() != refereev1.MatchStatus_MATCH_STATUS_AWAITING_START || match.GetValidGames() != 0 || match.GetGame() != 2 {
		t.Errorf("after the draw the match is %v", match)
	}
	if game.GetSettlement() != nil || match.GetGames()[0].GetSettlement() != nil {
		t.Errorf("the draw moved %v", game.GetSettlement())
	}
	h.seriesGoesOn(r, game)
}

// seriesGoesOn decides the game after a draw and with it the match.
func (h *house) seriesGoesOn(r *replica, drawn *refereev1.Game) {
	t := h.t
	t.Helper()
	game := h.startNext(r, drawn)
	if game.GetToMove() != 1 {
		t.Errorf("seat %d starts game 2, want the other one than in game 1", game.GetToMove())
	}
	got, err := r.match.Resign(h.as("east"), resigning(game, 0))
	must(t, err)
	match := got.GetChange().GetMatch()
	if match.GetStatus() != refereev1.MatchStatus_MATCH_STATUS_COMPLETE || fmt.Sprint(match.GetWinnerSeats()) != "[1]" {
		t.Errorf("the match is %v", match)
	}
	rows, err := h.pool.Query(h.ctx, `SELECT game || ' ' || payer || ' ' || payee || ' ' || amount FROM settlement_lines WHERE why = 'stake'`)
	must(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	if fmt.Sprint(lines) != "[2 ann bob 200]" {
		t.Errorf("settled: %v, want the stake twice from ann to bob for game 2 alone", lines)
	}
	h.consistent()
	if got := h.record(r, drawn.GetMatchId(), 1); len(got.GetEvents()) != 282+3 {
		t.Errorf("%d events are recorded of the drawn game, want its creation, its start, 282 plies and its end", len(got.GetEvents()))
	}
}
