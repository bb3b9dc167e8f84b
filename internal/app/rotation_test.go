package app

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/deal"
	refereev1 "referee.example/proto/referee/v1"
)

// keyIDs returns the ids of the keys that a match's games are sealed under.
func (tt *table) keyIDs(t *testing.T, matchID string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), tt.config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	rows, err := conn.Query(t.Context(), `SELECT sealed_seed FROM games WHERE match_id = $1 ORDER BY game`, matchID)
	if err != nil {
		t.Fatal(err)
	}
	seeds, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, sealed := range seeds {
		id, err := deal.KeyID(sealed)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// TestKeyRotation plays a game on over a change of keys: its deal is still read
// under the old one, the next game is sealed under the new one, and without the
// old one no replica starts.
func TestKeyRotation(t *testing.T) {
	tt := newTable(t)
	quiet := slog.New(slog.DiscardHandler)
	ctx := tt.context(t)
	a := tt.start(t, quiet)
	client := refereev1.NewMatchServiceClient(dial(t, a))
	game := startGame(ctx, t, client, create(ctx, t, client, preset("7club-standard")).GetGame())
	game = flip(ctx, t, client, game, "a1")
	a.Stop()

	before := tt.config.Keys
	tt.config.Keys = NewKey("next") + before
	a = tt.start(t, quiet)
	client = refereev1.NewMatchServiceClient(dial(t, a))
	game = flip(ctx, t, client, game, "b1")
	ended, err := client.ReportDisconnect(ctx, &refereev1.ReportDisconnectRequest{
		MatchId: game.GetMatchId(), Game: 1, RequestId: requestID(), ExpectedSeq: game.GetNextSeq(), Seats: []uint32{1}})
	if err != nil {
		t.Fatal(err)
	}
	if ended.GetChange().GetGame().GetStatus() != refereev1.GameStatus_GAME_STATUS_ENDED {
		t.Fatalf("the game is %s", ended.GetChange().GetGame().GetStatus())
	}
	if got := tt.keyIDs(t, game.GetMatchId()); !slices.Equal(got, []string{"test", "next"}) {
		t.Errorf("the games are sealed under %q", got)
	}
	verdict, err := refereev1.NewAuditServiceClient(dial(t, a)).VerifyGame(ctx, &refereev1.VerifyGameRequest{MatchId: game.GetMatchId()})
	if err != nil || !verdict.GetSound() {
		t.Errorf("after the rotation: %v, %v", verdict, err)
	}
	other := create(ctx, t, client, preset("7club-standard"))
	if got := tt.keyIDs(t, other.GetMatch().GetMatchId()); !slices.Equal(got, []string{"next"}) {
		t.Errorf("a new match is sealed under %q", got)
	}
	a.Stop()

	tt.config.Keys, _, _ = strings.Cut(tt.config.Keys, before)
	if a, err := Start(t.Context(), tt.config, quiet); err == nil {
		a.Stop()
		t.Error("a replica started without the old key")
	} else if !strings.Contains(err.Error(), `"test"`) {
		t.Errorf("got %v, want the id of the missing key", err)
	}

	tt.config.Keys = NewKey("next") + NewKey("test") // the right names, other keys
	if a, err := Start(t.Context(), tt.config, quiet); err == nil {
		a.Stop()
		t.Error("a replica started with another key under a known name")
	} else if !strings.Contains(err.Error(), "is not the one that games") {
		t.Errorf("got %v, want what is wrong with the key", err)
	}
}
