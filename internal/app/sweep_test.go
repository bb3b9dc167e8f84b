package app

import (
	"log/slog"
	"strings"
	"testing"

	refereev1 "referee.example/proto/referee/v1"
)

// TestSweepGoesOnPastAMatchThatFails spoils the state of one expired match: the
// next one must not wait for it.
func TestSweepGoesOnPastAMatchThatFails(t *testing.T) {
	tt := newTable(t)
	var logged lockedBuffer
	a := tt.start(t, slog.New(slog.NewJSONHandler(&logged, nil)))
	defer a.Stop()
	conn := dial(t, a)
	client, ctx := refereev1.NewMatchServiceClient(conn), tt.context(t)
	request := quick(ctx, t, refereev1.NewRulesServiceClient(conn))
	spoilt := startGame(ctx, t, client, create(ctx, t, client, request).GetGame()).GetMatchId()
	spoil(t, tt.config.DatabaseURL, spoilt)
	sound := startGame(ctx, t, client, create(ctx, t, client, request).GetGame()).GetMatchId()
	watch, err := client.WatchMatch(ctx, &refereev1.WatchMatchRequest{MatchId: sound})
	if err != nil {
		t.Fatal(err)
	}
	for ended := false; !ended; {
		message, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		ended = message.GetEvent().GetKind() == refereev1.EventKind_EVENT_KIND_GAME_ENDED
	}
	if !strings.Contains(logged.String(), "sweep could not settle a match") || !strings.Contains(logged.String(), spoilt) {
		t.Errorf("the log does not tell of match %s: %s", spoilt, logged.String())
	}
}

func spoil(t *testing.T, url, match string) {
	t.Helper()
	execute(t, url, `UPDATE match_states SET state = '\x00' WHERE match_id = $1`, match)
}
