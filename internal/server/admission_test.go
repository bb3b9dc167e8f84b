package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// The classes, by a method of each kind.
const (
	aQuery = refereev1.AuditService_ListMatches_FullMethodName
	aRead  = refereev1.MatchService_GetGame_FullMethodName
	aMove  = refereev1.MatchService_PlayAction_FullMethodName
	aFeed  = refereev1.AuditService_ListSettlements_FullMethodName
	aRule  = refereev1.MatchService_VoidMatch_FullMethodName
)

func TestClasses(t *testing.T) {
	for method, want := range map[string]class{
		aQuery: history, refereev1.AuditService_GetGameRecord_FullMethodName: history,
		refereev1.AuditService_VerifyGame_FullMethodName: history, refereev1.AuditService_ExportGames_FullMethodName: history,
		refereev1.AuditService_ListExposure_FullMethodName: history,
		aRead: reading, refereev1.RulesService_ValidateAction_FullMethodName: reading, refereev1.AuditService_ProveGame_FullMethodName: reading,
		aMove: playing, refereev1.MatchService_CreateMatch_FullMethodName: playing, refereev1.MatchService_PlayActions_FullMethodName: playing,
		refereev1.MatchService_WatchMatch_FullMethodName: playing,
		aFeed: settling, refereev1.AuditService_StreamSettlements_FullMethodName: settling,
		aRule: unshedding, refereev1.MatchService_CompensateSettlement_FullMethodName: unshedding,
	} {
		if got := classOf(method); got != want {
			t.Errorf("%s is %s, want %s", method, classNames[got], classNames[want])
		}
	}
}

// crowd enters calls of a method, each from another platform, until one is refused.
func crowd(t *testing.T, a *admission, method string) (leave []func()) {
	t.Helper()
	for i := range 1000 {
		out, err := a.enter(t.Context(), method, fmt.Sprint(method, i))
		if err != nil {
			overloaded(t, err)
			return leave
		}
		leave = append(leave, out)
	}
	t.Fatalf("%s is never refused", method)
	return nil
}

func overloaded(t *testing.T, err error) {
	t.Helper()
	var refusal *referee.Refusal
	if !errors.As(err, &refusal) || refusal.Reason != reasonOverloaded || refusal.RetryAfter <= 0 {
		t.Errorf("refused with %v", err)
	}
}

// TestWhatIsShedFirst fills a replica with calls of one class after the other.
func TestWhatIsShedFirst(t *testing.T) {
	a := newAdmission(limits{calls: 64, streams: 8}, 200, 0)
	var leave []func()
	for _, step := range []struct {
		method string
		within int // of all calls at work
	}{{aQuery, 16}, {aRead, 32}, {aMove, 56}, {aFeed, 64}} {
		leave = append(leave, crowd(t, a, step.method)...)
		if len(leave) != step.within {
			t.Errorf("%s is admitted up to %d calls at work, want %d", step.method, len(leave), step.within)
		}
	}
	for range 100 {
		if _, err := a.enter(t.Context(), aRule, EveryPlatform); err != nil {
			t.Errorf("an operator is refused: %v", err)
		}
	}
	for _, out := range leave {
		out()
	}
	if a.calls != 0 || len(a.querying) != 0 {
		t.Errorf("%d calls and %d queries are left", a.calls, len(a.querying))
	}
	if _, err := a.enter(t.Context(), aQuery, "north"); err != nil {
		t.Errorf("an empty replica refuses: %v", err)
	}
}

// TestAFloodIsItsPlatformsAlone: of the calls of each class one platform gets three quarters.
func TestAFloodIsItsPlatformsAlone(t *testing.T) {
	for _, method := range []string{aQuery, aRead, aMove, aFeed} {
		a := newAdmission(limits{calls: 64, streams: 8}, 200, 0)
		var taken int
		for ; ; taken++ {
			if _, err := a.enter(t.Context(), method, "east"); err != nil {
				overloaded(t, err)
				break
			}
		}
		if want := 64 * shares[classOf(method)] / 8 * 3 / 4; taken != want {
			t.Errorf("%s: one platform has %d calls at work, want %d", method, taken, want)
		}
		if _, err := a.enter(t.Context(), method, "west"); err != nil {
			t.Errorf("%s: the other platform is refused: %v", method, err)
		}
	}
}

func TestCallsASecond(t *testing.T) {
	const perSecond = 0.01 // none comes back while the test runs
	a := newAdmission(limits{calls: 64, streams: 8}, 8, perSecond)
	call := func(method, platform string) error {
		leave, err := a.enter(t.Context(), method, platform)
		if err == nil {
			leave()
		}
		return err
	}
	for _, platform := range []string{"east", "west"} {
		if err := call(aMove, platform); err != nil {
			t.Errorf("the %s's first call: %v", platform, err)
		}
		overloaded(t, call(aMove, platform))
	}
	if err := call(aRule, "east"); err != nil {
		t.Errorf("an operator: %v", err)
	}
	// Creating matches has a tenth of the rate: here, one of ten.
	a = newAdmission(limits{calls: 64, streams: 8}, 8, 10)
	create := refereev1.MatchService_CreateMatch_FullMethodName
	if err := call(create, "east"); err != nil {
		t.Errorf("the first match: %v", err)
	}
	overloaded(t, call(create, "east"))
	if err := call(aMove, "east"); err != nil {
		t.Errorf("a move beside: %v", err)
	}
}

