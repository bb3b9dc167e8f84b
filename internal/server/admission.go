package server

import (
	"context"
	"runtime"
	"sync"
	"time"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/time/rate"
)

// A replica works on a bounded number of calls at once, so that what it takes on
// it answers in time. Classes of calls share that number: the fuller the replica,
// the fewer classes get in. What is refused costs next to nothing and is told
// when to come again.

const (
	// callsPerCPU bounds the calls at work, with mostCalls above it: at a
	// thousand moves a second and processor, all are answered within a quarter of
	// a second.
	callsPerCPU = 256
	mostCalls   = 4096
	// historyWait is how long a query of the history waits for one of its slots.
	historyWait = time.Second
	// createsShare is the part of a platform's calls a second that may create matches.
	createsShare = 0.1
	// mostPlatforms bounds the platforms that are remembered while they do nothing.
	mostPlatforms = 4096
)

// class is what calls are shed by, the first before the later ones.
type class int

const (
	history    class = iota // searches, records, judging again: dear, and in no hurry
	reading                 // a match as it stands, rules, proofs
	playing                 // whatever changes a match, and seeing it happen
	settling                // settlements on their way to wallets
	unshedding              // operators: they may be putting right what is wrong
)

var classNames = [...]string{"history", "read", "play", "settlement", "operate"}

// shares are the eighths of the calls at work up to which a class gets in; three
// quarters of that are one platform's.
var shares = [...]int{2, 4, 7, 8}

// classOf returns the class of a method of the contract. A method that is named
// nowhere here is history if only auditors may call it, or operators', or a read.
func classOf(method string) class {
	switch method {
	case refereev1.AuditService_StreamSettlements_FullMethodName, refereev1.AuditService_ListSettlements_FullMethodName:
		return settling
	case refereev1.MatchService_WatchMatch_FullMethodName:
		return playing
	}
	switch scopes := scopesOf[method]; {
	case len(scopes) != 1:
		return reading
	case scopes[0] == ScopeOperate:
		return unshedding
	case scopes[0] == ScopePlay:
		return playing
	}
	return history
}

// admission counts what a replica works on.
type admission struct {
	limits   limits
	rate     rate.Limit                 // calls a second and platform; 0 for no limit
	querying chan struct{}              // a token each query of the history
	exports  chan struct{}              // a token each export
	turns    [streamKinds]chan struct{} // a token each stream that reads from the database
	share    int                        // how many of a kind's are one platform's

	mu        sync.Mutex
	calls     int
	streams   int
	platforms map[string]*platform
}

// platform is what one platform's tokens are doing.
type platform struct {
	calls, streams int
	rate, creates  *rate.Limiter // nil for no limit
	turns          [streamKinds]chan struct{}
}

// streamKind is a kind of streams that read from the database when there is more.
type streamKind int

const (
	watches streamKind = iota
	feeds
	streamKinds
)

// newTurns makes turns of so many at once.
func newTurns(atOnce int) (turns [streamKinds]chan struct{}) {
	for kind := range turns {
		turns[kind] = make(chan struct{}, atOnce)
	}
	return turns
}

// newAdmission makes room for what a pool of so many connections can bear: half
// of it for queries of the history, a quarter for exports, watches and feeds each; these
// seldom come together, and moves need one or two.
func newAdmission(l limits, conns int, perSecond float64) *admission {
	return &admission{
		limits: l, rate: rate.Limit(perSecond), platforms: map[string]*platform{},
		querying: make(chan struct{}, max(1, conns/2)), exports: make(chan struct{}, max(1, conns/4)),
		turns: newTurns(max(1, conns/4)), share: max(1, conns/8),
	}
}

// standardCalls is asked when the program starts, before it has more threads run than the
// machine has processors.
func standardCalls() int { return min(callsPerCPU*runtime.GOMAXPROCS(0), mostCalls) }

// enter admits a call, a request of a stream too, or refuses it as OVERLOADED.
// The caller calls leave when the call has been answered.
func (a *admission) enter(ctx context.Context, method, name string) (leave func(), err error) {
	class := classOf(method)
	if class == unshedding {
		return func() {}, nil
	}
	creates := method == refereev1.MatchService_CreateMatch_FullMethodName
	if err := a.count(ctx, class, name, creates); err != nil {
		return nil, err
	}
	if class != history {
		return func() { a.uncount(name) }, nil
	}
	full := time.NewTimer(historyWait)
	defer full.Stop()
	select {
	case a.querying <- struct{}{}:
		return func() {
			<-a.querying
			a.uncount(name)
		}, nil
	case <-ctx.Done():
		a.uncount(name)
		return nil, ctx.Err()
	case <-full.C:
		a.uncount(name)
		return nil, shed(ctx, class, "queries", "the replica has as many queries of the history at work as it takes")
	}
}

