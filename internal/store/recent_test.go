package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"referee.example/internal/clock"
	"referee.example/internal/deal"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/series"
)

// chair is a referee on a store of the desk's database.
type chair struct {
	*referee.Referee
	store *Store
}

// sit returns a referee that lays out every game alike.
func (d *desk) sit(s *Store, store referee.Store) chair {
	presets, err := referee.LoadPresets()
	d.must(err)
	layout := deck()
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(layout), func(i, j int) { layout[i], layout[j] = layout[j], layout[i] })
	// Asked each time, the database's time is known even on a busy machine.
	now := func() (clock.Time, error) {
		var at time.Time
		err := s.pool.QueryRow(d.t.Context(), sqlNow).Scan(&at)
		return instant(at), err
	}
	r := referee.New(store, presets, d.keys, now).WithDealer(func(deal.Material, []byte) []byte { return slices.Clone(layout) })
	return chair{r, s}
}

// forgetful is a store whose commands always load.
type forgetful struct{ *Store }

func (forgetful) Recent(context.Context, referee.ID) *referee.State { return nil }

var operator = referee.Caller{Platform: "north", Principal: 7}

// told is what a caller learns of a command, less what chance or time made.
func told(a referee.Answer, err error) string {
	var refusal *referee.Refusal
	if errors.As(err, &refusal) {
		return fmt.Sprintf("refused %s %s %v", refusal.Reason, refusal.Message, refusal.Meta)
	}
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("replayed %t", a.Replayed)
	for _, e := range a.Events {
		text += fmt.Sprintf("; event %d.%d kind %d seat %d %v turned %d took %d", e.Game, e.Seq, e.Kind, e.Seat, e.Action, e.Turned, e.Captured)
	}
	s := a.State
	text += fmt.Sprintf("; match %d, game %d %d", s.Status, s.Game.Number, s.Game.Status)
	if s.Game.Started != 0 {
		text += " " + s.BoardText()
	}
	return text
}

// script invents commands: plies, legal and not, retries, reused ids, stale
// numbers, draws, starts and ends of games.
type script struct {
	dice *rand.Rand
	sent []referee.Command
}

func (s *script) id() (id referee.ID) {
	binary.BigEndian.PutUint64(id[:], s.dice.Uint64())
	binary.BigEndian.PutUint64(id[8:], s.dice.Uint64())
	return id
}

func (s *script) next(state *referee.State) referee.Command {
	if len(s.sent) > 0 && s.dice.IntN(8) == 0 {
		return s.sent[s.dice.IntN(len(s.sent))] // a retry
	}
	game, ply, seq := state.Present()
	h := referee.Header{Caller: operator, Game: game, RequestID: s.id(), Expected: seq}
	if len(s.sent) > 0 && s.dice.IntN(12) == 0 {
		h.RequestID = requestOf(s.sent[s.dice.IntN(len(s.sent))])
	}
	if s.dice.IntN(12) == 0 {
		h.Expected = max(1, h.Expected-s.dice.IntN(4))
	}
	c := s.command(state, h, ply)
	s.sent = append(s.sent, c)
	return c
}

func (s *script) command(state *referee.State, h referee.Header, ply int) referee.Command {
	actions := state.LegalActions()
	if len(actions) == 0 {
		h.Seat = rules.NoSeat
		return &referee.StartGame{Header: h, Balances: []int64{900, 900}, PlayerSeeds: [][]byte{nil, nil}}
	}
	h.Seat = state.Game.Position.Turn()
	switch s.dice.IntN(30) {
	case 0:
		return &referee.OfferDraw{Header: h}
	case 1:
		return &referee.AnswerDraw{Header: h, Accept: s.dice.IntN(4) == 0}
	case 2:
		h.Seat = rules.NoSeat
		return &referee.ReportDisconnect{Header: h, Gone: rules.SeatsOf(1)}
	case 3:
		h.Seat = 1 - h.Seat
	}
	h.Expected += ply - state.Game.NextSeq()
	action := actions[s.dice.IntN(len(actions))]
	if s.dice.IntN(10) == 0 {
		action = rules.Action{Kind: rules.ActionMove, From: rules.Square(s.dice.IntN(32)), To: rules.Square(s.dice.IntN(32))}
	}
	return &referee.PlayAction{Header: h, Action: action}
}

