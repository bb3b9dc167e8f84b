package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/tlog"
	"referee.example/migrations"
)

// audit reads the whole log and returns what is wrong with it, a line each.
func (l *ledger) audit(held ...tlog.Checkpoint) ([]string, AuditSummary) {
	l.t.Helper()
	found := []string{}
	a := tlog.NewAudit([]note.Verifier{l.public}, held, func(f tlog.Finding) { found = append(found, f.String()) })
	summary, err := l.AuditLog(l.t.Context(), a, func(done, of int64) {
		if done > of {
			l.t.Errorf("%d of %d positions are done", done, of)
		}
	})
	l.must(err)
	return found, summary
}

// owner changes the database as the tables' owner can.
func (l *ledger) owner(statements ...string) {
	l.t.Helper()
	tx, err := l.pool.Begin(l.t.Context())
	l.must(err)
	for _, statement := range append([]string{`SET LOCAL session_replication_role = replica`}, statements...) {
		if _, err := tx.Exec(l.t.Context(), statement); err != nil {
			l.t.Fatalf("%s: %v", statement, err)
		}
	}
	l.must(tx.Commit(l.t.Context()))
}

// rewrite gives the game at a position of the log another end, all hashes made
// anew, as one can who owns the tables.
func (l *ledger) rewrite(position int64) (referee.ID, int) {
	l.t.Helper()
	entries, err := l.LogEntries(l.t.Context(), position, 1)
	l.must(err)
	id, game := referee.ID(entries[0].Match), entries[0].Game
	events, err := l.Events(l.t.Context(), id, game, 1, 1000)
	l.must(err)
	e := &events[len(events)-1]
	e.Time++
	previous := [32]byte{}
	if len(events) > 1 {
		previous = events[len(events)-2].Hash
	}
	head := referee.ChainHash(previous, referee.EncodeEvent(e))
	l.owner(fmt.Sprintf(`UPDATE events SET event_time = event_time + interval '1 microsecond', hash = '\x%x'
		WHERE match_id = '%s' AND game = %d AND seq = %d`, head, id, game, e.Seq),
		fmt.Sprintf(`UPDATE games SET head_hash = '\x%x', ended_at = ended_at + interval '1 microsecond' WHERE match_id = '%s' AND game = %d`, head, id, game))
	return id, game
}

// TestASecondLeafOfAGame is what somebody does who owns the tables: an ended game
// is rewritten, its entry moved away, and the game queued again. The sequencer
// can't know and the match verifies; the audit finds the old leaf's entry.
func TestASecondLeafOfAGame(t *testing.T) {
	l := newLedger(t)
	for range 5 {
		l.finish()
	}
	l.step()
	before := l.checkpoint()
	if found, summary := l.audit(before); len(found) != 0 || summary.Entries != 5 || summary.Games != 5 {
		t.Fatalf("as it was: %+v, %q", summary, found)
	}
	id, game := l.rewrite(2)
	l.owner(`UPDATE log_entries SET match_id = gen_random_uuid() WHERE position = 2`,
		fmt.Sprintf(`INSERT INTO finished_games VALUES ('%s', %d)`, id, game))
	l.step()
	if c := l.checkpoint(); c.Size != 6 {
		t.Fatalf("the log has %d entries", c.Size)
	}
	found, _ := l.audit(before)
	if len(found) < 2 || !strings.HasPrefix(found[0], "position 2: log_entries: expected a game that has ended") ||
		!strings.HasPrefix(found[1], "position 2: log_entries: expected what the leaf") {
		t.Errorf("found %q", found)
	}
}

// TestAGameIsNotLoggedTwice: a game that is queued again while its entry is there
// gets no second one, and holds nothing up.
func TestAGameIsNotLoggedTwice(t *testing.T) {
	l := newLedger(t)
	id := l.finish()
	l.step()
	l.rewrite(0)
	l.owner(fmt.Sprintf(`INSERT INTO finished_games VALUES ('%s', 1)`, id))
	l.finish()
	err := l.sequencer(l.Store).Step(t.Context())
	var queued *tlog.QueueError
	if !errors.As(err, &queued) || !queued.Again || queued.Match != id || queued.Game != 1 {
		t.Errorf("the step says %v", err)
	}
	if c := l.checkpoint(); c.Size != 2 {
		t.Errorf("%d entries", c.Size)
	}
	found, _ := l.audit()
	if all := strings.Join(found, "\n"); !strings.Contains(all, "finished_games: expected nothing") || !strings.Contains(all, "position 0: log_entries.head_hash") {
		t.Errorf("found %q", found)
	}
}

