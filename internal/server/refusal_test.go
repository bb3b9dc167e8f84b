package server

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// wanted is what a refused call gets.
type wanted struct {
	code   codes.Code
	reason string
	field  string // in the BadRequest; empty for none
}

func invalid(field string) wanted { return wanted{codes.InvalidArgument, "INVALID_FIELD", field} }

func (w wanted) check(t testing.TB, err error) {
	t.Helper()
	st := status.Convert(err)
	if st.Code() != w.code || reasonOf(st) != w.reason {
		t.Errorf("got %v %q (%s), want %v %q", st.Code(), reasonOf(st), st.Message(), w.code, w.reason)
	}
	if w.field != "" && violations(st)[w.field] == "" {
		t.Errorf("faults %v don't name %s", violations(st), w.field)
	}
}

// version of a match: nothing that changes it leaves it alone.
func (t *table) version() int64 {
	t.t.Helper()
	id, _ := parseID(t.id)
	versions, err := t.store.Versions(t.t.Context(), []referee.ID{id})
	must(t.t, err)
	return versions[id]
}

func TestCreateMatchRefuses(t *testing.T) {
	r := newRoom(t, options{})
	long := strings.Repeat("x", 129)
	tests := map[string]struct {
		spoil func(*refereev1.CreateMatchRequest)
		want  wanted
	}{
		"no request id":      {func(c *refereev1.CreateMatchRequest) { c.RequestId = "" }, invalid("request_id")},
		"zero request id":    {func(c *refereev1.CreateMatchRequest) { c.RequestId = referee.ID{}.String() }, invalid("request_id")},
		"capital request id": {func(c *refereev1.CreateMatchRequest) { c.RequestId = strings.ToUpper(c.GetRequestId()) }, invalid("request_id")},
		"bare request id":    {func(c *refereev1.CreateMatchRequest) { c.RequestId = strings.ReplaceAll(c.GetRequestId(), "-", "") }, invalid("request_id")},
		"one player":         {func(c *refereev1.CreateMatchRequest) { c.PlayerIds = c.GetPlayerIds()[:1] }, invalid("player_ids")},
		"three players":      {func(c *refereev1.CreateMatchRequest) { c.PlayerIds = []string{"a", "b", "c"} }, invalid("player_ids")},
		"five players":       {func(c *refereev1.CreateMatchRequest) { c.PlayerIds = []string{"a", "b", "c", "d", "e"} }, invalid("player_ids")},
		"the same twice":     {func(c *refereev1.CreateMatchRequest) { c.PlayerIds = []string{"ann", "ann"} }, invalid("player_ids")},
		"nameless player":    {func(c *refereev1.CreateMatchRequest) { c.PlayerIds = []string{"ann", ""} }, invalid("player_ids[1]")},
		"long player":        {func(c *refereev1.CreateMatchRequest) { c.PlayerIds = []string{"ann", long} }, invalid("player_ids[1]")},
		"NUL in a player":    {func(c *refereev1.CreateMatchRequest) { c.PlayerIds = []string{"ann", "b\x00"} }, invalid("player_ids[1]")},
		"no rules":           {func(c *refereev1.CreateMatchRequest) { c.Rules = nil }, invalid("rules")},
		"unknown preset": {func(c *refereev1.CreateMatchRequest) {
			c.Rules = &refereev1.CreateMatchRequest_RulesetId{RulesetId: "x"}
		}, wanted{codes.NotFound, "NOT_FOUND", ""}},
		"unsound ruleset":     {func(c *refereev1.CreateMatchRequest) { c.GetRuleset().GetDarkChess().Horse = "flying" }, wanted{codes.InvalidArgument, "INVALID_RULESET", "ruleset.dark_chess.horse"}},
		"borrowed ruleset id": {func(c *refereev1.CreateMatchRequest) { c.GetRuleset().Id = "7club-standard" }, invalid("ruleset.id")},
		"rush twice said":     {func(c *refereev1.CreateMatchRequest) { c.ChariotRush = proto.Bool(true) }, invalid("chariot_rush")},
		"no stake":            {func(c *refereev1.CreateMatchRequest) { c.Stake = 0 }, wanted{codes.InvalidArgument, "STAKE_OUT_OF_RANGE", "stake"}},
		"negative stake":      {func(c *refereev1.CreateMatchRequest) { c.Stake = -1 }, wanted{codes.InvalidArgument, "STAKE_OUT_OF_RANGE", "stake"}},
		"stake of 2^62":       {func(c *refereev1.CreateMatchRequest) { c.Stake = 1 << 62 }, wanted{codes.InvalidArgument, "STAKE_OUT_OF_RANGE", "stake"}},
		"largest stake":       {func(c *refereev1.CreateMatchRequest) { c.Stake = math.MaxInt64 }, wanted{codes.InvalidArgument, "STAKE_OUT_OF_RANGE", "stake"}},
		"negative fee":        {func(c *refereev1.CreateMatchRequest) { c.GetCharges().Fee = -1 }, wanted{codes.InvalidArgument, "STAKE_OUT_OF_RANGE", "charges.fee"}},
		"huge penalty":        {func(c *refereev1.CreateMatchRequest) { c.GetCharges().DisconnectionPenalty = math.MaxInt64 }, wanted{codes.InvalidArgument, "STAKE_OUT_OF_RANGE", "charges.disconnection_penalty"}},
		"negative balance":    {func(c *refereev1.CreateMatchRequest) { c.Balances = []int64{1000, -1} }, wanted{codes.InvalidArgument, "STAKE_OUT_OF_RANGE", "balances"}},
		"short balance":       {func(c *refereev1.CreateMatchRequest) { c.Balances = []int64{899, 900} }, wanted{codes.FailedPrecondition, "INSUFFICIENT_BALANCE", ""}},
		"one balance":         {func(c *refereev1.CreateMatchRequest) { c.Balances = []int64{1000} }, invalid("balances")},
		"five balances":       {func(c *refereev1.CreateMatchRequest) { c.Balances = make([]int64, 5) }, invalid("balances")},
		"no first seat":       {func(c *refereev1.CreateMatchRequest) { c.FirstSeat = nil }, invalid("first_seat")},
		"unknown first seat":  {func(c *refereev1.CreateMatchRequest) { c.FirstSeat = proto.Uint32(2) }, invalid("first_seat")},
		"absurd first seat":   {func(c *refereev1.CreateMatchRequest) { c.FirstSeat = proto.Uint32(math.MaxUint32) }, invalid("first_seat")},
		"long external_ref":   {func(c *refereev1.CreateMatchRequest) { c.ExternalRef = long }, invalid("external_ref")},
		"long table_ref":      {func(c *refereev1.CreateMatchRequest) { c.TableRef = long }, invalid("table_ref")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			request := r.creation(r.rulesForTests())
			test.spoil(request)
			_, err := r.match.CreateMatch(r.as("east"), request)
			test.want.check(t, err)
		})
	}
	got, err := r.audit.ListMatches(r.as("auditor"), &refereev1.ListMatchesRequest{})
	must(t, err)
	if len(got.GetMatches()) != 0 {
		t.Errorf("%d matches were created", len(got.GetMatches()))
	}
}

