package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/iotest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"referee.example/internal/devpg"
	"referee.example/internal/pgtest"
	"referee.example/internal/referee"
	"referee.example/migrations"
)

// lonely is a desk on a server of its own that can be made to wait for a standby
// which never comes.
type lonely struct {
	*desk
	server *devpg.Server
	admin  *pgx.Conn // waits for nothing but its own commits
}

func newLonely(t *testing.T) *lonely {
	t.Helper()
	server, err := devpg.Start(t.Context(), devpg.Options{NoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(server.Stop(), os.RemoveAll(server.DataDir())); err != nil {
			t.Error(err)
		}
	})
	l := &lonely{server: server}
	if err := migrations.Up(t.Context(), server.URL("postgres")); err != nil {
		t.Fatal(err)
	}
	l.desk = newDeskOn(t, &pgtest.DB{URL: server.URL("postgres"), Name: "postgres"})
	l.fence.within(time.Hour) // these tests look at what waits
	_, err = l.EnsurePartitions(t.Context())
	l.must(err)
	l.connectAdmin()
	t.Cleanup(func() { // what a failed test left waiting would hold up its end
		if conn, err := pgx.Connect(context.Background(), server.URL("postgres")); err == nil {
			_, _ = conn.Exec(context.Background(), `ALTER SYSTEM RESET synchronous_standby_names`)
			_, _ = conn.Exec(context.Background(), `SELECT pg_reload_conf()`)
			_ = conn.Close(context.Background())
		}
	})
	return l
}

func (l *lonely) connectAdmin() {
	l.t.Helper()
	admin, err := pgx.Connect(l.t.Context(), l.server.URL("postgres"))
	l.must(err)
	l.t.Cleanup(func() { _ = admin.Close(context.Background()) })
	l.admin = admin
}

// warm opens so many connections of a store, which are idle afterwards.
func (l *lonely) warm(s *Store, conns int) {
	l.t.Helper()
	var taken []*pgxpool.Conn
	for range conns {
		conn, err := s.pool.Acquire(l.t.Context())
		l.must(err)
		taken = append(taken, conn)
	}
	for _, conn := range taken {
		conn.Release()
	}
}

// waitFor makes commits wait for a standby of this name; for "" they don't.
func (l *lonely) waitFor(standby string) {
	l.t.Helper()
	_, err := l.admin.Exec(l.t.Context(), `ALTER SYSTEM SET synchronous_standby_names = '`+standby+`'`)
	l.must(err)
	_, err = l.admin.Exec(l.t.Context(), `SELECT pg_reload_conf()`)
	l.must(err)
	l.until(`SELECT current_setting('synchronous_standby_names') = '` + standby + `'`)
	// It is another process that has commits wait, some time after it was told.
	for deadline := time.Now().Add(time.Minute); standby != "" && !l.aCommitWaits(); {
		if time.Now().After(deadline) {
			l.t.Fatal("no commit waits")
		}
	}
}

// aCommitWaits reports whether a commit of a session of its own waits. It waits no longer
// afterwards.
func (l *lonely) aCommitWaits() bool {
	l.t.Helper()
	probe, err := pgx.Connect(l.t.Context(), l.server.URL("postgres"))
	l.must(err)
	defer func() { _ = probe.Close(context.Background()) }()
	done := make(chan error, 1)
	go func() {
		_, err := probe.Exec(l.t.Context(), sqlBarrier)
		done <- err
	}()
	for {
		select {
		case err := <-done:
			l.must(err)
			return false
		default:
		}
		pid := probe.PgConn().PID()
		if l.says(fmt.Sprintf(`SELECT EXISTS (SELECT FROM %s AND pid = %d)`, waits, pid)) {
			l.says(fmt.Sprintf(`SELECT pg_cancel_backend(%d)`, pid))
			l.must(<-done)
			return true
		}
	}
}

// until returns when the answer to a question is true.
func (l *lonely) until(query string) {
	l.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !l.says(query) {
		if time.Now().After(deadline) {
			l.t.Fatalf("it never became so: %s", query)
		}
	}
}

func (l *lonely) says(query string) (yes bool) {
	l.t.Helper()
	l.must(l.admin.QueryRow(l.t.Context(), query).Scan(&yes))
	return yes
}

