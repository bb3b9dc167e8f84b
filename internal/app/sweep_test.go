package app

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"referee.example/internal/referee"
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

// TestReplicasSweepDifferentMatches: of what is due each takes some of its own.
func TestReplicasSweepDifferentMatches(t *testing.T) {
	due := make([]referee.ID, sweepLook)
	for i := range due {
		due[i][0], due[i][1] = byte(i), byte(i>>8)
	}
	one, other := someOf(slices.Clone(due)), someOf(slices.Clone(due))
	both := 0
	for _, id := range one {
		if slices.Contains(other, id) {
			both++
		}
	}
	// Four of 64 are expected; a quarter is out of the question.
	if len(one) != sweepBatch || len(other) != sweepBatch || both > sweepBatch/4 {
		t.Errorf("%d and %d are taken, %d by both", len(one), len(other), both)
	}
	if few := someOf(due[:3]); len(few) != 3 {
		t.Errorf("of three %d are taken", len(few))
	}
}

func spoil(t *testing.T, url, match string) {
	t.Helper()
	execute(t, url, `UPDATE match_states SET state = '\x00' WHERE match_id = $1`, match)
}
