package simulate

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"referee.example/internal/simulate/check"
	refereev1 "referee.example/proto/referee/v1"
)

const (
	// callTimeout bounds one call; what was not answered by then is sent again.
	callTimeout = 2 * time.Second
	// defaultPatience is how long a request is sent again, unless Options say.
	defaultPatience = 2 * time.Minute
)

// Who calls: the secret of each token is its own name, since the service that knows
// it lives as long as the run.
const (
	platformToken = "platform-simulation" //nolint:gosec // as said above
	operatorToken = "operator-simulation" //nolint:gosec // as said above
	secondToken   = "second-operator-simulation"
	auditorToken  = "auditor-simulation" //nolint:gosec // as said above
)

// platform is the one that plays.
const platform = "simulation"

// access is a client's connections to all replicas.
type access struct {
	conns    []*grpc.ClientConn
	match    []refereev1.MatchServiceClient
	rules    []refereev1.RulesServiceClient
	audit    []refereev1.AuditServiceClient
	calls    *counter
	recorder *recorder
	patience time.Duration
}

func dial(replicas []*replica, calls *counter, r *recorder, patience time.Duration) (*access, error) {
	a := &access{calls: calls, recorder: r, patience: patience}
	for _, replica := range replicas {
		conn, err := grpc.NewClient("passthrough:///"+replica.clients.addr(),
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 300 * time.Millisecond},
				MinConnectTimeout: time.Second,
			}))
		if err != nil {
			return nil, err
		}
		a.conns = append(a.conns, conn)
		a.match = append(a.match, refereev1.NewMatchServiceClient(conn))
		a.rules = append(a.rules, refereev1.NewRulesServiceClient(conn))
		a.audit = append(a.audit, refereev1.NewAuditServiceClient(conn))
	}
	return a, nil
}

func (a *access) close() {
	for _, conn := range a.conns {
		_ = conn.Close()
	}
}

func as(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

// invoke makes the call that a request is for.
func (a *access) invoke(ctx context.Context, at int, request proto.Message) (*refereev1.Change, error) {
	c := a.match[at]
	switch r := request.(type) {
	case *refereev1.CreateMatchRequest:
		got, err := c.CreateMatch(ctx, r)
		return got.GetChange(), err
	case *refereev1.StartGameRequest:
		got, err := c.StartGame(ctx, r)
		return got.GetChange(), err
	case *refereev1.PlayActionRequest:
		got, err := c.PlayAction(ctx, r)
		return got.GetChange(), err
	case *refereev1.SubmitPlacementRequest:
		got, err := c.SubmitPlacement(ctx, r)
		return got.GetChange(), err
	case *refereev1.OfferDrawRequest:
		got, err := c.OfferDraw(ctx, r)
		return got.GetChange(), err
	case *refereev1.AnswerDrawRequest:
		got, err := c.AnswerDraw(ctx, r)
		return got.GetChange(), err
	case *refereev1.WithdrawDrawRequest:
		got, err := c.WithdrawDraw(ctx, r)
		return got.GetChange(), err
	case *refereev1.RequestCountRequest:
		got, err := c.RequestCount(ctx, r)
		return got.GetChange(), err
	case *refereev1.ResignRequest:
		got, err := c.Resign(ctx, r)
		return got.GetChange(), err
	case *refereev1.CallTimeRequest:
		got, err := c.CallTime(ctx, r)
		return got.GetChange(), err
	case *refereev1.ReportDisconnectRequest:
		got, err := c.ReportDisconnect(ctx, r)
		return got.GetChange(), err
	case *refereev1.AbandonMatchRequest:
		got, err := c.AbandonMatch(ctx, r)
		return got.GetChange(), err
	case *refereev1.VoidMatchRequest:
		got, err := c.VoidMatch(ctx, r)
		return got.GetChange(), err
	case *refereev1.RuleFoulRequest:
		got, err := c.RuleFoul(ctx, r)
		return got.GetChange(), err
	}
	panic(fmt.Sprintf("%T is no change", request))
}

// tokenOf is the token that a request needs.
func tokenOf(request proto.Message) string {
	switch request.(type) {
	case *refereev1.VoidMatchRequest, *refereev1.RuleFoulRequest:
		return operatorToken
	}
	return platformToken
}

// callOf is the record of a request's call, so far.
func callOf(client, at int, request proto.Message) check.Call {
	c := check.Call{
		Client: client, Replica: at, Method: methodOf(request), Seat: seatNamed(request),
		RequestID: request.(interface{ GetRequestId() string }).GetRequestId(),
	}
	if r, ok := request.(*refereev1.SubmitPlacementRequest); ok {
		c.Placement = r.GetPlacement()
	}
	if r, ok := request.(interface {
		GetMatchId() string
		GetGame() uint32
	}); ok {
		c.Match, c.Game = r.GetMatchId(), int(r.GetGame())
	}
	switch r := request.(type) {
	case *refereev1.PlayActionRequest:
		c.Expected, c.ByPly = int(r.GetExpectedPly()), true
	case interface{ GetExpectedSeq() uint32 }:
		c.Expected = int(r.GetExpectedSeq())
	}
	return c
}

func methodOf(request proto.Message) string {
	name := string(request.ProtoReflect().Descriptor().Name())
	return name[:len(name)-len("Request")]
}

// once sends a request once and records it; c is the record so far.
func (a *access) once(ctx context.Context, c check.Call, request proto.Message) (*refereev1.Change, error) {
	limited, cancel := context.WithTimeout(as(ctx, tokenOf(request)), callTimeout)
	defer cancel()
	c.Sent = time.Now()
	change, err := a.invoke(limited, c.Replica, request)
	a.answered(c, change, err)
	return change, err
}

// answered records what became of a call that changes something.
func (a *access) answered(c check.Call, change *refereev1.Change, err error) {
	a.calls.note(err)
	outcome(&c, err)
	if err == nil {
		told(&c, change)
		a.recorder.see(c.Match, c.Seat, change)
	} else {
		a.recorder.seeRefusal(c.Match, c.Seat, err)
	}
	a.recorder.add(c)
}

// errUnanswered ends a run in which a request got no answer within the patience.
var errUnanswered = errors.New("no replica answered")

// again reports whether a call that failed so is made again.
func again(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.ResourceExhausted:
		return true
	case codes.Internal, codes.Unknown:
		return true // whatever it was, only a retry tells what became of the request
	case codes.Aborted:
		return infoOf(err).GetReason() == "CONTENTION"
	}
	return false
}