func TestCreateMatchTakesItsLimits(t *testing.T) {
	r := newRoom(t, options{})
	table := r.create(func(c *refereev1.CreateMatchRequest) {
		c.PlayerIds = []string{strings.Repeat("a", 128), strings.Repeat("一", 42)}
		c.ExternalRef, c.TableRef = strings.Repeat("e", 128), strings.Repeat("t", 128)
	})
	again := r.creation(r.rulesForTests())
	again.ExternalRef = strings.Repeat("e", 128)
	_, err := r.match.CreateMatch(r.as("east"), again)
	wanted{codes.AlreadyExists, "EXTERNAL_REF_TAKEN", ""}.check(t, err)
	if !strings.Contains(fmt.Sprint(status.Convert(err).Details()), table.id) {
		t.Error("the refusal doesn't name the match")
	}
	_, err = r.match.CreateMatch(r.as("west"), again)
	must(t, err)
}

func TestRequestIDOfOtherContent(t *testing.T) {
	r := newRoom(t, options{})
	request := r.creation(r.rulesForTests())
	first, err := r.match.CreateMatch(r.as("east"), request)
	must(t, err)
	second, err := r.match.CreateMatch(r.as("east"), request)
	must(t, err)
	if !second.GetChange().GetReplayed() {
		t.Error("the retry isn't marked replayed")
	}
	second.Change.Replayed, second.Change.ServerTime = false, first.GetChange().GetServerTime()
	if !proto.Equal(first, second) {
		t.Errorf("the retry got\n%v\nfirst:\n%v", second, first)
	}
	request.Stake++
	_, err = r.match.CreateMatch(r.as("east"), request)
	wanted{codes.AlreadyExists, "REQUEST_ID_REUSED", ""}.check(t, err)

	table := r.started()
	action := table.action(flip("c3"))
	table.room.t = t
	_, err = r.match.PlayAction(r.as("east"), action)
	must(t, err)
	before := table.version()
	action.Action = flip("c4")
	_, err = r.match.PlayAction(r.as("east"), action)
	wanted{codes.AlreadyExists, "REQUEST_ID_REUSED", ""}.check(t, err)
	if table.version() != before {
		t.Error("the refusal changed the match")
	}
}

