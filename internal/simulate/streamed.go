package simulate

import (
	"context"
	"slices"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"referee.example/internal/simulate/check"
	refereev1 "referee.example/proto/referee/v1"
)

// streamed sends a ply, an equal one, a rival and another equal one at once, on a
// stream of actions of any replica, and the ply once more by itself if its answer
// did not come.
func (t *table) streamed(ctx context.Context, ply *refereev1.PlayActionRequest) error {
	rival := proto.CloneOf(ply)
	rival.RequestId, rival.Action = newID(t.dice), prefer(t.legal, t.dice)
	burst := []*refereev1.PlayActionRequest{ply, ply, rival, ply}
	changes, answers := t.access.burst(ctx, t.number, t.dice.IntN(len(t.access.match)), burst)
	for i, change := range changes {
		if change != nil {
			t.accepted(burst[i], change)
		}
	}
	if answers == 0 {
		return t.send(ctx, one(ply))
	}
	return t.refresh(ctx)
}

// burst sends requests for one match on a stream, without waiting, and records
// each; it returns the change of each that was accepted, and how many were answered.
func (a *access) burst(ctx context.Context, client, at int, requests []*refereev1.PlayActionRequest) ([]*refereev1.Change, int) {
	limited, cancel := context.WithTimeout(as(ctx, platformToken), callTimeout)
	defer cancel()
	calls, changes := make([]check.Call, len(requests)), make([]*refereev1.Change, len(requests))
	s := check.Streamed{Match: requests[0].GetMatchId()}
	stream, err := a.match[at].PlayActions(limited)
	for i, r := range requests {
		calls[i] = callOf(client, at, r)
		calls[i].Sent = time.Now()
		s.Sent = append(s.Sent, r.GetRequestId())
		if err == nil {
			// Whether it arrived, the answers tell.
			_ = stream.Send(&refereev1.PlayActionsRequest{Play: r})
		}
	}
	if err == nil {
		err = stream.CloseSend()
	}
	answers := 0
	for err == nil {
		var answer *refereev1.PlayActionsResponse
		if answer, err = stream.Recv(); err != nil {
			break
		}
		s.Answered = append(s.Answered, answer.GetRequestId())
		at := slices.IndexFunc(calls, func(c check.Call) bool { return c.RequestID == answer.GetRequestId() && c.Answered.IsZero() })
		if at < 0 {
			continue
		}
		answers++
		if refusal := answer.GetRefusal(); refusal != nil {
			a.answered(calls[at], nil, refusalOf(refusal))
		} else {
			a.answered(calls[at], answer.GetChange(), nil)
			changes[at] = answer.GetChange()
		}
		calls[at].Answered = time.Now()
	}
	for _, c := range calls {
		if c.Answered.IsZero() {
			a.answered(c, nil, status.Error(codes.Unavailable, "the stream broke off"))
		}
	}
	a.recorder.note(func() { a.recorder.streamed = append(a.recorder.streamed, s) })
	return changes, answers
}

// refusalOf is a refusal on a stream as a call of its own would have returned it.
func refusalOf(r *refereev1.Refusal) error {
	refused, err := status.New(codes.Code(r.GetCode()), r.GetMessage()).WithDetails(
		&errdetails.ErrorInfo{Reason: r.GetReason(), Metadata: r.GetMetadata()})
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return refused.Err()
}