// TestPlatformsAreForgotten: who comes and goes leaves nothing for ever.
func TestPlatformsAreForgotten(t *testing.T) {
	a := newAdmission(limits{calls: 64, streams: 8}, 8, 0)
	for i := range 3 * mostPlatforms {
		leave, err := a.enter(t.Context(), aMove, fmt.Sprint(i))
		must(t, err)
		leave()
	}
	if n := len(a.platforms); n > mostPlatforms {
		t.Errorf("%d platforms are remembered", n)
	}
}

func TestStreamsArePlatforms(t *testing.T) {
	l := quickLimits()
	l.streams = 4
	r := newRoom(t, options{limits: l})
	id := r.create().id
	watch := func(token string) error {
		stream, err := r.match.WatchMatch(r.as(token), &refereev1.WatchMatchRequest{MatchId: id})
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}
	for range 2 {
		must(t, watch("east"))
	}
	if err := watch("east"); reasonOf(status.Convert(err)) != "OVERLOADED" {
		t.Errorf("a third stream of four: %v", err)
	}
	if err := watch("west"); status.Code(err) != codes.NotFound { // looked at, so admitted
		t.Errorf("the west's stream: %v", err)
	}
}

// TestOverloadOnTheWire fills the replica and calls.
func TestOverloadOnTheWire(t *testing.T) {
	r := newRoom(t, options{})
	table := r.started()
	a := r.server.admission
	fill := func(calls int) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.calls = calls
	}
	fill(a.limits.calls)
	var trailer metadata.MD
	_, err := r.match.GetGame(r.as("east"), &refereev1.GetGameRequest{MatchId: table.id}, grpc.Trailer(&trailer))
	st := status.Convert(err)
	if st.Code() != codes.ResourceExhausted || reasonOf(st) != "OVERLOADED" || fmt.Sprint(trailer.Get("grpc-retry-pushback-ms")) != "[250]" {
		t.Errorf("a full replica answers %v with %v", err, trailer)
	}
	var retry time.Duration
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			retry = info.GetRetryDelay().AsDuration()
		}
	}
	if retry != overloadPause {
		t.Errorf("to be tried again in %v", retry)
	}
	ply := table.action(flip("a1"))
	stream, err := r.match.PlayActions(r.as("east"))
	must(t, err)
	if _, err := stream.Recv(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a stream of moves: %v", err)
	}
	if got, err := healthv1.NewHealthClient(r.conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
		t.Errorf("health: %v, %v", got, err)
	}
	_, err = r.match.RuleFoul(r.as("operator"), &refereev1.RuleFoulRequest{MatchId: table.id, Game: 1, RequestId: r.id(),
		ExpectedSeq: table.game.GetNextSeq(), Note: "looked at"})
	if status.Code(err) != codes.FailedPrecondition { // judged, so admitted
		t.Errorf("an operator: %v", err)
	}

	fill(0)
	stream, err = r.match.PlayActions(r.as("east"))
	must(t, err)
	send := func() *refereev1.PlayActionsResponse {
		must(t, stream.Send(&refereev1.PlayActionsRequest{Play: ply}))
		got, err := stream.Recv()
		must(t, err)
		return got
	}
	must(t, stream.Send(&refereev1.PlayActionsRequest{})) // once it is answered, the stream is open
	_, err = stream.Recv()
	must(t, err)
	fill(a.limits.calls)
	if got := send().GetRefusal(); got.GetReason() != "OVERLOADED" || got.GetRetryDelayMs() != 250 {
		t.Errorf("a move in a stream is answered %v", got)
	}
	fill(0)
	if got := send(); got.GetChange() == nil {
		t.Errorf("the same move, later: %v", got)
	}
}

// TestQueriesWaitForAMoment: a query that finds none of its slots free is refused
// in a second, and moves go on beside.
func TestQueriesWaitForAMoment(t *testing.T) {
	r := newRoom(t, options{})
	table := r.started()
	for range cap(r.server.admission.querying) {
		r.server.admission.querying <- struct{}{}
	}
	_, err := r.audit.ListMatches(r.as("auditor"), &refereev1.ListMatchesRequest{})
	if reasonOf(status.Convert(err)) != "OVERLOADED" {
		t.Errorf("a query too many: %v", err)
	}
	table.play(flip("a1"))
	<-r.server.admission.querying
	_, err = r.audit.ListMatches(r.as("auditor"), &refereev1.ListMatchesRequest{})
	must(t, err)
	for range cap(r.server.admission.exports) {
		r.server.admission.exports <- struct{}{}
	}
	stream, err := r.audit.ExportGames(r.as("auditor"), &refereev1.ExportGamesRequest{})
	must(t, err)
	if _, err := stream.Recv(); reasonOf(status.Convert(err)) != "OVERLOADED" {
		t.Errorf("an export too many: %v", err)
	}
}