// TestAGameThatComesLateIsTold: a replica that has seen the queue empty tells of a
// game that ended long before that.
func TestAGameThatComesLateIsTold(t *testing.T) {
	l := newLedger(t)
	sequencer := l.sequencer(l.Store)
	l.must(sequencer.Step(t.Context()))
	id := l.finish()
	l.owner(`UPDATE games SET ended_at = ended_at - interval '2 minutes' WHERE status = 4`)
	var queued *tlog.QueueError
	if err := sequencer.Step(t.Context()); !errors.As(err, &queued) || queued.Again || queued.Match != id || queued.Late < time.Minute {
		t.Errorf("the step says %v", err)
	}
	if c := l.checkpoint(); c.Size != 1 {
		t.Errorf("%d entries are signed", c.Size)
	}
	l.must(sequencer.Step(t.Context()))
	l.finish()
	l.must(sequencer.Step(t.Context()))
}

// compensate makes a compensation of the match's first settled game.
func (l *ledger) compensate(id referee.ID) {
	l.t.Helper()
	for principal := range int32(2) {
		name := []string{"first operator", "second operator"}[principal]
		number, err := l.Principal(l.t.Context(), name)
		l.must(err)
		s := l.load(id)
		c := &referee.CompensateSettlement{Header: l.header(s, rules.NoSeat, false), Note: "wrong table",
			Settlement: referee.SettlementID(id, 1, false)}
		c.Game, c.Expected, c.Caller.Principal = 1, s.Compensations.Seq+1, number
		c.Caller.Name = name
		d, err := referee.Compensate(s, c, l.env(l.now()))
		l.must(err)
		if d.Refusal != nil {
			l.t.Fatal(d.Refusal)
		}
		l.must(l.Commit(l.t.Context(), referee.Change{State: d.State, Events: d.Events}))
	}
}

// TestCompensationsAreLogged: each that is made has a leaf, also one made before
// the log knew of them.
func TestCompensationsAreLogged(t *testing.T) {
	l := newLedger(t)
	first, second := l.finish(), l.finish()
	l.step()
	l.compensate(first)
	l.step()
	l.verifyCompensation(first, 1)
	l.exec(`ALTER TABLE settlements DISABLE TRIGGER settlements_compensated`)
	l.compensate(second) // as a version before would
	for _, name := range []string{"000006_logged_compensations.down.sql", "000006_logged_compensations.up.sql"} {
		content, err := migrations.FS.ReadFile(name)
		l.must(err)
		l.exec(string(content))
	}
	l.step()
	l.verifyCompensation(first, 1)
	l.verifyCompensation(second, 1)
	if found, summary := l.audit(); len(found) != 0 || summary.Entries != 4 || summary.Games != 2 {
		t.Errorf("%+v, found %q", summary, found)
	}
	l.owner(`DELETE FROM log_entries WHERE game = 0 AND position = 3`)
	found, _ := l.audit()
	if all := strings.Join(found, "\n"); !strings.Contains(all, "the compensation of game 1 of match "+second.String()) {
		t.Errorf("found %q", found)
	}
}

// TestTheAuditNamesOperators: the table of principals is outside of every hash.
func TestTheAuditNamesOperators(t *testing.T) {
	l := newLedger(t)
	id := l.finish()
	l.compensate(id)
	l.step()
	if found, _ := l.audit(); len(found) != 0 {
		t.Errorf("as it was: %q", found)
	}
	l.owner(`UPDATE principals SET name = 'somebody else' WHERE name = 'second operator'`)
	if found, _ := l.audit(); len(found) != 1 || !strings.Contains(found[0], `principals: expected "second operator" as principal`) ||
		!strings.Contains(found[0], "event 2 of game 0 of match "+id.String()) {
		t.Errorf("renamed: %q", found)
	}
	l.owner(`DELETE FROM principals WHERE name = 'somebody else'`)
	if found, _ := l.audit(); len(found) != 1 || !strings.Contains(found[0], "principals: expected the name of principal") {
		t.Errorf("removed: %q", found)
	}
}

