package verify

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	sumdb "golang.org/x/mod/sumdb/tlog"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/tlog"
)

// finals is the log of an archive's finished games, signed twice.
type finals struct {
	secret    string
	key       tlog.Key
	public    note.Verifier
	old, last tlog.Checkpoint
}

func newFinals(a *archive) *finals {
	a.t.Helper()
	f := &finals{}
	text, err := tlog.NewKey("referee.example/log")
	a.must(err)
	f.secret = strings.TrimSpace(text)
	f.key, err = tlog.ParseKey(text)
	a.must(err)
	f.public, err = tlog.ParsePublic(f.key.Public())
	a.must(err)
	// The archive's database is a copy of the migrated one, and has signed nothing.
	_, err = tlog.Confirm(a.t.Context(), a.store, f.public, nil)
	a.must(err)
	return f
}

// step lets what has ended into the log and returns the checkpoint.
func (f *finals) step(a *archive) tlog.Checkpoint {
	a.t.Helper()
	a.must(tlog.NewSequencer(a.store, f.key).Step(a.t.Context()))
	c, _, err := tlog.NewLog(a.store).Checkpoint(a.t.Context(), 0)
	a.must(err)
	return c
}

// signed is a checkpoint of the log's own key for any tree.
func (f *finals) signed(a *archive, t tlog.Tree) string {
	a.t.Helper()
	signer, err := note.NewSigner(f.secret)
	a.must(err)
	text := strings.Join([]string{signer.Name(), strconv.FormatInt(t.Size, 10), t.Root.String(), ""}, "\n")
	signed, err := note.Sign(&note.Note{Text: text}, signer)
	a.must(err)
	return string(signed)
}

// proposed proposes one more compensation, which nothing proves, and sees that
// noted. It returns the record.
func (a *archive) proposed(proofs Proofs) *referee.Record {
	a.t.Helper()
	tb, first := a.whole, a.decided(a.whole)
	next := first + 1 + slices.IndexFunc(tb.settlements[first:], func(s referee.RecordedSettlement) bool { return s.ID != referee.ID{} })
	c := &referee.CompensateSettlement{Header: tb.header(rules.NoSeat, false), Note: "again",
		Settlement: referee.SettlementID(tb.state.ID, next, false)}
	c.Game, c.Expected, c.Caller.Name = next, 3, "arcade"
	if refusal := tb.keep(referee.Compensate(tb.state, c, tb.env())); refusal != nil {
		a.t.Fatal(refusal)
	}
	record, err := a.store.Record(a.t.Context(), tb.state.ID)
	a.must(err)
	var file bytes.Buffer
	for _, game := range Export(record, proofs) {
		file.Write(append(game.JSON, '\n'))
	}
	a.must(Read(&file, func(m *Match) error {
		report := Check(m, a.finals.public)
		if !report.Sound() || !slices.Contains(report.Notes, "compensations: the events after 2 are not proved by the log of finished games") {
			a.t.Errorf("one more proposal: found %v, notes %q", report.Findings, report.Notes)
		}
		return nil
	}))
	return record
}

// ofLog is a tampering with what the log has of a match's first game.
func ofLog(name, what, statement string) tampering {
	return tampering{name, func(a *archive) (*table, int, int, string) {
		a.exec(statement, pgID(a.whole.state.ID))
		return a.whole, 1, len(a.whole.logs[1]), what
	}}
}

// ofHead is a tampering with the log's head.
func ofHead(name, what string, statements ...string) tampering {
	return tampering{name, func(a *archive) (*table, int, int, string) {
		for _, statement := range statements {
			a.exec(statement)
		}
		return a.whole, 0, 0, what
	}}
}

// checkpoint puts another checkpoint in the place of the last.
func (a *archive) checkpoint(text string, size int64) {
	a.t.Helper()
	a.exec(`UPDATE log_head SET checkpoint = $1, signed_size = $2`, text, size)
}

// leafOf is the storage index of the leaf of a match's first game.
func (a *archive) leafOf(tb *table) int64 {
	a.t.Helper()
	var position int64
	a.must(a.owner.QueryRow(a.t.Context(), `SELECT position FROM log_entries`+ofGame1, pgID(tb.state.ID)).Scan(&position))
	return sumdb.StoredHashIndex(0, position)
}

