package verify

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"referee.example/internal/clock"
	"referee.example/internal/deal"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/series"
)

const (
	t0     = clock.Time(1_800_000_000_000_000)
	second = clock.Time(1_000_000)
)

// table is a match played through the pure decisions: it keeps the log as a
// store would.
type table struct {
	t     testing.TB
	state *referee.State
	logs  [][]referee.Event
	keys  deal.Keyring
	now   clock.Time
	dice  *rand.Rand
	// outages of all replicas, in order of time
	outages []referee.Outage
	// settlements as the endings made them
	settlements []referee.RecordedSettlement
	// commit, if set, takes each change as a store does.
	commit func(referee.Change) error
}

func preset(t testing.TB, id string) *referee.Rules {
	t.Helper()
	presets, err := referee.LoadPresets()
	if err != nil {
		t.Fatal(err)
	}
	r := presets.Get(id)
	if r == nil {
		t.Fatalf("no preset %q", id)
	}
	return r
}

func newTable(t testing.TB, r *referee.Rules, seed uint64) *table {
	t.Helper()
	return newTableIn(t, r, seed, t0, nil)
}

// newTableIn is newTable for a match that a store takes too.
func newTableIn(t testing.TB, r *referee.Rules, seed uint64, at clock.Time, commit func(referee.Change) error) *table {
	t.Helper()
	keys, err := deal.ParseKeyring("test:" + base64.StdEncoding.EncodeToString(make([]byte, deal.KeySize)))
	if err != nil {
		t.Fatal(err)
	}
	tb := &table{t: t, keys: keys, now: at, dice: rand.New(rand.NewPCG(seed, 1)), logs: make([][]referee.Event, 1), commit: commit}
	c := &referee.CreateMatch{
		Caller: referee.Caller{Platform: "p", Principal: 1}, RequestID: tb.request(), Players: []string{"ann", "ben", "cho", "dee"}[:r.Seats()],
		Rules: r, Stake: 100, Balances: balances(r.Seats()), FirstSeat: rules.NoSeat, TableRef: "table 1",
		Charges: series.Charges{Fee: 5, DisconnectionPenalty: 50},
	}
	if commit != nil {
		c.ExternalRef = fmt.Sprintf("order %d", seed)
	}
	if r.FirstMover == referee.FirstMoverNamed {
		c.FirstSeat = 1
	}
	if r.Stakes == (series.Stakes{}) {
		c.Stake, c.Charges = 0, series.Charges{}
	}
	id := tb.request()
	binary.BigEndian.PutUint64(id[:], uint64(at/1000)<<16|0x7000|uint64(id[7])) // a UUIDv7 of its time
	d, err := referee.Create(c, id, tb.env())
	tb.commitAs(d, c)
	_ = tb.keep(d, err)
	return tb
}

// commitAs hands a decision to the store, without the guards in time, which the
// instants of tests miss.
func (tb *table) commitAs(d referee.Decision, create *referee.CreateMatch) {
	tb.t.Helper()
	if tb.commit == nil || len(d.Events) == 0 {
		return
	}
	state := *d.State // which the store numbers
	if err := tb.commit(referee.Change{State: &state, Events: d.Events, Create: create}); err != nil {
		tb.t.Fatal(err)
	}
}

func (tb *table) env() referee.Env {
	env := referee.Env{Arrival: tb.now, Now: tb.now, Keys: tb.keys, Deal: referee.Deal, Outages: tb.outages}
	for i := range 4 {
		binary.BigEndian.PutUint64(env.Dice.Seed[8*i:], tb.dice.Uint64())
	}
	return env
}

func (tb *table) request() (id referee.ID) {
	binary.BigEndian.PutUint64(id[:], tb.dice.Uint64())
	binary.BigEndian.PutUint64(id[8:], tb.dice.Uint64())
	return id
}

// keep stores what a decision changed and returns its refusal.
func (tb *table) keep(d referee.Decision, err error) *referee.Refusal {
	tb.t.Helper()
	if err != nil {
		tb.t.Fatal(err)
	}
	if tb.state != nil {
		tb.commitAs(d, nil)
	}
	if len(d.Events) > 0 {
		d.State.Version++
	}
	for i := range d.Events {
		e := d.Events[i]
		for e.Game >= len(tb.logs) {
			tb.logs = append(tb.logs, nil)
		}
		tb.logs[e.Game] = append(tb.logs[e.Game], e)
	}
	tb.state = d.State
	for game := len(tb.settlements) + 1; game <= len(d.State.Past); game++ {
		tb.settle(game)
	}
	return d.Refusal
}

// settle keeps a settlement as a store would; one without an id moves nothing.
func (tb *table) settle(game int) {
	s, err := tb.state.Settlement(game)
	if err != nil {
		tb.t.Fatal(err)
	}
	out := referee.RecordedSettlement{Game: game}
	if len(s.Lines) > 0 {
		out = referee.RecordedSettlement{Game: game, ID: referee.SettlementID(tb.state.ID, game, false), Multiple: s.Multiple,
			LoserCaptures: s.LoserCaptures, Settled: tb.state.Past[game-1].Ended}
	}
	name := func(a series.Account) string {
		if a == series.House {
			return ""
		}
		return tb.state.Players[a]
	}
	for _, l := range s.Lines {
		out.Lines = append(out.Lines, referee.RecordedLine{Payer: name(l.Payer), Payee: name(l.Payee), Amount: l.Amount, Why: string(l.Why)})
	}
	tb.settlements = append(tb.settlements, out)
}

