package proof

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	refereev1 "referee.example/proto/referee/v1"
)

// together runs n goroutines, waits for them and reports what they return.
func together(t testing.TB, n int, run func(int) error) {
	t.Helper()
	errs := make([]error, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { errs[i] = run(i) })
	}
	running.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("%d of %d: %v", i, n, err)
		}
	}
}

// outcome is what became of one call of a race.
type outcome struct {
	change *refereev1.Change
	err    error
}

// race makes calls at the same instant, the first at the first replica, the
// second at the second, and so on around.
func race(ctx context.Context, at []*replica, requests ...proto.Message) []outcome {
	outcomes := make([]outcome, len(requests))
	start := make(chan struct{})
	var racing sync.WaitGroup
	for i, request := range requests {
		racing.Go(func() {
			<-start
			outcomes[i].change, outcomes[i].err = call(ctx, at[i%len(at)], request)
		})
	}
	close(start)
	racing.Wait()
	return outcomes
}

// winnerOf returns the answer of the one call that was accepted. The others
// must have been refused as stale and told the numbers that the winner left.
func winnerOf(outcomes []outcome) (*refereev1.Change, error) {
	var won *refereev1.Change
	for _, o := range outcomes {
		switch {
		case o.err == nil && won != nil:
			return nil, fmt.Errorf("two calls for one number were accepted: %v and %v", won.GetEvents(), o.change.GetEvents())
		case o.err == nil:
			won = o.change
		case status.Code(o.err) != codes.Aborted || reasonOf(o.err) != "STALE":
			return nil, fmt.Errorf("refused with %w", o.err)
		}
	}
	if won == nil {
		return nil, fmt.Errorf("none was accepted: %v", outcomes)
	}
	if won.GetReplayed() {
		return nil, fmt.Errorf("the first answer is marked as given before")
	}
	for _, o := range outcomes {
		if o.err != nil && !tellsPresent(o.err, won.GetGame()) {
			return nil, fmt.Errorf("after %v a stale call was told %v", won.GetEvents(), infoOf(o.err).GetMetadata())
		}
	}
	return won, nil
}

// tellsPresent reports whether a stale call was told the game's next numbers.
func tellsPresent(err error, game *refereev1.Game) bool {
	number, ply, seq := game.GetGame(), game.GetNextPly(), game.GetNextSeq()
	if game.GetStatus() == refereev1.GameStatus_GAME_STATUS_ENDED {
		number, ply, seq = number+1, 1, 1
	}
	told := infoOf(err).GetMetadata()
	is := func(key string, value uint32) bool { return told[key] == strconv.Itoa(int(value)) }
	return is("game", number) && is("next_ply", ply) && is("next_seq", seq)
}

// next makes two requests for the next number of a match: two plies, or two
// starts, with request ids of their own.
func next(ctx context.Context, r *replica, game *refereev1.Game, dice *rand.Rand) ([]proto.Message, error) {
	if game.GetStatus() != refereev1.GameStatus_GAME_STATUS_PLAYING {
		number, seq := game.GetGame(), game.GetNextSeq()
		if game.GetStatus() == refereev1.GameStatus_GAME_STATUS_ENDED {
			number, seq = number+1, 1
		}
		return []proto.Message{starting(game.GetMatchId(), number, seq), starting(game.GetMatchId(), number, seq)}, nil
	}
	got, err := r.match.ListLegalActions(ctx, &refereev1.ListLegalActionsRequest{MatchId: game.GetMatchId()})
	if err != nil {
		return nil, err
	}
	one, other := dice.IntN(len(got.GetActions())), dice.IntN(len(got.GetActions()))
	return []proto.Message{playing(game, got.GetActions()[one].GetAction()), playing(game, got.GetActions()[other].GetAction())}, nil
}

// endless is a ruleset for matches that outlast a test.
func endless(r *refereev1.Ruleset) {
	untimed(r)
	r.Series.ValidGames = 99
	r.DrawOffers = &refereev1.DrawOfferRules{Unlimited: true}
}