// persist sends a request, unchanged, to one replica after the other until it is
// acknowledged or refused for good.
func (a *access) persist(ctx context.Context, client int, dice *rand.Rand, request proto.Message) (*refereev1.Change, error) {
	return insist(ctx, a, dice, func(ctx context.Context, at int) (*refereev1.Change, error) {
		return a.once(ctx, callOf(client, at, request), request)
	})
}

// reuse sends a request that has the id of another.
func (a *access) reuse(ctx context.Context, client int, dice *rand.Rand, request proto.Message) error {
	_, err := insist(ctx, a, dice, func(ctx context.Context, at int) (*refereev1.Change, error) {
		c := callOf(client, at, request)
		c.Reused = true
		return a.once(ctx, c, request)
	})
	return err
}

// insist makes a call at one replica after the other until it has an answer.
func insist[T any](ctx context.Context, a *access, dice *rand.Rand, call func(context.Context, int) (T, error)) (T, error) {
	deadline := time.Now().Add(a.patience)
	first := dice.IntN(len(a.match))
	for at := first; ; at++ {
		answer, err := call(ctx, at%len(a.match))
		if err == nil || ctx.Err() != nil || !again(err) {
			return answer, err
		}
		if time.Now().After(deadline) {
			return answer, errors.Join(errUnanswered, err)
		}
		if err := sleep(ctx, time.Duration(min(at-first+1, 10)*(5+dice.IntN(25)))*time.Millisecond); err != nil {
			return answer, err
		}
	}
}

// read makes a call that only reads, and is not recorded.
func read[T any](ctx context.Context, a *access, token string, call func(context.Context) (T, error)) (T, error) {
	limited, cancel := context.WithTimeout(as(ctx, token), callTimeout)
	defer cancel()
	answer, err := call(limited)
	a.calls.note(err)
	return answer, err
}

// getGame reads the present game as a viewer sees it and records what was seen.
func (a *access) getGame(ctx context.Context, client, at int, match string, viewer *uint32) (*refereev1.Game, error) {
	c := check.Call{Client: client, Replica: at, Method: "GetGame", Match: match, Seat: check.Spectator, Sent: time.Now()}
	if viewer != nil {
		c.Seat = int(*viewer)
	}
	got, err := read(ctx, a, platformToken, func(ctx context.Context) (*refereev1.GetGameResponse, error) {
		return a.match[at].GetGame(ctx, &refereev1.GetGameRequest{MatchId: match, ViewerSeat: viewer})
	})
	outcome(&c, err)
	if err == nil {
		c.View = viewOf(got.GetGame())
		c.Settled = settlementOf(got.GetGame().GetSettlement())
		a.recorder.see(match, c.Seat, got)
	}
	a.recorder.add(c)
	return got.GetGame(), err
}

// newID makes a UUID of the table's own dice.
func newID(dice *rand.Rand) string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], dice.Uint64())
	binary.BigEndian.PutUint64(id[8:], dice.Uint64())
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