const (
	// The server's own processes may wait too.
	waits        = `pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'`
	someoneWaits = `SELECT EXISTS (SELECT FROM ` + waits + `)`
	twoWait      = `SELECT count(*) = 2 FROM ` + waits
	matchIsThere = `SELECT EXISTS (SELECT FROM matches)`
)

// committing begins to commit a new match and returns when its commit waits.
func (l *lonely) committing(ctx context.Context, s *Store) (change referee.Change, done <-chan error) {
	l.t.Helper()
	change = l.creation(l.request(), l.now())
	answer := make(chan error, 1)
	go func() { answer <- s.Commit(ctx, change) }()
	l.until(someoneWaits)
	if l.says(matchIsThere) {
		l.t.Fatal("a commit that waits is visible")
	}
	return change, answer
}

// cancelWaits cancels what waits for a standby, and returns when nothing of it does.
func (l *lonely) cancelWaits() {
	l.t.Helper()
	const query = `SELECT pid, query_start FROM ` + waits
	rows, err := l.admin.Query(l.t.Context(), query)
	l.must(err)
	type session struct {
		PID     int32
		Started time.Time
	}
	waiting, err := pgx.CollectRows(rows, pgx.RowToStructByPos[session])
	l.must(err)
	for _, s := range waiting {
		l.says(fmt.Sprintf(`SELECT pg_cancel_backend(%d)`, s.PID))
		l.until(fmt.Sprintf(`SELECT NOT EXISTS (%s AND pid = %d AND query_start = '%s')`, query, s.PID, s.Started.Format(time.RFC3339Nano)))
	}
}

// TestCancelledWaitIsNoAnswer cancels a commit's wait for a standby, by which the
// commit is done on the primary alone. Neither it nor what is found done afterwards
// is an answer until a standby may be done without.
func TestCancelledWaitIsNoAnswer(t *testing.T) {
	for name, cancel := range map[string]string{"cancelled": "pg_cancel_backend", "ended": "pg_terminate_backend"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLonely(t)
			l.warm(l.Store, 4)
			l.waitFor("nobody")
			change, done := l.committing(t.Context(), l.Store)
			l.says(`SELECT ` + cancel + `(pid) FROM ` + waits)
			if err := <-done; !errors.Is(err, referee.ErrUnavailable) {
				t.Errorf("the commit was answered with %v", err)
			}
			l.until(matchIsThere)
			found, _, err := l.FindCreated(t.Context(), "north", change.Create.RequestID)
			if err != nil || found != change.State.ID {
				t.Fatalf("the request is found as %v, %v", found, err)
			}
			brief, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer stop()
			if err := l.Durable(brief); err == nil {
				t.Error("what was found is called durable while no standby has it")
			}
			l.waitFor("")
			l.must(l.Durable(t.Context()))
		})
	}
}

// TestCancelledWaitOfAPly is the same for changes that are committed in a group, which
// tries again by itself: the second attempt finds the first one's doing, and waits too.
func TestCancelledWaitOfAPly(t *testing.T) {
	t.Parallel()
	l := newLonely(t)
	id := l.started(l.now())
	l.warm(l.Store, 4)
	s := l.load(id)
	change := l.change(s, l.ply(s), l.now())
	change.After, change.Before = 0, 0
	l.waitFor("nobody")
	done := make(chan error, 1)
	go func() { done <- l.Commit(t.Context(), change) }()
	for range 2 {
		l.until(someoneWaits)
		l.cancelWaits()
	}
	if err := <-done; !errors.Is(err, referee.ErrUnavailable) {
		t.Errorf("the commit was answered with %v", err)
	}
	if !l.says(`SELECT EXISTS (SELECT FROM events WHERE ply = 1)`) {
		t.Error("the ply is not done: nothing is proved")
	}
	l.waitFor("")
}

// TestNobodyCancelsTheWait gives up a commit that waits, and asks pgx in every way
// to cancel it.
func TestNobodyCancelsTheWait(t *testing.T) {
	t.Parallel()
	l := newLonely(t)
	l.warm(l.Store, 4)
	l.waitFor("nobody")
	ctx, giveUp := context.WithCancel(t.Context())
	_, done := l.committing(ctx, l.Store)
	giveUp()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("given up, it was answered with %v", err)
	}
	// This one's cancel request would have come by the time that it returns.
	conn, err := l.pool.Acquire(t.Context())
	l.must(err)
	defer conn.Release()
	ended := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), `INSERT INTO principals (name) VALUES ('waits')`)
		ended <- err
	}()
	l.until(twoWait)
	if err := conn.Conn().PgConn().CancelRequest(t.Context()); err == nil {
		t.Error("a cancel request was sent")
	}
	if !l.says(twoWait) || l.says(matchIsThere) {
		t.Error("a commit that was given up waits no more")
	}
	l.waitFor("")
	l.must(<-ended)
	l.until(matchIsThere)
}