// logRows are changes of the log of finished games.
var logRows = []tampering{
	ofLog("entry deleted", "inclusion", `DELETE FROM log_entries`+ofGame1),
	ofLog("entry with another head", "log_entries.head_hash", `UPDATE log_entries SET head_hash = sha256(head_hash)`+ofGame1),
	ofLog("entry moved to another match", "inclusion", `UPDATE log_entries SET match_id = gen_random_uuid()`+ofGame1),
	ofLog("entry back in the queue", "inclusion", `WITH d AS (DELETE FROM log_entries`+ofGame1+`) INSERT INTO finished_games VALUES ($1, 1)`),
	ofLog("game queued again", "finished_games", `INSERT INTO finished_games VALUES ($1, 1)`),
	{"entry moved to another game", func(a *archive) (*table, int, int, string) {
		a.exec(`UPDATE log_entries SET game = 99`+ofGame1, pgID(a.whole.state.ID))
		return a.whole, 99, 0, "log_entries"
	}},
	{"entry of a game that runs", func(a *archive) (*table, int, int, string) {
		a.exec(`UPDATE log_entries SET game = 2`+ofGame1, pgID(a.running.state.ID))
		return a.running, 2, 0, "log_entries"
	}},
	{"two entries swapped", func(a *archive) (*table, int, int, string) {
		a.exec(`UPDATE log_entries SET position = position + 1000 WHERE match_id = $1 AND game IN (1, 2)`, pgID(a.whole.state.ID))
		a.exec(`UPDATE log_entries e SET position = o.position - 1000 FROM log_entries o
			WHERE e.match_id = $1 AND e.game IN (1, 2) AND o.match_id = $1 AND o.game = 3 - e.game`, pgID(a.whole.state.ID))
		return a.whole, 1, len(a.whole.logs[1]), "inclusion"
	}},
	{"leaf in the tree", func(a *archive) (*table, int, int, string) {
		a.exec(`UPDATE log_hashes SET hash = sha256(hash) WHERE storage_index = $1`, a.leafOf(a.whole))
		return a.whole, 1, len(a.whole.logs[1]), "log_hashes"
	}},
	{"sibling in the tree", func(a *archive) (*table, int, int, string) {
		a.exec(`UPDATE log_hashes SET hash = sha256(hash) WHERE storage_index <> $1`, a.leafOf(a.whole))
		return a.whole, 1, len(a.whole.logs[1]), "inclusion"
	}},
	{"hashes of the tree removed", func(a *archive) (*table, int, int, string) {
		a.exec(`DELETE FROM log_hashes`)
		return a.whole, 1, len(a.whole.logs[1]), "inclusion"
	}},
	ofHead("checkpoint of garbage", "log_head.checkpoint", `UPDATE log_head SET checkpoint = 'nothing'`),
	ofHead("checkpoint with another root", "log_head.checkpoint",
		`UPDATE log_head SET checkpoint = replace(checkpoint, encode(root, 'base64'), encode(sha256(root), 'base64'))`),
	ofHead("size beside the checkpoint", "log_head.signed_size", `UPDATE log_head SET signed_size = 1`),
	ofHead("size of the head lowered", "log_head.size",
		`ALTER TABLE log_head DROP CONSTRAINT IF EXISTS log_head_signed`, `UPDATE log_head SET size = 1`),
	ofHead("root of the head", "log_head.root", `UPDATE log_head SET root = sha256(root)`),
	ofHead("root of the head that is no hash", "log_head",
		`ALTER TABLE log_head DROP CONSTRAINT IF EXISTS log_head_root`, `UPDATE log_head SET root = ''`),
	ofHead("head removed", "log_head", `DELETE FROM log_head`),
	{"checkpoint removed", func(a *archive) (*table, int, int, string) {
		a.exec(`UPDATE log_head SET signed_size = NULL, checkpoint = NULL`)
		return a.whole, 1, len(a.whole.logs[1]), "inclusion"
	}},
	{"checkpoint forked with the log's key", func(a *archive) (*table, int, int, string) {
		fork := a.finals.last.Tree
		fork.Root[0] ^= 1
		a.checkpoint(a.finals.signed(a, fork), fork.Size)
		return a.whole, 1, len(a.whole.logs[1]), "inclusion"
	}},
	{"checkpoint rolled back", func(a *archive) (*table, int, int, string) {
		a.checkpoint(a.finals.old.Note, a.finals.old.Size)
		return a.other, 1, len(a.other.logs[1]), "inclusion"
	}},
	{"entry of a compensation deleted", func(a *archive) (*table, int, int, string) {
		a.exec(`DELETE FROM log_entries WHERE match_id = $1 AND game = 0`, pgID(a.whole.state.ID))
		return a.whole, 0, 2, "inclusion"
	}},
	{"entry of a compensation with another head", func(a *archive) (*table, int, int, string) {
		a.exec(`UPDATE log_entries SET head_hash = sha256(head_hash) WHERE match_id = $1 AND game = 0`, pgID(a.whole.state.ID))
		return a.whole, 0, 0, "log_entries.head_hash"
	}},
	{"log of compensations removed, with what it moved", func(a *archive) (*table, int, int, string) {
		for _, statement := range []string{
			`DELETE FROM events WHERE match_id = $1 AND game = 0`,
			`DELETE FROM settlements WHERE match_id = $1 AND compensates`,
			`DELETE FROM settlement_lines WHERE match_id = $1 AND compensates`,
		} {
			a.exec(statement, pgID(a.whole.state.ID))
		}
		return a.whole, 0, 0, "log_entries.head_hash"
	}},
	{"compensation rewritten from end to end", func(a *archive) (*table, int, int, string) {
		log := a.log(a.whole, 0)
		log[0].Principal, log[1].Principal = 3, 4
		a.write(a.whole, 0, log, 0)
		return a.whole, 0, 0, "log_entries.head_hash"
	}},
}

