package server

import (
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"referee.example/internal/clock"
	"referee.example/internal/deal"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/store"
)

// historian plays whole matches by the pure decisions and commits each of their
// games at once, so that a long history is there within seconds and every row of
// it is what moves one by one would have left.
type historian struct {
	t     testing.TB
	store *store.Store
	keys  deal.Keyring
	rules *referee.Rules
	dice  *rand.Rand
	state *referee.State
	log   []referee.Event // since the last commit
	now   clock.Time
}

// fill plays matches between ann and bob on the east until there are so many
// events. It returns how many there are.
func (r *room) fill(events int) int {
	r.t.Helper()
	keys, err := deal.ParseKeyring("test:" + base64.StdEncoding.EncodeToString(make([]byte, deal.KeySize)))
	must(r.t, err)
	presets, err := referee.LoadPresets()
	must(r.t, err)
	now, err := r.store.Now()
	must(r.t, err)
	var done atomic.Int64
	var players sync.WaitGroup
	for n := range uint64(4) {
		h := &historian{t: r.t, store: r.store, keys: keys, rules: presets.Get("7club-standard"),
			dice: rand.New(rand.NewPCG(uint64(now), n)), now: now - 1_000_000_000_000/100 + clock.Time(n)}
		players.Go(func() {
			for done.Load() < int64(events) && h.whole(&done) {
			}
		})
	}
	players.Wait()
	return int(done.Load())
}

// whole plays a match to its end and reports whether all went well.
func (h *historian) whole(events *atomic.Int64) bool {
	var id referee.ID
	binary.BigEndian.PutUint64(id[:], uint64(h.now/1000)<<16|0x7000|h.dice.Uint64()&0xfff)
	binary.BigEndian.PutUint64(id[8:], h.dice.Uint64()&^(3<<62)|2<<62)
	c := &referee.CreateMatch{Caller: referee.Caller{Platform: "east", Principal: 1}, RequestID: h.request(),
		Players: []string{"ann", "bob"}, Rules: h.rules, Stake: 100, Balances: []int64{900, 900}, FirstSeat: rules.NoSeat}
	d, err := referee.Create(c, id, h.env())
	if !h.took(d, err) || !h.commit(c, events) {
		return false
	}
	for !h.state.Status.Over() {
		d, err := referee.Decide(h.state, &referee.StartGame{Header: h.header(rules.NoSeat), Balances: []int64{900, 900}}, h.env())
		if !h.took(d, err) {
			return false
		}
		for h.state.Game.Status == referee.GamePlaying {
			h.now += 1_000_000
			d, err := referee.Decide(h.state, &referee.PlayAction{Header: h.header(h.state.Game.Position.Turn()), Action: h.choose()}, h.env())
			if !h.took(d, err) {
				return false
			}
		}
		if !h.commit(nil, events) {
			return false
		}
	}
	return true
}

// choose prefers captures, so that games end.
func (h *historian) choose() rules.Action {
	actions := h.state.LegalActions()
	for _, a := range actions {
		if _, target := h.state.WouldBe(a); target != rules.NoPiece && h.dice.IntN(4) > 0 {
			return a
		}
	}
	return actions[h.dice.IntN(len(actions))]
}

func (h *historian) took(d referee.Decision, err error) bool {
	if err != nil || d.Refusal != nil {
		h.t.Errorf("a match for the history: %v, %v", err, d.Refusal)
		return false
	}
	h.state, h.log = d.State, append(h.log, d.Events...)
	return true
}

func (h *historian) commit(create *referee.CreateMatch, events *atomic.Int64) bool {
	err := h.store.Commit(h.t.Context(), referee.Change{State: h.state, Events: h.log, Create: create})
	if err != nil {
		h.t.Errorf("a match for the history: %v", err)
		return false
	}
	events.Add(int64(len(h.log)))
	h.log = nil
	return true
}

func (h *historian) request() (id referee.ID) {
	binary.BigEndian.PutUint64(id[:], h.dice.Uint64()|1)
	return id
}

func (h *historian) env() referee.Env {
	env := referee.Env{Arrival: h.now, Now: h.now, Keys: h.keys, Deal: referee.Deal}
	for i := range 4 {
		binary.BigEndian.PutUint64(env.Dice.Seed[8*i:], h.dice.Uint64())
	}
	return env
}

func (h *historian) header(seat rules.Seat) referee.Header {
	game, ply, seq := h.state.Present()
	out := referee.Header{Caller: referee.Caller{Platform: "east", Principal: 1}, Match: h.state.ID, Game: game,
		RequestID: h.request(), Expected: seq, Seat: seat}
	if seat != rules.NoSeat {
		out.Expected = ply
	}
	return out
}
