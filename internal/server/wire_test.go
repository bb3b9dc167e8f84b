package server

import (
	"testing"

	"referee.example/internal/clock"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/protobuf/proto"
)

// TestWire plays a match over a real connection and compares what is asked and
// answered, RPC by RPC, with testdata/wire.
func TestWire(t *testing.T) {
	w := newWire(t)
	created := &refereev1.CreateMatchResponse{}
	creation := w.creation(w.rulesForTests())
	creation.ExternalRef = "order 1"
	w.call("create_match", "east", refereev1.MatchService_CreateMatch_FullMethodName, creation, created)
	id := created.GetChange().GetMatch().GetMatchId()

	started := &refereev1.StartGameResponse{}
	w.call("start_game", "east", refereev1.MatchService_StartGame_FullMethodName, &refereev1.StartGameRequest{
		MatchId: id, Game: 1, RequestId: w.id(), ExpectedSeq: 2, Balances: []int64{900, 901},
		HoldIds: []string{"h0", "h1"}, PlayerSeeds: [][]byte{[]byte("north"), {}},
	}, started)
	w.call("list_legal_actions", "east", refereev1.MatchService_ListLegalActions_FullMethodName,
		&refereev1.ListLegalActionsRequest{MatchId: id}, &refereev1.ListLegalActionsResponse{})
	seat := uint32(0)
	play := &refereev1.PlayActionRequest{
		MatchId: id, Game: 1, RequestId: w.id(), ExpectedPly: 1, Seat: &seat, Action: flip("b1"), ClientHash: []byte("client"),
	}
	w.call("play_action", "east", refereev1.MatchService_PlayAction_FullMethodName, play, &refereev1.PlayActionResponse{})
	w.call("play_action_replayed", "east", refereev1.MatchService_PlayAction_FullMethodName, play, &refereev1.PlayActionResponse{})
	again := proto.CloneOf(play)
	again.RequestId = w.id()
	w.call("play_action_stale", "east", refereev1.MatchService_PlayAction_FullMethodName, again, &refereev1.PlayActionResponse{})
	w.draws(id)
	w.endings(id)
	w.reads(id)
	w.history(id)
}

// draws is called when three events have happened; seat 1 is to move.
func (w *wire) draws(id string) {
	one, other := uint32(0), uint32(1)
	offer := func(seq uint32) *refereev1.OfferDrawRequest {
		return &refereev1.OfferDrawRequest{MatchId: id, Game: 1, RequestId: w.id(), ExpectedSeq: seq, Seat: &one}
	}
	w.call("offer_draw", "east", refereev1.MatchService_OfferDraw_FullMethodName, offer(4), &refereev1.OfferDrawResponse{})
	w.call("withdraw_draw", "east", refereev1.MatchService_WithdrawDraw_FullMethodName,
		&refereev1.WithdrawDrawRequest{MatchId: id, Game: 1, RequestId: w.id(), ExpectedSeq: 5, Seat: &one},
		&refereev1.WithdrawDrawResponse{})
	w.call("offer_draw_again", "east", refereev1.MatchService_OfferDraw_FullMethodName, offer(6), &refereev1.OfferDrawResponse{})
	w.call("answer_draw", "east", refereev1.MatchService_AnswerDraw_FullMethodName,
		&refereev1.AnswerDrawRequest{MatchId: id, Game: 1, RequestId: w.id(), ExpectedSeq: 7, Seat: &other},
		&refereev1.AnswerDrawResponse{})
}

// endings is called when seven events of game 1 have happened. It ends the
// match after two decided games, for want of a balance.
func (w *wire) endings(id string) {
	other := uint32(1)
	w.call("submit_placement_refused", "east", refereev1.MatchService_SubmitPlacement_FullMethodName,
		&refereev1.SubmitPlacementRequest{MatchId: id, Game: 1, RequestId: w.id(), ExpectedSeq: 8, Seat: &other, Placement: "x"},
		&refereev1.SubmitPlacementResponse{})
	w.call("rule_foul_refused", "operator", refereev1.MatchService_RuleFoul_FullMethodName,
		&refereev1.RuleFoulRequest{MatchId: id, Game: 1, RequestId: w.id(), ExpectedSeq: 8, Confirm: true, Note: "seen"},
		&refereev1.RuleFoulResponse{})
	resigned := &refereev1.ResignResponse{}
	w.call("resign", "east", refereev1.MatchService_Resign_FullMethodName,
		&refereev1.ResignRequest{MatchId: id, Game: 1, RequestId: w.id(), ExpectedSeq: 8, Seat: &other}, resigned)
	w.call("start_game_2", "east", refereev1.MatchService_StartGame_FullMethodName, &refereev1.StartGameRequest{
		MatchId: id, Game: 2, RequestId: w.id(), ExpectedSeq: 1, Balances: []int64{400, 400},
	}, &refereev1.StartGameResponse{})
	w.call("report_disconnect", "east", refereev1.MatchService_ReportDisconnect_FullMethodName,
		&refereev1.ReportDisconnectRequest{MatchId: id, Game: 2, RequestId: w.id(), ExpectedSeq: 2, Seats: []uint32{0}},
		&refereev1.ReportDisconnectResponse{})
	w.call("start_game_short", "east", refereev1.MatchService_StartGame_FullMethodName, &refereev1.StartGameRequest{
		MatchId: id, Game: 3, RequestId: w.id(), ExpectedSeq: 1, Balances: []int64{399, 400},
	}, &refereev1.StartGameResponse{})
	w.call("abandon_match", "east", refereev1.MatchService_AbandonMatch_FullMethodName,
		&refereev1.AbandonMatchRequest{MatchId: id, Game: 3, RequestId: w.id(), ExpectedSeq: 1, Note: "ann is out of points", Balances: []int64{399, 400}},
		&refereev1.AbandonMatchResponse{})
	settlement := resigned.GetChange().GetGame().GetSettlement().GetSettlementId()
	for i, operator := range []string{"operator", "second operator"} {
		w.call([]string{"compensate_settlement_proposed", "compensate_settlement"}[i], operator,
			refereev1.MatchService_CompensateSettlement_FullMethodName, &refereev1.CompensateSettlementRequest{
				MatchId: id, Game: 1, RequestId: w.id(), ExpectedSeq: uint32(i + 1), SettlementId: settlement, Note: "wrong table",
			}, &refereev1.CompensateSettlementResponse{})
	}
}