// TestWatchesReadInTurn: watches that wait to read from the database leave
// connections to moves.
func TestWatchesReadInTurn(t *testing.T) {
	r := newRoom(t, options{})
	table := r.started()
	turn := r.server.admission.turns[watches]
	for range cap(turn) {
		turn <- struct{}{}
	}
	stream, err := r.match.WatchMatch(r.as("east"), &refereev1.WatchMatchRequest{MatchId: table.id})
	must(t, err)
	seen := make(chan error, 1)
	go func() {
		_, err := stream.Recv()
		seen <- err
	}()
	table.play(flip("a1"))
	select {
	case err := <-seen:
		t.Errorf("a watch was answered out of its turn (%v)", err)
	default:
	}
	<-turn
	must(t, <-seen)
}

// TestConnectionsAreLimited: one too many is closed as it comes.
func TestConnectionsAreLimited(t *testing.T) {
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	lis := &limitedListener{Listener: inner, most: 1}
	defer func() { must(t, lis.Close()) }()
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	dial := func() net.Conn {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", inner.Addr().String())
		must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	dial()
	first := <-accepted
	refused := dial()
	if _, err := refused.Read(make([]byte, 1)); err == nil {
		t.Error("a connection too many is talked to")
	}
	must(t, first.Close())
	_ = first.Close() // twice gives one place back
	dial()
	must(t, (<-accepted).Close())
}

// TestSilentConnectionsAreClosed: who does not shake hands in time is cut off.
func TestSilentConnectionsAreClosed(t *testing.T) {
	l := quickLimits()
	l.handshake = 100 * time.Millisecond
	r := newRoom(t, options{limits: l})
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	go func() { _ = r.server.grpc.Serve(lis) }() // ends with the room
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", lis.Addr().String())
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	deadline, _ := ctx.Deadline()
	must(t, conn.SetDeadline(deadline))
	if _, err := io.Copy(io.Discard, conn); err != nil && errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a silent connection is kept: %v", err)
	}
	if ctx.Err() != nil {
		t.Error("a silent connection is kept")
	}
	must(t, conn.Close())
}

// TestCallsOfAConnectionWait: of one connection so many calls wait to be looked at, here
// for their requests, and further ones are refused with a delay. Other connections'
// calls, and health, are answered meanwhile; when one goes, another may come.
func TestCallsOfAConnectionWait(t *testing.T) {
	l := quickLimits()
	l.waiting = 8
	r := newRoom(t, options{limits: l})
	table := r.started()
	other := r.dial(func(c net.Conn) net.Conn { return c })
	get := func(client refereev1.MatchServiceClient) error {
		_, err := client.GetGame(r.as("east"), &refereev1.GetGameRequest{MatchId: table.id})
		return err
	}
	leave := make([]context.CancelFunc, l.waiting)
	for i := range leave {
		var ctx context.Context
		ctx, leave[i] = context.WithCancel(r.as("east"))
		defer leave[i]()
		_, err := r.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, aRead) // its headers are sent
		must(t, err)
	}
	err := get(r.match)
	wanted{codes.ResourceExhausted, "OVERLOADED", ""}.check(t, err)
	if refused := streamRefusal(status.Convert(err)); refused.GetRetryDelayMs() != overloadPause.Milliseconds() {
		t.Errorf("a call too many is answered %v", refused)
	}
	must(t, get(refereev1.NewMatchServiceClient(other)))
	_, err = healthv1.NewHealthClient(r.conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
	must(t, err)
	leave[0]()
	for err = get(r.match); status.Code(err) == codes.ResourceExhausted; err = get(r.match) { // until the server has heard
		must(t, t.Context().Err())
	}
	must(t, err)
}

// TestCallsOfAConnectionAreReadInTime: what comes after many calls at once is read when
// these have had their time.
func TestCallsOfAConnectionAreReadInTime(t *testing.T) {
	client, server := net.Pipe()
	defer func() { _ = client.Close() }()
	conn := &limitedConn{Conn: server, closed: func() {}, calls: &connection{}}
	defer func() { _ = conn.Close() }()
	go func() { _, _ = client.Write([]byte{1}) }()
	conn.calls.read.Store(200)
	begun := time.Now()
	_, err := conn.Read(make([]byte, 1))
	must(t, err)
	if took := time.Since(begun); took < 200*callPace {
		t.Errorf("after 200 calls it was read in %v", took)
	}
	s := &Server{limits: standardLimits}
	counts := &connection{}
	ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: connectionAddr{calls: counts}})
	for _, method := range []string{aRead, refereev1.MatchService_WatchMatch_FullMethodName, refereev1.AuditService_ExportGames_FullMethodName} {
		_, err := s.arrive(ctx, &tap.Info{FullMethodName: method})
		must(t, err)
	}
	if got := counts.read.Load(); got != 1+2*streamCalls {
		t.Errorf("a call and two streams count as %d calls", got)
	}
}