// ofTheLog reports whether a finding is of the log of finished games, which blames
// the last event that is there.
func ofTheLog(f Finding) bool { return f.What == "inclusion" || strings.HasPrefix(f.What, "log_") }

// TestWaitingForTheLogIsNoFault: what has just ended waits, and a log that is held
// up proves nothing; both are said, and neither is a fault.
func TestWaitingForTheLogIsNoFault(t *testing.T) {
	a := newArchive(t)
	look := func(name string, now clock.Time, notes int) {
		t.Helper()
		record, err := a.store.Record(t.Context(), a.other.state.ID)
		a.must(err)
		logged, err := Look(t.Context(), tlog.NewLog(a.store), record, a.finals.public)
		a.must(err)
		record.Now = now
		report := Record(record, logged)
		if len(report.Findings) > 0 || len(report.Notes) != notes {
			t.Errorf("%s: found %s\nnotes %q", name, lines(report.Findings), report.Notes)
		}
	}
	a.exec(`DELETE FROM log_entries WHERE match_id = $1 AND game = 3`, pgID(a.other.state.ID))
	a.exec(`INSERT INTO finished_games VALUES ($1, 3)`, pgID(a.other.state.ID))
	look("queued a moment ago", a.other.logs[3][len(a.other.logs[3])-1].Time, 1)
	a.exec(`UPDATE log_head SET epoch = 'another'`)
	look("queued while the log is held up", a.other.now+3600*second, 2)
	a.restore()
	a.exec(`UPDATE log_head SET epoch = 'another', checkpoint = NULL, signed_size = NULL`)
	look("never signed", a.other.now+3600*second, 2+len(a.other.logs)-1)
}

// TestAnOutageInWhichAMoveWasMade plays a match that an outage pauses while moves
// of another are on record: the outage never was, although everything agrees on it.
func TestAnOutageInWhichAMoveWasMade(t *testing.T) {
	a := newArchive(t)
	busy := a.table(preset(t, "7club-standard"), 4)
	quiet := a.table(preset(t, "7club-standard"), 5)
	busy.now = quiet.now
	for _, tb := range []*table{quiet, busy} {
		tb.start()
		tb.now += second
		tb.play()
	}
	a.check("before", quiet, nil)
	for range 6 { // each second, while the other match is paused for seven
		busy.now += second
		busy.play()
	}
	a.pause(quiet)
	quiet.now += second
	quiet.play()
	a.check("paused while another match went on", quiet, &Finding{Game: 1, Seq: a.seq(quiet, 1, referee.EventClockPaused, 1), What: "outage"})
	a.exec(`DELETE FROM events WHERE match_id = $1 AND event_time > $2`, pgID(busy.state.ID), at2(quiet.now-8*second+3*second))
	a.check("paused while nothing happened", quiet, nil)
}

// TestWithoutAClockAMoveContradictsNoOutage: where no clock runs a commit asks for no
// heartbeat, so that a call may have come in an outage that it did not end.
func TestWithoutAClockAMoveContradictsNoOutage(t *testing.T) {
	for _, house := range []string{"daily", "mingjian-2026"} {
		a := newArchive(t)
		untimed, quiet := a.table(preset(t, house), 4), a.table(preset(t, "7club-standard"), 5)
		untimed.now = quiet.now
		for _, tb := range []*table{quiet, untimed} {
			tb.start()
			tb.now += second
			tb.play()
		}
		for range 6 {
			untimed.now += second
			untimed.play()
		}
		a.pause(quiet)
		quiet.play()
		a.check("paused while one went on without a clock, by "+house, quiet, nil)
	}
}

