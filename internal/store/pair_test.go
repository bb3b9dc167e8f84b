package store

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/migrations"
)

// both are ann and bo, as the tests' matches seat them.
var both = referee.HistoryFilter{Platform: "north", Player: "bo", Opponent: "ann"}

func TestPairStatistics(t *testing.T) {
	d := newDesk(t)
	begin := d.ago(time.Hour)
	first := d.started(begin)
	d.do(d.load(first), d.ply(d.load(first)), begin+2*second)
	d.do(d.load(first), d.ply(d.load(first)), begin+5*second)
	d.disconnect(first, begin+6*second) // seat 1, bo, loses
	d.start(first, begin+10*second)
	s := d.load(first)
	d.do(s, &referee.VoidMatch{Header: d.header(s, rules.NoSeat, false), Note: "test"}, begin+11*second)
	d.started(begin + 60*second) // goes on
	other := d.request()
	other.Players = []string{"ann", "cy"}
	d.create(other, begin)
	elsewhere := d.request()
	elsewhere.Caller.Platform = "south"
	d.create(elsewhere, begin)

	got, err := d.PairStatistics(t.Context(), both)
	d.must(err)
	if got.Matches != 2 || got.Games != 3 || got.Running != 1 || got.Drawn != 0 || got.Void != 1 || got.More ||
		got.Endings[rules.EndDisconnection] != 1 || got.Endings[rules.EndMatchVoided] != 1 || len(got.Endings) != 2 ||
		got.First != begin || got.Last != begin+60*second || got.Oldest != begin-second {
		t.Errorf("counted %+v", got)
	}
	bo, ann := got.Players[0], got.Players[1]
	if bo.Player != "bo" || ann.Player != "ann" || bo.Wins != 0 || ann.Wins != 1 {
		t.Errorf("players %+v", got.Players)
	}
	received := ask[int64](d, `SELECT coalesce(sum(amount), 0)::bigint FROM settlement_lines WHERE payee = 'ann'`)
	paid := ask[int64](d, `SELECT coalesce(sum(amount), 0)::bigint FROM settlement_lines WHERE payer = 'ann'`)
	lost := ask[int64](d, `SELECT coalesce(sum(amount), 0)::bigint FROM settlement_lines WHERE payer = 'bo'`)
	if received == 0 || paid == 0 || lost == received || ann.Net != received-paid || ann.FromOther != received ||
		bo.Net != -lost || bo.FromOther != -received {
		t.Errorf("ann received %d and paid %d, bo paid %d; counted %+v", received, paid, lost, got.Players)
	}
	// The first mover took 2 s, the other 3 s.
	times := []int64{ann.Think.Mean, bo.Think.Mean}
	slices.Sort(times)
	if ann.Think.Plies != 1 || bo.Think.Plies != 1 || !slices.Equal(times, []int64{2e6, 3e6}) ||
		ann.Think.P50 != ann.Think.Mean || bo.Think.P90 != bo.Think.Mean {
		t.Errorf("think times %+v", got.Players)
	}

	since := both
	since.From = begin
	got, err = d.PairStatistics(t.Context(), since)
	d.must(err)
	if got.Matches != 1 || got.Games != 1 || got.First != begin+60*second {
		t.Errorf("since the second match: %+v", got)
	}
	nobody := both
	nobody.Opponent = "nobody"
	got, err = d.PairStatistics(t.Context(), nobody)
	d.must(err)
	if got.Matches != 0 || got.First != 0 || got.Players[0].Net != 0 {
		t.Errorf("of strangers: %+v", got)
	}
}

