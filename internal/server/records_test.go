package server

import (
	"fmt"
	"math/rand/v2"
	"testing"

	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// seen is a game as somebody saw it: no times, and no hashes of events that came
// after the ply.
func seen(g *refereev1.Game) *refereev1.Game {
	return &refereev1.Game{MatchId: g.GetMatchId(), Game: g.GetGame(), ViewerSeat: g.ViewerSeat, NextPly: g.GetNextPly(),
		NextSeq: g.GetNextSeq(), ToMove: g.ToMove, View: g.GetView(), Clock: g.GetClock(), HeadHash: g.GetHeadHash()}
}

// viewers are a spectator and both seats.
func viewers() []*uint32 { return []*uint32{nil, proto.Uint32(0), proto.Uint32(1)} }

// TestRecordsAtEachPly plays a game and notes what each viewer sees after each
// ply. Afterwards the record at that ply has the same to say, and the events up
// to it; the whole record has all events.
func TestRecordsAtEachPly(t *testing.T) {
	r := newRoom(t, options{})
	table := r.started()
	dice := rand.New(rand.NewPCG(1, 2))
	then := map[string]*refereev1.Game{}
	const plies = 25
	for ply := range uint32(plies + 1) {
		for _, viewer := range viewers() {
			got, err := r.match.GetGame(r.as("east"), &refereev1.GetGameRequest{MatchId: table.id, ViewerSeat: viewer})
			must(t, err)
			then[fmt.Sprint(ply, optional(viewer))] = seen(got.GetGame())
		}
		if ply < plies {
			legal, err := r.match.ListLegalActions(r.as("east"), &refereev1.ListLegalActionsRequest{MatchId: table.id})
			must(t, err)
			table.play(legal.GetActions()[dice.IntN(len(legal.GetActions()))].GetAction())
		}
	}
	table.resign(0)
	whole := &refereev1.GetGameRecordResponse{}
	for _, viewer := range viewers() {
		got, err := r.audit.GetGameRecord(r.as("auditor"), &refereev1.GetGameRecordRequest{MatchId: table.id, Game: 1, ViewerSeat: viewer})
		must(t, err)
		whole = got
		if position := got.GetRecord().GetPosition(); position.GetStatus() != refereev1.GameStatus_GAME_STATUS_ENDED ||
			optional(position.ViewerSeat) != optional(viewer) {
			t.Errorf("the whole record has the position %v", position)
		}
		for ply := range uint32(plies + 1) {
			got, err := r.audit.GetGameRecord(r.as("auditor"), &refereev1.GetGameRecordRequest{
				MatchId: table.id, Game: 1, AtPly: &ply, ViewerSeat: viewer})
			must(t, err)
			want := then[fmt.Sprint(ply, optional(viewer))]
			if position := seen(got.GetRecord().GetPosition()); !proto.Equal(position, want) {
				t.Errorf("ply %d as seat %s saw it:\n%v\nwant\n%v", ply, optional(viewer), position, want)
			}
			if n := len(got.GetRecord().GetEvents()); n != int(ply)+2 { // created and started before it
				t.Errorf("the record at ply %d has %d events", ply, n)
			}
		}
	}
	events := whole.GetRecord().GetEvents()
	if len(events) < plies+4 { // created, started, resigned, ended
		t.Errorf("the whole record has %d events", len(events))
	}
	for i, event := range events {
		if event.GetSeq() != uint32(i+1) {
			t.Errorf("event %d has the number %d", i+1, event.GetSeq())
		}
	}
	ply := uint32(plies + 1)
	_, err := r.audit.GetGameRecord(r.as("auditor"), &refereev1.GetGameRecordRequest{MatchId: table.id, Game: 1, AtPly: &ply})
	wanted{codes.NotFound, "NOT_FOUND", ""}.check(t, err)
}

func optional(seat *uint32) string {
	if seat == nil {
		return "none"
	}
	return fmt.Sprint(*seat)
}

// TestRecallPlayer recalls a player who played more games than are recalled,
// some of them of one match.
func TestRecallPlayer(t *testing.T) {
	r := newRoom(t, options{})
	var games []string // newest first
	for range 6 {
		table := r.started()
		games = append([]string{table.id + "/1"}, games...)
		table.resign(1)
		table.start()
		games = append([]string{table.id + "/2"}, games...)
	}
	r.create() // no game of it was started
	got, err := r.audit.RecallPlayer(r.as("east/auditor"), &refereev1.RecallPlayerRequest{PlayerId: "ann"})
	must(t, err)
	if len(got.GetGames()) != recalledGames {
		t.Fatalf("%d games", len(got.GetGames()))
	}
	for i, record := range got.GetGames() {
		key := fmt.Sprintf("%s/%d", record.GetMatch().GetMatchId(), record.GetPosition().GetGame())
		if key != games[i] {
			t.Errorf("game %d is %s, want %s", i, key, games[i])
		}
		one, err := r.audit.GetGameRecord(r.as("auditor"), &refereev1.GetGameRecordRequest{
			MatchId: record.GetMatch().GetMatchId(), Game: record.GetPosition().GetGame()})
		must(t, err)
		if !proto.Equal(one.GetRecord(), record) {
			t.Errorf("game %s is recalled as\n%v\nand recorded as\n%v", key, record, one.GetRecord())
		}
	}
	none, err := r.audit.RecallPlayer(r.as("east/auditor"), &refereev1.RecallPlayerRequest{Platform: "west", PlayerId: "ann"})
	if err != nil || len(none.GetGames()) != 0 {
		t.Errorf("an auditor of the east recalls of the west: %v, %v", none, err)
	}
}

// TestPairStatisticsOverTheWire compares the statistics with what the games told
// when they ended.
func TestPairStatisticsOverTheWire(t *testing.T) {
	r := newRoom(t, options{})
	ask := func(token string, request *refereev1.GetPairStatisticsRequest) *refereev1.GetPairStatisticsResponse {
		t.Helper()
		got, err := r.audit.GetPairStatistics(r.as(token), request)
		must(t, err)
		return got
	}
	net := map[string]int64{}
	for seat := range uint32(2) {
		table := r.started()
		table.play(flip("a1"))
		table.play(flip("b1"))
		for _, line := range table.resign(seat).GetGame().GetSettlement().GetLines() {
			net[line.GetPayer()] -= line.GetAmount()
			net[line.GetPayee()] += line.GetAmount()
		}
	}
	got := ask("east/auditor", &refereev1.GetPairStatisticsRequest{PlayerId: "bob", OpponentId: "ann"})
	bob, ann := got.GetPlayers()[0], got.GetPlayers()[1]
	if got.GetMatches() != 2 || got.GetGames() != 2 || got.GetMore() || len(got.GetEndings()) != 1 ||
		got.GetEndings()[0].GetReason() != refereev1.EndReason_END_REASON_RESIGNATION || got.GetEndings()[0].GetGames() != 2 ||
		bob.GetPlayerId() != "bob" || ann.GetPlayerId() != "ann" || bob.GetWins() != 1 || ann.GetWins() != 1 ||
		bob.GetThinkTimes().GetPlies() != 2 || ann.GetThinkTimes().GetPlies() != 2 ||
		got.GetFirstGameTime().AsTime().After(got.GetLastGameTime().AsTime()) {
		t.Errorf("counted %v", got)
	}
	if net["bob"] == 0 || bob.GetNetPoints() != net["bob"] || ann.GetNetPoints() != net["ann"] ||
		bob.GetNetPointsFromOther() != 0 || ann.GetNetPointsFromOther() != 0 {
		t.Errorf("%v moved, counted %v", net, got.GetPlayers())
	}
	for _, empty := range []*refereev1.GetPairStatisticsResponse{
		ask("east/auditor", &refereev1.GetPairStatisticsRequest{Platform: "west", PlayerId: "bob", OpponentId: "ann"}),
		ask("auditor", &refereev1.GetPairStatisticsRequest{Platform: "west", PlayerId: "bob", OpponentId: "ann"}),
		ask("auditor", &refereev1.GetPairStatisticsRequest{Platform: "east", PlayerId: "bob", OpponentId: "cy"}),
		ask("auditor", &refereev1.GetPairStatisticsRequest{Platform: "east", PlayerId: "bob", OpponentId: "ann", UntilTime: got.GetOldestMatchTime()}),
	} {
		if empty.GetMatches() != 0 || empty.GetGames() != 0 || len(empty.GetPlayers()) != 2 || empty.GetPlayers()[0].GetNetPoints() != 0 {
			t.Errorf("counted %v", empty)
		}
	}
}
