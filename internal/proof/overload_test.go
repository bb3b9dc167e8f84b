package proof

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	refereev1 "referee.example/proto/referee/v1"
)

var (
	overloadFor    = flag.Duration("overload-for", time.Second, "how long each part of TestOverload takes")
	overloadTimes  = flag.Float64("overload-times", 4, "how many times the capacity is asked for")
	overloadStrict = flag.Bool("overload-strict", false, "whether calls that are answered too late fail the test")
	overloadTables = flag.Int("overload-tables", 400, "games that are played at once")
	overloadCPUs   = flag.String("overload-cpus", "", "processors, as taskset lists them, that the test goes on on when the replica runs: "+
		"callers are other machines, and their work is not to take the replica's processors")
)

// callers is how many make calls one after the other while capacity is measured: fewer
// than a replica of one processor takes of one platform before it sheds queries of the
// history. They do so over so many connections: one alone has a limit of streams, at
// which calls wait in the client.
const callers, overloadConns = 32, 16

// TestOverload asks a replica, a process of its own, for four times what it was
// measured to carry, half of it moves, the rest reads and queries. Calls come when they
// are due, whether or not others were answered. What is accepted is answered within
// its deadline, the rest refused with a delay, and afterwards all is as before.
func TestOverload(t *testing.T) {
	h := newHouse(t)
	h.ctx = withLimit(t, limit+10**overloadFor)
	s := h.processes(1)[0]
	if *overloadCPUs != "" {
		out, err := exec.CommandContext(h.ctx, "taskset", "--all-tasks", "--cpu-list", "--pid", *overloadCPUs, strconv.Itoa(os.Getpid())).CombinedOutput()
		if err != nil {
			t.Fatalf("moving to other processors: %v\n%s", err, out)
		}
	}
	o := &overload{house: h, idle: make(chan *refereev1.Game, *overloadTables), matches: make([]string, *overloadTables)}
	for range overloadConns {
		o.conns = append(o.conns, h.dial(s.h.config.Listen))
	}
	rules := h.ruleset(o.conns[0], "7club-standard", func(r *refereev1.Ruleset) {
		untimed(r)
		r.DrawOffers = &refereev1.DrawOfferRules{Unlimited: true}
	})
	preparing := time.Now()
	together(t, callers, func(i int) error {
		for n := i; n < *overloadTables; n += callers {
			game := h.newGame(o.conns[i%overloadConns], rules)
			o.matches[n] = game.GetMatchId()
			o.idle <- game
		}
		return nil
	})
	t.Logf("%d games started in %v", *overloadTables, time.Since(preparing).Round(time.Millisecond))
	var before, during, after tally
	o.closed(&before)
	capacity := float64(before.accepted()) / overloadFor.Seconds()
	behind := o.open(&during, capacity**overloadTimes)
	begun := time.Now()
	for { // until one in a row of moves and reads waits no longer than a quiet one may
		var probe tally
		o.one(&probe, 0, true)
		o.one(&probe, 2, true)
		if probe.accepted() == 2 && probe.worst() < time.Second {
			break
		}
		must(t, h.ctx.Err())
	}
	recovered := time.Since(begun)
	o.closed(&after)
	asked := during.accepted() + int(during.refused.Load()+during.late.Load()) + len(during.faults)
	t.Logf("capacity %.0f calls/s; asked for %.1f times that (%d calls, the generator %v behind at the end): accepted %.0f/s, refused %.0f %%, too late %d; "+
		"accepted p99 %v (before: %v); recovered after %v to %.0f %%",
		capacity, float64(asked)/overloadFor.Seconds()/capacity, asked, behind.Round(time.Millisecond),
		float64(during.accepted())/overloadFor.Seconds(), 100*float64(during.refused.Load())/float64(max(1, asked)), during.late.Load(),
		p99(during.took), p99(before.took), recovered.Round(time.Millisecond), 100*float64(after.accepted())/float64(before.accepted()))
	if after.refused.Load() > 0 || before.refused.Load() > 0 {
		t.Errorf("without overload %d and %d calls were refused", before.refused.Load(), after.refused.Load())
	}
	for _, part := range []*tally{&before, &during, &after} {
		for _, fault := range part.faults[:min(len(part.faults), 5)] {
			t.Error(fault)
		}
	}
	if during.accepted() == 0 || during.refused.Load() == 0 {
		t.Errorf("under overload %d calls were accepted and %d refused", during.accepted(), during.refused.Load())
	}
	if *overloadStrict && during.late.Load()+after.late.Load() > 0 {
		t.Errorf("%d calls under overload and %d after it were answered too late", during.late.Load(), after.late.Load())
	}
	h.consistent()
}

