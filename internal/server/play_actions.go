package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc"
)

// maxInFlight bounds the requests of one stream that are worked on at once;
// while so many are, no further one is read.
const maxInFlight = 64

// PlayActions plays the actions of a stream: those of one match one after the
// other, those of different matches side by side.
func (m *matchService) PlayActions(stream grpc.BidiStreamingServer[refereev1.PlayActionsRequest, refereev1.PlayActionsResponse]) error {
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	p := &playStream{
		service: m, stream: stream, cancel: cancel,
		tails: map[string]chan struct{}{}, slots: make(chan struct{}, maxInFlight), idle: make(chan func()),
	}
	defer close(p.idle) // after the work is done
	received := p.receive(ctx)
	age := time.NewTimer(m.limits.streamAge)
	defer age.Stop()
	defer p.working.Wait()
	defer p.stop()
	select {
	case <-received:
		p.working.Wait()
		return context.Cause(ctx) // of the client's good-bye there is none
	case <-m.draining.Done():
		return notReady("the replica is going down: open the stream at another")
	case <-age.C:
		return notReady("the stream has reached its age limit: open another")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// playStream is one stream of actions.
type playStream struct {
	service *matchService
	stream  grpc.BidiStreamingServer[refereev1.PlayActionsRequest, refereev1.PlayActionsResponse]
	cancel  context.CancelCauseFunc
	working sync.WaitGroup
	slots   chan struct{}
	idle    chan func() // taken by goroutines without work

	mu      sync.Mutex
	tails   map[string]chan struct{} // closed when the match's latest request is answered
	stopped bool                     // no further request is begun

	sending sync.Mutex
}

// receive reads requests and begins to work on them until the stream ends, then
// closes the channel. What ended it otherwise than by the client's good-bye becomes
// the context's cause.
func (p *playStream) receive(ctx context.Context) <-chan struct{} {
	received := make(chan struct{})
	go func() {
		defer close(received)
		for {
			r, err := p.stream.Recv()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				p.cancel(err)
				return
			}
			p.start(ctx, r)
		}
	}()
	return received
}

// stop lets no further request begin.
func (p *playStream) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
}

// start begins to work on a request once there is room for it, unless the stream has
// been stopped.
func (p *playStream) start(ctx context.Context, request *refereev1.PlayActionsRequest) {
	r := request.GetPlay()
	if r == nil {
		r = &refereev1.PlayActionRequest{} // refused like any other that lacks everything
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	match, done := r.GetMatchId(), make(chan struct{})
	p.mu.Lock()
	if p.stopped {
		p.mu.Unlock()
		return
	}
	p.working.Add(1) // before the stream waits for the work
	before := p.tails[match]
	p.tails[match] = done
	p.mu.Unlock()
	p.work(func() {
		defer func() {
			p.mu.Lock()
			if p.tails[match] == done {
				delete(p.tails, match)
			}
			p.mu.Unlock()
			close(done)
			<-p.slots
		}()
		if before != nil {
			<-before
		}
		p.send(p.answer(ctx, r))
	})
}

// work does a job, which has been counted, on a goroutine that has none, whose stack
// has grown by earlier ones, or on a new one. There are as many as there were jobs at
// once.
func (p *playStream) work(job func()) {
	select {
	case p.idle <- job:
	default:
		go func() {
			for ok := true; ok; job, ok = <-p.idle {
				job()
				p.working.Done()
			}
		}()
	}
}

// answer plays one action. A panic is this request's fault alone.
func (p *playStream) answer(ctx context.Context, r *refereev1.PlayActionRequest) (out *refereev1.PlayActionsResponse) {
	out = &refereev1.PlayActionsResponse{RequestId: r.GetRequestId(), MatchId: r.GetMatchId()}
	c := p.service.begin(ctx, refereev1.MatchService_PlayActions_FullMethodName)
	c.ids, c.token = idsOf(r), tokenOf(ctx)
	var err error
	defer func() {
		if refused := c.end(recover(), err); refused != nil {
			out.Result = &refereev1.PlayActionsResponse_Refusal{Refusal: streamRefusal(statusOf(refused))}
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, defaultDeadline)
	defer cancel()
	leave, refused := p.service.admission.enter(ctx, refereev1.MatchService_PlayAction_FullMethodName, c.token.Platform)
	if err = refused; err != nil {
		return out
	}
	defer leave()
	var change *refereev1.Change
	if change, err = p.service.play(ctx, r); err == nil {
		out.Result = &refereev1.PlayActionsResponse_Change{Change: change}
	}
	return out
}

// send sends one answer; a stream takes one at a time.
func (p *playStream) send(out *refereev1.PlayActionsResponse) {
	p.sending.Lock()
	defer p.sending.Unlock()
	if err := p.stream.Send(out); err != nil {
		p.cancel(fmt.Errorf("send an answer: %w", err))
	}
}
