package server

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

type watching = grpc.ServerStreamingClient[refereev1.WatchMatchResponse]

func (r *room) watch(match, token string) watching {
	r.t.Helper()
	stream, err := r.match.WatchMatch(r.as("east"), &refereev1.WatchMatchRequest{MatchId: match, ResumeToken: token})
	must(r.t, err)
	return stream
}

// event returns the next event of a stream, whatever else comes before it.
func event(t testing.TB, stream watching) *refereev1.WatchMatchResponse {
	t.Helper()
	for {
		message, err := stream.Recv()
		must(t, err)
		if message.GetEvent() != nil || message.GetEnd() != nil {
			return message
		}
	}
}

// TestWatchSeesEveryEventOnce plays a match under the eyes of watchers that come
// at different times, one of which leaves after each message and resumes.
func TestWatchSeesEveryEventOnce(t *testing.T) {
	r := newRoom(t, options{deal: tidy})
	table := r.create()
	early := r.watch(table.id, "")
	type place struct{ game, seq uint32 }
	done := make(chan []place)
	go func() {
		var seen []place
		token := ""
		for {
			message := event(t, r.watch(table.id, token))
			if message.GetEnd() != nil {
				done <- seen
				return
			}
			token = message.GetResumeToken()
			seen = append(seen, place{message.GetEvent().GetGame(), message.GetEvent().GetSeq()})
		}
	}()
	var want []place
	log := func(c *refereev1.Change) {
		for _, e := range c.GetEvents() {
			want = append(want, place{e.GetGame(), e.GetSeq()})
		}
	}
	log(table.last)
	for range 3 {
		log(table.start())
		for _, square := range []string{"a1", "b1", "c1", "d1"} {
			log(table.play(flip(square)))
		}
		log(table.resign(1))
	}
	check := func(name string, got []place) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%s saw %v, want %v", name, got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%s saw %v, want %v", name, got, want)
			}
		}
	}
	check("the one who resumes", <-done)
	for name, stream := range map[string]watching{"the early one": early, "the late one": r.watch(table.id, "")} {
		var got []place
		for {
			message := event(t, stream)
			if end := message.GetEnd(); end != nil {
				if end.GetReason() != refereev1.WatchEndReason_WATCH_END_REASON_MATCH_ENDED {
					t.Errorf("%s: ended by %v", name, end.GetReason())
				}
				break
			}
			got = append(got, place{message.GetEvent().GetGame(), message.GetEvent().GetSeq()})
		}
		check(name, got)
		if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: after the end: %v", name, err)
		}
	}
}

// TestWatchLearnsOfOtherReplicas commits behind the server's back: the change
// is found by asking the database.
func TestWatchLearnsOfOtherReplicas(t *testing.T) {
	r := newRoom(t, options{})
	table := r.create()
	stream := r.watch(table.id, "")
	event(t, stream)
	id, _ := parseID(table.id)
	principal, err := r.store.Principal(t.Context(), "another replica")
	must(t, err)
	request, _ := parseID(r.id())
	_, err = r.referee.Do(t.Context(), &referee.StartGame{
		Header: referee.Header{Caller: referee.Caller{Platform: "east", Principal: principal}, Match: id, Game: 1,
			RequestID: request, Expected: 2, Seat: -1},
		Balances: []int64{900, 900},
	})
	must(t, err)
	if got := event(t, stream).GetEvent(); got.GetKind() != refereev1.EventKind_EVENT_KIND_GAME_STARTED {
		t.Errorf("saw %v", got)
	}
}

func TestWatchRefusesForeignTokens(t *testing.T) {
	r := newRoom(t, options{})
	table, other := r.create(), r.create()
	token := event(t, r.watch(other.id, "")).GetResumeToken()
	id, _ := parseID(table.id)
	for name, bad := range map[string]string{
		"another match's": token, "nonsense": "nonsense", "not base64": "***",
		"seq to come": cursor{game: 1, seq: 2}.token(id), "game to come": cursor{game: 2}.token(id),
		"no game": cursor{}.token(id), "compensation to come": cursor{game: 1, compensation: 1}.token(id),
	} {
		_, err := r.watch(table.id, bad).Recv()
		t.Run(name, func(t *testing.T) {
			wanted{codes.InvalidArgument, "INVALID_PAGE_TOKEN", ""}.check(t, err)
		})
	}
}

func TestWatchHeartbeatsAndAge(t *testing.T) {
	l := quickLimits()
	l.heartbeat, l.streamAge = 10*time.Millisecond, time.Second
	r := newRoom(t, options{limits: l})
	table := r.create()
	stream := r.watch(table.id, "")
	first := event(t, stream)
	beats := 0
	for {
		message, err := stream.Recv()
		must(t, err)
		if message.GetHeartbeat() != nil {
			beats++
			if message.GetResumeToken() != first.GetResumeToken() || message.GetServerTime() == nil {
				t.Errorf("heartbeat %v", message)
			}
		}
		if end := message.GetEnd(); end != nil {
			if end.GetReason() != refereev1.WatchEndReason_WATCH_END_REASON_AGE || beats == 0 {
				t.Errorf("ended by %v after %d heartbeats", end.GetReason(), beats)
			}
			return
		}
	}
}

