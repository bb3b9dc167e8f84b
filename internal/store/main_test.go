package store

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"referee.example/internal/clock"
	"referee.example/internal/deal"
	"referee.example/internal/pgtest"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
	"referee.example/internal/series"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

const second = clock.Time(1_000_000)

// desk is a store on a database of its own, and what deciding needs besides.
type desk struct {
	*Store
	t    testing.TB
	db   *pgtest.DB
	keys deal.Keyring
	dice *rand.ChaCha8
	rule *referee.Rules
	deal referee.Dealer
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	return newDeskOn(t, pgtest.New(t))
}

// newDeskOn is a desk on a migrated database.
func newDeskOn(t testing.TB, db *pgtest.DB) *desk {
	t.Helper()
	d := &desk{t: t, db: db, dice: rand.NewChaCha8([32]byte{1}), deal: referee.Deal}
	d.Store = d.open(10)
	var err error
	if d.keys, err = deal.ParseKeyring("test:" + base64.StdEncoding.EncodeToString(make([]byte, deal.KeySize))); err != nil {
		t.Fatal(err)
	}
	presets, err := referee.LoadPresets()
	if err != nil {
		t.Fatal(err)
	}
	if d.rule = presets.Get("7club-standard"); d.rule == nil {
		t.Fatal("the preset 7club-standard is missing")
	}
	d.alive()
	return d
}

// alive has the replicas' hearts beat for longer than a test takes: one that is held
// up for three seconds is no outage.
func (d *desk) alive() {
	d.t.Helper()
	d.beatAt(d.now() + 3600*second)
}

// patient sessions outlast whatever a busy machine makes of a test.
var patient = patience{statement: 2 * time.Minute, lock: 2 * time.Minute, idleInTransaction: 2 * time.Minute}

// open opens one more store on the database, as another replica would. In tests
// that run as part of TestSharded it is told that the database is sharded.
func (d *desk) open(conns int) *Store {
	d.t.Helper()
	s, err := open(d.t.Context(), Config{URL: d.db.URL, MaxConns: conns, Sharded: sharded(d.t)}, patient)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(s.Close)
	return s
}

