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

	running sync.WaitGroup
	mu      sync.Mutex
	done    []carriedOut
	down    []check.Outage
	err     error
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
	if f.Kind == Crash {
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
	case Pause:
		r.fault.Lock()
		defer r.fault.Unlock()
		r.process.signal(syscall.SIGSTOP)
		_ = sleep(ctx, lasting)
		r.process.signal(syscall.SIGCONT)
		return nil
	}
	l := r.clients
	if f.Link == databaseLink {
		l = r.database
	}
	s.onLink(ctx, l, f, lasting)
	return nil
}

func (s *saboteur) onLink(ctx context.Context, l *link, f Fault, lasting time.Duration) {
	switch f.Kind {
	case Cut:
		l.set(func() { l.cut = true })
		_ = sleep(ctx, lasting)
		l.set(func() { l.cut = false })
	case Lose:
		l.set(func() { l.losing = true })
		_ = sleep(ctx, lasting)
		l.set(func() { l.losing, l.cut = false, true })
		l.set(func() { l.cut = false })
	case Lag:
		l.set(func() { l.lag = time.Duration(f.LagMS) * time.Millisecond })
		_ = sleep(ctx, lasting)
		l.set(func() { l.lag = 0 })
	case Freeze:
		l.set(func() { l.frozen = true })
		_ = sleep(ctx, lasting)
		l.set(func() { l.frozen = false })
	case Kill, Crash, Pause, Drain:
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
