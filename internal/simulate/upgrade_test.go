package simulate

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/simulate/check"
	"referee.example/migrations"
)

// previous is the program of the version before; without it this version's plays its
// part, on a schema that has gone on (nextSchema).
var previous = flag.String("previous", "", "program of the version before, for TestRollingUpgrade")

// nextSchema is a migration to a version that this binary knows nothing of, such as the
// rules of docs/operations.md allow: it adds to every table, and marks the schema as
// golang-migrate does.
const nextSchema = `
UPDATE schema_migrations SET version = version + 1, dirty = true;
DO $$ DECLARE t regclass; BEGIN
	FOR t IN SELECT c.oid FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
		AND NOT c.relispartition AND c.relname <> 'schema_migrations' LOOP
		EXECUTE format('ALTER TABLE %s ADD COLUMN added_later text, ADD COLUMN given_later integer NOT NULL DEFAULT 7', t);
	END LOOP;
END $$;
CREATE TABLE made_later (match_id uuid PRIMARY KEY, seen integer NOT NULL);
CREATE FUNCTION note_later() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO made_later VALUES (NEW.match_id, 1) ON CONFLICT (match_id) DO UPDATE SET seen = made_later.seen + 1;
	RETURN NULL;
END $$;
CREATE TRIGGER games_noted_later AFTER INSERT ON games FOR EACH ROW EXECUTE FUNCTION note_later();
UPDATE schema_migrations SET dirty = false`

// TestRollingUpgrade plays while the schema is migrated under replicas of the version
// before, which are then replaced one after the other, and put back again. Nobody's
// promise is broken, and both versions verify every match.
func TestRollingUpgrade(t *testing.T) {
	today := buildReferee(t)
	old, matches := *previous, 60
	if old == "" {
		old, matches = today, 12
	}
	p, err := startPostgres(t.Context(), 0)
	ok(t, err)
	t.Cleanup(func() { ok(t, p.close()) })
	b := &batch{seed: 5, size: matches, postgres: p, recorder: &recorder{}, summary: newSummary(), options: Options{
		Replicas: 2, Tables: 8, Binary: old, Dir: t.TempDir(), Habits: brisk(), Patience: defaultPatience, Progress: os.Stderr,
	}}
	ok(t, b.prepare(t.Context()))
	t.Cleanup(func() { ok(t, b.end()) })
	before := b.schema(t)

	playing, stop := context.WithCancel(t.Context())
	defer stop()
	var background, watching sync.WaitGroup
	feed := []check.FeedEntry{}
	var received atomic.Int64
	background.Go(func() { feed, _ = b.access.feed(playing, b.seed, &received) })
	played := make(chan error, 1)
	atPlay, over := context.WithCancel(playing)
	go func() {
		defer over()
		played <- b.playAll(playing, stop, &watching)
	}()
	calls := int64(0)
	goOn := func() {
		t.Helper()
		calls += int64(6 * matches)
		if err := b.access.calls.wait(atPlay, calls); err != nil {
			t.Fatalf("all was played before call %d: %v", calls, <-played)
		}
	}
	goOn()
	b.options.Binary = today
	ok(t, b.command(t.Context(), []string{"REFEREE_DATABASE_URL=" + p.url(b.database)}, "migrate"))
	if *previous == "" {
		ok(t, p.execute(t.Context(), b.database, nextSchema))
		if after := b.schema(t); after != before+1 {
			t.Fatalf("the schema went from %d to %d", before, after)
		}
	}
	for _, program := range []string{today, old} {
		for _, r := range b.replicas {
			goOn()
			ok(t, r.replace(t.Context(), program))
		}
	}
	ok(t, <-played)
	ok(t, b.rest(t.Context()))
	ok(t, b.fed(t.Context(), &received))
	stop()
	background.Wait()
	watching.Wait()

	history := &check.History{Calls: b.recorder.calls, Watches: b.recorder.watches, Feed: feed, Replicas: 2}
	from, until := history.Calls[0].Sent, history.Calls[len(history.Calls)-1].Answered
	history.Stalls = []check.Stall{{Span: check.Span{From: from, Until: until}, Held: until.Sub(from)}} // promptness is proved elsewhere
	for _, program := range []string{old, today} {
		for _, r := range b.replicas {
			ok(t, r.replace(t.Context(), program))
		}
		violations, err := b.check(t.Context(), history, false)
		ok(t, err)
		verified, err := b.verify(t.Context(), b.record(t))
		ok(t, err)
		for _, v := range append(violations, verified...) {
			t.Errorf("%s: %s", filepath.Base(filepath.Dir(program)), v)
		}
	}
	if s := b.summary; s.Acknowledged == 0 || s.Verified != 2*matches || s.Plies == 0 {
		t.Errorf("%d acknowledged, %d verified, %d plies: too little is proved", s.Acknowledged, s.Verified, s.Plies)
	}
}

// replace ends a replica in order and starts another program in its place.
func (r *replica) replace(ctx context.Context, program string) error {
	r.process.signal(syscall.SIGTERM)
	<-r.process.gone
	r.binary = program
	return r.launch(ctx, 0)
}

func (b *batch) schema(t *testing.T) uint {
	t.Helper()
	version, dirty, err := migrations.Version(t.Context(), b.postgres.url(b.database))
	ok(t, err)
	if dirty {
		t.Fatalf("schema %d is dirty", version)
	}
	return version
}

func (b *batch) record(t *testing.T) (record *check.Record) {
	t.Helper()
	ok(t, b.postgres.with(t.Context(), b.database, func(conn *pgx.Conn) (err error) {
		record, err = check.Load(t.Context(), conn)
		return err
	}))
	return record
}
