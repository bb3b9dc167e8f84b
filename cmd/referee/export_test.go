package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/timestamppb"

	refereev1 "referee.example/proto/referee/v1"
)

// exportAndImport writes every game of the newest match of a server as a text
// record and has the records judged without the server.
func exportAndImport(t *testing.T, environment map[string]string, address string) {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(bearer(environment["REFEREE_TOKEN"])))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	list, err := refereev1.NewAuditServiceClient(conn).ListMatches(t.Context(), &refereev1.ListMatchesRequest{})
	if err != nil || len(list.GetMatches()) == 0 || len(list.GetMatches()[0].GetGames()) == 0 {
		t.Fatalf("no games to export: %v, %v", list, err)
	}
	match := list.GetMatches()[0]
	imported := []string{"import", "--rules", match.GetRulesetId()}
	for _, game := range match.GetGames() {
		got := call(t.Context(), environment, "export", "--addr", address, "--format", "text",
			"--match", match.GetMatchId(), "--game", fmt.Sprint(game.GetGame()))
		if got.code != exitDone || !strings.HasPrefix(got.out, "Match: "+match.GetMatchId()+"\n") {
			t.Errorf("export of game %d: %+v", game.GetGame(), got)
		}
		file := filepath.Join(t.TempDir(), "game.txt")
		if err := os.WriteFile(file, []byte(got.out), 0o600); err != nil {
			t.Fatal(err)
		}
		imported = append(imported, file)
	}
	got := call(t.Context(), nil, imported...)
	if got.code != exitDone || strings.Count(got.out, ": ok, ") != len(match.GetGames()) {
		t.Errorf("import: %+v", got)
	}
	got = call(t.Context(), environment, "export", "--addr", address, "--format", "text", "--match", match.GetMatchId(), "--game", "99")
	if got.code != exitFailed || !strings.Contains(got.err, "NotFound") {
		t.Errorf("export of a game that there is not: %+v", got)
	}
}

// storedGame is a record as the server answers it: the second seat moved first,
// a count was asked for, a foul waived, an offer made.
func storedGame() *refereev1.GameRecord {
	at := timestamppb.New(time.Date(2026, 7, 1, 23, 30, 0, 0, time.UTC))
	event := func(kind refereev1.EventKind, notation string) *refereev1.Event {
		return &refereev1.Event{Kind: kind, Notation: notation, EventTime: at}
	}
	started := event(refereev1.EventKind_EVENT_KIND_GAME_STARTED, "")
	started.Detail = &refereev1.Event_GameStarted{GameStarted: &refereev1.GameStarted{FirstSeat: 1}}
	ruled := event(refereev1.EventKind_EVENT_KIND_FOUL_RULED, "")
	ruled.Detail = &refereev1.Event_FoulRuled{FoulRuled: &refereev1.FoulRuled{Confirmed: false}}
	confirmed := event(refereev1.EventKind_EVENT_KIND_FOUL_RULED, "")
	confirmed.Detail = &refereev1.Event_FoulRuled{FoulRuled: &refereev1.FoulRuled{Confirmed: true}}
	return &refereev1.GameRecord{
		Match: &refereev1.Match{
			MatchId: "m", Seats: []*refereev1.MatchSeat{{PlayerId: "ann\nResult: draw"}, {Seat: 1, PlayerId: "ben 陳"}},
		},
		Events: []*refereev1.Event{
			event(refereev1.EventKind_EVENT_KIND_MATCH_CREATED, ""), started,
			event(refereev1.EventKind_EVENT_KIND_PLY, "b3(n)"), event(refereev1.EventKind_EVENT_KIND_DRAW_OFFERED, ""),
			event(refereev1.EventKind_EVENT_KIND_COUNT_REQUESTED, ""), event(refereev1.EventKind_EVENT_KIND_SERVER_PLY, "a4-a5(k)"),
			event(refereev1.EventKind_EVENT_KIND_PLY, "stop"), ruled, confirmed, event(refereev1.EventKind_EVENT_KIND_GAME_ENDED, ""),
		},
		Position: &refereev1.Game{Result: &refereev1.GameResult{
			Reason: refereev1.EndReason_END_REASON_TIME, WinnerSeats: []uint32{1}}},
	}
}

func TestTextRecord(t *testing.T) {
	stored := storedGame()
	record, err := textRecord(stored, 3)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Match: m", "Game: 3", "Ruleset: composed", "Date: 2026-07-01", "First: ben 陳", `Second: "ann\nResult: draw"`, "",
		"1. b3(n) request a4-a5(k)", "2. stop waive confirm", "", "Result: first wins by time", "",
	}
	if got := strings.Split(record.String(), "\n"); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	stored.Events[2].Notation = "b3?"
	if _, err := textRecord(stored, 3); err == nil {
		t.Error("a ply that can't be read is left out in silence")
	}
	stored.Events = stored.GetEvents()[:1]
	if _, err := textRecord(stored, 3); err == nil {
		t.Error("a game that was never started has a record")
	}
}