// TestOneNumberAtTwoReplicas sends two plies of the same number to two replicas
// a thousand times, and two starts of each game.
func TestOneNumberAtTwoReplicas(t *testing.T) {
	const rounds, matches = 1000, 4
	h := newHouse(t)
	at := []*replica{h.start(), h.start()}
	rules := h.ruleset(at[0], "7club-standard", endless)
	together(t, matches, func(i int) error {
		ctx, dice := h.as("east"), rand.New(rand.NewPCG(1, uint64(i)))
		created, err := at[0].match.CreateMatch(ctx, creation(rules))
		change := created.GetChange()
		for round := 0; round < rounds/matches && err == nil; round++ {
			var requests []proto.Message
			if requests, err = next(ctx, at[0], change.GetGame(), dice); err == nil {
				change, err = winnerOf(race(ctx, at, requests...))
			}
		}
		return err
	})
	h.consistent()
	var accepted int
	must(t, h.pool.QueryRow(h.ctx, `SELECT count(*) FROM events WHERE kind IN (2, 3)`).Scan(&accepted))
	if accepted != rounds {
		t.Errorf("%d numbers were given out in %d rounds", accepted, rounds)
	}
}

// sameTen sends one request ten times at once to the replicas: ten equal
// answers, one of which is the first.
func sameTen(ctx context.Context, t testing.TB, at []*replica, request proto.Message) (*refereev1.Change, error) {
	const times = 10
	requests := make([]proto.Message, times)
	for i := range requests {
		requests[i] = request
	}
	outcomes := race(ctx, at, requests...)
	first := 0
	for _, o := range outcomes {
		if o.err != nil {
			return nil, fmt.Errorf("%T: %w", request, o.err)
		}
		if !o.change.GetReplayed() {
			first++
		}
		if firstAnswer(t, o.change) != firstAnswer(t, outcomes[0].change) {
			return nil, fmt.Errorf("%T was answered with %v and %v", request, outcomes[0].change, o.change)
		}
	}
	if first != 1 {
		return nil, fmt.Errorf("%T: %d answers of %d say they are the first", request, first, times)
	}
	return outcomes[0].change, nil
}

// TestOneRequestTenTimesAtOnce does so with each kind of change in turn.
func TestOneRequestTenTimesAtOnce(t *testing.T) {
	const rounds = 4
	h := newHouse(t)
	at := []*replica{h.start(), h.start()}
	rules := h.ruleset(at[0], "7club-standard", endless)
	together(t, 2, func(i int) error {
		ctx, dice := h.as("east"), rand.New(rand.NewPCG(2, uint64(i)))
		change, err := sameTen(ctx, t, at, creation(rules))
		for round := 0; round < rounds && err == nil; round++ {
			steps := []func(*refereev1.Game) proto.Message{
				func(g *refereev1.Game) proto.Message { return offering(g, 0) },
				func(g *refereev1.Game) proto.Message { return answering(g, 1, false) },
				func(g *refereev1.Game) proto.Message { return offering(g, 1) },
				func(g *refereev1.Game) proto.Message {
					if round%2 == 0 {
						return answering(g, 0, true)
					}
					return resigning(g, uint32(dice.IntN(2)))
				},
			}
			for range 4 { // the start and three plies
				var requests []proto.Message
				if requests, err = next(ctx, at[0], change.GetGame(), dice); err != nil {
					return err
				}
				if change, err = sameTen(ctx, t, at, requests[0]); err != nil {
					return err
				}
			}
			for _, step := range steps {
				if change, err = sameTen(ctx, t, at, step(change.GetGame())); err != nil {
					return err
				}
			}
		}
		return err
	})
	h.consistent()
	var events int
	must(t, h.pool.QueryRow(h.ctx, `SELECT count(*) FROM events WHERE request_id IS NOT NULL`).Scan(&events))
	if want := 2 * (1 + rounds*8); events != want {
		t.Errorf("%d requests stand in the logs, want %d", events, want)
	}
}

