package verify

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"referee.example/internal/clock"
	"referee.example/internal/pgtest"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/store"
	"referee.example/internal/tlog"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// archive is a database with played matches, and a session that may change
// anything in it, as its owner could.
type archive struct {
	t     *testing.T
	store *store.Store
	owner *pgx.Conn
	// whole is a match of 7 CLUB's rules that is over, with an outage, a loss on
	// time, a disconnection and a compensation; running one of Baidu's, in which
	// the server plays, with a second game going on; other one more.
	whole, running, other *table
	finals                *finals
}

// tables are those that hold anything of a match.
var tables = []string{"rulesets", "matches", "match_states", "games", "events", "settlements", "settlement_lines",
	"participants", "principals", "outages", "interventions", "pairs", "ended_games", "create_requests",
	"external_refs", "settlement_queue", "settlement_feed", "settlement_heads", "finished_games", "made_compensations", "log_entries", "log_hashes", "log_head"}

func newArchive(t *testing.T) *archive {
	t.Helper()
	db := pgtest.New(t)
	a := &archive{t: t}
	var err error
	a.store, err = store.Open(t.Context(), store.Config{URL: db.URL, MaxConns: 4})
	a.must(err)
	t.Cleanup(a.store.Close)
	a.owner, err = pgx.Connect(t.Context(), db.URL)
	a.must(err)
	t.Cleanup(func() { _ = a.owner.Close(t.Context()) })
	a.exec(`SET session_replication_role = replica`)
	a.exec(`SELECT ensure_events_partitions($1, 1)`, at2(t0))
	a.exec(`INSERT INTO principals (name) VALUES ('arcade'), ('operator')`)
	a.finals = newFinals(a)
	a.whole = a.playWhole(1)
	a.finals.old = a.finals.step(a)
	_, _, err = a.store.SequenceSettlements(t.Context(), 100) // those that follow wait
	a.must(err)
	a.running, a.other = a.playRunning(2), a.playWhole(3)
	a.finals.last = a.finals.step(a)
	for _, table := range tables {
		a.exec(`CREATE TABLE saved_` + table + ` AS TABLE ` + table)
	}
	return a
}

// restore puts everything back as it was played.
func (a *archive) restore() {
	for _, table := range tables {
		a.exec(`DELETE FROM ` + table)
		a.exec(`INSERT INTO ` + table + ` OVERRIDING SYSTEM VALUE SELECT * FROM saved_` + table)
	}
}

func (a *archive) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

func (a *archive) exec(query string, arguments ...any) {
	a.t.Helper()
	_, err := a.owner.Exec(a.t.Context(), query, arguments...)
	a.must(err)
}

// table seats a match at a time of its own, since an outage concerns every match
// that it finds running. It is the same time in each run, and so the same deal.
func (a *archive) table(ruleset *referee.Rules, seed uint64) *table {
	at := t0 + clock.Time(seed)*3*3600*second
	commit := func(c referee.Change) error { return a.store.Commit(a.t.Context(), c) }
	return newTableIn(a.t, ruleset, seed, at, commit)
}

// pause records an outage that the running turn is paused for.
func (a *archive) pause(tb *table) {
	from := tb.now
	tb.now += 7 * second
	a.exec(`INSERT INTO outages (from_at, until_at) VALUES ($1, $2)`, at2(from), at2(tb.now))
	tb.outages = append(tb.outages, referee.Outage{From: from, Until: tb.now})
	tb.due()
}

func at2(t clock.Time) time.Time { return time.UnixMicro(int64(t)).UTC() }

