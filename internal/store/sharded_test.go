package store

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
)

// sharded reports whether a test runs as part of TestSharded.
func sharded(t testing.TB) bool { return strings.HasPrefix(t.Name(), "TestSharded/") }

// shardedTests are the tests of all that commits, loads or sweeps.
var shardedTests = map[string]func(*testing.T){
	"TestAGroupTellsEachItsOwnOutcome":                  TestAGroupTellsEachItsOwnOutcome,
	"TestAGroupWritesWhatSingleStatementsDo":            TestAGroupWritesWhatSingleStatementsDo,
	"TestAPoisonedRowFailsAlone":                        TestAPoisonedRowFailsAlone,
	"TestAHeldRowHoldsUpNobodyElse":                     TestAHeldRowHoldsUpNobodyElse,
	"TestOneChangeAMatchInABatch":                       TestOneChangeAMatchInABatch,
	"TestGroupsInOppositeOrders":                        TestGroupsInOppositeOrders,
	"TestACallerThatGoesAwayCostsNobodyAnything":        TestACallerThatGoesAwayCostsNobodyAnything,
	"TestAFullGroupRefuses":                             TestAFullGroupRefuses,
	"TestAStatementThatHangsIsPassedOver":               TestAStatementThatHangsIsPassedOver,
	"TestACallerIsAnsweredAtItsDeadline":                TestACallerIsAnsweredAtItsDeadline,
	"TestCloseDrains":                                   TestCloseDrains,
	"TestAConnectionThatIsKilledInTheMiddle":            TestAConnectionThatIsKilledInTheMiddle,
	"TestAMatchLoadsAsItWasCommitted":                   TestAMatchLoadsAsItWasCommitted,
	"TestEventsReadBackExactly":                         TestEventsReadBackExactly,
	"TestCreateRequestsAndExternalRefs":                 TestCreateRequestsAndExternalRefs,
	"TestGuardsOfACommit":                               TestGuardsOfACommit,
	"TestGuardsOfALifecycleCommit":                      TestGuardsOfALifecycleCommit,
	"TestOfTwoCommitsOneWins":                           TestOfTwoCommitsOneWins,
	"TestACommitJudgesWhenItHasTheLock":                 TestACommitJudgesWhenItHasTheLock,
	"TestALockHeldTooLongIsAConflict":                   TestALockHeldTooLongIsAConflict,
	"TestOrdinaryCommitsAreHeapOnlyUpdates":             TestOrdinaryCommitsAreHeapOnlyUpdates,
	"TestAGroupOfEndingsWritesWhatSingleTransactionsDo": TestAGroupOfEndingsWritesWhatSingleTransactionsDo,
	"TestAGroupOfEndingsTellsEachItsOwnOutcome":         TestAGroupOfEndingsTellsEachItsOwnOutcome,
	"TestAnEndingWaitsForItsRow":                        TestAnEndingWaitsForItsRow,
	"TestGroupsOfEndingsInOppositeOrders":               TestGroupsOfEndingsInOppositeOrders,
	"TestLoadManyReadsWhatLoadReads":                    TestLoadManyReadsWhatLoadReads,
	"TestAMoveBringsTheWakeUpForwardOnly":               TestAMoveBringsTheWakeUpForwardOnly,
	"TestTheSweepsOwnCommitPutsTheWakeUpOff":            TestTheSweepsOwnCommitPutsTheWakeUpOff,
	"TestDueFindsWhatHasExpired":                        TestDueFindsWhatHasExpired,
	"TestDueKeepsTheGrace":                              TestDueKeepsTheGrace,
	"TestConcurrentSweeps":                              TestConcurrentSweeps,
	"TestVersions":                                      TestVersions,
	"TestRowsOfAWholeMatch":                             TestRowsOfAWholeMatch,
	"TestRowsOfAMatchVoidedInPlay":                      TestRowsOfAMatchVoidedInPlay,
	"TestRowsOfAMatchEndedBetweenGames":                 TestRowsOfAMatchEndedBetweenGames,
	"TestOneCommitEndsAGameAndStartsTheNext":            TestOneCommitEndsAGameAndStartsTheNext,
	"TestCompensationBooksTheReverseOnce":               TestCompensationBooksTheReverseOnce,
	"TestRowsOfAGameThatAwaitsARuling":                  TestRowsOfAGameThatAwaitsARuling,
	"TestMemoryChangesNoOutcome":                        TestMemoryChangesNoOutcome,
	"TestALostCommitIsFoundAgain":                       TestALostCommitIsFoundAgain,
	"TestTwoReplicasAlternate":                          TestTwoReplicasAlternate,
	"TestTwoReplicasRaceWithWhatTheyRemember":           TestTwoReplicasRaceWithWhatTheyRemember,
	"TestMovesInARowReadNothing":                        TestMovesInARowReadNothing,
	"TestBeatRecordsGapsOnly":                           TestBeatRecordsGapsOnly,
	"TestOfReplicasThatComeBackOneRecordsTheOutage":     TestOfReplicasThatComeBackOneRecordsTheOutage,
	"TestLoadRecordsAGapFirst":                          TestLoadRecordsAGapFirst,
	"TestLoadGivesTheOutagesOfTheRunningTurn":           TestLoadGivesTheOutagesOfTheRunningTurn,
	"TestAnExpiryNeedsEveryOutageRecorded":              TestAnExpiryNeedsEveryOutageRecorded,
	"TestAnExpiryNeedsASignOfLifeSinceItsDeadline":      TestAnExpiryNeedsASignOfLifeSinceItsDeadline,
	"TestAPlyNeedsEveryOutageKnown":                     TestAPlyNeedsEveryOutageKnown,
	"TestNoPlyArrivesInAnOutage":                        TestNoPlyArrivesInAnOutage,
	"TestCancelledWaitIsNoAnswer":                       TestCancelledWaitIsNoAnswer,
	"TestCancelledWaitOfAPly":                           TestCancelledWaitOfAPly,
	"TestNobodyCancelsTheWait":                          TestNobodyCancelsTheWait,
	"TestCrashShowsNothing":                             TestCrashShowsNothing,
}