func (a *admission) count(ctx context.Context, class class, name string, creates bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, room := a.platform(name), a.limits.calls*shares[class]/8
	switch {
	case p.rate != nil && !p.rate.Allow(), creates && p.creates != nil && !p.creates.Allow():
		return shed(ctx, class, "rate", "the platform makes more calls a second than a replica takes of one")
	case p.calls >= room*3/4:
		return shed(ctx, class, "platform", "the platform has as many calls at work as a replica takes of one")
	case a.calls >= room:
		return shed(ctx, class, "replica", "the replica has as many calls of this kind at work as it takes")
	}
	p.calls++
	a.calls++
	return nil
}

func (a *admission) uncount(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.platforms[name].calls--
	a.calls--
}

// open admits a stream: it counts among the streams and, while it is opened
// only, is shed like a call of its class.
func (a *admission) open(ctx context.Context, method, name string) (leave func(), err error) {
	class := classOf(method)
	exports := method == refereev1.AuditService_ExportGames_FullMethodName
	if exports {
		select {
		case a.exports <- struct{}{}:
		default:
			return nil, shed(ctx, class, "exports", "the replica has as many exports at work as it takes")
		}
	}
	release := func() {
		if exports {
			<-a.exports
		}
	}
	if err := a.countStream(ctx, class, name); err != nil {
		release()
		return nil, err
	}
	return func() {
		release()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.platforms[name].streams--
		a.streams--
	}, nil
}

// read lets a platform's stream read from the database in its turn: thousands that are
// opened, or hinted at, together would else fill the queue for connections, and the
// processors. A platform has half of the turns, so that its flood leaves as many to
// others. A read has the time of a unary call.
func (a *admission) read(ctx context.Context, kind streamKind, name string, read func(context.Context) error) error {
	a.mu.Lock()
	own := a.platform(name).turns[kind] // kept while its stream is open
	a.mu.Unlock()
	for _, turns := range []chan struct{}{own, a.turns[kind]} {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	ctx, cancel := context.WithTimeout(ctx, defaultDeadline)
	defer cancel()
	return read(ctx)
}

func (a *admission) countStream(ctx context.Context, class class, name string) error {
	if err := a.count(ctx, class, name, false); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.platforms[name]
	p.calls--
	a.calls--
	if a.streams >= a.limits.streams || p.streams >= a.limits.streams/2 {
		return shed(ctx, class, "streams", "the replica has as many streams open as it takes, or as it takes of one platform")
	}
	p.streams++
	a.streams++
	return nil
}

// platform returns what is known of a platform; the lock is held.
func (a *admission) platform(name string) *platform {
	p := a.platforms[name]
	if p != nil {
		return p
	}
	if len(a.platforms) >= mostPlatforms {
		for other, p := range a.platforms {
			if p.idle() {
				delete(a.platforms, other)
			}
		}
	}
	p = &platform{turns: newTurns(a.share)}
	if a.rate > 0 {
		p.rate = rate.NewLimiter(a.rate, int(max(1, a.rate)))
		p.creates = rate.NewLimiter(a.rate*createsShare, int(max(1, a.rate*createsShare)))
	}
	a.platforms[name] = p
	return p
}

// idle reports whether forgetting a platform forgets nothing.
func (p *platform) idle() bool {
	return p.calls == 0 && p.streams == 0 && full(p.rate) && full(p.creates)
}

func full(l *rate.Limiter) bool { return l == nil || l.Tokens() >= float64(l.Burst()) }

var shedCalls = newShedCalls()

func newShedCalls() metric.Int64Counter {
	counter, err := otel.Meter("referee.example/internal/server").Int64Counter("referee.shed", metric.WithUnit("{call}"),
		metric.WithDescription("Calls and connections that were refused to stay within a limit, by class and limit"))
	if err != nil { // about the name alone
		panic(err)
	}
	return counter
}

// shed refuses a call and counts it.
func shed(ctx context.Context, class class, limit, message string) error {
	shedCalls.Add(ctx, 1, metric.WithAttributes(attribute.String("class", classNames[class]), attribute.String("limit", limit)))
	return &referee.Refusal{Reason: reasonOverloaded, Message: message, RetryAfter: overloadPause,
		Meta: map[string]string{"limit": limit}}
}