// TestPairStatisticsRefuseWhatDoesNotFit has one line of the largest amount more
// than a sum can hold.
func TestPairStatisticsRefuseWhatDoesNotFit(t *testing.T) {
	d := newDesk(t)
	begin := d.ago(time.Hour)
	match := d.started(begin)
	d.disconnect(match, begin+second)
	d.exec(`INSERT INTO settlement_lines (match_id, game, compensates, line, payer, payee, amount, why)
		VALUES ($1, 1, false, 100, 'ann', 'bo', $2, 'stake')`, uuid(match), int64(math.MaxInt64))
	if _, err := d.PairStatistics(t.Context(), both); err != nil {
		t.Errorf("a sum of 64 bits: %v", err)
	}
	d.exec(`INSERT INTO settlement_lines (match_id, game, compensates, line, payer, payee, amount, why)
		VALUES ($1, 1, false, 101, 'ann', 'bo', $2, 'stake')`, uuid(match), int64(math.MaxInt64))
	_, err := d.PairStatistics(t.Context(), both)
	var refused *referee.Refusal
	if !errors.As(err, &refused) || refused.Reason != referee.ReasonInvalidField {
		t.Errorf("a sum of more than 64 bits: %v", err)
	}
}

// TestIndexesOfTheHistoryBefore plays on the schema before, migrates, and plays
// on: what the migration adds is what the triggers would have added.
func TestIndexesOfTheHistoryBefore(t *testing.T) {
	d := newDesk(t)
	begin := d.ago(time.Hour)
	apply := func(name string) {
		t.Helper()
		file, err := migrations.FS.ReadFile(name)
		d.must(err)
		if _, err := d.pool.Exec(t.Context(), string(file)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	rows := func() (pairs, games string) {
		return ask[string](d, `SELECT string_agg(p::text, ' ' ORDER BY p) FROM pairs p`),
			ask[string](d, `SELECT string_agg(g::text, ' ' ORDER BY g) FROM ended_games g`)
	}
	d.played(begin)
	d.played(begin + 60*second)
	pairs, games := rows()
	apply("000003_history.down.sql")
	apply("000003_history.up.sql")
	if again, ended := rows(); again != pairs || ended != games {
		t.Errorf("the migration added\n%s\n%s\nnot\n%s\n%s", again, ended, pairs, games)
	}
	apply("000003_history.down.sql")
	d.played(begin + 120*second) // as the version before plays
	apply("000003_history.up.sql")
	d.played(begin + 180*second)
	if n := ask[int](d, `SELECT count(*) FROM pairs`); n != 4 {
		t.Errorf("%d pairs of 4 matches", n)
	}
	// Each match has a game that was played and one that was not started.
	if n := ask[int](d, `SELECT count(*) FROM ended_games WHERE end_reason = $1 AND result = 1`, int16(rules.EndDisconnection)); n != 4 {
		t.Errorf("%d games of 4 ended by a disconnection", n)
	}
	if n := ask[int](d, `SELECT count(*) FROM ended_games`); n != 4 {
		t.Errorf("%d ended games of 4 were started", n)
	}
}

// played is a match whose first game ended and whose second was never started.
func (d *desk) played(at clock.Time) {
	d.t.Helper()
	match := d.started(at)
	d.disconnect(match, at+second)
	s := d.load(match)
	d.do(s, &referee.VoidMatch{Header: d.header(s, rules.NoSeat, false), Note: "test"}, at+2*second)
}

// TestMigratingAmongEndings migrates while an ending is half done: it holds games
// and wants matches, as the migration wants both.
func TestMigratingAmongEndings(t *testing.T) {
	d := newDesk(t)
	d.played(d.ago(time.Hour))
	down, err := migrations.FS.ReadFile("000003_history.down.sql")
	d.must(err)
	up, err := migrations.FS.ReadFile("000003_history.up.sql")
	d.must(err)
	d.exec(string(down))
	ending, err := d.pool.Begin(t.Context())
	d.must(err)
	_, err = ending.Exec(t.Context(), `UPDATE games SET status = status`)
	d.must(err)
	migrated := make(chan error, 1)
	go func() {
		_, err := d.pool.Exec(context.Background(), string(up))
		migrated <- err
	}()
	for !ask[bool](d, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
		AND pid <> pg_backend_pid() AND state = 'active' AND query LIKE '%What lists of the history%')`) {
		d.must(t.Context().Err())
	}
	_, err = ending.Exec(t.Context(), `UPDATE matches SET status = status`)
	d.must(err)
	d.must(ending.Commit(t.Context()))
	d.must(<-migrated)
	if n := ask[int](d, `SELECT count(*) FROM ended_games`); n != 1 {
		t.Errorf("%d ended games", n)
	}
}
