package server

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// compensate calls CompensateSettlement as an operator.
func (t *table) compensate(as, request string, seq uint32, settlement *refereev1.Settlement) (*refereev1.CompensateSettlementResponse, error) {
	return t.match.CompensateSettlement(t.as(as), &refereev1.CompensateSettlementRequest{
		MatchId: t.id, Game: settlement.GetGame(), RequestId: request, ExpectedSeq: seq,
		SettlementId: settlement.GetSettlementId(), Note: "wrong table"})
}

// TestACompensationTakesTwoOperatorsAndIsMadeOnce asks for it over the wire in
// every wrong way, and reads what came of it from feed and interventions.
func TestACompensationTakesTwoOperatorsAndIsMadeOnce(t *testing.T) {
	r := newRoom(t, options{})
	table := r.started()
	settlement := table.settle()
	feed := func() []*refereev1.SettlementEntry {
		t.Helper()
		r.sequence(false)
		got, err := r.audit.ListSettlements(r.as("east"), &refereev1.ListSettlementsRequest{FromPosition: 1})
		must(t, err)
		return got.GetEntries()
	}
	refused := func(reason string, as string, seq uint32) {
		t.Helper()
		_, err := table.compensate(as, r.id(), seq, settlement)
		wanted{codes.FailedPrecondition, reason, ""}.check(t, err)
	}
	_, err := table.compensate("east", r.id(), 1, settlement)
	wanted{codes.PermissionDenied, "SCOPE_MISSING", ""}.check(t, err)

	proposal := r.id()
	_, err = table.compensate("operator", proposal, 1, settlement)
	must(t, err)
	refused("SAME_OPERATOR", "operator", 2)
	again, err := table.compensate("operator", proposal, 1, settlement) // its own retry proposes nothing new
	if must(t, err); !again.GetReplayed() {
		t.Errorf("the retry was answered %v", again)
	}
	if n := len(feed()); n != 1 {
		t.Fatalf("%d entries before the second operator", n)
	}
	second := r.id()
	made, err := table.compensate("second operator", second, 2, settlement)
	must(t, err)
	again, err = table.compensate("second operator", second, 2, settlement)
	if must(t, err); !again.GetReplayed() {
		t.Errorf("the retry was answered %v", again)
	}
	refused("COMPENSATION_REFUSED", "operator", 3)
	refused("COMPENSATION_REFUSED", "second operator", 3)

	entries := feed()
	if len(entries) != 2 || !proto.Equal(entries[0].GetSettlement(), settlement) ||
		!proto.Equal(entries[1].GetSettlement(), made.GetEvent().GetCompensation().GetSettlement()) ||
		entries[1].GetSettlement().GetCompensatesId() != settlement.GetSettlementId() {
		t.Errorf("the feed is %v", entries)
	}
	balance := map[string]int64{}
	for _, e := range entries {
		for _, line := range e.GetSettlement().GetLines() {
			balance[line.GetPayer()] -= line.GetAmount()
			balance[line.GetPayee()] += line.GetAmount()
		}
	}
	for account, points := range balance {
		if points != 0 {
			t.Errorf("%q is left with %d points", account, points)
		}
	}
	got, err := r.audit.ListInterventions(r.as("east/auditor"), &refereev1.ListInterventionsRequest{Kind: refereev1.EventKind_EVENT_KIND_COMPENSATION})
	must(t, err)
	for i, want := range []struct {
		by   string
		made bool
	}{{"second operator", true}, {"operator", false}} {
		if len(got.GetInterventions()) != 2 {
			t.Fatalf("interventions %v", got)
		}
		x := got.GetInterventions()[i]
		if x.GetSubmittedBy() != want.by || x.GetMade() != want.made || x.GetNote() != "wrong table" || x.GetGame() != 0 ||
			x.GetSeq() != uint32(2-i) || x.GetCompensatedGame() != 1 || x.GetSettlementId() != settlement.GetSettlementId() ||
			x.GetMatchId() != table.id || x.GetEventTime() == nil {
			t.Errorf("intervention %d is %v", i, x)
		}
	}
}

// interventions reads the whole list page by page.
func (r *room) interventions(as string, size int32, request *refereev1.ListInterventionsRequest) (all []*refereev1.Intervention) {
	r.t.Helper()
	request = proto.CloneOf(request)
	request.PageSize = size
	for {
		got, err := r.audit.ListInterventions(r.as(as), request)
		must(r.t, err)
		all = append(all, got.GetInterventions()...)
		if request.PageToken = got.GetNextPageToken(); request.GetPageToken() == "" {
			return all
		}
	}
}