func (tb *table) header(seat rules.Seat, byPly bool) referee.Header {
	game, ply, seq := tb.state.Present()
	h := referee.Header{Caller: referee.Caller{Platform: "p", Principal: 1}, Match: tb.state.ID, Game: game,
		RequestID: tb.request(), Expected: seq, Seat: seat}
	if byPly {
		h.Expected = ply
	}
	return h
}

func (tb *table) do(c referee.Command) *referee.Refusal {
	tb.t.Helper()
	return tb.keep(referee.Decide(tb.state, c, tb.env()))
}

func (tb *table) must(c referee.Command) {
	tb.t.Helper()
	if refusal := tb.do(c); refusal != nil {
		tb.t.Fatalf("refused: %v", refusal)
	}
}

// balances are those of so many players, enough for any stake here.
func balances(players int) []int64 { return []int64{900, 900, 900, 900}[:players] }

// begin starts the next game.
func (tb *table) begin() {
	tb.t.Helper()
	seats := len(tb.state.Players)
	tb.must(&referee.StartGame{Header: tb.header(rules.NoSeat, false), Balances: balances(seats),
		HoldIDs: []string{"h1", "h2", "h3", "h4"}[:seats], PlayerSeeds: [][]byte{[]byte("ann's"), []byte("ben's"), {}, []byte("dee's")}[:seats]})
}

// start starts the next game and lets all seats place where they do.
func (tb *table) start() {
	tb.t.Helper()
	tb.begin()
	seats := len(tb.state.Players)
	for seat := 0; tb.state.Game.Status == referee.GamePlacing; seat = (seat + 1) % seats {
		tb.now += second
		if seat == 0 && tb.dice.IntN(2) == 0 { // a first thought that a second replaces
			tb.place(seat)
		}
		tb.place(seat)
	}
}

// place submits one of a few legal placements for a seat.
func (tb *table) place(seat int) {
	tb.t.Helper()
	texts := []string{"98776/6.5.5/44.33/3.2.2/2MM11/MF1BB", "89767/5.6.5/34.43/2.3.1/M2MB1/1MBF2",
		"77689/5.5.6/33.44/2.2.3/11MM2/BB1FM", "96857/4.7.6/53.32/B.1.3/2MMM4/BF121"}
	tb.must(&referee.SubmitPlacement{Header: tb.header(rules.Seat(seat), false), Placement: texts[tb.dice.IntN(len(texts))]})
}

func (tb *table) turn() rules.Seat { return tb.state.Game.Position.Turn() }

// choose picks an action, a capture where there is one, so that games end.
func (tb *table) choose() rules.Action {
	actions, err := referee.New(nil, referee.Presets{}, tb.keys, nil).LegalActions(tb.state)
	if err != nil {
		tb.t.Fatal(err)
	}
	for _, a := range actions {
		if _, target := tb.state.WouldBe(a); target != rules.NoPiece && tb.dice.IntN(4) > 0 {
			return a
		}
	}
	return actions[tb.dice.IntN(len(actions))]
}

func (tb *table) play() {
	tb.t.Helper()
	tb.must(&referee.PlayAction{Header: tb.header(tb.turn(), true), Action: tb.choose(), ClientHash: []byte{1, 2}})
}

func (tb *table) playing() bool { return tb.state.Game.Status == referee.GamePlaying }

// playOut plays the running game to its end, a second a ply.
func (tb *table) playOut() {
	tb.t.Helper()
	for tb.playing() {
		tb.now += second
		tb.play()
	}
}

// wait lets time alone act until the running turn has expired.
func (tb *table) wait() {
	tb.t.Helper()
	if deadline, running := tb.state.Deadline(); running {
		tb.now = deadline + clock.Grace
	}
	_ = tb.keep(referee.Settle(tb.state, tb.env()))
}

// record is what was played, as a store would have it.
func (tb *table) record() *referee.Record {
	r := &referee.Record{Ruleset: tb.state.Rules.Content, Logs: tb.logs, Outages: tb.outages,
		Principals: map[int32]string{1: "arcade", 2: "operator"}}
	r.Match.ID = tb.state.ID
	for _, s := range tb.settlements {
		if s.ID != (referee.ID{}) {
			r.Settlements = append(r.Settlements, s)
		}
	}
	return r
}

func (tb *table) match() *Match { return MatchOf(tb.record()) }

// sound fails unless the match as played is found sound.
func (tb *table) sound() *Report {
	tb.t.Helper()
	r := Check(tb.match(), nil)
	for _, f := range r.Findings {
		tb.t.Errorf("a sound match: %s", f)
	}
	return r
}

// whole plays a whole match of three decided games under 7 CLUB's rules.
func whole(t testing.TB, seed uint64) *table {
	t.Helper()
	tb := newTable(t, preset(t, "7club-standard"), seed)
	for !tb.state.Status.Over() {
		tb.start()
		tb.playOut()
	}
	return tb
}