func (a *archive) playWhole(seed uint64) *table {
	tb := a.table(preset(a.t, "7club-standard"), seed)
	for game := 1; !tb.state.Status.Over(); game++ {
		tb.start()
		tb.now += second
		tb.play()
		switch game {
		case 1:
			for range 12 {
				tb.now += second
				tb.play()
			}
			mover := tb.turn()
			tb.must(&referee.OfferDraw{Header: tb.header(mover, false)})
			tb.must(&referee.WithdrawDraw{Header: tb.header(mover, false)})
			tb.playOut()
		case 2:
			a.pause(tb)
			tb.play()
			tb.wait()
		case 3:
			tb.must(&referee.ReportDisconnect{Header: tb.header(rules.NoSeat, false), Gone: rules.SeatsOf(1)})
		default:
			tb.playOut()
		}
	}
	for principal := range int32(2) {
		c := &referee.CompensateSettlement{Header: tb.header(rules.NoSeat, false), Note: "wrong table",
			Settlement: referee.SettlementID(tb.state.ID, a.decided(tb), false)}
		c.Game, c.Expected, c.Caller.Principal = a.decided(tb), int(principal)+1, principal+1
		c.Caller.Name = []string{"arcade", "operator"}[principal]
		if refusal := tb.keep(referee.Compensate(tb.state, c, tb.env())); refusal != nil {
			a.t.Fatal(refusal)
		}
	}
	return tb
}

// decided is the first game of a match that moved points.
func (a *archive) decided(tb *table) int {
	return 1 + slices.IndexFunc(tb.settlements, func(s referee.RecordedSettlement) bool { return s.ID != referee.ID{} })
}

func (a *archive) playRunning(seed uint64) *table {
	rules := preset(a.t, "baidu").Ruleset
	rules.ID, rules.Series.ValidGames = "baidu-of-three", 3
	compiled, err := referee.CompileRules(rules)
	a.must(err)
	tb := a.table(compiled, seed)
	tb.start()
	for range 20 {
		tb.now += second
		tb.play()
	}
	tb.wait()
	tb.wait()
	tb.playOut()
	if tb.state.Status.Over() {
		a.t.Fatal("the match that should go on is over")
	}
	tb.start()
	for range 5 {
		tb.now += second
		tb.play()
	}
	return tb
}

// log reads a game's events.
func (a *archive) log(tb *table, game int) []referee.Event {
	a.t.Helper()
	events, err := a.store.Events(a.t.Context(), tb.state.ID, game, 1, 100_000)
	a.must(err)
	return events
}

// seq returns the number of the nth event of a kind in a game.
func (a *archive) seq(tb *table, game int, kind referee.EventKind, nth int) int {
	a.t.Helper()
	for _, e := range tb.logs[game] {
		if e.Kind == kind {
			if nth--; nth == 0 {
				return e.Seq
			}
		}
	}
	a.t.Fatalf("game %d has no such event %s", game, kind)
	return 0
}

// write puts a game's log in the place of the one on record. From the index
// rechained on the hashes are made anew, as one would who has the tables; -1
// leaves them. The head stands in the game's row and in the snapshot too.
func (a *archive) write(tb *table, game int, events []referee.Event, rechained int) {
	a.t.Helper()
	a.exec(`DELETE FROM events WHERE match_id = $1 AND game = $2`, pgID(tb.state.ID), game)
	var previous [32]byte
	for i := range events {
		e := &events[i]
		if rechained >= 0 && i >= rechained {
			e.Hash = referee.ChainHash(previous, referee.EncodeEvent(e))
		}
		previous = e.Hash
		a.insert(tb.state.ID, e)
	}
	if rechained < 0 || game == 0 {
		return
	}
	a.exec(`UPDATE games SET head_hash = $3 WHERE match_id = $1 AND game = $2 AND head_hash IS NOT NULL`,
		pgID(tb.state.ID), game, previous[:])
	if game == tb.state.Game.Number {
		state := *tb.state
		state.Game.Head = previous
		a.exec(`UPDATE match_states SET state = $2 WHERE match_id = $1`, pgID(tb.state.ID), state.Snapshot())
	}
}

