package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"referee.example/internal/demo"
	"referee.example/internal/tlog"
	"referee.example/internal/witness"
	refereev1 "referee.example/proto/referee/v1"
)

// logKey returns the key of a table's log.
func (tt *table) logKey(t *testing.T) tlog.Key {
	t.Helper()
	key, err := tt.config.logKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestFinishedGamesAreLoggedAndWitnessed plays a match on two replicas, sees its
// games in the signed log within ten seconds, and has the log witnessed. The
// test's database is a copy of another, so that its log waits for a word first.
func TestFinishedGamesAreLoggedAndWitnessed(t *testing.T) {
	tt := newTable(t)
	var logged lockedBuffer
	held := make(chan struct{})
	logged.onceLogged("referee log confirm", func() { logged.then = nil; close(held) })
	first := tt.start(t, slog.New(slog.NewJSONHandler(&logged, nil)))
	defer first.Stop()
	second := tt.start(t, slog.New(slog.DiscardHandler))
	defer second.Stop()
	ctx := tt.context(t)
	select {
	case <-held:
	case <-ctx.Done():
		t.Fatal("the replica did not say that the log is held up")
	}
	key := tt.logKey(t)
	log, err := tlog.ParsePublic(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	tree, err := ConfirmLog(ctx, tt.config.DatabaseURL, log, nil)
	if err != nil || tree != tlog.EmptyTree {
		t.Fatalf("confirmed %+v, %v", tree, err)
	}
	conn := dial(t, first)
	match, err := demo.Play(ctx, conn, demo.Options{Out: &logged, Seed: 7, Style: demo.Style{ASCII: true}})
	if err != nil {
		t.Fatal(err)
	}
	ended := time.Now()
	audit := refereev1.NewAuditServiceClient(dial(t, second))
	last := match.GetGames()[len(match.GetGames())-1]
	for {
		got, err := audit.ProveGame(ctx, &refereev1.ProveGameRequest{MatchId: match.GetMatchId(), Game: last.GetGame()})
		if err == nil {
			if got.GetSize() < int64(len(match.GetGames())) {
				t.Errorf("%d games are signed of %d", got.GetSize(), len(match.GetGames()))
			}
			break
		}
		if code := status.Code(err); code != codes.FailedPrecondition && code != codes.Unavailable {
			t.Fatal(err)
		}
	}
	if took := time.Since(ended); took > time.Minute { // ten seconds, on a machine that is not busy
		t.Errorf("the last game was in the log after %s", took)
	}
	file := filepath.Join(t.TempDir(), "witnessed")
	w := &witness.Witness{Audit: audit, Log: log, Key: key, File: file}
	for range 2 {
		seen, err := w.Update(ctx, time.Now())
		if err != nil || seen.Size < int64(len(match.GetGames())) {
			t.Fatalf("the witness saw %d games, %v", seen.Size, err)
		}
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = ConfirmLog(ctx, tt.config.DatabaseURL, log, []string{string(content)})
	if err != nil {
		t.Errorf("confirming with what the witness holds: %v", err)
	}
}
