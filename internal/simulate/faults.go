package simulate

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"referee.example/internal/simulate/check"
)

// recovery is how long after a fault what it hit may still be busy with it:
// reconnecting, measuring the database's clock, catching up.
const recovery = 250 * time.Millisecond

// saboteur carries a plan out.
type saboteur struct {
	plan     *Plan
	replicas []*replica
	postgres *postgres
	calls    *counter
	// witness is called before a promotion, confirm after it.
	witness, confirm func(context.Context) error

	running   sync.WaitGroup
	promoting sync.Mutex
	mu        sync.Mutex
	done      []carriedOut
	down      []check.Outage
	decided   []time.Time // on a promotion
	err       error
}

// carriedOut is a fault and when it was there.
type carriedOut struct {
	Fault
	From, Until time.Time
}

// run carries faults out until ctx ends, and returns when the last is over and
// everything runs again.
func (s *saboteur) run(ctx context.Context) {
	at := int64(0)
	for {
		f, ok := s.plan.Next()
		if !ok {
			break
		}
		at += int64(f.AfterCalls)
		if s.calls.wait(ctx, at) != nil || sleep(ctx, time.Duration(f.WaitUS)*time.Microsecond) != nil {
			break
		}
		s.running.Go(func() { s.carryOut(ctx, f) })
	}
	s.running.Wait()
}

func (s *saboteur) carryOut(ctx context.Context, f Fault) {
	from := time.Now()
	err := s.effect(ctx, f)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, carriedOut{f, from, time.Now()})
	outage := check.Outage{Span: check.Span{From: from, Until: time.Now().Add(recovery)}, Replica: f.Replica}
	if f.Kind == Crash || f.Kind == Promote {
		outage.Replica = check.AllReplicas
	}
	s.down = append(s.down, outage)
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("%s: %w", f, err)
	}
}

// effect carries a fault out to its end. What it broke it mends also when ctx
// ends meanwhile.
func (s *saboteur) effect(ctx context.Context, f Fault) error {
	r := s.replicas[f.Replica]
	lasting := time.Duration(f.ForMS) * time.Millisecond
	mending := context.WithoutCancel(ctx)
	switch f.Kind {
	case Kill:
		r.fault.Lock()
		defer r.fault.Unlock()
		r.process.kill()
		_ = sleep(ctx, lasting)
		return r.launch(mending, f.ShiftS)
	case Drain:
		r.fault.Lock()
		defer r.fault.Unlock()
		r.process.drain()
		_ = sleep(ctx, lasting)
		return r.launch(mending, 0)
	case Crash:
		return s.postgres.crash(mending, lasting)
	case Promote:
		return s.promote(mending, f, lasting)
	case Pause:
		r.fault.Lock()
		defer r.fault.Unlock()
		r.process.signal(syscall.SIGSTOP)
		_ = sleep(ctx, lasting)
		r.process.signal(syscall.SIGCONT)
		return nil
	}
	links := []*link{r.clients}
	if f.Link == databaseLink {
		links = r.databases
	}
	s.onLinks(ctx, links, f, lasting)
	return nil
}

// promote ends the primary and has a standby take over, as an operator would: the log
// of finished games is signed on once it was compared with what a witness holds.
func (s *saboteur) promote(ctx context.Context, f Fault, lasting time.Duration) error {
	s.promoting.Lock()
	defer s.promoting.Unlock()
	if err := s.witness(ctx); err != nil {
		return err
	}
	decided, err := s.postgres.failover(ctx, f.WaitUS%2 == 0, lasting)
	s.mu.Lock()
	s.decided = append(s.decided, decided)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	deadline := time.Now().Add(promotionLimit)
	for { // the new primary may crash meanwhile, as planned
		err := s.confirm(ctx)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func (s *saboteur) onLinks(ctx context.Context, links []*link, f Fault, lasting time.Duration) {
	set := func(change func(*link)) {
		for _, l := range links {
			l.set(func() { change(l) })
		}
	}
	switch f.Kind {
	case Cut:
		set(func(l *link) { l.cut = true })
		_ = sleep(ctx, lasting)
		set(func(l *link) { l.cut = false })
	case Lose:
		set(func(l *link) { l.losing = true })
		_ = sleep(ctx, lasting)
		set(func(l *link) { l.losing, l.cut = false, true })
		set(func(l *link) { l.cut = false })
	case Lag:
		set(func(l *link) { l.lag = time.Duration(f.LagMS) * time.Millisecond })
		_ = sleep(ctx, lasting)
		set(func(l *link) { l.lag = 0 })
	case Freeze:
		set(func(l *link) { l.frozen = true })
		_ = sleep(ctx, lasting)
		set(func(l *link) { l.frozen = false })
	case Kill, Crash, Pause, Promote, Drain:
	}
}

// counter counts calls: those made, and those answered, which are what a plan goes
// by. Were it the calls made, retries while everything is down would bring the
// next fault nearer.
type counter struct {
	mu       sync.Mutex
	made     int64
	answered int64
	target   int64
	met      chan struct{}
}

// note counts a call that ended so.
func (c *counter) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	if err != nil && infoOf(err).GetReason() == "" {
		return
	}
	c.answered++
	if c.met != nil && c.answered >= c.target {
		close(c.met)
		c.met = nil
	}
}

func (c *counter) value() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made
}

// wait returns when so many calls were answered. One goroutine may wait.
func (c *counter) wait(ctx context.Context, target int64) error {
	c.mu.Lock()
	if c.answered >= target {
		c.mu.Unlock()
		return ctx.Err()
	}
	met := make(chan struct{})
	c.target, c.met = target, met
	c.mu.Unlock()
	select {
	case <-met:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
