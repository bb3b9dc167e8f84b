package referee

import (
	"encoding/binary"
	"testing"

	"referee.example/internal/clock"
	"referee.example/internal/deal"
	"referee.example/internal/rules"
	"referee.example/internal/series"
)

// t0 is an arbitrary instant of the tests.
const t0 = clock.Time(1_800_000_000_000_000)

const second = clock.Time(1_000_000)

// table is a match played through the pure decisions, without a database: it
// keeps the log as a store would and the state as the last decision left it.
type table struct {
	t     testing.TB
	state *State
	log   []Event
	keys  deal.Keyring
	now   clock.Time
	// outages of all replicas, in order of time
	outages []Outage
}

func testKeys(t testing.TB) deal.Keyring {
	t.Helper()
	keys, err := deal.ParseKeyring("test:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func preset(t testing.TB, id string) *Rules {
	t.Helper()
	presets, err := LoadPresets()
	if err != nil {
		t.Fatal(err)
	}
	r := presets.Get(id)
	if r == nil {
		t.Fatalf("no preset %q", id)
	}
	return r
}

func (tb *table) env() Env {
	// A decision commits to one game at most: dice by game, so that tables which
	// decide the same in other portions get the same.
	game := uint64(1)
	if tb.state != nil {
		game += uint64(tb.state.Game.Number)
	}
	var dice Dice
	binary.BigEndian.PutUint64(dice.Seed[:], game)
	binary.BigEndian.PutUint64(dice.Nonce[:], game)
	return Env{Arrival: tb.now, Now: tb.now, Keys: tb.keys, Dice: dice, Deal: Deal, Outages: tb.outages}
}

// dice is a number that depends on the log alone, so that two tables with
// equal logs go on alike.
func (tb *table) dice() uint64 { return uint64(len(tb.log)) + 1000 }

func request(n uint64) (id ID) {
	binary.BigEndian.PutUint64(id[8:], n*0x9e3779b97f4a7c15)
	id[0] = 1
	return id
}

// newTable creates a match at stake 100 under r.
func newTable(t testing.TB, r *Rules) *table {
	t.Helper()
	tb := &table{t: t, keys: testKeys(t), now: t0}
	seats := r.Seats()
	c := &CreateMatch{
		Caller: Caller{Platform: "p", Principal: 1}, RequestID: request(1), Players: []string{"ann", "ben", "cho", "dee"}[:seats],
		Rules: r, Stake: 100, Balances: []int64{900, 900, 900, 900}[:seats], FirstSeat: rules.NoSeat,
		Charges: series.Charges{Fee: 5, DisconnectionPenalty: 50},
	}
	if r.FirstMover == FirstMoverNamed {
		c.FirstSeat = 0
	}
	if r.Stakes == (series.Stakes{}) {
		c.Stake, c.Charges = 0, series.Charges{}
	}
	d, err := Create(c, ID{1, 2, 3}, tb.env())
	tb.accept(d, err)
	return tb
}

// accept keeps what a decision changed and fails the test on a refusal.
func (tb *table) accept(d Decision, err error) {
	tb.t.Helper()
	if err != nil {
		tb.t.Fatal(err)
	}
	if d.Refusal != nil {
		tb.t.Fatalf("refused: %v", d.Refusal)
	}
	tb.keep(d)
}

// keep stores what a decision changed, through the snapshot, as a store does.
func (tb *table) keep(d Decision) {
	tb.t.Helper()
	tb.log = append(tb.log, d.Events...)
	version := d.State.Version
	if len(d.Events) > 0 {
		version++
	}
	state, err := DecodeSnapshot(d.State.Snapshot(), d.State.ID, version, d.State.Rules)
	if err != nil {
		tb.t.Fatal(err)
	}
	tb.state = state
}

// header names the present numbers for a seat.
func (tb *table) header(seat rules.Seat, byPly bool) Header {
	game, ply, seq := tb.state.Present()
	h := Header{Caller: Caller{Platform: "p", Principal: 1}, Match: tb.state.ID, Game: game,
		RequestID: request(tb.dice()), Expected: seq, Seat: seat}
	if byPly {
		h.Expected = ply
	}
	return h
}

// do carries a command out and returns its refusal, if any.
func (tb *table) do(c Command) *Refusal {
	tb.t.Helper()
	d, err := Decide(tb.state, c, tb.env())
	if err != nil {
		tb.t.Fatal(err)
	}
	tb.keep(d)
	return d.Refusal
}

// must carries a command out that has to be accepted.
func (tb *table) must(c Command) {
	tb.t.Helper()
	if refusal := tb.do(c); refusal != nil {
		tb.t.Fatalf("refused: %v", refusal)
	}
}

// settle lets time alone act on the match.
func (tb *table) settle() {
	tb.t.Helper()
	d, err := Settle(tb.state, tb.env())
	tb.accept(d, err)
}

func (tb *table) start() {
	tb.t.Helper()
	seats := tb.state.Rules.Seats()
	tb.must(&StartGame{Header: tb.header(rules.NoSeat, false), Balances: []int64{900, 900, 900, 900}[:seats],
		PlayerSeeds: [][]byte{[]byte("ann's"), []byte("ben's"), []byte("cho's"), []byte("dee's")}[:seats]})
}

func (tb *table) turn() rules.Seat { return tb.state.Game.Position.Turn() }

// action is the present player's command to play a.
func (tb *table) action(a rules.Action) Command {
	return &PlayAction{Header: tb.header(tb.turn(), true), Action: a}
}

// play plays an action that has to be accepted.
func (tb *table) play(a rules.Action) {
	tb.t.Helper()
	tb.must(tb.action(a))
}

// choose picks an action for the side to move: a capture where there is one,
// so that games are decided, else one by the dice.
func (tb *table) choose() rules.Action {
	actions := tb.state.LegalActions()
	for _, a := range actions {
		if _, target := tb.state.WouldBe(a); target != rules.NoPiece {
			return a
		}
	}
	return actions[tb.dice()*0x9e3779b97f4a7c15>>33%uint64(len(actions))]
}

// playOut plays the running game to its end, a second a ply.
func (tb *table) playOut() {
	tb.t.Helper()
	for tb.state.Game.Status == GamePlaying {
		tb.now += second
		tb.play(tb.choose())
	}
}

// last returns the newest event.
func (tb *table) last() *Event { return &tb.log[len(tb.log)-1] }
