package server

import (
	"errors"
	"io"
	"testing"

	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// TestPlayActions sends the plies of several matches over one stream without
// waiting for answers: those of a match come in order, and a refusal ends nothing.
func TestPlayActions(t *testing.T) {
	r := newRoom(t, options{deal: tidy})
	stream, err := r.match.PlayActions(r.as("east"))
	must(t, err)
	tables := []*table{r.started(), r.started(), r.started()}
	squares := []string{"a1", "b1", "c1", "d1", "a2", "b2"}
	want := map[string][]string{}
	for i, square := range squares {
		for _, table := range tables {
			request := table.action(flip(square))
			request.ExpectedPly, request.Seat = uint32(i+1), proto.Uint32(uint32(i%2))
			want[table.id] = append(want[table.id], request.GetRequestId())
			must(t, stream.Send(&refereev1.PlayActionsRequest{Play: request}))
		}
	}
	stale := tables[0].action(flip("d8"))
	want[tables[0].id] = append(want[tables[0].id], stale.GetRequestId())
	must(t, stream.Send(&refereev1.PlayActionsRequest{Play: stale}))
	must(t, stream.Send(&refereev1.PlayActionsRequest{}))
	want[""] = []string{""}
	must(t, stream.CloseSend())

	refusals := map[string]string{}
	answers := map[string]int{}
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		n := answers[answer.GetMatchId()]
		answers[answer.GetMatchId()]++
		if n >= len(want[answer.GetMatchId()]) || want[answer.GetMatchId()][n] != answer.GetRequestId() {
			t.Fatalf("answer %d of match %s is to %s", n, answer.GetMatchId(), answer.GetRequestId())
		}
		if refusal := answer.GetRefusal(); refusal != nil {
			refusals[answer.GetRequestId()] = refusal.GetReason()
		} else if got := answer.GetChange().GetGame().GetNextPly(); got != uint32(n+2) {
			t.Errorf("answer %d of match %s expects ply %d next", n, answer.GetMatchId(), got)
		}
	}
	for match, requests := range want {
		if answers[match] != len(requests) {
			t.Errorf("match %q: %d answers to %d requests", match, answers[match], len(requests))
		}
	}
	if len(refusals) != 2 || refusals[stale.GetRequestId()] != "STALE" || refusals[""] != "INVALID_FIELD" {
		t.Errorf("refusals: %v", refusals)
	}
}

func TestPlayActionsAreReplayed(t *testing.T) {
	r := newRoom(t, options{deal: tidy})
	table := r.started()
	request := table.action(flip("a1"))
	played, err := r.match.PlayAction(r.as("east"), request)
	must(t, err)
	stream, err := r.match.PlayActions(r.as("east"))
	must(t, err)
	must(t, stream.Send(&refereev1.PlayActionsRequest{Play: request}))
	answer, err := stream.Recv()
	must(t, err)
	change := answer.GetChange()
	if !change.GetReplayed() || !proto.Equal(change.GetGame(), played.GetChange().GetGame()) {
		t.Errorf("the retry on the stream got %v", answer)
	}
}

// TestPlayActionsEndWithAReason drains a server with an open stream.
func TestPlayActionsEndWithAReason(t *testing.T) {
	r := newRoom(t, options{deal: tidy})
	table := r.started()
	stream, err := r.match.PlayActions(r.as("east"))
	must(t, err)
	must(t, stream.Send(&refereev1.PlayActionsRequest{Play: table.action(flip("a1"))}))
	_, err = stream.Recv()
	must(t, err)
	r.server.drain()
	_, err = stream.Recv()
	wanted{codes.Unavailable, "NOT_READY", ""}.check(t, err)
}