// TestOneMatchAtTwoReplicas creates: one request at both makes one match, two
// requests with one external_ref make one.
func TestOneMatchAtTwoReplicas(t *testing.T) {
	const rounds = 20
	h := newHouse(t)
	at := []*replica{h.start(), h.start()}
	rules := h.ruleset(at[0], "7club-standard", nil)
	ctx := h.as("east")
	for round := range rounds {
		once := creation(rules)
		once.ExternalRef = fmt.Sprintf("once %d", round)
		_, err := sameTen(ctx, t, at, once)
		must(t, err)
		one, other := creation(rules), creation(rules)
		one.ExternalRef, other.ExternalRef = fmt.Sprintf("order %d", round), fmt.Sprintf("order %d", round)
		outcomes := race(ctx, at, one, other)
		lost, won := outcomes[0].err, outcomes[1].change
		if lost == nil {
			lost, won = outcomes[1].err, outcomes[0].change
		}
		if status.Code(lost) != codes.AlreadyExists || reasonOf(lost) != "EXTERNAL_REF_TAKEN" ||
			infoOf(lost).GetMetadata()["match_id"] != won.GetMatch().GetMatchId() || won.GetMatch().GetMatchId() == "" {
			t.Fatalf("one reference twice: %v and %v", outcomes[0], outcomes[1])
		}
	}
	h.consistent()
	var matches int
	must(t, h.pool.QueryRow(h.ctx, `SELECT count(*) FROM matches`).Scan(&matches))
	if matches != 2*rounds {
		t.Errorf("%d matches, want %d", matches, 2*rounds)
	}
}

// grace is how long after a deadline its expiry is adjudicated (dark-chess
// rules, section 5).
const grace = 250 * time.Millisecond

// TestOneEnding lets the acceptance of a draw, both resignations and the expiry
// of the clock fall on one instant, at two replicas which both sweep. Half of
// the rounds meet up to the deadline and a little after, half around the end of its grace, where
// the sweeps strike.
func TestOneEnding(t *testing.T) {
	const rounds, matches = 208, 16
	h := newHouse(t)
	at := []*replica{h.start(), h.start()}
	rules := h.ruleset(at[0], "7club-standard", func(r *refereev1.Ruleset) {
		endless(r)
		r.Clock = &refereev1.ClockRules{TurnMs: 500, OnExpiry: "lose"}
	})
	var mutex sync.Mutex
	how := map[refereev1.EndReason]int{}
	together(t, matches, func(i int) error {
		ctx, dice := h.as("east"), rand.New(rand.NewPCG(3, uint64(i)))
		created, err := at[0].match.CreateMatch(ctx, creation(rules))
		game := created.GetChange().GetGame()
		for round := 0; round < rounds/matches && err == nil; round++ {
			if game, err = endAtOnce(ctx, at, game, round%2 == 1, dice); err == nil {
				mutex.Lock()
				how[game.GetResult().GetReason()]++
				mutex.Unlock()
			}
		}
		return err
	})
	t.Logf("endings: %v", how)
	for _, reason := range []refereev1.EndReason{
		refereev1.EndReason_END_REASON_TIME, refereev1.EndReason_END_REASON_AGREEMENT, refereev1.EndReason_END_REASON_RESIGNATION,
	} {
		if how[reason] == 0 {
			t.Errorf("no game ended by %v: the race was none", reason)
		}
	}
	h.consistent()
}

// endAtOnce starts the next game, offers a draw and then lets everything that
// can end it happen at once. It returns the ended game as a reader sees it.
func endAtOnce(ctx context.Context, at []*replica, before *refereev1.Game, late bool, dice *rand.Rand) (*refereev1.Game, error) {
	requests, err := next(ctx, at[0], before, dice)
	if err != nil {
		return nil, err
	}
	started, err := available(ctx, at[0], requests[0])
	if err != nil {
		return nil, err
	}
	offered, err := available(ctx, at[1], offering(started.GetGame(), 0))
	if reasonOf(err) == "EXPIRY_PENDING" || reasonOf(err) == "STALE" {
		offered, err = started, nil // a slow machine: then without an offer
	}
	if err != nil {
		return nil, err
	}
	game := offered.GetGame()
	spread := time.Duration(dice.IntN(240)-220) * time.Millisecond
	if late {
		spread = grace + time.Duration(dice.IntN(60)-30)*time.Millisecond
	}
	instant := game.GetClock().GetDeadlineTime().AsTime().Add(spread)
	if err := awaitInstant(ctx, instant.Sub(offered.GetServerTime().AsTime())); err != nil {
		return nil, err
	}
	ending := []proto.Message{answering(game, 1, true), resigning(game, 0), resigning(game, 1)}
	dice.Shuffle(len(ending), func(i, j int) { ending[i], ending[j] = ending[j], ending[i] })
	outcomes := make([]outcome, len(ending))
	var racing sync.WaitGroup
	for i, request := range ending {
		racing.Go(func() { outcomes[i].change, outcomes[i].err = insist(ctx, at[i%len(at)], request) })
	}
	racing.Wait()
	return checkEnding(ctx, at, game, outcomes)
}

