package history_test

import (
	"os"
	"slices"
	"testing"

	"referee.example/internal/history"
	"referee.example/internal/pgtest"
	"referee.example/internal/referee"
	"referee.example/internal/store"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestGenerate reads what was generated as an auditor would.
func TestGenerate(t *testing.T) {
	db := pgtest.New(t)
	size, err := history.Generate(t.Context(), db.URL, history.Options{Games: 40_000, Events: 20_000, Each: 1})
	if err != nil {
		t.Fatal(err)
	}
	if size.Games < 36_000 || size.Games > 44_000 || size.Events < 15_000 || size.Events > 50_000 || size.Matches*2 > size.Games {
		t.Errorf("generated %+v", size)
	}
	s, err := store.Open(t.Context(), store.Config{URL: db.URL, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	filter := referee.HistoryFilter{Platform: history.Platform, Player: history.HeavyPlayer}
	matches, _, err := s.ListMatches(t.Context(), filter, 0, referee.ID{}, 200)
	if err != nil {
		t.Fatal(err)
	}
	if len(matches) != 200 {
		t.Errorf("%d matches of the heavy player", len(matches))
	}
	for _, match := range matches {
		if match.Platform != history.Platform || !slices.Contains(match.Players, history.HeavyPlayer) {
			t.Fatalf("a match of %v at %s is the heavy player's", match.Players, match.Platform)
		}
	}
	for what, list := range map[string]struct {
		filter referee.HistoryFilter
		status referee.MatchStatus
	}{
		"rare ruleset":   {referee.HistoryFilter{Platform: "*", RulesetID: history.RareRuleset}, 0},
		"small platform": {referee.HistoryFilter{Platform: history.SmallPlatform}, 0},
		"rare stake":     {referee.HistoryFilter{Platform: "*", MinStake: history.RareStake}, 0},
		"voided":         {referee.HistoryFilter{Platform: history.Platform}, referee.MatchVoid},
		"running":        {referee.HistoryFilter{Platform: history.Platform}, referee.MatchPlaying},
	} {
		found := 0
		for page, before := 0, (referee.ID{}); page == 0 || before != (referee.ID{}); page++ {
			matches, next, err := s.ListMatches(t.Context(), list.filter, list.status, before, 50)
			if err != nil {
				t.Fatal(err)
			}
			found, before = found+len(matches), next
		}
		if found == 0 || found > int(size.Matches)/50 {
			t.Errorf("%s: %d of %d matches", what, found, size.Matches)
		}
	}
}

// TestMoveBytes holds what a move takes on disk, with request id and hash and all
// indexes counted: 200 bytes where the index is packed, 220 as play leaves it.
func TestMoveBytes(t *testing.T) {
	got, err := history.MeasureMoves(t.Context(), pgtest.New(t).URL, 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", got)
	if got.Moves < 20_000 {
		t.Errorf("%d moves were measured", got.Moves)
	}
	if packed, played := got.Heap+got.Packed, got.Heap+got.Index; packed > 200 || played > 220 {
		t.Errorf("a move takes %.0f bytes, %.0f when it has just been played: %+v", packed, played, got)
	}
	if got.Packed < 30 || got.JSON < 1.5*(got.Heap+got.Index) {
		t.Errorf("that is not what was to be measured: %+v", got)
	}
}