func pgID(id referee.ID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

func (a *archive) insert(id referee.ID, e *referee.Event) {
	a.t.Helper()
	filled := func(b []byte) []byte { return append([]byte{}, b...) }
	a.exec(`INSERT INTO events (match_id, game, seq, ply, event_time, principal, seat, kind, action_kind, from_square, to_square,
		turned, captured, request_id, clocks, client_hash, detail, hash)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`,
		pgID(id), e.Game, e.Seq, e.Ply, at2(e.Time), e.Principal, int16(e.Seat), int16(e.Kind), int16(e.Action.Kind),
		int16(e.Action.From), int16(e.Action.To), int16(e.Turned), int16(e.Captured),
		pgtype.UUID{Bytes: e.RequestID, Valid: e.RequestID != referee.ID{}},
		filled(e.Clocks), filled(e.ClientHash), filled(e.Detail), e.Hash[:])
}

// edit changes one event and makes the hashes anew from it on.
func (a *archive) edit(tb *table, game, seq int, change func(*referee.Event)) {
	a.t.Helper()
	events := a.log(tb, game)
	change(&events[seq-1])
	a.write(tb, game, events, seq-1)
}

// swapped returns the detail with one byte string in the place of another of
// the same length.
func (a *archive) swapped(detail, from, to []byte) []byte {
	a.t.Helper()
	if len(from) != len(to) || bytes.Count(detail, from) != 1 {
		a.t.Fatalf("%x is not once in %x", from, detail)
	}
	return bytes.Replace(detail, from, to, 1)
}

// flipped is a byte string of which one bit is another.
func flipped(b []byte) []byte {
	c := bytes.Clone(b)
	c[len(c)/2] ^= 4
	return c
}

// flippedAt is a detail with one byte changed.
func flippedAt(detail []byte, at int) []byte {
	c := bytes.Clone(detail)
	c[at] ^= 2
	return c
}

// tampering is one kind of it: what is done, and what has to be found where.
type tampering struct {
	name string
	do   func(a *archive) (tb *table, game, seq int, what string)
}

// TestTampering changes a real database in every way of the table.
func TestTampering(t *testing.T) {
	a := newArchive(t)
	for _, tb := range []*table{a.whole, a.running, a.other} {
		a.check("as it was played", tb, nil)
	}
	all := slices.Concat(unhashed, rehashed, rows, seals, logRows)
	if len(all) < 25 {
		t.Fatalf("only %d kinds", len(all))
	}
	for _, kind := range all {
		t.Run(kind.name, func(t *testing.T) {
			outer := a.t
			a.t = t
			defer func() { a.t = outer }()
			tb, game, seq, what := kind.do(a)
			a.check(kind.name, tb, &Finding{Game: game, Seq: seq, What: what})
			a.restore()
		})
	}
	for _, tb := range []*table{a.whole, a.running, a.other} {
		a.check("restored", tb, nil)
	}
}

// check verifies a match; want is what must be found, nothing for nil. No event
// before it may be blamed.
func (a *archive) check(name string, tb *table, want *Finding) {
	a.t.Helper()
	record, err := a.store.Record(a.t.Context(), tb.state.ID)
	a.must(err)
	logged, err := Look(a.t.Context(), tlog.NewLog(a.store), record, a.finals.public)
	a.must(err)
	record.Now = a.other.now + 3600*second // the archive's time, which is not the database's
	report := Record(record, logged)
	report.Seals(record, checkSeal(tb))
	found := false
	for _, f := range report.Findings {
		if want == nil {
			a.t.Errorf("%s: %s", name, f)
			continue
		}
		found = found || f.Game == want.Game && f.Seq == want.Seq && f.What == want.What
		if !ofTheLog(f) && f.Game > 0 && f.Seq > 0 && (f.Game < want.Game || f.Game == want.Game && want.Seq > 0 && f.Seq < want.Seq) {
			a.t.Errorf("%s: blames an earlier event: %s", name, f)
		}
	}
	if want != nil && !found {
		a.t.Errorf("%s: game %d, event %d, %s is not found; found: %s", name, want.Game, want.Seq, want.What, lines(report.Findings))
	}
}

func lines(findings []Finding) string {
	var b bytes.Buffer
	for _, f := range findings[:min(len(findings), 8)] {
		fmt.Fprintf(&b, "\n  %s", f)
	}
	return b.String()
}
