package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/mod/sumdb/note"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/tlog"
	"referee.example/migrations"
)

// ledger is a desk whose database is the one that may sign, and the log's key.
type ledger struct {
	*desk
	key    tlog.Key
	public note.Verifier
}

func newLedger(t testing.TB) *ledger {
	t.Helper()
	return newLedgerOn(newDesk(t))
}

func newLedgerOn(d *desk) *ledger {
	d.t.Helper()
	l := &ledger{desk: d}
	text, err := tlog.NewKey("referee.example/log")
	l.must(err)
	l.key, err = tlog.ParseKey(text)
	l.must(err)
	l.public, err = tlog.ParsePublic(l.key.Public())
	l.must(err)
	// A test's database is a copy of the migrated one, and has signed nothing.
	_, err = tlog.Confirm(d.t.Context(), l.Store, l.public, nil)
	l.must(err)
	return l
}

func (l *ledger) sequencer(s tlog.Store) *tlog.Sequencer { return tlog.NewSequencer(s, l.key) }

// step lets a new replica's sequencer do a step.
func (l *ledger) step() {
	l.t.Helper()
	l.must(l.sequencer(l.Store).Step(l.t.Context()))
}

// finish makes a match and ends its first game, and commits to a second.
func (l *ledger) finish() referee.ID {
	l.t.Helper()
	id := l.started(l.now())
	l.disconnect(id, l.now())
	return id
}

// checkpoint returns the last checkpoint, verified.
func (l *ledger) checkpoint() tlog.Checkpoint {
	l.t.Helper()
	return checkpointOf(l.t, l.Store, l.public)
}