// unsharded are tests of these files that ask no store to commit, or of what the sharded
// mode does not do.
var unsharded = []string{"TestNextTakesOneChangeAMatchAndNoMoreThanFit", "TestRecentIsBoundedAndKeepsTheNewest", "TestWarned",
	"TestACallerSendsWhatNothingIsUnderWayFor"}

// TestSharded runs the tests of the ordinary mode in the sharded one.
func TestSharded(t *testing.T) {
	var run []string
	for name, test := range shardedTests {
		t.Run(name, test)
		run = append(run, name)
	}
	for _, file := range []string{"group", "commit", "endings", "sweep", "lifecycle", "recent", "heartbeat", "replicated"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file+"_test.go", nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			f, is := decl.(*ast.FuncDecl)
			if is && strings.HasPrefix(f.Name.Name, "Test") && !slices.Contains(append(run, unsharded...), f.Name.Name) {
				t.Errorf("%s_test.go: %s does not run in the sharded mode", file, f.Name.Name)
			}
		}
	}
}

// Of a pipeline one row is poisoned and one is held: the others are saved all the
// same, at once, and each is a transaction of its own.
func TestAPipelineCommitsEachByItself(t *testing.T) {
	d := newDesk(t)
	s, err := Open(t.Context(), Config{URL: d.db.URL, MaxConns: 4, Sharded: true})
	d.must(err)
	t.Cleanup(s.Close)
	ids := d.table(4)
	var batch []*pending
	for _, id := range ids {
		batch = append(batch, pend(t.Context(), d.aPly(id)))
	}
	batch[1].events = slices.Clone(batch[1].events)
	batch[1].events[0].Kind = 99
	tx, err := d.pool.Begin(t.Context())
	d.must(err)
	_, err = tx.Exec(t.Context(), `SELECT FROM match_states WHERE match_id = $1 FOR UPDATE`, uuid(ids[2]))
	d.must(err)
	outcomes := s.group.commitEach(t.Context(), batch, true)
	d.must(tx.Rollback(t.Context()))
	var refused *postgresError
	if !errors.As(outcomes[1].err, &refused) || !strings.HasSuffix(refused.Constraint, "events_kind") {
		t.Errorf("the poisoned row: %v", outcomes[1].err)
	}
	if outcomes[2].err != nil || outcomes[2].verdict != verdictMissing {
		t.Errorf("the held row: verdict %d, %v", outcomes[2].verdict, outcomes[2].err)
	}
	for _, i := range []int{0, 3} {
		if outcomes[i].err != nil || outcomes[i].verdict != verdictSaved {
			t.Errorf("change %d: verdict %d, %v", i, outcomes[i].verdict, outcomes[i].err)
		}
	}
	if n := ask[int](d, `SELECT count(DISTINCT xmin::text) FROM match_states WHERE match_id = ANY ($1)`,
		uuids([]referee.ID{ids[0], ids[3]})); n != 2 {
		t.Errorf("two changes were %d transactions", n)
	}
	for _, id := range ids {
		d.logged(id)
	}
}