// overload is what TestOverload calls with.
type overload struct {
	*house
	conns []*replica
	idle  chan *refereev1.Game // games that wait for their next move

	matches []string
}

// tally is what became of calls.
type tally struct {
	mu      sync.Mutex
	took    []time.Duration // of those that were accepted
	faults  []error         // answers that overload does not explain
	refused atomic.Int64
	late    atomic.Int64 // not answered within their deadline
}

func (t *tally) accepted() int { return len(t.took) }

func (t *tally) worst() (most time.Duration) {
	for _, took := range t.took {
		most = max(most, took)
	}
	return most
}

// closed makes calls one after the other, as players do that wait for answers.
func (o *overload) closed(t *tally) {
	end := time.Now().Add(*overloadFor)
	var running sync.WaitGroup
	for i := range callers {
		running.Go(func() {
			for n := i; time.Now().Before(end); n++ {
				o.one(t, n, true)
			}
		})
	}
	running.Wait()
}

// open makes so many calls a second, and returns how late the last one was made.
func (o *overload) open(t *tally, perSecond float64) (behind time.Duration) {
	begun := time.Now()
	var running sync.WaitGroup
	for n := range int(perSecond * overloadFor.Seconds()) {
		due := begun.Add(time.Duration(float64(n) / perSecond * float64(time.Second)))
		if behind = time.Since(due); behind < 0 {
			_ = awaitInstant(o.ctx, -behind)
		}
		running.Go(func() { o.one(t, n, false) })
	}
	running.Wait()
	return behind
}

// one makes the nth call: every second is a move, every fourth each a read and a
// query of the history. Where all games wait for an answer, and the caller does not
// wait, it is a read.
func (o *overload) one(t *tally, n int, wait bool) {
	ctx, cancel := context.WithTimeout(o.as("east"), 5*time.Second)
	defer cancel()
	var game *refereev1.Game
	switch {
	case n%2 == 0 && wait:
		select {
		case game = <-o.idle:
		case <-ctx.Done():
		}
	case n%2 == 0:
		select {
		case game = <-o.idle:
		default:
		}
	}
	r := o.conns[n%len(o.conns)]
	begun := time.Now()
	var err error
	switch {
	case game != nil:
		err = o.move(ctx, r, game)
	case n%4 == 1:
		_, err = r.audit.ListMatches(ctx, &refereev1.ListMatchesRequest{PageSize: 100})
	default:
		_, err = r.match.GetGame(ctx, &refereev1.GetGameRequest{MatchId: o.matches[n%len(o.matches)]})
	}
	took := time.Since(begun)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		t.took = append(t.took, took)
	case status.Code(err) == codes.ResourceExhausted && reasonOf(err) == "OVERLOADED" && retryDelay(err) > 0:
		t.refused.Add(1)
	case status.Code(err) == codes.DeadlineExceeded:
		t.late.Add(1)
	default:
		t.faults = append(t.faults, fmt.Errorf("after %v: %w", took, err))
	}
}

// move makes a change of a game, which waits for the next one afterwards. Where nobody
// knows what became of the one before, it is asked first how the game stands.
func (o *overload) move(ctx context.Context, r *replica, game *refereev1.Game) (err error) {
	defer func() { o.idle <- game }()
	if game.GetNextSeq() == 0 {
		got, err := r.match.GetGame(ctx, &refereev1.GetGameRequest{MatchId: game.GetMatchId()})
		if err != nil {
			return err
		}
		game = got.GetGame()
	}
	changed, err := offerOrWithdraw(ctx, r, game)
	switch status.Code(err) {
	case codes.OK:
		game = changed
	case codes.ResourceExhausted: // nothing was tried
	default:
		game = &refereev1.Game{MatchId: game.GetMatchId()}
	}
	return err
}

// offerOrWithdraw offers a draw or takes the offer back: like a ply a change of one
// game, which any position bears for ever.
func offerOrWithdraw(ctx context.Context, r *replica, game *refereev1.Game) (*refereev1.Game, error) {
	if game.DrawOfferedBy == nil {
		change, err := call(ctx, r, offering(game, 0))
		return change.GetGame(), err
	}
	seat := uint32(0)
	change, err := call(ctx, r, &refereev1.WithdrawDrawRequest{MatchId: game.GetMatchId(), Game: game.GetGame(),
		RequestId: newID(), ExpectedSeq: game.GetNextSeq(), Seat: &seat})
	return change.GetGame(), err
}
