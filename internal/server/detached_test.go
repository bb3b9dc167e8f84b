package server

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	refereev1 "referee.example/proto/referee/v1"
)

// Whose events were taken out of the log is told so, and what needs no events is
// still answered.
func TestADetachedMatch(t *testing.T) {
	r := newRoom(t, options{})
	played := r.playedMatch()
	voided, err := r.match.VoidMatch(r.as("operator"), &refereev1.VoidMatchRequest{MatchId: played.id, Game: played.game.GetGame(),
		RequestId: r.id(), ExpectedSeq: played.game.GetNextSeq(), Note: "the end"})
	must(t, err)
	if over := voided.GetChange().GetMatch().GetStatus(); over != refereev1.MatchStatus_MATCH_STATUS_VOID {
		t.Fatalf("the match is %v", over)
	}
	games, err := r.audit.ListGames(r.as("auditor"), &refereev1.ListGamesRequest{})
	must(t, err)
	conn, err := pgx.Connect(t.Context(), r.url)
	must(t, err)
	defer func() { must(t, conn.Close(context.Background())) }()
	var month string
	must(t, conn.QueryRow(t.Context(), `SELECT tableoid::regclass::text FROM events LIMIT 1`).Scan(&month))
	_, err = conn.Exec(t.Context(), `ALTER TABLE events DETACH PARTITION `+month)
	must(t, err)
	settlement := ""
	must(t, conn.QueryRow(t.Context(), `SELECT settlement_id::text FROM settlements LIMIT 1`).Scan(&settlement))

	refused := map[string]func() error{
		"VerifyGame": func() error { _, err := r.verify("auditor", played.id, 1); return err },
		"GetGameRecord": func() error {
			_, err := r.audit.GetGameRecord(r.as("auditor"), &refereev1.GetGameRecordRequest{MatchId: played.id, Game: 1})
			return err
		},
		"GetGameRecord at a ply": func() error {
			ply := uint32(2)
			_, err := r.audit.GetGameRecord(r.as("auditor"), &refereev1.GetGameRecordRequest{MatchId: played.id, Game: 1, AtPly: &ply})
			return err
		},
		"RecallPlayer": func() error {
			_, err := r.audit.RecallPlayer(r.as("east/auditor"), &refereev1.RecallPlayerRequest{PlayerId: "ann"})
			return err
		},
		"ExportGames": func() error {
			_, err := r.exported("auditor", &refereev1.ExportGamesRequest{MatchId: played.id})
			return err
		},
		"ExportGames of all": func() error {
			_, err := r.exported("auditor", &refereev1.ExportGamesRequest{})
			return err
		},
		"CompensateSettlement": func() error {
			_, err := r.match.CompensateSettlement(r.as("operator"), &refereev1.CompensateSettlementRequest{MatchId: played.id, Game: 1,
				RequestId: r.id(), ExpectedSeq: 1, SettlementId: settlement, Note: "wrong"})
			return err
		},
	}
	for name, call := range refused {
		st := status.Convert(call())
		if st.Code() != codes.FailedPrecondition || reasonOf(st) != "LOG_DETACHED" {
			t.Errorf("%s: %v", name, st)
		}
	}
	got, err := r.match.GetMatch(r.as("east"), &refereev1.GetMatchRequest{MatchId: played.id})
	if err != nil || got.GetMatch().GetStatus() != refereev1.MatchStatus_MATCH_STATUS_VOID {
		t.Errorf("GetMatch: %v, %v", got, err)
	}
	still, err := r.audit.ListGames(r.as("auditor"), &refereev1.ListGamesRequest{})
	if err != nil || len(still.GetGames()) != len(games.GetGames()) || len(games.GetGames()) == 0 {
		t.Errorf("ListGames: %v, %v", still, err)
	}
	absent := "01900000-0000-7000-8000-000000000000"
	if _, err := r.verify("auditor", absent, 1); status.Code(err) != codes.NotFound {
		t.Errorf("a match that there is not: %v", err)
	}
}