func TestPlayActionRefuses(t *testing.T) {
	r := newRoom(t, options{deal: tidy})
	table := r.started()
	table.play(flip("a1")) // the red general; seat 1 is to move
	before := table.version()
	type request = refereev1.PlayActionRequest
	tests := map[string]struct {
		spoil func(*request)
		want  wanted
	}{
		"no match":         {func(p *request) { p.MatchId = "" }, invalid("match_id")},
		"unknown match":    {func(p *request) { p.MatchId = r.id() }, wanted{codes.NotFound, "NOT_FOUND", ""}},
		"no game":          {func(p *request) { p.Game = 0 }, invalid("game")},
		"absurd game":      {func(p *request) { p.Game = math.MaxUint32 }, invalid("game")},
		"game to come":     {func(p *request) { p.Game = 2 }, wanted{codes.Aborted, "STALE", ""}},
		"no request id":    {func(p *request) { p.RequestId = "x" }, invalid("request_id")},
		"no ply":           {func(p *request) { p.ExpectedPly = 0 }, invalid("expected_ply")},
		"absurd ply":       {func(p *request) { p.ExpectedPly = math.MaxUint32 }, invalid("expected_ply")},
		"stale ply":        {func(p *request) { p.ExpectedPly = 1 }, wanted{codes.Aborted, "STALE", ""}},
		"ply to come":      {func(p *request) { p.ExpectedPly = 3 }, wanted{codes.Aborted, "STALE", ""}},
		"no seat":          {func(p *request) { p.Seat = nil }, invalid("seat")},
		"unknown seat":     {func(p *request) { p.Seat = proto.Uint32(2) }, invalid("seat")},
		"absurd seat":      {func(p *request) { p.Seat = proto.Uint32(255) }, invalid("seat")},
		"not to move":      {func(p *request) { p.Seat = proto.Uint32(0) }, wanted{codes.FailedPrecondition, "ILLEGAL_ACTION", ""}},
		"no action":        {func(p *request) { p.Action = nil }, invalid("action.kind")},
		"unknown action":   {func(p *request) { p.GetAction().Kind = 9 }, invalid("action.kind")},
		"no square":        {func(p *request) { p.GetAction().From = "" }, invalid("action.from")},
		"off the board":    {func(p *request) { p.GetAction().From = "e1" }, invalid("action.from")},
		"flip to":          {func(p *request) { p.GetAction().To = "a2" }, invalid("action.to")},
		"move nowhere":     {func(p *request) { p.GetAction().Kind = refereev1.ActionKind_ACTION_KIND_MOVE }, invalid("action.to")},
		"stop somewhere":   {func(p *request) { p.GetAction().Kind = refereev1.ActionKind_ACTION_KIND_STOP }, invalid("action.from")},
		"face up":          {func(p *request) { p.GetAction().From = "a1" }, wanted{codes.FailedPrecondition, "ILLEGAL_ACTION", ""}},
		"long client hash": {func(p *request) { p.ClientHash = make([]byte, 33) }, invalid("client_hash")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			request := table.action(flip("b2"))
			test.spoil(request)
			_, err := r.match.PlayAction(r.as("east"), request)
			test.want.check(t, err)
			if table.version() != before {
				t.Error("the refusal changed the match")
			}
		})
	}
	t.Run("all faults at once", func(t *testing.T) {
		_, err := r.match.PlayAction(r.as("east"), &request{})
		if got := violations(status.Convert(err)); len(got) != 6 {
			t.Errorf("faults: %v", got)
		}
	})
	t.Run("ten megabytes", func(t *testing.T) {
		request := table.action(flip("b2"))
		request.ClientHash = make([]byte, 10<<20)
		_, err := r.match.PlayAction(r.as("east"), request)
		if status.Code(err) != codes.ResourceExhausted {
			t.Errorf("got %v", err)
		}
		if table.version() != before {
			t.Error("the refusal changed the match")
		}
	})
	request1 := table.action(flip("b2"))
	request1.ClientHash = make([]byte, 32)
	_, err := r.match.PlayAction(r.as("east"), request1)
	must(t, err)
}

