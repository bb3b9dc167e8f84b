package server

import (
	"net"
	"sync/atomic"
	"testing"

	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// raw is a codec whose messages are bytes that go on the wire as they are.
type raw struct{}

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

func (raw) Name() string { return "proto" }

func TestMalformedMessages(t *testing.T) {
	r := newRoom(t, options{})
	messages := map[string][]byte{
		"no message":      {0xff, 0xff, 0xff},
		"cut short":       {0x0a, 0x7f, 'x'},
		"bad UTF-8":       {0x0a, 0x02, 0xc3, 0x28},
		"group never end": {0x0b},
	}
	malformed := wanted{codes.InvalidArgument, "INVALID_FIELD", "message"}
	for name, message := range messages {
		t.Run(name, func(t *testing.T) {
			var answer []byte
			codec := grpc.ForceCodecV2(raw{})
			malformed.check(t, r.conn.Invoke(r.as("east"), refereev1.MatchService_GetMatch_FullMethodName, &message, &answer, codec))
			stream, err := r.conn.NewStream(r.as("east"), &grpc.StreamDesc{ServerStreams: true},
				refereev1.MatchService_WatchMatch_FullMethodName, codec)
			must(t, err)
			must(t, stream.SendMsg(&message))
			must(t, stream.CloseSend())
			malformed.check(t, stream.RecvMsg(&answer))
		})
	}
}

func TestCreateMatchLooksAtItsIDFirst(t *testing.T) {
	r := newRoom(t, options{})
	request := r.creation(r.rulesForTests())
	_, err := r.match.CreateMatch(r.as("east"), request)
	must(t, err)
	request.Rules = &refereev1.CreateMatchRequest_RulesetId{RulesetId: "nobody's"}
	_, err = r.match.CreateMatch(r.as("east"), request)
	wanted{codes.AlreadyExists, "REQUEST_ID_REUSED", ""}.check(t, err)
	request.RequestId = r.id()
	_, err = r.match.CreateMatch(r.as("east"), request)
	wanted{codes.NotFound, "NOT_FOUND", ""}.check(t, err)
}

// TestCompensationIDs: each of the two calls has an id of its own, and one
// operator's answer is not given to another.
func TestCompensationIDs(t *testing.T) {
	r := newRoom(t, options{})
	table := r.started()
	ended := table.resign(1)
	settlement := ended.GetGame().GetSettlement().GetSettlementId()
	call := func(operator, id string, seq uint32) error {
		_, err := r.match.CompensateSettlement(r.as(operator), &refereev1.CompensateSettlementRequest{
			MatchId: table.id, Game: 1, RequestId: id, ExpectedSeq: seq, SettlementId: settlement, Note: "wrong table"})
		return err
	}
	first := r.id()
	must(t, call("operator", first, 1))
	must(t, call("operator", first, 1)) // its own answer again
	reused := wanted{codes.AlreadyExists, "REQUEST_ID_REUSED", ""}
	reused.check(t, call("second operator", first, 1))
	reused.check(t, call("second operator", first, 2))
	wanted{codes.FailedPrecondition, "SAME_OPERATOR", ""}.check(t, call("operator", r.id(), 2))
	must(t, call("second operator", r.id(), 2))
	wanted{codes.FailedPrecondition, "COMPENSATION_REFUSED", ""}.check(t, call("operator", r.id(), 3))
}

// TestTooLongMessagesDoNotCome: of messages that are too long no more comes than a
// request may have, however many were sent before and however fast the connection is.
func TestTooLongMessagesDoNotCome(t *testing.T) {
	r := newRoom(t, options{})
	var sent atomic.Int64
	conn := r.dial(func(c net.Conn) net.Conn { return &countedConn{c, &sent} })
	message := make([]byte, 4<<20)
	const calls = 20
	for range calls {
		err := conn.Invoke(r.as("east"), refereev1.MatchService_PlayAction_FullMethodName, &refereev1.PlayActionRequest{ClientHash: message}, &refereev1.PlayActionResponse{})
		if status.Code(err) != codes.ResourceExhausted {
			t.Fatal(err)
		}
	}
	if each := sent.Load() / calls; each > MaxRequestBytes+4<<10 {
		t.Errorf("%d bytes were sent of each", each)
	}
}

// countedConn counts what is written.
type countedConn struct {
	net.Conn
	written *atomic.Int64
}

func (c *countedConn) Write(b []byte) (int, error) {
	c.written.Add(int64(len(b)))
	return c.Conn.Write(b)
}
