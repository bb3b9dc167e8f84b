package demo

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	refereev1 "referee.example/proto/referee/v1"
)

// TestReportOfATeam: two losers pay each.
func TestReportOfATeam(t *testing.T) {
	stake := func(payer, payee string) *refereev1.SettlementLine {
		return &refereev1.SettlementLine{Payer: payer, Payee: payee, Amount: 100, Why: "stake"}
	}
	settlement := &refereev1.Settlement{Multiple: 1, LoserCaptures: 23, Lines: []*refereev1.SettlementLine{stake("b", "a"), stake("d", "c")}}
	if got, _, _ := strings.Cut(settlementOf(settlement), "\n"); got != "  The losers captured 23 and pay 1 x the stake each." {
		t.Errorf("%q", got)
	}
}

// TestBoardsSayWhoSees: where seats have secrets a board says whose view it is,
// until the game is over.
func TestBoardsSayWhoSees(t *testing.T) {
	seat := uint32(1)
	view := &refereev1.ArmyChessView{Board: "A1=tF?,L1=b?", SeatSides: []string{"b", "t"}, Turns: []uint32{0, 0}, Captures: []uint32{0, 0}}
	game := &refereev1.Game{Game: 1, ViewerSeat: &seat, Status: refereev1.GameStatus_GAME_STATUS_PLAYING,
		View:       &refereev1.Game_ArmyChess{ArmyChess: view},
		Clock:      &refereev1.GameClock{Seats: []*refereev1.SeatClock{{}, {}}},
		Placements: []*refereev1.SeatPlacement{{Seat: 0}, {Seat: 1}}}
	drawn := func() string {
		var out bytes.Buffer
		s := &screen{out: &out, players: []string{"player-1", "player-2"}}
		if err := s.board(&refereev1.Change{Game: game}, "\n"); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := drawn(); !strings.HasPrefix(got, "\n  as player-2 sees it\n") {
		t.Errorf("a running game: %q", got)
	}
	game.Result = &refereev1.GameResult{Reason: refereev1.EndReason_END_REASON_FLAG, WinnerSeats: []uint32{0}}
	if got := drawn(); strings.Contains(got, "sees it") {
		t.Errorf("an ended game: %q", got)
	}
}

// TestReport prints every game of a match and its score.
func TestReport(t *testing.T) {
	content, err := os.ReadFile("testdata/match.json")
	if err != nil {
		t.Fatal(err)
	}
	match := &refereev1.Match{}
	err = protojson.Unmarshal(content, match)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := &screen{out: &out, players: []string{"player-1", "player-2"}}
	for _, game := range match.GetGames() {
		change := &refereev1.Change{
			Game:   &refereev1.Game{Game: game.GetGame(), Result: game.GetResult(), Settlement: game.GetSettlement()},
			Events: []*refereev1.Event{{Game: game.GetGame(), Ply: 10 * game.GetGame()}},
		}
		err = s.gameEnded(change)
		if err != nil {
			t.Fatal(err)
		}
	}
	err = s.matchEnded(match)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "testdata/golden/report.txt", out.String())
}