func (d *desk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// exec changes the database behind the store's back.
func (d *desk) exec(query string, arguments ...any) {
	d.t.Helper()
	_, err := d.pool.Exec(d.t.Context(), query, arguments...)
	d.must(err)
}

// ask reads one value.
func ask[T any](d *desk, query string, arguments ...any) (value T) {
	d.t.Helper()
	d.must(d.pool.QueryRow(d.t.Context(), query, arguments...).Scan(&value))
	return value
}

func (d *desk) now() clock.Time {
	d.t.Helper()
	return instant(ask[time.Time](d, sqlNow))
}

func (d *desk) id(at clock.Time) (id referee.ID) {
	_, _ = d.dice.Read(id[:])
	binary.BigEndian.PutUint16(id[6:], 0x7000|binary.BigEndian.Uint16(id[6:])&0x0fff)
	millisecond := idAt(at)
	copy(id[:6], millisecond[:])
	return id
}

func (d *desk) env(at clock.Time) referee.Env {
	env := referee.Env{Arrival: at, Now: at, Keys: d.keys, Deal: d.deal}
	_, _ = d.dice.Read(env.Dice.Seed[:])
	_, _ = d.dice.Read(env.Dice.Nonce[:])
	return env
}

func (d *desk) request() referee.CreateMatch {
	return referee.CreateMatch{
		Caller: referee.Caller{Platform: "north", Principal: 7}, RequestID: d.id(0),
		TableRef: "table 1", Players: []string{"ann", "bo"}, Rules: d.rule, Stake: 100,
		Charges:  series.Charges{Fee: 5, SceneFee: 3, DisconnectionPenalty: 11},
		Balances: []int64{900, 1000}, FirstSeat: rules.NoSeat,
	}
}

// creation decides on a match made at an instant.
func (d *desk) creation(c referee.CreateMatch, at clock.Time) referee.Change {
	d.t.Helper()
	decision, err := referee.Create(&c, d.id(at), d.env(at))
	d.must(err)
	if decision.Refusal != nil {
		d.t.Fatal(decision.Refusal)
	}
	return referee.Change{State: decision.State, Events: decision.Events, Create: &c}
}

// create makes a match at an instant and commits it.
func (d *desk) create(c referee.CreateMatch, at clock.Time) referee.ID {
	d.t.Helper()
	change := d.creation(c, at)
	d.must(d.Commit(d.t.Context(), change))
	return change.State.ID
}

func (d *desk) load(id referee.ID) *referee.State {
	d.t.Helper()
	loaded, err := d.Load(d.t.Context(), id)
	d.must(err)
	return loaded.State
}

// header is that of the next command of a match.
func (d *desk) header(s *referee.State, seat rules.Seat, byPly bool) referee.Header {
	game, ply, seq := s.Present()
	h := referee.Header{Caller: referee.Caller{Platform: s.Platform, Principal: 7}, Match: s.ID, Game: game,
		RequestID: d.id(0), Expected: seq, Seat: seat}
	if byPly {
		h.Expected = ply
	}
	return h
}

// change decides on a command that arrives at an instant. It is not guarded
// against outages, of which a desk that beats only now and then is full.
func (d *desk) change(s *referee.State, c referee.Command, at clock.Time) referee.Change {
	d.t.Helper()
	decision, err := referee.Decide(s, c, d.env(at))
	d.must(err)
	if decision.Refusal != nil {
		d.t.Fatalf("refused: %v", decision.Refusal)
	}
	return referee.Change{State: decision.State, Events: decision.Events, After: decision.After, Before: decision.Before}
}

// do decides on a command and commits it without the guard in time, which the
// instants of most tests miss.
func (d *desk) do(s *referee.State, c referee.Command, at clock.Time) []referee.Event {
	d.t.Helper()
	change := d.change(s, c, at)
	change.After, change.Before = 0, 0
	d.must(d.Commit(d.t.Context(), change))
	return change.Events
}

func (d *desk) start(id referee.ID, at clock.Time) []referee.Event {
	d.t.Helper()
	s := d.load(id)
	return d.do(s, &referee.StartGame{Header: d.header(s, rules.NoSeat, false), Balances: []int64{1000, 2000},
		HoldIDs: []string{"h1", "h2"}, PlayerSeeds: [][]byte{[]byte("a seed"), nil}}, at)
}

// started makes a match whose game 1 was started at an instant.
func (d *desk) started(at clock.Time) referee.ID {
	d.t.Helper()
	id := d.create(d.request(), at-second)
	d.start(id, at)
	return id
}

// ply is the first legal action of the seat to move.
func (d *desk) ply(s *referee.State) *referee.PlayAction {
	d.t.Helper()
	actions := s.LegalActions()
	if len(actions) == 0 {
		d.t.Fatal("no legal action")
	}
	return &referee.PlayAction{Header: d.header(s, s.Game.Position.Turn(), true), Action: actions[0],
		ClientHash: []byte{1, 2, 3}}
}

// disconnect ends the running game: seat 1 is gone.
func (d *desk) disconnect(id referee.ID, at clock.Time) []referee.Event {
	d.t.Helper()
	s := d.load(id)
	return d.do(s, &referee.ReportDisconnect{Header: d.header(s, rules.NoSeat, false), Gone: rules.SeatsOf(1)}, at)
}

// waiting returns when a session of the database waits for a lock.
func (d *desk) waiting(ctx context.Context) {
	d.t.Helper()
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); {
		if ask[bool](d, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock')`) {
			return
		}
		d.must(ctx.Err())
	}
	d.t.Fatal("nobody waits for a lock")
}

// ago is an instant some time ago.
func (d *desk) ago(t time.Duration) clock.Time { return d.now() - clock.Time(t.Microseconds()) }

// deck is what is dealt in dark chess, in the order that a shuffle starts from.
func deck() []byte {
	var pieces []byte
	for _, piece := range banqi.Deck() {
		pieces = append(pieces, byte(piece))
	}
	return pieces
}
