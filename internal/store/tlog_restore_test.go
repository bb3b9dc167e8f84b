package store

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/devpg"
	"referee.example/internal/pgtest"
	"referee.example/internal/tlog"
	"referee.example/migrations"
)

// onServer runs a statement on the server's own database, as a copy of a
// database needs that nobody is connected to it.
func (l *ledger) onServer(statement string) {
	l.t.Helper()
	conn, err := pgx.Connect(l.t.Context(), urlOf(l.t, l.db.URL, "postgres"))
	l.must(err)
	_, err = conn.Exec(l.t.Context(), statement)
	l.must(errors.Join(err, conn.Close(l.t.Context())))
}

func urlOf(t testing.TB, text, database string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + database
	return u.String()
}

// copied takes a copy of the database as it is and returns a ledger on it.
func (l *ledger) copied() *ledger {
	l.t.Helper()
	name := l.db.Name + "_copy"
	l.Close()
	l.onServer("CREATE DATABASE " + name + " TEMPLATE " + l.db.Name)
	l.Store = l.open(4)
	copied := &ledger{desk: newDeskOn(l.t, &pgtest.DB{URL: urlOf(l.t, l.db.URL, name), Name: name}), key: l.key, public: l.public}
	_, _ = copied.dice.Read(make([]byte, 999)) // other ids than the original's next
	l.t.Cleanup(func() {
		copied.Close()
		conn, err := pgx.Connect(context.Background(), urlOf(l.t, l.db.URL, "postgres"))
		l.must(err)
		_, err = conn.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)")
		l.must(errors.Join(err, conn.Close(context.Background())))
	})
	return copied
}

func (l *ledger) confirm(checkpoints ...tlog.Checkpoint) error {
	var notes []string
	for _, c := range checkpoints {
		notes = append(notes, c.Note)
	}
	_, err := tlog.Confirm(l.t.Context(), l.Store, l.public, notes)
	return err
}

// A copy of the database that goes its own way would sign what contradicts the
// original. It logs, but signs nothing until it has been compared.
func TestACopyOfTheDatabaseSignsNoFork(t *testing.T) {
	l := newLedger(t)
	l.finish()
	l.step()
	before := l.checkpoint()
	c := l.copied()
	c.finish()
	if err := c.sequencer(c.Store).Step(t.Context()); !errors.Is(err, tlog.ErrUnconfirmed) {
		t.Fatalf("the copy: %v", err)
	}
	if n := ask[int](c.desk, `SELECT size FROM log_head`); n != 2 {
		t.Errorf("the copy logged %d games", n)
	}
	if shown := c.checkpoint(); shown != before {
		t.Errorf("the copy shows %+v", shown)
	}
	// Signed behind the sequencer's back, it would still not be kept.
	if err := c.SaveCheckpoint(t.Context(), before); !errors.Is(err, tlog.ErrConflict) {
		t.Errorf("saving in the copy: %v", err)
	}
	l.finish()
	l.finish()
	l.step()
	original := l.checkpoint()
	if err := c.confirm(original); !errors.Is(err, tlog.ErrContradicted) {
		t.Errorf("confirmed with fewer games than were signed: %v", err)
	}
	c.finish()
	c.finish()
	if err := c.sequencer(c.Store).Step(t.Context()); !errors.Is(err, tlog.ErrUnconfirmed) {
		t.Fatalf("the copy: %v", err)
	}
	if err := c.confirm(before, original); !errors.Is(err, tlog.ErrContradicted) {
		t.Errorf("confirmed with other games than were signed: %v", err)
	}
	foreign := original
	foreign.Note = before.Note[:len(before.Note)-10] + original.Note[len(original.Note)-10:]
	if err := c.confirm(foreign); !errors.Is(err, tlog.ErrCheckpoint) {
		t.Errorf("confirmed with a checkpoint that the log did not sign: %v", err)
	}
	if err := c.sequencer(c.Store).Step(t.Context()); !errors.Is(err, tlog.ErrUnconfirmed) {
		t.Errorf("after refused confirmations: %v", err)
	}
}