// checkEnding checks that whoever was accepted, or the clock, ended the game.
func checkEnding(ctx context.Context, at []*replica, game *refereev1.Game, outcomes []outcome) (*refereev1.Game, error) {
	var accepted []*refereev1.Change
	for _, o := range outcomes {
		switch {
		case o.err == nil:
			accepted = append(accepted, o.change)
		case reasonOf(o.err) != "STALE" && reasonOf(o.err) != "NO_OFFER":
			return nil, o.err
		}
	}
	read, err := at[0].match.GetGame(ctx, &refereev1.GetGameRequest{MatchId: game.GetMatchId(), Game: game.GetGame()})
	if err != nil {
		return nil, err
	}
	ended := read.GetGame()
	reason := ended.GetResult().GetReason()
	switch {
	case len(accepted) > 1:
		return nil, fmt.Errorf("%d endings were accepted: %v", len(accepted), accepted)
	case len(accepted) == 1 && !proto.Equal(accepted[0].GetGame().GetResult(), ended.GetResult()):
		return nil, fmt.Errorf("%v was accepted, the game ended with %v", accepted[0].GetGame().GetResult(), ended.GetResult())
	case len(accepted) == 0 && reason != refereev1.EndReason_END_REASON_TIME:
		return nil, fmt.Errorf("nothing was accepted and the game ended with %v", ended.GetResult())
	}
	return ended, nil
}

// available makes a call until the replica takes calls: one that does not know the
// time well enough, on a machine that is short of processors, says so.
func available(ctx context.Context, r *replica, request proto.Message) (*refereev1.Change, error) {
	for {
		change, err := call(ctx, r, request)
		if status.Code(err) != codes.Unavailable {
			return change, err
		}
		if err := awaitInstant(ctx, 10*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// insist makes a call until it is judged: it sends a call that came between a
// deadline and its adjudication again when it is told to.
func insist(ctx context.Context, r *replica, request proto.Message) (*refereev1.Change, error) {
	for {
		change, err := available(ctx, r, request)
		if reasonOf(err) != "EXPIRY_PENDING" {
			return change, err
		}
		delay := retryDelay(err)
		if delay <= 0 {
			return nil, errors.Join(errors.New("not told when to try again"), err)
		}
		if err := awaitInstant(ctx, delay); err != nil {
			return nil, err
		}
	}
}

// awaitInstant returns when so much time has passed: the instant itself is what
// is tested, nothing is hoped to have happened by then.
func awaitInstant(ctx context.Context, in time.Duration) error {
	timer := time.NewTimer(in)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// TestRetryAfterACompensation: what other logs of the match have had meanwhile
// is not in the first answer and not in its repetition.
func TestRetryAfterACompensation(t *testing.T) {
	s := newScene(t)
	compensate := func(token string, seq uint32) {
		_, err := s.r.match.CompensateSettlement(s.as(token), &refereev1.CompensateSettlementRequest{
			MatchId: s.game.GetMatchId(), Game: 1, RequestId: newID(), ExpectedSeq: seq, SettlementId: s.settled, Note: "by mistake",
		})
		must(t, err)
	}
	ending := resigning(s.game, 0)
	before := s.must(s.resign) // answered long ago
	compensate("operator", 1)
	first := s.must(ending)
	compensate("second operator", 2)
	if again := s.must(ending); firstAnswer(t, again) != firstAnswer(t, first) {
		t.Errorf("first answered with\n%v\nthen with\n%v", first, again)
	}
	if again := s.must(s.resign); firstAnswer(t, again) != firstAnswer(t, before) {
		t.Errorf("first answered with\n%v\nthen with\n%v", before, again)
	}
	s.consistent()
}