// TestSmallFieldsRefuse has a bad value of each field that the tests above
// don't send.
func TestSmallFieldsRefuse(t *testing.T) {
	r := newRoom(t, options{})
	table := r.started()
	before := table.version()
	east, operator, auditor := r.as("east"), r.as("operator"), r.as("auditor")
	id, seat := table.id, proto.Uint32(0)
	long := strings.Repeat("x", 513)
	tests := map[string]struct {
		call func() error
		want wanted
	}{
		"resign without seat": {func() error {
			_, err := r.match.Resign(east, &refereev1.ResignRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3})
			return err
		}, invalid("seat")},
		"offer without seq": {func() error {
			_, err := r.match.OfferDraw(east, &refereev1.OfferDrawRequest{MatchId: id, Game: 1, RequestId: r.id(), Seat: seat})
			return err
		}, invalid("expected_seq")},
		"withdraw nothing": {func() error {
			_, err := r.match.WithdrawDraw(east, &refereev1.WithdrawDrawRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3, Seat: seat})
			return err
		}, wanted{codes.FailedPrecondition, "NO_OFFER", ""}},
		"answer without seat": {func() error {
			_, err := r.match.AnswerDraw(east, &refereev1.AnswerDrawRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3})
			return err
		}, invalid("seat")},
		"count without seat": {func() error {
			_, err := r.match.RequestCount(east, &refereev1.RequestCountRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3})
			return err
		}, invalid("seat")},
		"placement too long": {func() error {
			_, err := r.match.SubmitPlacement(east, &refereev1.SubmitPlacementRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3, Seat: seat, Placement: long})
			return err
		}, invalid("placement")},
		"no portion": {func() error {
			_, err := r.match.CallTime(east, &refereev1.CallTimeRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3, Seat: seat})
			return err
		}, invalid("portion_ms")},
		"arbiter's portion": {func() error {
			_, err := r.match.CallTime(east, &refereev1.CallTimeRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3, PortionMs: 1})
			return err
		}, invalid("portion_ms")},
		"nobody gone": {func() error {
			_, err := r.match.ReportDisconnect(east, &refereev1.ReportDisconnectRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3})
			return err
		}, invalid("seats")},
		"gone twice": {func() error {
			_, err := r.match.ReportDisconnect(east, &refereev1.ReportDisconnectRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3, Seats: []uint32{1, 1}})
			return err
		}, invalid("seats")},
		"stranger gone": {func() error {
			_, err := r.match.ReportDisconnect(east, &refereev1.ReportDisconnectRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3, Seats: []uint32{3}})
			return err
		}, invalid("seats")},
		"long reason to leave": {func() error {
			_, err := r.match.AbandonMatch(east, &refereev1.AbandonMatchRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3, Note: long})
			return err
		}, invalid("note")},
		"leave a running game": {func() error {
			_, err := r.match.AbandonMatch(east, &refereev1.AbandonMatchRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3})
			return err
		}, wanted{codes.FailedPrecondition, "ABANDON_REFUSED", ""}},
		"void without reason": {func() error {
			_, err := r.match.VoidMatch(operator, &refereev1.VoidMatchRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3})
			return err
		}, invalid("note")},
		"rule without reason": {func() error {
			_, err := r.match.RuleFoul(operator, &refereev1.RuleFoulRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3})
			return err
		}, invalid("note")},
		"compensate what": {func() error {
			_, err := r.match.CompensateSettlement(operator, &refereev1.CompensateSettlementRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 1, Note: "n"})
			return err
		}, invalid("settlement_id")},
		"compensate nothing": {func() error {
			_, err := r.match.CompensateSettlement(operator, &refereev1.CompensateSettlementRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 1, Note: "n", SettlementId: r.id()})
			return err
		}, wanted{codes.NotFound, "NOT_FOUND", ""}},
		"start again": {func() error {
			_, err := r.match.StartGame(east, &refereev1.StartGameRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3, Balances: []int64{900, 900}})
			return err
		}, wanted{codes.FailedPrecondition, "GAME_RUNNING", ""}},
		"long hold": {func() error {
			_, err := r.match.StartGame(east, &refereev1.StartGameRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3, HoldIds: []string{"", long}})
			return err
		}, invalid("hold_ids[1]")},
		"long seed": {func() error {
			_, err := r.match.StartGame(east, &refereev1.StartGameRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3, PlayerSeeds: [][]byte{make([]byte, 65)}})
			return err
		}, invalid("player_seeds[0]")},
		"five seeds": {func() error {
			_, err := r.match.StartGame(east, &refereev1.StartGameRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3, PlayerSeeds: make([][]byte, 5)})
			return err
		}, invalid("player_seeds")},
		"game that is not": {func() error {
			_, err := r.match.GetGame(east, &refereev1.GetGameRequest{MatchId: id, Game: 2})
			return err
		}, wanted{codes.NotFound, "NOT_FOUND", ""}},
		"viewer that is not": {func() error {
			_, err := r.match.GetGame(east, &refereev1.GetGameRequest{MatchId: id, ViewerSeat: proto.Uint32(2)})
			return err
		}, invalid("seat")},
		"find nothing": {func() error {
			_, err := r.match.FindMatch(east, &refereev1.FindMatchRequest{})
			return err
		}, invalid("external_ref")},
		"find by a bad id": {func() error {
			_, err := r.match.FindMatch(east, &refereev1.FindMatchRequest{By: &refereev1.FindMatchRequest_RequestId{}})
			return err
		}, invalid("request_id")},
		"find on every platform": {func() error {
			_, err := r.audit.FindMatch(auditor, &refereev1.AuditServiceFindMatchRequest{By: &refereev1.AuditServiceFindMatchRequest_ExternalRef{ExternalRef: "x"}})
			return err
		}, invalid("platform")},
		"long state": {func() error {
			_, err := r.rules.ValidateAction(east, &refereev1.ValidateActionRequest{
				Rules: &refereev1.ValidateActionRequest_RulesetId{RulesetId: "icga"}, State: strings.Repeat("-", 16<<10+1), Action: flip("a1")})
			return err
		}, invalid("state")},
		"no state": {func() error {
			_, err := r.rules.ValidateAction(east, &refereev1.ValidateActionRequest{
				Rules: &refereev1.ValidateActionRequest_RulesetId{RulesetId: "7club-standard"}, State: "chess", Action: flip("a1")})
			return err
		}, invalid("state")},
		"turned what": {func() error {
			_, err := r.rules.ValidateAction(east, &refereev1.ValidateActionRequest{
				Rules: &refereev1.ValidateActionRequest_RulesetId{RulesetId: "icga"}, State: "-", Action: flip("a1"), Turned: "X"})
			return err
		}, invalid("turned")},
		"quote of 2^62": {func() error {
			_, err := r.rules.QuoteStake(east, &refereev1.QuoteStakeRequest{Rules: &refereev1.QuoteStakeRequest_RulesetId{RulesetId: "7club-standard"}, Stake: 1 << 62})
			return err
		}, wanted{codes.InvalidArgument, "STAKE_OUT_OF_RANGE", "stake"}},
		"unnamed preset": {func() error {
			_, err := r.rules.GetRuleset(east, &refereev1.GetRulesetRequest{})
			return err
		}, invalid("ruleset_id")},
		"negative page": {func() error {
			_, err := r.audit.ListMatches(auditor, &refereev1.ListMatchesRequest{PageSize: -1})
			return err
		}, invalid("page_size")},
		"unknown status": {func() error {
			_, err := r.audit.ListMatches(auditor, &refereev1.ListMatchesRequest{Status: 99})
			return err
		}, invalid("status")},
		"unknown ending": {func() error {
			_, err := r.audit.ListGames(auditor, &refereev1.ListGamesRequest{EndedBy: 9})
			return err
		}, invalid("ended_by")},
		"unknown result": {func() error {
			_, err := r.audit.ListGames(auditor, &refereev1.ListGamesRequest{Result: 7})
			return err
		}, invalid("result")},
		"lonely opponent": {func() error {
			_, err := r.audit.ListGames(auditor, &refereev1.ListGamesRequest{Filter: &refereev1.HistoryFilter{OpponentId: "bob"}})
			return err
		}, invalid("filter.opponent_id")},
		"player of no platform": {func() error {
			_, err := r.audit.ListGames(auditor, &refereev1.ListGamesRequest{Filter: &refereev1.HistoryFilter{PlayerId: "bob"}})
			return err
		}, invalid("filter.platform")},
		"stakes upside down": {func() error {
			_, err := r.audit.ListGames(auditor, &refereev1.ListGamesRequest{Filter: &refereev1.HistoryFilter{MinStake: 2, MaxStake: 1}})
			return err
		}, invalid("filter.max_stake")},
		"negative stake": {func() error {
			_, err := r.audit.ListGames(auditor, &refereev1.ListGamesRequest{Filter: &refereev1.HistoryFilter{MinStake: -2}})
			return err
		}, invalid("filter.min_stake")},
		"before year 1": {func() error {
			_, err := r.audit.ListGames(auditor, &refereev1.ListGamesRequest{Filter: &refereev1.HistoryFilter{FromTime: &timestamppb.Timestamp{Seconds: -1 << 40}}})
			return err
		}, invalid("filter.from_time")},
		"times upside down": {func() error {
			_, err := r.audit.ListGames(auditor, &refereev1.ListGamesRequest{Filter: &refereev1.HistoryFilter{
				FromTime: &timestamppb.Timestamp{Seconds: 2}, UntilTime: &timestamppb.Timestamp{Seconds: 2}}})
			return err
		}, invalid("filter.until_time")},
		"ply to come": {func() error {
			_, err := r.audit.GetGameRecord(auditor, &refereev1.GetGameRecordRequest{MatchId: id, Game: 1, AtPly: proto.Uint32(1)})
			return err
		}, wanted{codes.NotFound, "NOT_FOUND", ""}},
		"absurd ply": {func() error {
			_, err := r.audit.GetGameRecord(auditor, &refereev1.GetGameRecordRequest{MatchId: id, Game: 1, AtPly: proto.Uint32(math.MaxUint32)})
			return err
		}, invalid("at_ply")},
		"recall nobody": {func() error {
			_, err := r.audit.RecallPlayer(auditor, &refereev1.RecallPlayerRequest{Platform: "east"})
			return err
		}, invalid("player_id")},
		"pair of one": {func() error {
			_, err := r.audit.GetPairStatistics(auditor, &refereev1.GetPairStatisticsRequest{Platform: "east", PlayerId: "bob", OpponentId: "bob"})
			return err
		}, invalid("opponent_id")},
		"half a pair": {func() error {
			_, err := r.audit.GetPairStatistics(auditor, &refereev1.GetPairStatisticsRequest{Platform: "east", PlayerId: "bob"})
			return err
		}, invalid("opponent_id")},
		"pair of no platform": {func() error {
			_, err := r.audit.GetPairStatistics(auditor, &refereev1.GetPairStatisticsRequest{PlayerId: "bob", OpponentId: "ann"})
			return err
		}, invalid("platform")},
		"pair in no time": {func() error {
			_, err := r.audit.GetPairStatistics(auditor, &refereev1.GetPairStatisticsRequest{Platform: "east", PlayerId: "bob", OpponentId: "ann",
				FromTime: &timestamppb.Timestamp{Seconds: 2}, UntilTime: &timestamppb.Timestamp{Seconds: 1}})
			return err
		}, invalid("until_time")},
		"foreign page token": {func() error {
			_, err := r.audit.ListGames(auditor, &refereev1.ListGamesRequest{PageToken: "AAAA"})
			return err
		}, wanted{codes.InvalidArgument, "INVALID_PAGE_TOKEN", ""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test.want.check(t, test.call()) })
	}
	if table.version() != before {
		t.Error("the refusals changed the match")
	}
}