// A copy that holds everything that was signed takes over, once confirmed.
func TestAConfirmedCopySignsOn(t *testing.T) {
	l := newLedger(t)
	l.finish()
	l.finish()
	l.step()
	held := l.checkpoint()
	c := l.copied()
	c.finish()
	if err := c.sequencer(c.Store).Step(t.Context()); !errors.Is(err, tlog.ErrUnconfirmed) {
		t.Fatalf("the copy: %v", err)
	}
	c.must(c.confirm(held))
	c.step()
	c.verify(3)
	shown, proof, err := tlog.NewLog(c.Store).Checkpoint(t.Context(), held.Size)
	c.must(err)
	hashes, err := tlog.ParseProof(proof)
	c.must(err)
	if err := tlog.CheckConsistency(held, shown, hashes); err != nil {
		t.Errorf("the witness would find: %v", err)
	}
}

// run runs a program of Postgres's on the database.
func (l *ledger) run(program string, input []byte, arguments ...string) []byte {
	l.t.Helper()
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	l.must(err)
	path := program
	for _, dir := range append(dirs, os.Getenv("REFEREE_PG_BIN")) {
		if full := filepath.Join(dir, program); dir != "" {
			if _, err := os.Stat(full); err == nil {
				path = full
			}
		}
	}
	command := exec.CommandContext(l.t.Context(), path, append(arguments, l.db.URL)...)
	var failed bytes.Buffer
	command.Stdin, command.Stderr = bytes.NewReader(input), &failed
	out, err := command.Output()
	if err != nil {
		l.t.Fatalf("%s: %v: %s", program, err, &failed)
	}
	return out
}

// A dump that is restored over the database takes it back: the same database by
// every name, with tables made anew.
func TestADumpRestoredInPlaceSignsNoFork(t *testing.T) {
	l := newLedger(t)
	l.finish()
	l.step()
	old := l.checkpoint()
	dump := append([]byte("DROP SCHEMA public, audit CASCADE; CREATE SCHEMA public;\n"), l.run("pg_dump", nil)...)
	l.finish()
	l.step()
	held := l.checkpoint()
	l.Close()
	l.run("psql", dump, "--quiet", "--no-psqlrc", "--single-transaction", "--set=ON_ERROR_STOP=1", "--output=/dev/null")
	l.Store = l.open(4)
	if shown := l.checkpoint(); shown != old {
		t.Fatalf("the restored database shows %+v", shown)
	}
	_, err := l.Beat(t.Context())
	l.must(err)
	l.finish()
	if err := l.sequencer(l.Store).Step(t.Context()); !errors.Is(err, tlog.ErrUnconfirmed) {
		t.Errorf("the restored database: %v", err)
	}
	if err := l.confirm(held); !errors.Is(err, tlog.ErrContradicted) {
		t.Errorf("confirmed: %v", err)
	}
}