// verifyCompensation fails unless the log has the head of a match's compensations
// so many times.
func (l *ledger) verifyCompensation(id referee.ID, times int) {
	l.t.Helper()
	n := ask[int](l.desk, `SELECT count(*) FROM log_entries l WHERE match_id = $1 AND game = 0 AND head_hash = (
		SELECT hash FROM events v WHERE v.match_id = l.match_id AND v.game = 0 ORDER BY seq DESC LIMIT 1)`, uuid(id))
	if n != times {
		l.t.Errorf("the compensations of match %s are logged %d times", id, n)
	}
}

// TestTheAuditFindsEachDamage changes the tables of a log of several pages in
// every way and sees the fault where it is.
func TestTheAuditFindsEachDamage(t *testing.T) {
	l := newLedger(t)
	l.finish()
	// Games made by hand: what they hold besides a head does not matter here.
	l.owner(`INSERT INTO games (match_id, game, status, commitment, sealed_seed)
		SELECT (SELECT match_id FROM games LIMIT 1), n, 1, sha256(''), '' FROM generate_series(100, 1199) n`,
		`UPDATE games SET status = 4, ended_at = now(), end_reason = 1, winners = 0, void = true, first_ply = 0, last_ply = 0,
			plies = 0, disconnected = 0, server_seed = sha256(''), head_hash = sha256(game::text::bytea) WHERE game >= 100`,
		`INSERT INTO events (match_id, game, seq, ply, event_time, principal, seat, kind, action_kind, from_square, to_square, turned,
			captured, clocks, client_hash, detail, hash)
			SELECT match_id, game, 1, 0, now(), 1, -1, 16, 0, 0, 0, 0, 0, '', '', '', head_hash FROM games WHERE game >= 100`,
		`INSERT INTO finished_games SELECT match_id, game FROM games WHERE game >= 100`)
	l.step()
	held := l.checkpoint()
	if found, summary := l.audit(held); len(found) != 0 || summary.Entries != 1101 || summary.Games != 1101 {
		t.Fatalf("%+v, found %q", summary, found[:min(5, len(found))])
	}
	other := held
	other.Root[3] ^= 1
	if found, _ := l.audit(other); len(found) != 1 || !strings.HasPrefix(found[0], "log: held checkpoint: expected the root") {
		t.Errorf("a witness who holds another: %q", found)
	}
	other = held
	other.Size++
	if found, _ := l.audit(other); len(found) != 1 || !strings.HasPrefix(found[0], "log: held checkpoint: expected at most") {
		t.Errorf("a witness who holds more: %q", found)
	}
	for _, table := range []string{"log_entries", "log_hashes", "log_head", "finished_games"} {
		l.exec(`CREATE TABLE saved_` + table + ` AS TABLE ` + table)
	}
	for name, c := range map[string]struct {
		statements []string
		want       string // of the first finding
	}{
		"entry deleted":            {[]string{`DELETE FROM log_entries WHERE position = 1050`}, "position 1050: log_entries: expected an entry, found none"},
		"head of an entry changed": {[]string{`UPDATE log_entries SET head_hash = sha256(head_hash) WHERE position = 1050`}, "position 1050: log_entries.head_hash"},
		"entry of no game":         {[]string{`UPDATE log_entries SET match_id = gen_random_uuid() WHERE position = 1050`}, "position 1050: log_entries: expected a game that has ended"},
		"entry of a running game":  {[]string{`UPDATE log_entries SET game = 2 WHERE position = 1050`}, "position 1050: log_entries: expected a game that has ended"},
		"two entries swapped": {[]string{`UPDATE log_entries SET position = position + 10000 WHERE position IN (1050, 1051)`,
			`UPDATE log_entries SET position = 12101 - position WHERE position > 10000`}, "position 1050: log_entries: expected what the leaf"},
		"leaf changed":          {[]string{`UPDATE log_hashes SET hash = sha256(hash) WHERE storage_index = 0`}, "position 0: log_entries: expected what the leaf"},
		"node changed":          {[]string{`UPDATE log_hashes SET hash = sha256(hash) WHERE storage_index = 2`}, "position 1: log_hashes, storage index 2"},
		"hash deleted":          {[]string{`DELETE FROM log_hashes WHERE storage_index = 2`}, "position 1: log_hashes, storage index 2"},
		"game queued again":     {[]string{`INSERT INTO finished_games SELECT match_id, game FROM log_entries WHERE position = 1050`}, "log: finished_games: expected nothing"},
		"game queued that runs": {[]string{`INSERT INTO finished_games SELECT match_id, 2 FROM log_entries WHERE position = 0`}, "log: finished_games: expected games that have ended"},
		"game logged twice": {[]string{`DROP INDEX log_entries_game, log_entries_head`,
			`INSERT INTO log_entries SELECT 1101, match_id, game, head_hash FROM log_entries WHERE position = 7`}, "log: log_head.size: expected 1102"},
		"checkpoint of garbage": {[]string{`UPDATE log_head SET checkpoint = 'x'`}, "log: log_head.checkpoint"},
		"size lowered":          {[]string{`ALTER TABLE log_head DROP CONSTRAINT log_head_signed`, `UPDATE log_head SET size = 3`}, "log: log_head.size: expected at least the 1101"},
		"size out of reason":    {[]string{`UPDATE log_head SET size = 1000000000000000`}, "log: log_head.size: expected 1101"},
		"root changed":          {[]string{`UPDATE log_head SET root = sha256(root)`}, "log: log_head.root"},
		"no head":               {[]string{`DELETE FROM log_head`}, "log: log_head: expected the head of the log, found none"},
		"all taken back": {[]string{`DELETE FROM log_entries`, `DELETE FROM log_hashes`, `UPDATE log_head SET size = 0, root = sha256(''), signed_size = NULL, checkpoint = NULL`},
			"log: held checkpoint: expected at most"},
	} {
		l.owner(c.statements...)
		found, _ := l.audit(held)
		if len(found) == 0 || !strings.HasPrefix(found[0], c.want) {
			t.Errorf("%s: found %q", name, found[:min(3, len(found))])
		}
		for _, table := range []string{"log_entries", "log_hashes", "log_head", "finished_games"} {
			l.owner(`DELETE FROM `+table, `INSERT INTO `+table+` SELECT * FROM saved_`+table)
		}
		l.exec(`CREATE INDEX IF NOT EXISTS log_entries_head ON log_entries (match_id, game, head_hash)`)
	}
}