// TestExpiryPending sends an action after its deadline and before the grace is
// over: with a turn of a millisecond that is whenever it is sent at once.
func TestExpiryPending(t *testing.T) {
	r := newRoom(t, options{})
	rules := r.rulesForTests()
	rules.Clock = &refereev1.ClockRules{TurnMs: 1, OnExpiry: "lose"}
	table := r.started(func(c *refereev1.CreateMatchRequest) { c.Rules = &refereev1.CreateMatchRequest_Ruleset{Ruleset: rules} })
	for {
		var trailer metadata.MD
		_, err := r.match.PlayAction(r.as("east"), table.action(flip("a1")), grpc.Trailer(&trailer))
		if status.Code(err) == codes.Unavailable {
			wanted{codes.Unavailable, "EXPIRY_PENDING", ""}.check(t, err)
			if delay := streamRefusal(status.Convert(err)).GetRetryDelayMs(); delay < 0 || delay > 250 {
				t.Errorf("to retry after %d ms", delay)
			} else if delay > 0 && len(trailer.Get("grpc-retry-pushback-ms")) != 1 {
				t.Errorf("retrying clients are told nothing: %v", trailer)
			}
			return
		}
		if err == nil {
			t.Fatal("a late action was accepted")
		}
		// The machine was so slow that the grace was over: once more.
		table = r.started(func(c *refereev1.CreateMatchRequest) { c.Rules = &refereev1.CreateMatchRequest_Ruleset{Ruleset: rules} })
	}
}

func TestDeadlines(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, _, err := withDeadline(ctx); statusReason(err) != "DEADLINE_TOO_SHORT" || statusOf(err).Code() != codes.DeadlineExceeded {
		t.Errorf("too short a deadline: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	kept, _, err := withDeadline(ctx)
	must(t, err)
	if deadline, _ := kept.Deadline(); time.Until(deadline) < 50*time.Second {
		t.Error("the client's deadline was shortened")
	}
	given, done, err := withDeadline(t.Context())
	must(t, err)
	defer done()
	if deadline, ok := given.Deadline(); !ok || time.Until(deadline) > defaultDeadline {
		t.Error("no deadline was given")
	}
}