func checkpointOf(t testing.TB, s *Store, log note.Verifier) tlog.Checkpoint {
	t.Helper()
	shown, _, err := tlog.NewLog(s).Checkpoint(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := tlog.OpenCheckpoint(shown.Note, log)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// treeHash is the Merkle tree hash as RFC 6962, section 2.1, defines it.
func treeHash(leaves [][]byte) [32]byte {
	switch len(leaves) {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return sha256.Sum256(append([]byte{0}, leaves[0]...))
	}
	k := 1
	for 2*k < len(leaves) {
		k *= 2
	}
	left, right := treeHash(leaves[:k]), treeHash(leaves[k:])
	return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
}

// verify checks the whole log against the games: each ended one is there once
// with the hash of its last event, positions are dense, the signed root is that
// of the entries, and each game's proof holds.
func (l *ledger) verify(games int) {
	l.t.Helper()
	ctx := l.t.Context()
	if n := ask[int](l.desk, `SELECT count(*) FROM finished_games`); n != 0 {
		l.t.Errorf("%d games are still queued", n)
	}
	wrong := ask[int](l.desk, `
SELECT count(*) FROM games g FULL JOIN log_entries e ON e.match_id = g.match_id AND e.game = g.game
WHERE (g.status = 4 OR e.position IS NOT NULL) AND e.head_hash IS DISTINCT FROM (SELECT v.hash FROM events v
	WHERE v.match_id = g.match_id AND v.game = g.game AND g.status = 4 ORDER BY v.seq DESC LIMIT 1)`)
	if wrong != 0 {
		l.t.Errorf("%d games are not in the log as they ended", wrong)
	}
	entries, err := l.LogEntries(ctx, 0, games+1)
	l.must(err)
	if len(entries) != games || ask[int](l.desk, `SELECT coalesce(max(position) + 1, 0) FROM log_entries`) != games {
		l.t.Fatalf("%d entries, want %d without a gap", len(entries), games)
	}
	leaves := make([][]byte, len(entries))
	for i, e := range entries {
		leaves[i] = e.Data()
	}
	c := l.checkpoint()
	if c.Size != int64(games) || c.Root != treeHash(leaves) {
		l.t.Fatalf("signed are %d games with root %s, the log has %d with %s", c.Size, c.Root, games, tlog.Hash(treeHash(leaves)))
	}
	log := tlog.NewLog(l.Store)
	for i, e := range entries {
		in, size, err := log.ProveGame(ctx, e.Match, e.Game, 0)
		l.must(err)
		if got, err := in.Check(e, l.public); err != nil || got.Tree != c.Tree || in.Index != int64(i) || size != c.Size {
			l.t.Errorf("game at %d: proved at %d: %v", i, in.Index, err)
		}
	}
}

func TestEveryEndingIsLogged(t *testing.T) {
	l := newLedger(t)
	l.step()
	if c := l.checkpoint(); c.Tree != tlog.EmptyTree {
		t.Errorf("the empty log is signed as %+v", c.Tree)
	}
	l.finish() // game 1; game 2 waits to be started
	l.step()
	l.verify(1)

	abandoned := l.finish() // and so its second, never started
	s := l.load(abandoned)
	l.do(s, &referee.AbandonMatch{Header: l.header(s, rules.NoSeat, false), Balances: []int64{0, 0}}, l.now())
	voided := l.started(l.now()) // while it is played
	s = l.load(voided)
	l.do(s, &referee.VoidMatch{Header: l.header(s, rules.NoSeat, false), Note: "power cut"}, l.now())
	unstarted := l.create(l.request(), l.now())
	s = l.load(unstarted)
	l.do(s, &referee.VoidMatch{Header: l.header(s, rules.NoSeat, false), Note: "wrong table"}, l.now())
	l.started(l.now()) // runs on
	l.step()
	l.verify(5)
}

func TestSequencersUnderLoad(t *testing.T) {
	l := newLedger(t)
	const workers, each = 4, 15
	var ids []referee.ID
	for range workers * each {
		ids = append(ids, l.started(l.now()))
	}
	replicas := []*Store{l.Store, l.open(4), l.open(4)}
	done := make(chan struct{})
	var ending, sequencing sync.WaitGroup
	for _, s := range replicas {
		sequencing.Go(func() {
			sequencer := l.sequencer(s)
			for {
				if err := sequencer.Step(t.Context()); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for w := range workers {
		// Decided here, committed there: the dice of a desk are for one goroutine.
		var changes []referee.Change
		for _, id := range ids[w*each : (w+1)*each] {
			s := l.load(id)
			c := l.change(s, &referee.ReportDisconnect{Header: l.header(s, rules.NoSeat, false), Gone: rules.SeatsOf(1)}, l.now())
			c.After, c.Before = 0, 0
			changes = append(changes, c)
		}
		ending.Go(func() {
			for _, c := range changes {
				if err := replicas[w%len(replicas)].Commit(t.Context(), c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	ending.Wait()
	close(done)
	sequencing.Wait()
	l.step()
	l.verify(workers * each)
}

// errDied ends a sequencer where a test wants it.
var errDied = errors.New("the replica died")

// mortal is a store at one of whose calls something happens: before it, and
// instead of it if that fails; or after it.
type mortal struct {
	*Store
	at            string
	before, after func() error
}

func (m *mortal) around(call string, do func() error) error {
	if call == m.at && m.before != nil {
		if err := m.before(); err != nil {
			return err
		}
	}
	if err := do(); err != nil || call != m.at || m.after == nil {
		return err
	}
	return m.after()
}

func (m *mortal) LogHead(ctx context.Context) (h tlog.Head, err error) {
	err = m.around("LogHead", func() error { h, err = m.Store.LogHead(ctx); return err })
	return h, err
}

func (m *mortal) PendingGames(ctx context.Context, limit int) (p []tlog.Pending, err error) {
	err = m.around("PendingGames", func() error { p, err = m.Store.PendingGames(ctx, limit); return err })
	return p, err
}

func (m *mortal) LogHashes(ctx context.Context, indexes []int64) (h []tlog.Hash, err error) {
	err = m.around("LogHashes", func() error { h, err = m.Store.LogHashes(ctx, indexes); return err })
	return h, err
}

func (m *mortal) AppendGames(ctx context.Context, b tlog.Batch) error {
	return m.around("AppendGames", func() error { return m.Store.AppendGames(ctx, b) })
}

func (m *mortal) SaveCheckpoint(ctx context.Context, c tlog.Checkpoint) error {
	return m.around("SaveCheckpoint", func() error { return m.Store.SaveCheckpoint(ctx, c) })
}

var steps = []string{"LogHead", "PendingGames", "LogHashes", "AppendGames", "SaveCheckpoint"}

// A sequencer dies before or after each of its steps: the next takes over, and
// each game is logged once.
func TestASequencerThatDiesIsReplaced(t *testing.T) {
	l := newLedger(t)
	l.finish()
	l.step() // so that there are hashes to be read
	games := 1
	die := func() error { return errDied }
	for _, call := range steps {
		for _, m := range []*mortal{{Store: l.Store, at: call, before: die}, {Store: l.Store, at: call, after: die}} {
			l.finish()
			l.finish()
			games += 2
			if err := l.sequencer(m).Step(t.Context()); !errors.Is(err, errDied) {
				t.Fatalf("%s: %v", call, err)
			}
			l.step()
			l.verify(games)
		}
	}
}

// At each step of one sequencer another does all of its own: neither skips a
// game, logs one twice or signs a smaller tree after a larger.
func TestSequencersInterleave(t *testing.T) {
	l := newLedger(t)
	l.finish()
	l.step()
	games := 1
	other := l.open(2)
	for _, call := range steps {
		for _, when := range []string{"before", "after"} {
			meanwhile := func() error {
				l.finish()
				games++
				return l.sequencer(other).Step(t.Context())
			}
			m := &mortal{Store: l.Store, at: call}
			once := sync.OnceValue(meanwhile)
			if when == "before" {
				m.before = once
			} else {
				m.after = once
			}
			l.finish()
			games++
			if err := l.sequencer(m).Step(t.Context()); err != nil {
				t.Fatalf("%s %s: %v", when, call, err)
			}
			signed := l.checkpoint().Size
			if signed < int64(games-1) {
				t.Errorf("%s %s: %d of %d games are signed", when, call, signed, games)
			}
			l.step()
			l.verify(games)
		}
	}
}

// The database goes away with the sequencer's transaction open.
func TestASequencerCutOffInItsTransactionChangesNothing(t *testing.T) {
	l := newLedger(t)
	l.finish()
	tx, err := l.pool.Begin(t.Context())
	l.must(err)
	_, err = tx.Exec(t.Context(), `SELECT FROM log_head FOR UPDATE`)
	l.must(err)
	failed := make(chan error, 1)
	go func() { failed <- l.sequencer(l.open(1)).Step(t.Context()) }()
	l.waiting(t.Context())
	l.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
	if err := <-failed; err == nil {
		t.Error("the step succeeded without its connection")
	}
	l.must(tx.Rollback(t.Context()))
	if n := ask[int](l.desk, `SELECT count(*) FROM log_entries`); n != 0 {
		t.Errorf("%d entries were left behind", n)
	}
	l.step()
	l.verify(1)
}

// An ending whose transaction takes long comes into the queue behind games that
// ended, and were logged, after it.
func TestASlowEndingIsNotPassedOver(t *testing.T) {
	l := newLedger(t)
	slow, quick := l.started(l.now()), l.started(l.now())
	s := l.load(slow)
	change := l.change(s, &referee.ReportDisconnect{Header: l.header(s, rules.NoSeat, false), Gone: rules.SeatsOf(1)}, l.now())
	change.After, change.Before = 0, 0
	further, err := furtherWrites(change)
	l.must(err)
	tx, err := l.pool.Begin(t.Context())
	l.must(err)
	batch := &pgx.Batch{}
	row := newRow(change)
	batch.Queue(sqlCommitFirst, row.arguments(change.Events)...)
	batch.QueuedQueries = append(batch.QueuedQueries, further.statements()...)
	l.must(tx.SendBatch(t.Context(), batch).Close())
	l.disconnect(quick, l.now())
	l.step()
	if c := l.checkpoint(); c.Size != 1 {
		t.Fatalf("%d games were logged beside the slow one", c.Size)
	}
	l.must(tx.Commit(t.Context()))
	l.step()
	l.verify(2)
}

func TestBatchesFollowEachOtherInOneStep(t *testing.T) {
	l := newLedger(t)
	l.finish()
	l.step()
	// More games than a batch holds, made by hand: only their heads matter here.
	l.exec(`INSERT INTO games (match_id, game, status, commitment, sealed_seed)
		SELECT (SELECT match_id FROM games LIMIT 1), n, 1, sha256(''), '' FROM generate_series(100, 2599) n`)
	l.exec(`UPDATE games SET status = 4, ended_at = now(), end_reason = 1, winners = 0, void = true, first_ply = 0, last_ply = 0,
		plies = 0, disconnected = 0, server_seed = sha256(''), head_hash = sha256(game::text::bytea) WHERE game >= 100`)
	l.step()
	entries, err := l.LogEntries(t.Context(), 0, 3000)
	l.must(err)
	leaves := make([][]byte, len(entries))
	for i, e := range entries {
		leaves[i] = e.Data()
	}
	c := l.checkpoint()
	if c.Size != 2501 || len(leaves) != 2501 || c.Root != treeHash(leaves) {
		t.Fatalf("%d games are signed and %d logged", c.Size, len(leaves))
	}
	l.tiles(c)
}

// tiles reads the whole tree as C2SP tlog-tiles has it and builds the root from
// it anew.
func (l *ledger) tiles(c tlog.Checkpoint) {
	l.t.Helper()
	ctx, log := l.t.Context(), tlog.NewLog(l.Store)
	read := func(path string) []byte {
		l.t.Helper()
		tile, err := tlog.ParseTile(path)
		l.must(err)
		content, err := log.Tile(ctx, tile)
		l.must(err)
		return content
	}
	var leaves [][]byte
	for n := range 10 {
		path := fmt.Sprintf("%03d", n)
		if n == 9 {
			path += fmt.Sprintf(".p/%d", c.Size%256)
		}
		hashes, bundle := read("tile/0/"+path), read("tile/entries/"+path)
		for len(bundle) > 0 {
			data := bundle[2 : 2+int(bundle[0])<<8+int(bundle[1])]
			bundle = bundle[2+len(data):]
			if leaf := sha256.Sum256(append([]byte{0}, data...)); string(hashes[:32]) != string(leaf[:]) {
				l.t.Fatalf("entry %d is not its leaf", len(leaves))
			}
			hashes, leaves = hashes[32:], append(leaves, data)
		}
		if len(hashes) != 0 {
			l.t.Fatalf("tile %d has %d bytes more than its bundle", n, len(hashes))
		}
	}
	if int64(len(leaves)) != c.Size || treeHash(leaves) != c.Root {
		l.t.Error("the tiles do not make the signed root")
	}
	first := treeHash(leaves[:256])
	if level1 := read("tile/1/000.p/9"); string(level1[:32]) != string(first[:]) {
		l.t.Error("level 1 does not begin with the root of the first tile")
	}
	tile, err := tlog.ParseTile("tile/0/009.p/198")
	l.must(err)
	if _, err := log.Tile(ctx, tile); !errors.Is(err, tlog.ErrNoTile) {
		l.t.Errorf("a tile beyond the tree: %v", err)
	}
}

func TestProofsForNamedSizes(t *testing.T) {
	l := newLedger(t)
	log := tlog.NewLog(l.Store)
	if _, _, err := log.Checkpoint(t.Context(), 0); !errors.Is(err, tlog.ErrNoCheckpoint) {
		t.Errorf("before the first signature: %v", err)
	}
	checkpoints, ids := []tlog.Checkpoint{}, []referee.ID{}
	for range 7 {
		ids = append(ids, l.finish())
		l.step()
		checkpoints = append(checkpoints, l.checkpoint())
	}
	last := checkpoints[6]
	for _, held := range checkpoints {
		shown, proof, err := log.Checkpoint(t.Context(), held.Size)
		l.must(err)
		hashes, err := tlog.ParseProof(proof)
		l.must(err)
		if err := tlog.CheckConsistency(held, shown, hashes); err != nil || shown.Tree != last.Tree {
			t.Errorf("from %d: %v", held.Size, err)
		}
		for i, id := range ids {
			in, size, err := log.ProveGame(t.Context(), id, 1, held.Size)
			if int64(i) >= held.Size {
				if !errors.Is(err, tlog.ErrNotLogged) {
					t.Errorf("game %d under %d: %v", i, held.Size, err)
				}
				continue
			}
			l.must(err)
			entries, err := l.LogEntries(t.Context(), in.Index, 1)
			l.must(err)
			in.Checkpoint = held.Note // the caller's own
			if _, err := in.Check(entries[0], l.public); err != nil || size != held.Size {
				t.Errorf("game %d under %d: %v", i, held.Size, err)
			}
		}
	}
	var beyond *tlog.SizeError
	for _, size := range []int64{-1, 8} {
		if _, _, err := log.Checkpoint(t.Context(), size); !errors.As(err, &beyond) {
			t.Errorf("consistency from %d: %v", size, err)
		}
		if _, _, err := log.ProveGame(t.Context(), ids[0], 1, size); !errors.As(err, &beyond) {
			t.Errorf("inclusion under %d: %v", size, err)
		}
	}
	if _, _, err := log.ProveGame(t.Context(), ids[0], 2, 0); !errors.Is(err, tlog.ErrNotLogged) {
		t.Errorf("a game that has not ended: %v", err)
	}
}

// replica opens a store as the role that replicas have.
func (l *ledger) replica() *Store { return l.as("referee_server") }

// as opens a store as one of the roles.
func (l *ledger) as(role string) *Store {
	l.t.Helper()
	l.must(l.ApplyRoles(l.t.Context()))
	u, err := url.Parse(l.db.URL)
	l.must(err)
	query := u.Query()
	query.Set("role", role)
	u.RawQuery = query.Encode()
	s, err := Open(l.t.Context(), Config{URL: u.String(), MaxConns: 2})
	l.must(err)
	l.t.Cleanup(s.Close)
	return s
}

func TestTheServersRoleLogsAndCannotConfirm(t *testing.T) {
	l := newLedger(t)
	id := l.started(l.now())
	replica := l.replica()
	s := l.load(id)
	change := l.change(s, &referee.ReportDisconnect{Header: l.header(s, rules.NoSeat, false), Gone: rules.SeatsOf(1)}, l.now())
	change.After, change.Before = 0, 0
	l.must(replica.Commit(t.Context(), change))
	l.must(l.sequencer(replica).Step(t.Context()))
	l.verify(1)
	for _, statement := range []string{
		`UPDATE log_head SET epoch = 'mine'`, `DELETE FROM log_head`, `INSERT INTO finished_games SELECT match_id, 9 FROM games`,
		`UPDATE log_entries SET position = 7`, `DELETE FROM log_entries`, `UPDATE log_hashes SET hash = hash`, `DELETE FROM log_hashes`,
	} {
		if _, err := replica.pool.Exec(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	for _, statement := range []string{
		`UPDATE log_entries SET position = 7`, `DELETE FROM log_entries`, `TRUNCATE log_entries`,
		`UPDATE log_hashes SET hash = hash`, `DELETE FROM log_hashes`, `TRUNCATE log_hashes`,
	} {
		if _, err := l.pool.Exec(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("the owner's %s: %v", statement, err)
		}
	}
}

// A finished game is in a signed tree within one step, which a replica does each
// second: the ten seconds are kept if a step takes less than nine.
func TestAStepIsQuick(t *testing.T) {
	l := newLedger(t)
	for range 50 {
		l.finish()
	}
	began := time.Now()
	l.step()
	if took := time.Since(began); took > 9*time.Second {
		t.Errorf("a step with 50 games took %s", took)
	}
	l.verify(50)
}

// Games that ended before the log was introduced enter it too.
func TestTheMigrationQueuesGamesThatHaveEnded(t *testing.T) {
	l := newLedger(t)
	l.finish()
	l.finish()
	for _, name := range []string{"000002_finished_games.down.sql", "000002_finished_games.up.sql"} {
		content, err := migrations.FS.ReadFile(name)
		l.must(err)
		l.exec(string(content))
	}
	l.Close()
	l.Store = l.open(4) // statements were prepared for the tables that are gone
	_, err := l.Beat(t.Context())
	l.must(err)
	l.finish()
	l.step() // in a database that was migrated itself, nobody needs to confirm
	l.verify(3)
}
