package app

import (
	"log/slog"
	"math/rand/v2"
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
	logged.await(ctx, t, `"sweep could not settle a match","match_id":"`+spoilt+`"`)
}

// TestReplicasSweepDifferentMatches: of what is due each takes others, and all of
// it is taken by as many as it needs.
func TestReplicasSweepDifferentMatches(t *testing.T) {
	var due []referee.ID
	for i := range 2 * sweepBatch {
		id := referee.ID{8: 0x80 | byte(i)>>1, 9: byte(i) << 7}
		due = append(due, id)
	}
	rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	one, other := nearest(slices.Clone(due), 0), nearest(slices.Clone(due), 1<<63)
	seen := map[referee.ID]bool{}
	for _, id := range slices.Concat(one, other) {
		seen[id] = true
	}
	if len(one) != sweepBatch || len(seen) != 2*sweepBatch {
		t.Errorf("%d are taken, %d of %d by any", len(one), len(seen), len(due))
	}
	if few := nearest(due[:3], anywhere()); len(few) != 3 {
		t.Errorf("of three %d are taken", len(few))
	}
}

// TestSweepMovesOnWhenItMeetsAnother: a match that another has settled sends it
// elsewhere, one of its own does not, and what keeps happening is told.
func TestSweepMovesOnWhenItMeetsAnother(t *testing.T) {
	var logged lockedBuffer
	s := newSweep(nil, nil, slog.New(slog.NewJSONHandler(&logged, nil)))
	before := s.phase
	s.finish(t.Context(), settled{changed: true})
	if s.phase != before {
		t.Error("its own match sent it elsewhere")
	}
	for _, met := range []settled{{}, {err: referee.ErrConflict}} {
		before = s.phase
		s.finish(t.Context(), met)
		if s.phase == before {
			t.Errorf("%+v did not send it elsewhere", met)
		}
	}
	for range suspicious - 1 {
		if logged.String() != "" {
			t.Fatalf("told too early: %s", logged.String())
		}
		s.finish(t.Context(), settled{err: referee.ErrConflict})
	}
	if !strings.Contains(logged.String(), "sweep was kept from settling a match") {
		t.Errorf("not told: %q", logged.String())
	}
}

func spoil(t *testing.T, url, match string) {
	t.Helper()
	execute(t, url, `UPDATE match_states SET state = '\x00' WHERE match_id = $1`, match)
}