// What a copy of the storage takes back under running replicas, no name of the
// database shows; they remember what they saw signed.
func TestARunningReplicaRemembersWhatWasSigned(t *testing.T) {
	l := newLedger(t)
	l.finish()
	l.step()
	l.exec(`CREATE TABLE kept_head AS TABLE log_head`)
	remembering, idle := l.sequencer(l.Store), l.sequencer(l.open(1))
	l.finish()
	l.must(remembering.Step(t.Context()))
	l.must(idle.Step(t.Context())) // had nothing to do, but saw it
	held := l.checkpoint()
	l.exec(`ALTER TABLE log_entries DISABLE TRIGGER USER`)
	l.exec(`ALTER TABLE log_hashes DISABLE TRIGGER USER`)
	l.exec(`DELETE FROM log_entries WHERE position >= 1`)
	l.exec(`DELETE FROM log_hashes WHERE storage_index >= 1`)
	l.exec(`UPDATE log_head h SET size = k.size, root = k.root, signed_size = k.signed_size, checkpoint = k.checkpoint FROM kept_head k`)
	l.exec(`DROP TABLE kept_head`)
	for range 2 {
		l.finish()
		for name, s := range map[string]*tlog.Sequencer{"the one that signed": remembering, "the other": idle} {
			if err := s.Step(t.Context()); !errors.Is(err, tlog.ErrContradicted) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if shown := l.checkpoint(); shown.Size >= held.Size {
		t.Errorf("a fork of %d games was signed", shown.Size)
	}
}

func TestADamagedTreeIsNotSigned(t *testing.T) {
	l := newLedger(t)
	for range 3 {
		l.finish()
	}
	l.step()
	signed := l.checkpoint()
	for name, change := range map[string]string{
		"a hash":         `UPDATE log_hashes SET hash = sha256('') WHERE storage_index = 3`,
		"the root":       `UPDATE log_head SET root = sha256('x')`,
		"the checkpoint": `UPDATE log_head SET checkpoint = replace(checkpoint, E'\n3\n', E'\n2\n'), signed_size = 2`,
		"no checkpoint":  `UPDATE log_head SET checkpoint = E'o\n3\nx\n\n'`,
	} {
		t.Run(name, func(t *testing.T) {
			l.exec(`ALTER TABLE log_hashes DISABLE TRIGGER USER`)
			l.exec(`CREATE TABLE kept_head AS TABLE log_head`)
			l.exec(`CREATE TABLE kept_hashes AS TABLE log_hashes`)
			l.finish()
			l.exec(change)
			err := l.sequencer(l.Store).Step(t.Context())
			if !errors.Is(err, tlog.ErrDamaged) && !errors.Is(err, tlog.ErrContradicted) {
				t.Errorf("error %v", err)
			}
			l.exec(`UPDATE log_head h SET size = k.size, root = k.root, signed_size = k.signed_size, checkpoint = k.checkpoint FROM kept_head k`)
			l.exec(`DELETE FROM log_hashes WHERE storage_index > 3`)
			l.exec(`UPDATE log_hashes h SET hash = k.hash FROM kept_hashes k WHERE k.storage_index = h.storage_index`)
			l.exec(`ALTER TABLE log_entries DISABLE TRIGGER USER`)
			l.exec(`DELETE FROM log_entries WHERE position > 2`)
			l.exec(`DROP TABLE kept_head, kept_hashes`)
			if shown := l.checkpoint(); shown != signed {
				t.Fatalf("shown is %+v", shown)
			}
		})
	}
}

// A server of one's own is crashed, which is no new life of the database, and
// then recovered into a new timeline, as a promoted standby is.
func TestAPromotedDatabaseIsNotSigned(t *testing.T) {
	server, err := devpg.Start(t.Context(), devpg.Options{NoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(server.Stop(), os.RemoveAll(server.DataDir())); err != nil {
			t.Error(err)
		}
	})
	url := server.URL("postgres")
	if err := migrations.Up(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	l := newLedgerOn(newDeskOn(t, &pgtest.DB{URL: url, Name: "postgres"}))
	reopen := func() {
		t.Helper()
		l.must(server.Restart(t.Context()))
		l.Store = l.open(4)
		_, err := l.Beat(t.Context())
		l.must(err)
	}
	l.finish()
	l.step()
	l.Close()
	server.Kill()
	reopen()
	l.finish()
	l.step() // a crash is recovered from without anybody's word
	l.verify(2)
	held := l.checkpoint()

	l.Close()
	l.must(server.Stop())
	for name, content := range map[string]string{"recovery.signal": "", "postgresql.auto.conf": "restore_command = '/bin/false'\nhot_standby = off\n"} {
		path := filepath.Join(server.DataDir(), name)
		l.must(os.WriteFile(path, []byte(content), 0o600))
		l.must(os.Chmod(path, 0o666)) // the server's account may be another
	}
	reopen()
	l.finish()
	if err := l.sequencer(l.Store).Step(t.Context()); !errors.Is(err, tlog.ErrUnconfirmed) {
		t.Fatalf("after the promotion: %v", err)
	}
	l.must(l.confirm(held))
	l.step()
	l.verify(3)
}