// headerOf is where a command says what it is for.
func headerOf(c referee.Command) *referee.Header {
	switch c := c.(type) {
	case *referee.StartGame:
		return &c.Header
	case *referee.OfferDraw:
		return &c.Header
	case *referee.AnswerDraw:
		return &c.Header
	case *referee.ReportDisconnect:
		return &c.Header
	case *referee.PlayAction:
		return &c.Header
	}
	panic(fmt.Sprintf("the script sends no %T", c))
}

func requestOf(c referee.Command) referee.ID { return headerOf(c).RequestID }

// to is the command for a match.
func to(c referee.Command, match referee.ID) referee.Command {
	headerOf(c).Match = match
	return c
}

// Whatever is sent, in whatever state the memory is, the answers are those of a
// referee that remembers nothing.
func TestMemoryChangesNoOutcome(t *testing.T) {
	d := newDesk(t)
	other := d.open(4)
	with, without := d.sit(d.Store, d.Store), d.sit(d.Store, forgetful{d.Store})
	elsewhere := d.sit(other, other)
	presets, err := referee.LoadPresets()
	d.must(err)
	d.rule = presets.Get("icga") // which lets the caller say who begins
	kinds := map[string]int{}
	for seed := range uint64(6) {
		s := &script{dice: rand.New(rand.NewPCG(seed, 7))}
		request := func() referee.CreateMatch {
			c := d.request()
			c.FirstSeat, c.Stake, c.Charges = 0, 0, series.Charges{}
			return c
		}
		a, b := d.create(request(), d.now()), d.create(request(), d.now())
		for step := range 60 {
			state := d.load(a)
			if state.Status.Over() {
				break
			}
			command := s.next(state)
			d.alive() // no outage but those meant below
			player := with
			if s.dice.IntN(3) == 0 {
				player = elsewhere // what the first replica remembers is stale then
			}
			switch s.dice.IntN(25) {
			case 0:
				d.known = known{}
			case 1:
				// Nobody was alive: the turn's clock has to be paused for it.
				d.beatAt(d.now() - 4*second)
			}
			got := told(player.Do(t.Context(), to(command, a)))
			want := told(without.Do(t.Context(), to(command, b)))
			if got != want {
				t.Fatalf("seed %d, step %d, %T %+v:\n%s\nwithout memory\n%s", seed, step, command, command, got, want)
			}
			kinds[fmt.Sprintf("%.16s", got)]++
		}
		d.logged(a)
	}
	t.Logf("answers by their beginning: %v", kinds)
	if kinds["replayed false; "] < 100 || len(kinds) < 5 {
		t.Errorf("the script tries too little: %v", kinds)
	}
}

// A retry whose first answer was lost on its way from the database is answered
// as the first time.
func TestALostCommitIsFoundAgain(t *testing.T) {
	d := newDesk(t)
	id := d.started(d.now())
	r := d.sit(d.Store, &lossy{Store: d.Store})
	s := d.load(id)
	ply := d.ply(s)
	answer, err := r.Do(t.Context(), ply)
	if err != nil || !answer.Replayed || len(answer.Events) != 1 || answer.Events[0].RequestID != ply.RequestID {
		t.Errorf("answered %+v, %v", answer.Events, err)
	}
	if v := d.load(id).Version; v != s.Version+1 {
		t.Errorf("version %d after %d", v, s.Version)
	}
}

// lossy is a store that loses the answer to its first commit and, as a group
// does, judges the change again.
type lossy struct {
	*Store
	lost bool
}

func (l *lossy) Commit(ctx context.Context, c referee.Change) error {
	err := l.Store.Commit(ctx, c)
	if err == nil && !l.lost {
		l.lost = true
		return l.Store.Commit(ctx, c)
	}
	return err
}