// TestTheAuditorsRoleAudits: no right of the owner is needed.
func TestTheAuditorsRoleAudits(t *testing.T) {
	l := newLedger(t)
	l.compensate(l.finish())
	l.step()
	auditor := &ledger{desk: &desk{t: t, Store: l.as("referee_auditor"), db: l.db}, key: l.key, public: l.public}
	if found, summary := auditor.audit(); len(found) != 0 || summary.Entries != 2 {
		t.Errorf("%+v, found %q", summary, found)
	}
	if _, err := auditor.AuditOutages(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestOutagesInWhichMovesWereMade: the audit counts the moves in an outage that
// somebody wrote down, and none in one that was.
func TestOutagesInWhichMovesWereMade(t *testing.T) {
	l := newLedger(t)
	id := l.started(l.ago(time.Minute))
	s := l.load(id)
	l.do(s, l.ply(s), l.ago(30*time.Second))
	l.exec(`INSERT INTO outages SELECT now() - interval '40 seconds', now() - interval '20 seconds'`)
	l.exec(`INSERT INTO outages SELECT now() - interval '31 seconds', now() - interval '19 seconds'`) // it was the last call before
	outages, err := l.AuditOutages(t.Context())
	l.must(err)
	if len(outages) != 2 || outages[0].Moves != 1 || outages[0].First.IsZero() || outages[1].Moves != 0 {
		t.Errorf("found %+v", outages)
	}
}