func (w *wire) reads(id string) {
	seat := uint32(1)
	w.call("get_match", "east", refereev1.MatchService_GetMatch_FullMethodName,
		&refereev1.GetMatchRequest{MatchId: id}, &refereev1.GetMatchResponse{})
	w.call("get_game", "east", refereev1.MatchService_GetGame_FullMethodName,
		&refereev1.GetGameRequest{MatchId: id, Game: 1, ViewerSeat: &seat}, &refereev1.GetGameResponse{})
	w.call("find_match", "east", refereev1.MatchService_FindMatch_FullMethodName,
		&refereev1.FindMatchRequest{By: &refereev1.FindMatchRequest_ExternalRef{ExternalRef: "order 1"}}, &refereev1.FindMatchResponse{})
	stream, err := w.match.WatchMatch(w.as("east"), &refereev1.WatchMatchRequest{MatchId: id})
	must(w.t, err)
	var messages []any
	for {
		message, err := stream.Recv()
		if err != nil {
			break
		}
		messages = append(messages, w.normal(message))
	}
	w.compare("watch_match", messages)
}

func (w *wire) history(id string) {
	ply := uint32(1)
	w.call("get_game_record", "auditor", refereev1.AuditService_GetGameRecord_FullMethodName,
		&refereev1.GetGameRecordRequest{MatchId: id, Game: 1}, &refereev1.GetGameRecordResponse{})
	w.call("get_game_record_at_ply", "auditor", refereev1.AuditService_GetGameRecord_FullMethodName,
		&refereev1.GetGameRecordRequest{MatchId: id, Game: 1, AtPly: &ply, ViewerSeat: &ply}, &refereev1.GetGameRecordResponse{})
	w.call("list_matches", "auditor", refereev1.AuditService_ListMatches_FullMethodName,
		&refereev1.ListMatchesRequest{}, &refereev1.ListMatchesResponse{})
	w.call("list_games", "auditor", refereev1.AuditService_ListGames_FullMethodName,
		&refereev1.ListGamesRequest{Filter: &refereev1.HistoryFilter{Platform: "east", PlayerId: "bob"}, PageSize: 1},
		&refereev1.ListGamesResponse{})
	w.call("recall_player", "east/auditor", refereev1.AuditService_RecallPlayer_FullMethodName,
		&refereev1.RecallPlayerRequest{PlayerId: "ann"}, &refereev1.RecallPlayerResponse{})
	w.call("get_pair_statistics", "east/auditor", refereev1.AuditService_GetPairStatistics_FullMethodName,
		&refereev1.GetPairStatisticsRequest{PlayerId: "ann", OpponentId: "bob"}, &refereev1.GetPairStatisticsResponse{})
	w.call("audit_find_match", "auditor", refereev1.AuditService_FindMatch_FullMethodName,
		&refereev1.AuditServiceFindMatchRequest{Platform: "east", By: &refereev1.AuditServiceFindMatchRequest_ExternalRef{ExternalRef: "order 1"}},
		&refereev1.AuditServiceFindMatchResponse{})
	w.oversight()
}

// oversight is called when game 1 has been compensated and the match abandoned.
func (w *wire) oversight() {
	w.sequence(false)
	w.call("list_settlements", "east", refereev1.AuditService_ListSettlements_FullMethodName,
		&refereev1.ListSettlementsRequest{FromPosition: 1}, &refereev1.ListSettlementsResponse{})
	w.call("list_settlements_beyond", "east", refereev1.AuditService_ListSettlements_FullMethodName,
		&refereev1.ListSettlementsRequest{FromPosition: 5}, &refereev1.ListSettlementsResponse{})
	stream := w.follow("auditor", "east", 3)
	w.compare("stream_settlements", []any{w.normal(entry(w.t, stream))})
	w.call("list_interventions", "auditor", refereev1.AuditService_ListInterventions_FullMethodName,
		&refereev1.ListInterventionsRequest{}, &refereev1.ListInterventionsResponse{})
	w.started()
	w.call("list_exposure", "auditor", refereev1.AuditService_ListExposure_FullMethodName,
		&refereev1.ListExposureRequest{}, &refereev1.ListExposureResponse{})
}

