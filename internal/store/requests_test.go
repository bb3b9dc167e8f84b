package store

import (
	"context"
	"math"
	"testing"

	"referee.example/internal/referee"
)

// A replica knows what it commits to a game's log, from the game's beginning or from
// where it has looked into the log, and reads what others do.
func TestRequestsOfALogAreReadOnce(t *testing.T) {
	d := newDesk(t)
	other := d.open(2)
	id := d.create(d.request(), d.now())
	unasked, end := context.WithCancel(t.Context())
	end() // with which the database can't be asked
	var sent []referee.ID
	play := func(s *Store) (through int) {
		t.Helper()
		state := d.load(id)
		c := d.change(state, d.ply(state), d.now())
		d.must(s.Commit(t.Context(), c))
		e := c.Events[len(c.Events)-1]
		sent = append(sent, e.RequestID)
		return e.Seq
	}
	knows := func(ctx context.Context, through int) {
		t.Helper()
		if has, err := d.HasRequest(ctx, id, 1, through, d.id(0)); err != nil || has {
			t.Errorf("a new request: %t, %v", has, err)
		}
		ctx = t.Context() // what is there is looked for in the database
		for i, request := range append(sent[:len(sent):len(sent)], d.id(0)) {
			has, err := d.HasRequest(ctx, id, 1, through, request)
			if want := i < len(sent); err != nil || has != want {
				t.Errorf("request %d of %d: %t, %v", i, len(sent), has, err)
			}
		}
	}
	for _, e := range d.start(id, d.now()) {
		sent = append(sent, e.RequestID)
	}
	through := play(d.Store)
	knows(unasked, through)
	if _, err := other.HasRequest(unasked, id, 1, through, d.id(0)); err == nil {
		t.Error("another replica knows a log that it never read")
	}
	d.known = known{} // as when it is started again
	if _, err := d.HasRequest(unasked, id, 1, through, d.id(0)); err == nil {
		t.Error("a log that was never read is known")
	}
	knows(t.Context(), through)
	for range 3 {
		through = play(d.Store)
	}
	knows(unasked, through)
	theirs := play(other)
	if _, err := d.HasRequest(unasked, id, 1, theirs, d.id(0)); err == nil {
		t.Error("what another replica has logged is known without a question")
	}
	ours := play(d.Store) // after a gap, which has to be read
	knows(t.Context(), ours)
	knows(unasked, ours)
	lost := d.id(0) // by a standby that was promoted
	d.known.requests.committed(id, []referee.Event{{Game: 1, Seq: ours + 1, RequestID: lost}})
	if has, err := d.HasRequest(t.Context(), id, 1, ours, lost); err != nil || has {
		t.Errorf("a request that was lost: %t, %v", has, err)
	}
	if has, err := d.HasRequest(t.Context(), id, 2, math.MaxInt32, sent[0]); err != nil || has {
		t.Errorf("game 2 has a request of game 1: %t, %v", has, err)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	var r requests
	many := make([]requestEvent, requestsLimit/4)
	for i := range many {
		many[i] = requestEvent{seq: i + 1, request: referee.ID{1}}
	}
	for n := range 20 {
		r.learn(referee.ID{2, byte(n)}, 1, 0, many)
		r.learn(referee.ID{2, byte(n)}, 1, 0, many) // twice is once
	}
	held := 0
	for _, generation := range []map[referee.ID]*requestLog{r.younger, r.older} {
		for _, l := range generation {
			held += len(l.ids)
		}
	}
	if held > 3*requestsLimit || held < requestsLimit {
		t.Errorf("%d request ids are held", held)
	}
	if _, through := r.look(referee.ID{2, 19}, 1, referee.ID{}); through != len(many) {
		t.Errorf("the last log is known to %d", through)
	}
	if _, through := r.look(referee.ID{2, 0}, 1, referee.ID{}); through != 0 {
		t.Errorf("the first log is known to %d", through)
	}
	r.learn(referee.ID{2, 19}, 2, 0, many[:2])
	r.learn(referee.ID{2, 19}, 1, 0, many) // of a game that is over
	if _, through := r.look(referee.ID{2, 19}, 2, referee.ID{}); through != 2 {
		t.Errorf("the later game is known to %d", through)
	}
	r.learn(referee.ID{2, 19}, 2, 3, many[3:]) // after a gap
	if _, through := r.look(referee.ID{2, 19}, 2, referee.ID{}); through != 2 {
		t.Errorf("after a gap the game is known to %d", through)
	}
}