// TestExportedCompensationsAreProved: the line of game 0 has a proof of the head
// that the log has of it, which covers the compensation that was made last.
func TestExportedCompensationsAreProved(t *testing.T) {
	a := newArchive(t)
	record, err := a.store.Record(t.Context(), a.whole.state.ID)
	a.must(err)
	logged, err := Look(t.Context(), tlog.NewLog(a.store), record, a.finals.public)
	a.must(err)
	check := func(name string, proofs Proofs, want string) {
		t.Helper()
		var file bytes.Buffer
		for _, game := range Export(record, proofs) {
			file.Write(append(game.JSON, '\n'))
		}
		found := []string{}
		a.must(Read(&file, func(m *Match) error {
			for _, f := range Check(m, a.finals.public).Findings {
				found = append(found, f.String())
			}
			return nil
		}))
		if len(found) > 0 && want == "" || want != "" && (len(found) == 0 || slices.ContainsFunc(found, func(f string) bool { return !strings.Contains(f, want) })) {
			t.Errorf("%s: found %q", name, found)
		}
	}
	check("as it was played", logged.ByGame(record), "")
	without := logged.ByGame(record)
	delete(without, 0)
	check("without a proof", without, "compensations, event 2: inclusion: expected a proof")
	other := logged.ByGame(record)
	other[0] = other[1]
	check("with the proof of a game", other, "compensations, event 2: inclusion: expected the game's head")
	proposal := *record
	proposal.Logs = slices.Clone(record.Logs)
	proposal.Logs[0] = record.Logs[0][:1]
	whole := record
	record = &proposal
	check("a proposal with a proof", logged.ByGame(whole), "compensations, event 1: inclusion: expected none")
	without = logged.ByGame(whole)
	delete(without, 0)
	check("a proposal", without, "")
	record = whole
	renamed := *record
	renamed.Principals = map[int32]string{1: "somebody else", 2: "operator"}
	record = &renamed
	check("with other names", logged.ByGame(record), `: readable.submitted_by: expected "arcade" as principal 1, found "somebody else"`)
	record = a.proposed(logged.ByGame(whole))
	rewritten := a.log(a.whole, 0)
	rewritten[0].Principal, rewritten[1].Principal = 3, 4
	a.write(a.whole, 0, rewritten, 0)
	record, err = a.store.Record(t.Context(), a.whole.state.ID)
	a.must(err)
	check("rewritten", logged.ByGame(record), "compensations, event 2: inclusion: expected the game's head")
}

// TestTheLastCompensationIsProved: compensations that waited together enter the log
// in any order, and some are signed before others. What an export proves is a head
// that covers the last, or nothing: the proof of an earlier one would accuse a log
// in which all is well.
func TestTheLastCompensationIsProved(t *testing.T) {
	a := newArchive(t)
	record, err := a.store.Record(t.Context(), a.whole.state.ID)
	a.must(err)
	proposal, made := record.Logs[0][0], record.Logs[0][1]
	record.Logs[0], record.Entries = nil, nil
	heads := map[int][]byte{}
	for seq := 1; seq <= 8; seq++ {
		e := proposal
		if seq%2 == 0 {
			e = made
		}
		e.Seq, e.Hash = seq, sha256.Sum256([]byte{byte(seq)})
		heads[seq] = e.Hash[:]
		record.Logs[0] = append(record.Logs[0], e)
	}
	record.Logs[0] = record.Logs[0][:7]
	for _, test := range []struct {
		name   string
		logged []int // the events whose heads are logged, in order of positions
		signed int   // entries that are
		want   int   // the event that is proved; 0 for none
	}{
		{"in their order", []int{2, 4, 6}, 3, 6},
		{"the last first", []int{6, 4, 2}, 3, 6},
		{"the last in the middle", []int{2, 6, 4}, 3, 6},
		{"a head after the last", []int{7, 2, 6}, 3, 7},
		{"the last is not signed yet", []int{2, 4, 6}, 2, 0},
		{"the last waits", []int{4, 2}, 2, 0},
		{"nothing is logged", nil, 0, 0},
		{"a head of no event", []int{2, 4, 8, 6}, 4, 8},
	} {
		logged := &Logged{Proofs: map[int64]*tlog.Inclusion{}}
		record.Entries = nil
		for position, seq := range test.logged {
			record.Entries = append(record.Entries, referee.RecordedEntry{Position: int64(position), Head: heads[seq]})
			if position < test.signed {
				logged.Proofs[int64(position)] = &tlog.Inclusion{Index: int64(position)}
			}
		}
		got := 0
		if proof := logged.ByGame(record)[0]; proof != nil {
			got = test.logged[proof.Index]
		}
		if got != test.want {
			t.Errorf("%s: the head of event %d is proved, want %d", test.name, got, test.want)
		}
	}
}