// TestCrashShowsNothing crashes a primary whose commit waits for a standby. It comes
// back with the commit done, and shows it to nobody before a standby has it.
func TestCrashShowsNothing(t *testing.T) {
	t.Parallel()
	l := newLonely(t)
	l.warm(l.Store, 2)
	l.waitFor("nobody")
	change, done := l.committing(t.Context(), l.Store)
	l.server.Crash()
	if err := <-done; !errors.Is(err, referee.ErrUnavailable) {
		t.Errorf("the commit was answered with %v", err)
	}
	l.must(l.server.Restart(t.Context()))
	l.connectAdmin()
	if !l.says(matchIsThere) {
		t.Fatal("the commit is not done: nothing is proved")
	}
	brief, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer stop()
	if _, err := l.Load(brief, change.State.ID); err == nil {
		t.Error("the match was read")
	}
	if other, err := Open(brief, Config{URL: l.db.URL, MaxConns: 1}); err == nil {
		other.Close()
		t.Error("a store was opened")
	}
	reader, err := Open(t.Context(), Config{URL: l.db.URL, MaxConns: 1, ReadOnly: true})
	if err != nil {
		t.Fatalf("a store that only reads: %v", err)
	}
	reader.Close()
	l.waitFor("")
	if _, err := l.Load(t.Context(), change.State.ID); err != nil {
		t.Error(err)
	}
}

// TestWarned reads messages in pieces of every size.
func TestWarned(t *testing.T) {
	encode := func(messages ...pgproto3.BackendMessage) (out []byte) {
		for _, m := range messages {
			var err error
			if out, err = m.Encode(out); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	warning := &pgproto3.NoticeResponse{Severity: "WARNING", Message: "Warten abgebrochen", File: "syncrep.c", Line: 300, Routine: "SyncRepWaitForLSN"}
	other := &pgproto3.NoticeResponse{Severity: "NOTICE", Message: "SyncRepWaitForLSN", Routine: "exec_stmt_raise"}
	row := &pgproto3.DataRow{Values: [][]byte{[]byte("x\x00RSyncRepWaitForLSN\x00")}}
	ready := &pgproto3.ReadyForQuery{TxStatus: 'I'}
	tests := map[string]struct {
		stream []byte
		fails  bool
	}{
		"nothing":          {encode(), false},
		"a query":          {encode(&pgproto3.BindComplete{}, row, &pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")}, ready), false},
		"another notice":   {encode(other, ready, other, ready), false},
		"the warning":      {encode(&pgproto3.CommandComplete{CommandTag: []byte("INSERT 0 1")}, warning, ready), true},
		"after others":     {encode(other, row, ready, other, warning, ready), true},
		"a broken message": {[]byte{'N', 0, 0, 0, 1, 'x', 0, 0, 0, 4}, false},
	}
	for name, test := range tests {
		for size := 1; size < len(test.stream)+2; size++ {
			got, err := io.ReadAll(&warned{from: &pieces{test.stream, size}})
			if test.fails {
				if !errors.Is(err, errNotReplicated) || bytes.Contains(got, encode(ready)) && name == "the warning" {
					t.Errorf("%s, %d bytes at a time: %q, %v", name, size, got, err)
				}
				continue
			}
			if err != nil || !bytes.Equal(got, test.stream) {
				t.Errorf("%s, %d bytes at a time: %q, %v", name, size, got, err)
			}
		}
	}
	w := &warned{from: bytes.NewReader(encode(warning))}
	_ = iotest.TestReader(w, nil) // reads on
	if _, err := w.Read(make([]byte, 1)); !errors.Is(err, errNotReplicated) {
		t.Errorf("after the warning: %v", err)
	}
}

// pieces gives so many bytes at a time.
type pieces struct {
	left []byte
	size int
}

func (p *pieces) Read(out []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(out, p.left[:min(p.size, len(p.left))])
	p.left = p.left[n:]
	return n, nil
}