func TestWatchWarnsOnceATurn(t *testing.T) {
	l := quickLimits()
	l.heartbeat = 50 * time.Millisecond
	r := newRoom(t, options{limits: l})
	rules := r.rulesForTests()
	rules.Clock = &refereev1.ClockRules{TurnMs: 30_000, WarningMs: 29_999, OnExpiry: "lose"}
	table := r.started(func(c *refereev1.CreateMatchRequest) { c.Rules = &refereev1.CreateMatchRequest_Ruleset{Ruleset: rules} })
	stream := r.watch(table.id, "")
	next := func(heartbeats int) *refereev1.ClockWarning { // nil after so many heartbeats
		for beats := 0; beats < heartbeats; {
			message, err := stream.Recv()
			must(t, err)
			if warning := message.GetClockWarning(); warning != nil {
				return warning
			}
			if message.GetHeartbeat() != nil {
				beats++
			}
		}
		return nil
	}
	warning := next(1000)
	if warning.GetSeat() != 0 || warning.GetGame() != 1 ||
		!warning.GetDeadlineTime().AsTime().Equal(table.game.GetClock().GetDeadlineTime().AsTime()) {
		t.Errorf("warned of %v, the clock is %v", warning, table.game.GetClock())
	}
	if again := next(3); again != nil {
		t.Errorf("warned again: %v", again)
	}
	table.play(flip("a1"))
	if warning := next(1000); warning.GetSeat() != 1 {
		t.Errorf("then warned of %v", warning)
	}
}

func TestWatchesAreLimited(t *testing.T) {
	l := quickLimits()
	l.watches = 1
	r := newRoom(t, options{limits: l})
	table := r.create()
	first := r.watch(table.id, "")
	event(t, first)
	_, err := r.watch(table.id, "").Recv()
	wanted{codes.ResourceExhausted, "OVERLOADED", ""}.check(t, err)
}

// TestWatchesShareWhatTheyRead: what one watch has read the next is sent without a read
// of its own, before and after a change; what has been lost since is not sent.
func TestWatchesShareWhatTheyRead(t *testing.T) {
	r := newRoom(t, options{})
	table := r.started()
	first := r.watch(table.id, "")
	event(t, first)
	event(t, first)
	for range cap(r.server.admission.turns[watches]) { // no watch may read
		r.server.admission.turns[watches] <- struct{}{}
	}
	second := r.watch(table.id, "")
	event(t, second)
	token := event(t, second).GetResumeToken()
	for range cap(r.server.admission.turns[watches]) {
		<-r.server.admission.turns[watches]
	}
	table.play(flip("a1"))
	third := event(t, r.watch(table.id, token))
	if got := event(t, first); third.GetEvent().GetSeq() != 3 || !proto.Equal(got.GetEvent(), third.GetEvent()) {
		t.Errorf("one was sent %v, the other %v", got, third)
	}

	var pages readPages
	page := []*refereev1.Event{{Seq: 1}}
	key := pageKey{match: referee.ID{1}, after: referee.EventPlace{Game: 1}, head: [32]byte{1}}
	pages.put(key, page)
	other := key
	other.head = [32]byte{2}
	if pages.get(key) == nil || pages.get(other) != nil {
		t.Error("a page is of one log")
	}
	for range maxPageEvents {
		key.after.Seq++
		pages.put(key, page)
	}
	if len(pages.pages) > maxPageEvents || pages.events > maxPageEvents || pages.get(key) == nil {
		t.Errorf("%d pages of %d events are remembered", len(pages.pages), pages.events)
	}
}

// TestWatchesOfAPlatformReadInTurn: one platform's watches leave half of the turns to
// another's.
func TestWatchesOfAPlatformReadInTurn(t *testing.T) {
	a := newAdmission(standardLimits, 16, 0)
	read := func(name string) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // it does not wait
		return a.read(ctx, watches, name, func(context.Context) error { return nil })
	}
	held := make(chan struct{})
	var holding, begun sync.WaitGroup
	for range 2 {
		begun.Add(1)
		holding.Go(func() {
			_ = a.read(t.Context(), watches, "east", func(context.Context) error {
				begun.Done()
				<-held
				return nil
			})
		})
	}
	begun.Wait()
	if err := read("east"); !errors.Is(err, context.Canceled) {
		t.Errorf("a third read of a platform: %v", err)
	}
	answered := false
	if err := a.read(t.Context(), watches, "west", func(context.Context) error { answered = true; return nil }); err != nil || !answered {
		t.Errorf("another platform's read: %v", err)
	}
	if err := a.read(t.Context(), feeds, "east", func(context.Context) error { return nil }); err != nil {
		t.Errorf("a feed's read: %v", err)
	}
	close(held)
	holding.Wait()
}