func TestInterventionsTellWhoAndWhy(t *testing.T) {
	game := directed(t, "disputable foul")
	r := newRoom(t, options{deal: arranged(t, game.Deal)})
	ruled := r.started(r.composed("mingjian-2026", func(own *refereev1.Ruleset) {
		own.GetDarkChess().GetChase().Length = 1
		own.GetDarkChess().FoulsToLose = 1
		own.Stakes = &refereev1.StakeRules{EntryMultiple: 1, NextMultiple: 1, LossMultiple: 1}
	}), func(c *refereev1.CreateMatchRequest) { c.ExternalRef = "order 9" })
	must(t, ruled.callTime(nil, 0))
	ruled.playNotation(game.Actions)
	ruled.ruleFoul(true)
	voided := r.started()
	_, err := r.match.VoidMatch(r.as("operator"), &refereev1.VoidMatchRequest{MatchId: voided.id, Game: 1, RequestId: r.id(), ExpectedSeq: 3, Note: "power cut"})
	must(t, err)
	left := r.create()
	_, err = r.match.AbandonMatch(r.as("east"), &refereev1.AbandonMatchRequest{MatchId: left.id, Game: 1, RequestId: r.id(), ExpectedSeq: 2,
		Note: "ann is out of points", Balances: []int64{1, 2}})
	must(t, err)

	all := r.interventions("auditor", 1, &refereev1.ListInterventionsRequest{})
	want := []*refereev1.Intervention{
		{MatchId: left.id, Seq: 2, Kind: refereev1.EventKind_EVENT_KIND_MATCH_ABANDONED, SubmittedBy: "east", Note: "ann is out of points"},
		{MatchId: voided.id, Seq: 3, Kind: refereev1.EventKind_EVENT_KIND_MATCH_VOIDED, SubmittedBy: "operator", Note: "power cut"},
		{MatchId: ruled.id, ExternalRef: "order 9", Kind: refereev1.EventKind_EVENT_KIND_FOUL_RULED, SubmittedBy: "operator",
			Note: "seen on the board", Confirmed: true},
	}
	if len(all) != len(want) {
		t.Fatalf("%v", all)
	}
	for i, x := range want {
		x.Platform, x.TableRef, x.Game, x.EventTime = "east", "table 7", 1, all[i].GetEventTime()
		if x.GetKind() == refereev1.EventKind_EVENT_KIND_FOUL_RULED {
			x.Seq = all[i].GetSeq()
		}
		if !proto.Equal(all[i], x) || x.GetSeq() == 0 {
			t.Errorf("%v, want %v", all[i], x)
		}
	}
	for name, list := range map[string]struct {
		as      string
		request *refereev1.ListInterventionsRequest
		want    []*refereev1.Intervention
	}{
		"its own":       {"east/auditor", &refereev1.ListInterventionsRequest{}, want},
		"one kind":      {"auditor", &refereev1.ListInterventionsRequest{Kind: refereev1.EventKind_EVENT_KIND_MATCH_VOIDED}, want[1:2]},
		"from":          {"auditor", &refereev1.ListInterventionsRequest{FromTime: want[1].GetEventTime()}, want[:2]},
		"until":         {"auditor", &refereev1.ListInterventionsRequest{UntilTime: want[1].GetEventTime()}, want[2:]},
		"a platform":    {"auditor", &refereev1.ListInterventionsRequest{Platform: "east"}, want},
		"an empty one":  {"auditor", &refereev1.ListInterventionsRequest{Platform: "west"}, nil},
		"a foreign one": {"east/auditor", &refereev1.ListInterventionsRequest{Platform: "west"}, nil},
		"one match":     {"east/auditor", &refereev1.ListInterventionsRequest{MatchId: voided.id}, want[1:2]},
		"of all":        {"auditor", &refereev1.ListInterventionsRequest{MatchId: ruled.id}, want[2:]},
		"another's":     {"auditor", &refereev1.ListInterventionsRequest{Platform: "west", MatchId: voided.id}, nil},
		"absent":        {"auditor", &refereev1.ListInterventionsRequest{MatchId: r.id()}, nil},
	} {
		if got := r.interventions(list.as, 2, list.request); !slices.EqualFunc(got, list.want, func(a, b *refereev1.Intervention) bool { return proto.Equal(a, b) }) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// exposure reads the whole list page by page.
func (r *room) exposure(as string, size int32, request *refereev1.ListExposureRequest) (first *refereev1.ListExposureResponse, games []*refereev1.ExposedGame) {
	r.t.Helper()
	request = proto.CloneOf(request)
	request.PageSize = size
	for {
		got, err := r.audit.ListExposure(r.as(as), request)
		must(r.t, err)
		if first == nil {
			first = got
		} else if got.GetTotals() != nil || !proto.Equal(got.GetAtTime(), first.GetAtTime()) {
			r.t.Errorf("a further page is %v", got)
		}
		games = append(games, got.GetGames()...)
		if request.PageToken = got.GetNextPageToken(); request.GetPageToken() == "" {
			return first, games
		}
	}
}

func TestExposureOverTheWire(t *testing.T) {
	r := newRoom(t, options{})
	r.create() // holds nothing yet
	var tables []*table
	for range 5 {
		tables = append(tables, r.started(func(c *refereev1.CreateMatchRequest) { c.ExternalRef = r.id() }))
	}
	running := tables[4].last.GetServerTime()
	tables[1].resign(0)
	tables[3].resign(1)
	ids := func(games []*refereev1.ExposedGame) (ids []string) {
		for _, g := range games {
			ids = append(ids, g.GetMatchId())
		}
		return ids
	}
	now, games := r.exposure("east/auditor", 2, &refereev1.ListExposureRequest{})
	if got := ids(games); !slices.Equal(got, []string{tables[4].id, tables[2].id, tables[0].id}) {
		t.Errorf("incomplete are %v", got)
	}
	// Twice the stake of 100 and the penalty of 30, from either seat.
	if totals := now.GetTotals(); len(totals) != 1 || totals[0].GetGames() != 3 || totals[0].GetWorstLoss() != 3*2*230 || totals[0].GetPlatform() != "east" {
		t.Errorf("in sum %v", totals)
	}
	want := &refereev1.ExposedGame{
		MatchId: tables[4].id, Game: 1, Platform: "east", ExternalRef: games[0].GetExternalRef(), TableRef: "table 7", Stake: 100,
		StartTime: games[0].GetStartTime(), Seats: []*refereev1.ExposedSeat{
			{PlayerId: "ann", HoldId: "hold-a", Balance: 1000, WorstLoss: 230}, {PlayerId: "bob", HoldId: "hold-b", Balance: 2000, WorstLoss: 230},
		},
	}
	if !proto.Equal(games[0], want) || want.GetExternalRef() == "" || want.GetStartTime() == nil {
		t.Errorf("%v, want %v", games[0], want)
	}
	then, games := r.exposure("auditor", 2, &refereev1.ListExposureRequest{AtTime: running})
	if len(games) != 5 || then.GetTotals()[0].GetGames() != 5 || !proto.Equal(then.GetAtTime(), running) ||
		games[1].GetEndTime() == nil || games[0].GetEndTime() != nil {
		t.Errorf("when all ran: %v, %v", then, games)
	}
	for name, list := range map[string]struct {
		as      string
		request *refereev1.ListExposureRequest
	}{
		"before any":     {"auditor", &refereev1.ListExposureRequest{AtTime: timestamppb.New(running.AsTime().Add(-time.Hour))}},
		"another's":      {"east/auditor", &refereev1.ListExposureRequest{Platform: "west"}},
		"an empty one's": {"auditor", &refereev1.ListExposureRequest{Platform: "west"}},
	} {
		if first, games := r.exposure(list.as, 2, list.request); len(games) != 0 || len(first.GetTotals()) != 0 {
			t.Errorf("%s: %v", name, first)
		}
	}
}

func TestOversightRefuses(t *testing.T) {
	r := newRoom(t, options{})
	for range 2 {
		table := r.started()
		_, err := r.match.VoidMatch(r.as("operator"), &refereev1.VoidMatchRequest{MatchId: table.id, Game: 1, RequestId: r.id(), ExpectedSeq: 3, Note: "n"})
		must(t, err)
		r.started()
	}
	exposure := func(as string, request *refereev1.ListExposureRequest) (string, error) {
		got, err := r.audit.ListExposure(r.as(as), request)
		return got.GetNextPageToken(), err
	}
	interventions := func(as string, request *refereev1.ListInterventionsRequest) (string, error) {
		got, err := r.audit.ListInterventions(r.as(as), request)
		return got.GetNextPageToken(), err
	}
	exposed, err := exposure("auditor", &refereev1.ListExposureRequest{PageSize: 1})
	must(t, err)
	intervened, err := interventions("auditor", &refereev1.ListInterventionsRequest{PageSize: 1})
	must(t, err)
	if exposed == "" || intervened == "" {
		t.Fatal("there is no second page")
	}
	foreign := wanted{codes.InvalidArgument, "INVALID_PAGE_TOKEN", ""}
	for name, test := range map[string]struct {
		as      string
		request *refereev1.ListExposureRequest
		want    wanted
	}{
		"to come":       {"auditor", &refereev1.ListExposureRequest{AtTime: timestamppb.New(time.Now().Add(time.Hour))}, invalid("at_time")},
		"no time":       {"auditor", &refereev1.ListExposureRequest{AtTime: &timestamppb.Timestamp{Nanos: -1}}, invalid("at_time")},
		"large page":    {"auditor", &refereev1.ListExposureRequest{PageSize: 201}, invalid("page_size")},
		"long name":     {"auditor", &refereev1.ListExposureRequest{Platform: strings.Repeat("x", 129)}, invalid("platform")},
		"foreign token": {"auditor", &refereev1.ListExposureRequest{PageToken: intervened}, foreign},
		"another query": {"auditor", &refereev1.ListExposureRequest{PageToken: exposed, Platform: "east"}, foreign},
		"another token": {"east/auditor", &refereev1.ListExposureRequest{PageToken: exposed}, foreign},
		"scope":         {"east", &refereev1.ListExposureRequest{}, wanted{codes.PermissionDenied, "SCOPE_MISSING", ""}},
	} {
		_, err := exposure(test.as, test.request)
		t.Run("exposure "+name, func(t *testing.T) { test.want.check(t, err) })
	}
	now := timestamppb.Now()
	for name, test := range map[string]struct {
		as      string
		request *refereev1.ListInterventionsRequest
		want    wanted
	}{
		"a ply":         {"auditor", &refereev1.ListInterventionsRequest{Kind: refereev1.EventKind_EVENT_KIND_PLY}, invalid("kind")},
		"unknown kind":  {"auditor", &refereev1.ListInterventionsRequest{Kind: 99}, invalid("kind")},
		"no span":       {"auditor", &refereev1.ListInterventionsRequest{FromTime: now, UntilTime: now}, invalid("until_time")},
		"large page":    {"auditor", &refereev1.ListInterventionsRequest{PageSize: 201}, invalid("page_size")},
		"foreign token": {"auditor", &refereev1.ListInterventionsRequest{PageToken: exposed}, foreign},
		"another query": {"auditor", &refereev1.ListInterventionsRequest{PageToken: intervened, FromTime: now}, foreign},
		"another token": {"east/auditor", &refereev1.ListInterventionsRequest{PageToken: intervened}, foreign},
		"scope":         {"operator", &refereev1.ListInterventionsRequest{}, wanted{codes.PermissionDenied, "SCOPE_MISSING", ""}},
	} {
		_, err := interventions(test.as, test.request)
		t.Run("interventions "+name, func(t *testing.T) { test.want.check(t, err) })
	}
}

func TestSumsOfExposureStayWithinTheirBits(t *testing.T) {
	const most = math.MaxInt64
	for _, c := range []struct{ sum, amount, times, want int64 }{
		{0, 0, 0, 0}, {5, 7, 3, 26}, {0, most, 1, most}, {1, most, 1, most}, {most, 0, 9, most}, {most, 1, 1, most},
		{most - 6, 2, 3, most}, {most - 7, 2, 3, most - 1}, {0, 1 << 40, 1 << 40, most},
	} {
		if got := addUpTo(c.sum, c.amount, c.times); got != c.want {
			t.Errorf("%d + %d x %d = %d, want %d", c.sum, c.amount, c.times, got, c.want)
		}
	}
}

// Page tokens carry instants and events back as they were.
func TestKeysOfOversightPages(t *testing.T) {
	e := referee.Event{Match: referee.ID{1, 15: 9}, Game: 513, Seq: 70_000, Time: clock.Time(1 << 50)}
	p := page{after: eventKey(&e)}
	if got := p.event(); got != (referee.EventKey{Time: e.Time, GameKey: referee.GameKey{Match: e.Match, Game: e.Game}, Seq: e.Seq}) {
		t.Errorf("%+v", got)
	}
	game := referee.GameKey{Match: e.Match, Game: e.Game}
	p = page{after: exposureKey(game, e.Time)}
	if got, at := p.exposed(5); got != game || at != e.Time {
		t.Errorf("%+v at %d", got, at)
	}
	p = page{}
	if got, at := p.exposed(5); got != (referee.GameKey{}) || at != 5 || p.event() != (referee.EventKey{}) {
		t.Errorf("of the first page: %+v at %d, %+v", got, at, p.event())
	}
}