// The function judges as the statement does, whatever the guards.
func TestTheFunctionJudgesAsTheStatementDoes(t *testing.T) {
	d := newDesk(t)
	id := d.started(d.now())
	c := d.aPly(id)
	now := d.now()
	d.exec(`INSERT INTO outages (from_at, until_at) VALUES ($1, $2)`, timestamp(now-100*second), timestamp(now-90*second))
	beats := []struct {
		name      string
		statement string
	}{
		{"fresh", `UPDATE heartbeat SET beat_at = clock_timestamp() + interval '1 hour'`},
		{"stale", `UPDATE heartbeat SET beat_at = clock_timestamp() - interval '4 seconds'`},
		{"none", `UPDATE heartbeat SET beat_at = NULL`},
	}
	seen := map[int]int{}
	for _, beat := range beats {
		d.exec(beat.statement)
		for _, version := range []int64{c.State.Version, c.State.Version - 1} {
			for _, after := range []clock.Time{0, -2, -8, 60} {
				for _, before := range []clock.Time{0, -1, 60} {
					for _, known := range []clock.Time{0, -95, -80} {
						r := newRow(c)
						r.version = version
						r.after, r.before, r.known = fromNow(now, after), fromNow(now, before), fromNow(now, known)
						if got, want := d.verdict(sqlCommitMove, append(r.arguments(c.Events), false, false)), d.verdict(sqlCommit, r.arguments(c.Events)); got != want {
							t.Errorf("heartbeat %s, version %d, after %d s, before %d s, known %d s: the function's verdict is %d, the statement's %d",
								beat.name, version, after, before, known, got, want)
						} else {
							seen[got]++
						}
					}
				}
			}
		}
	}
	for _, verdict := range []int{verdictSaved, verdictConflict, verdictTooLate, verdictTooEarly} {
		if seen[verdict] == 0 {
			t.Errorf("no case had the verdict %d", verdict)
		}
	}
}

// fromNow is an instant so many seconds from now; 0 for none.
func fromNow(now, seconds clock.Time) *time.Time {
	if seconds == 0 {
		return nil
	}
	return timestampOrNull(now + seconds*second)
}

// verdict runs a commit and takes it back.
func (d *desk) verdict(query string, arguments []any) (verdict int) {
	d.t.Helper()
	tx, err := d.pool.Begin(d.t.Context())
	d.must(err)
	d.must(tx.QueryRow(d.t.Context(), query, arguments...).Scan(&verdict))
	d.must(tx.Rollback(d.t.Context()))
	return verdict
}

// A coordinator sends a call to the node of its match only if it is planned for that.
func TestShardedPlansAreNotGeneric(t *testing.T) {
	d := newDesk(t)
	s, err := Open(t.Context(), Config{URL: d.db.URL, MaxConns: 4, Sharded: true})
	d.must(err)
	t.Cleanup(s.Close)
	for mode, of := range map[string]*Store{"auto": s, "force_generic_plan": d.Store} {
		var got string
		d.must(of.pool.QueryRow(t.Context(), `SELECT current_setting('plan_cache_mode')`).Scan(&got))
		if got != mode {
			t.Errorf("plan_cache_mode is %s, want %s", got, mode)
		}
	}
}

// Many callers, many writers: all that waits is committed, each change once.
func TestShardedWritersShareWhatWaits(t *testing.T) {
	d := newDesk(t)
	s, err := Open(t.Context(), Config{URL: d.db.URL, MaxConns: 8, Sharded: true})
	d.must(err)
	t.Cleanup(s.Close)
	ids := d.table(60)
	errs := make([]error, len(ids))
	var all sync.WaitGroup
	for i, id := range ids {
		c := d.aPly(id)
		if i%3 == 0 {
			c = d.anEnding(id)
		}
		all.Go(func() { errs[i] = s.Commit(t.Context(), c) })
	}
	all.Wait()
	for i, id := range ids {
		d.must(errs[i])
		d.logged(id)
	}
}

func TestShare(t *testing.T) {
	for _, test := range []struct{ waiting, writers, want int }{
		{1, 8, 1}, {8, 8, 1}, {9, 8, 2}, {100, 1, 100}, {4096, 1, groupRows}, {4096, 2, groupRows},
	} {
		if got := share(test.waiting, test.writers); got != test.want {
			t.Errorf("of %d changes one of %d writers takes %d, want %d", test.waiting, test.writers, got, test.want)
		}
	}
	for _, conns := range []int{1, 4, 16, MaxConns} {
		if moves, endings := shardedWriters(conns); moves < 1 || endings < 1 || conns > 3 && moves+endings >= conns {
			t.Errorf("of %d connections %d write moves and %d endings", conns, moves, endings)
		}
	}
}
