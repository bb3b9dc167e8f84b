package server

import (
	"sync"
	"testing"

	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/protobuf/proto"
)

// TestTheSameRequestTenTimesAtOnce sends one request ten times at the same
// instant: one event, ten equal answers, one of which is the first. The ids of
// these tests all fall together in a game's filter of seen ids, so that each
// retry looks into a log that may have gone on.
func TestTheSameRequestTenTimesAtOnce(t *testing.T) {
	r := newRoom(t, options{deal: tidy})
	table := r.started()
	request := table.action(flip("b1"))
	const times = 10
	answers := make([]*refereev1.PlayActionResponse, times)
	errs := make([]error, times)
	var sending sync.WaitGroup
	for i := range times {
		sending.Go(func() { answers[i], errs[i] = r.match.PlayAction(r.as("east"), request) })
	}
	sending.Wait()
	first := 0
	for i := range times {
		must(t, errs[i])
		change := answers[i].GetChange()
		if !change.GetReplayed() {
			first++
		}
		change.Replayed, change.ServerTime = false, nil
		if !proto.Equal(answers[i], answers[0]) {
			t.Errorf("answer %d:\n%v\nanswer 0:\n%v", i, answers[i], answers[0])
		}
	}
	if first != 1 {
		t.Errorf("%d answers are not marked replayed", first)
	}
	record, err := r.audit.GetGameRecord(r.as("auditor"), &refereev1.GetGameRecordRequest{MatchId: table.id, Game: 1})
	must(t, err)
	if n := len(record.GetRecord().GetEvents()); n != 3 {
		t.Errorf("%d events", n)
	}
}

// TestEndingsAreReplayed retries the calls that start and end games after the
// match has gone on: each gets its first answer again.
func TestEndingsAreReplayed(t *testing.T) {
	r := newRoom(t, options{deal: tidy})
	table := r.create()
	start := &refereev1.StartGameRequest{
		MatchId: table.id, Game: 1, RequestId: r.id(), ExpectedSeq: 2, Balances: []int64{900, 900}, PlayerSeeds: [][]byte{{1}, nil},
	}
	started, err := r.match.StartGame(r.as("east"), start)
	must(t, err)
	table.saw(started.GetChange())
	table.play(flip("b1"))
	resign := &refereev1.ResignRequest{MatchId: table.id, Game: 1, RequestId: r.id(), ExpectedSeq: 4, Seat: proto.Uint32(1)}
	resigned, err := r.match.Resign(r.as("east"), resign)
	must(t, err)
	table.saw(resigned.GetChange())
	table.start()
	table.play(flip("b1"))

	startedAgain, err := r.match.StartGame(r.as("east"), start)
	must(t, err)
	resignedAgain, err := r.match.Resign(r.as("east"), resign)
	must(t, err)
	for name, pair := range map[string][2]*refereev1.Change{
		"start":  {started.GetChange(), startedAgain.GetChange()},
		"resign": {resigned.GetChange(), resignedAgain.GetChange()},
	} {
		first, again := pair[0], pair[1]
		if first.GetReplayed() || !again.GetReplayed() {
			t.Errorf("%s: replayed is %t, then %t", name, first.GetReplayed(), again.GetReplayed())
		}
		again.Replayed, again.ServerTime = false, first.GetServerTime()
		if !proto.Equal(first, again) {
			t.Errorf("%s: first\n%v\nagain\n%v", name, first, again)
		}
	}
}