// Two replicas take turns at one match, each beginning with what it saw last.
func TestTwoReplicasAlternate(t *testing.T) {
	d := newDesk(t)
	other := d.open(4)
	chairs := []chair{d.sit(d.Store, d.Store), d.sit(other, other)}
	id := d.started(d.now())
	s := d.load(id)
	for n := 0; s.Game.Status == referee.GamePlaying && n < 150; n++ {
		r := chairs[n%2]
		if n%7 == 0 {
			r = chairs[0]
		}
		ply := d.ply(s)
		actions := s.LegalActions()
		ply.Action = actions[n%len(actions)]
		answer, err := r.Do(t.Context(), ply)
		d.must(err)
		if answer.Replayed || answer.Events[0].Ply != s.Game.NextPly() {
			t.Fatalf("ply %d was answered by %+v", s.Game.NextPly(), answer.Events)
		}
		// Reads see it at once, at either replica.
		for i, reader := range chairs {
			read, err := reader.Match(t.Context(), operator, id)
			d.must(err)
			if string(read.Snapshot()) != string(answer.State.Snapshot()) {
				t.Fatalf("replica %d reads another match than was answered", i)
			}
		}
		s = answer.State
	}
	d.logged(id)
	if _, _, err := chairs[0].GameAtPly(t.Context(), d.load(id), 1, s.Game.Position.Ply()); err != nil {
		t.Errorf("the log does not replay: %v", err)
	}
}

// Both race for each ply: one wins, and the loser hears that it is stale.
func TestTwoReplicasRaceWithWhatTheyRemember(t *testing.T) {
	d := newDesk(t)
	other := d.open(4)
	chairs := []chair{d.sit(d.Store, d.Store), d.sit(other, other)}
	id := d.started(d.now())
	for s := d.load(id); s.Game.Status == referee.GamePlaying && s.Game.NextPly() < 40; s = d.load(id) {
		plies := [2]*referee.PlayAction{d.ply(s), d.ply(s)}
		var errs [2]error
		var both sync.WaitGroup
		for i, r := range chairs {
			both.Go(func() { _, errs[i] = r.Do(t.Context(), plies[i]) })
		}
		both.Wait()
		var refusal *referee.Refusal
		if (errs[0] == nil) == (errs[1] == nil) || !errors.As(errors.Join(errs[0], errs[1]), &refusal) || refusal.Reason != referee.ReasonStale {
			t.Fatalf("ply %d: %v and %v", s.Game.NextPly(), errs[0], errs[1])
		}
	}
	d.logged(id)
}

// Moves in a row read nothing from the database.
func TestMovesInARowReadNothing(t *testing.T) {
	d := newDesk(t)
	counted := &counting{Store: d.Store}
	r := d.sit(d.Store, counted)
	s := d.load(d.started(d.now()))
	for range 10 {
		answer, err := r.Do(t.Context(), d.ply(s))
		d.must(err)
		s = answer.State
	}
	if counted.loads > 0 {
		t.Errorf("%d loads for 10 moves", counted.loads)
	}
}

type counting struct {
	*Store
	loads int
}

func (c *counting) Load(ctx context.Context, id referee.ID) (referee.Loaded, error) {
	c.loads++
	return c.Store.Load(ctx, id)
}

func TestRecentIsBoundedAndKeepsTheNewest(t *testing.T) {
	var r recent
	id := func(n int) (id referee.ID) {
		binary.BigEndian.PutUint64(id[:], uint64(n))
		return id
	}
	used := id(-1)
	r.put(&referee.State{ID: used, Version: 5, Stake: 5})
	r.put(&referee.State{ID: used, Version: 4, Stake: 4})
	if s := r.get(used); s.Version != 5 || s.Stake != 5 {
		t.Errorf("an older row took the place of a newer one: version %d", s.Version)
	}
	for n := range 5 * recentLimit {
		r.put(&referee.State{ID: id(n), Version: 1})
		if s := r.get(used); s == nil || s.Version != 5 {
			t.Fatalf("what is used was forgotten after %d others", n)
		}
		if held := len(r.younger) + len(r.older); held > 2*recentLimit {
			t.Fatalf("%d rows are held", held)
		}
	}
	if r.get(id(0)) != nil {
		t.Error("what nobody used for long is still there")
	}
}