// TestWireOfClocksAndCounts has the RPCs that other rules allow.
func TestWireOfClocksAndCounts(t *testing.T) {
	w := newWire(t)
	rules := w.rulesForTests()
	rules.Clock = &refereev1.ClockRules{
		TurnMs: 60_000, BankMs: 120_000, BankUse: clock.BankManual, UntimedOpening: true, OnExpiry: clock.ExpiryLoses,
	}
	rules.GetDarkChess().Idle = &refereev1.IdleRules{Limit: 50, Trigger: "on_request"}
	table := w.started(func(r *refereev1.CreateMatchRequest) {
		r.Rules = &refereev1.CreateMatchRequest_Ruleset{Ruleset: rules}
	})
	seat := uint32(0)
	w.call("call_time_opening", "east", refereev1.MatchService_CallTime_FullMethodName,
		&refereev1.CallTimeRequest{MatchId: table.id, Game: 1, RequestId: w.id(), ExpectedSeq: 3}, &refereev1.CallTimeResponse{})
	w.call("call_time_bank", "east", refereev1.MatchService_CallTime_FullMethodName,
		&refereev1.CallTimeRequest{MatchId: table.id, Game: 1, RequestId: w.id(), ExpectedSeq: 4, Seat: &seat, PortionMs: 1500},
		&refereev1.CallTimeResponse{})
	w.call("call_time_refused", "east", refereev1.MatchService_CallTime_FullMethodName,
		&refereev1.CallTimeRequest{MatchId: table.id, Game: 1, RequestId: w.id(), ExpectedSeq: 5, Seat: &seat, PortionMs: 200_000},
		&refereev1.CallTimeResponse{})
	w.call("request_count", "east", refereev1.MatchService_RequestCount_FullMethodName,
		&refereev1.RequestCountRequest{MatchId: table.id, Game: 1, RequestId: w.id(), ExpectedSeq: 5, Seat: &seat},
		&refereev1.RequestCountResponse{})
	w.call("void_match", "operator", refereev1.MatchService_VoidMatch_FullMethodName,
		&refereev1.VoidMatchRequest{MatchId: table.id, Game: 1, RequestId: w.id(), ExpectedSeq: 6, Note: "power cut"},
		&refereev1.VoidMatchResponse{})
}

func TestWireOfRules(t *testing.T) {
	w := newWire(t)
	w.call("list_rulesets", "auditor", refereev1.RulesService_ListRulesets_FullMethodName,
		&refereev1.ListRulesetsRequest{PageSize: 1}, &refereev1.ListRulesetsResponse{})
	w.call("get_ruleset", "east", refereev1.RulesService_GetRuleset_FullMethodName,
		&refereev1.GetRulesetRequest{RulesetId: "7club-standard"}, &refereev1.GetRulesetResponse{})
	w.call("check_ruleset", "east", refereev1.RulesService_CheckRuleset_FullMethodName,
		&refereev1.CheckRulesetRequest{Ruleset: &refereev1.Ruleset{FirstMover: "dice", Series: &refereev1.SeriesRules{ValidGames: 3}}},
		&refereev1.CheckRulesetResponse{})
	preset := &refereev1.ValidateActionRequest_RulesetId{RulesetId: "7club-standard"}
	move := func(from, to string) *refereev1.Action {
		return &refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_MOVE, From: from, To: to}
	}
	const state = "----/----/----/----/----/----/XX--/Kp-X red"
	w.call("validate_action_illegal", "east", refereev1.RulesService_ValidateAction_FullMethodName,
		&refereev1.ValidateActionRequest{Rules: preset, State: state, Action: move("a1", "b1")}, &refereev1.ValidateActionResponse{})
	w.call("validate_action_flip", "east", refereev1.RulesService_ValidateAction_FullMethodName,
		&refereev1.ValidateActionRequest{Rules: preset, State: state, Action: flip("a2"), Turned: "r"}, &refereev1.ValidateActionResponse{})
	w.call("validate_action_win", "east", refereev1.RulesService_ValidateAction_FullMethodName,
		&refereev1.ValidateActionRequest{Rules: preset, State: "----/----/----/----/----/----/----/Kg-- red", Action: move("a1", "b1")},
		&refereev1.ValidateActionResponse{})
	w.call("quote_stake", "east", refereev1.RulesService_QuoteStake_FullMethodName,
		&refereev1.QuoteStakeRequest{Rules: &refereev1.QuoteStakeRequest_RulesetId{RulesetId: "7club-standard"}, Stake: 100,
			Charges: &refereev1.Charges{Fee: 5}}, &refereev1.QuoteStakeResponse{})
}
