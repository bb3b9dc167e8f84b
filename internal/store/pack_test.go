package store

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// fillMonth adds the plies of many matches to February 2016 in turns, as
// play does, and returns how many.
func (d *desk) fillMonth() (plies int) {
	d.t.Helper()
	const matches, each = 150, 150
	d.exec(`
INSERT INTO events (match_id, event_time, seq, ply, principal, game, seat, kind, action_kind, from_square, to_square,
	turned, captured, request_id, clocks, client_hash, detail, hash)
SELECT m.id, e.event_time, s, s, e.principal, 1, e.seat, e.kind, e.action_kind, e.from_square, e.to_square,
	e.turned, e.captured, gen_random_uuid(), e.clocks, e.client_hash, e.detail, e.hash
FROM (SELECT * FROM events_2016_02 WHERE kind = 3 LIMIT 1) e CROSS JOIN generate_series(1, $2::integer) s
CROSS JOIN (SELECT overlay(gen_random_uuid()::text PLACING left(first_match_id('2016-02-10 00:00+00')::text, 10) FROM 1)::uuid AS id
	FROM generate_series(1, $1::integer)) m
ORDER BY s, m.id`, matches, each)
	return matches * each
}

// entryBytes is what an entry of the month's index takes.
func (d *desk) entryBytes(plies int) int {
	d.t.Helper()
	return ask[int](d, `SELECT pg_relation_size('events_2016_02_pkey')::integer`) / plies
}

// A month's index is built anew once no match of it goes on, and only once; what a
// reader held up and somebody broke off is done by the next call, and leaves no
// half-built index behind. Moves go on meanwhile.
func TestPackPartitions(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	id, at := d.old()
	plies := d.fillMonth()
	if got := d.entryBytes(plies); got < 55 {
		t.Fatalf("as played an entry takes %d bytes: there is nothing to pack", got)
	}
	if packed, err := d.PackPartitions(ctx); err != nil || len(packed) > 0 {
		t.Errorf("with a live match: packed %v, %v", packed, err)
	}
	d.void(id, at+second)
	d.breakPackingOff()

	packed, err := d.PackPartitions(ctx)
	if err != nil || !slices.Equal(packed, []string{"events_2016_02"}) {
		t.Fatalf("packed %v, %v", packed, err)
	}
	if got := d.entryBytes(plies); got > 45 {
		t.Errorf("packed an entry takes %d bytes", got)
	}
	if n := ask[int](d, `SELECT count(*) FROM pg_index WHERE indrelid = 'events_2016_02'::regclass`); n != 1 {
		t.Errorf("the month has %d indexes", n)
	}
	d.must(d.Ready(ctx))
	if record, err := d.Record(ctx, id); err != nil || len(record.Logs[1]) == 0 {
		t.Errorf("once packed: %v", err)
	}
	if again, err := d.PackPartitions(ctx); err != nil || len(again) > 0 {
		t.Errorf("again: packed %v, %v", again, err)
	}
}

// breakPackingOff cancels packing while it waits for a reader, in its middle.
func (d *desk) breakPackingOff() {
	d.t.Helper()
	tx, err := d.pool.Begin(d.t.Context())
	d.must(err)
	_, err = tx.Exec(d.t.Context(), `SELECT 1 FROM events_2016_02 LIMIT 1`)
	d.must(err)
	ctx, cancel := context.WithCancel(d.t.Context())
	broken := make(chan error, 1)
	go func() {
		_, err := d.PackPartitions(ctx)
		broken <- err
	}()
	const half = `SELECT EXISTS (SELECT FROM pg_index WHERE indrelid = 'events_2016_02'::regclass AND NOT indisvalid)`
	for !ask[bool](d, half) {
		select {
		case err := <-broken:
			d.t.Fatalf("it did not wait: %v", err)
		default:
		}
	}
	d.started(d.now()) // commits to the log meanwhile
	cancel()
	if err := <-broken; !errors.Is(err, context.Canceled) {
		d.t.Fatalf("broken off: %v", err)
	}
	for ask[bool](d, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
		AND state = 'active' AND query LIKE 'REINDEX TABLE%')`) {
		d.must(d.t.Context().Err())
	}
	d.must(tx.Rollback(d.t.Context()))
	if !ask[bool](d, half) {
		d.t.Fatal("nothing was left half-built")
	}
}
