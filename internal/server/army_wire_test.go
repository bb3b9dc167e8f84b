package server

import (
	"strings"
	"testing"

	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc/codes"
)

// standardPlacement is one that every form takes.
const standardPlacement = "98776/6.5.5/44.33/3.2.2/2MM11/MF1BB"

// armyMatch is a started match of junqi-dark; nobody has placed.
func (r *room) armyMatch() *table {
	r.t.Helper()
	return r.started(func(c *refereev1.CreateMatchRequest) {
		c.Rules = &refereev1.CreateMatchRequest_RulesetId{RulesetId: "junqi-dark"}
	})
}

func (t *table) placing(seat uint32, placement string) *refereev1.SubmitPlacementRequest {
	return &refereev1.SubmitPlacementRequest{MatchId: t.id, Game: 1, RequestId: t.room.id(), ExpectedSeq: t.game.GetNextSeq(), Seat: &seat, Placement: placement}
}

// TestWireOfArmyChess has a match of army chess, call by call.
func TestWireOfArmyChess(t *testing.T) {
	w := newWire(t)
	table := w.armyMatch()
	place := func(name string, seat uint32, placement string) {
		got := &refereev1.SubmitPlacementResponse{}
		w.call(name, "east", refereev1.MatchService_SubmitPlacement_FullMethodName, table.placing(seat, placement), got)
		if got.GetChange() != nil {
			table.saw(got.GetChange())
		}
	}
	place("army_submit_placement_illegal", 0, "9877./665.5/44.33/3.2.2/2MM11/MF1BB")
	place("army_submit_placement", 0, standardPlacement)
	place("army_submit_placement_last", 1, standardPlacement)
	seat, other := uint32(0), uint32(1)
	w.call("army_list_legal_actions", "east", refereev1.MatchService_ListLegalActions_FullMethodName,
		&refereev1.ListLegalActionsRequest{MatchId: table.id, ViewerSeat: &seat}, &refereev1.ListLegalActionsResponse{})
	w.call("army_list_legal_actions_refused", "east", refereev1.MatchService_ListLegalActions_FullMethodName,
		&refereev1.ListLegalActionsRequest{MatchId: table.id, ViewerSeat: &other}, &refereev1.ListLegalActionsResponse{})
	played := &refereev1.PlayActionResponse{}
	w.call("army_play_action", "east", refereev1.MatchService_PlayAction_FullMethodName, table.action(moving("G0", "F0")), played)
	table.saw(played.GetChange())
	w.call("army_play_action_illegal", "east", refereev1.MatchService_PlayAction_FullMethodName,
		table.action(moving("A3", "B3")), &refereev1.PlayActionResponse{})
	w.call("army_get_game", "east", refereev1.MatchService_GetGame_FullMethodName,
		&refereev1.GetGameRequest{MatchId: table.id, ViewerSeat: &other}, &refereev1.GetGameResponse{})
	w.call("army_get_game_record_refused", "auditor", refereev1.AuditService_GetGameRecord_FullMethodName,
		&refereev1.GetGameRecordRequest{MatchId: table.id, Game: 1, ViewerSeat: &seat}, &refereev1.GetGameRecordResponse{})
	resigned := &refereev1.ResignResponse{}
	w.call("army_resign", "east", refereev1.MatchService_Resign_FullMethodName,
		&refereev1.ResignRequest{MatchId: table.id, Game: 1, RequestId: w.room.id(), ExpectedSeq: table.game.GetNextSeq(), Seat: &other}, resigned)
	w.call("army_get_game_record", "auditor", refereev1.AuditService_GetGameRecord_FullMethodName,
		&refereev1.GetGameRecordRequest{MatchId: table.id, Game: 1}, &refereev1.GetGameRecordResponse{})
	preset := &refereev1.ValidateActionRequest_RulesetId{RulesetId: "junqi-dark"}
	w.call("army_validate_action", "east", refereev1.RulesService_ValidateAction_FullMethodName, &refereev1.ValidateActionRequest{
		Rules: preset, State: "A1=tF?,A4=t2?,F2=t9?,G2=b9?,L1=bF?,K0=b3? seat=0", Action: moving("G2", "F2")}, &refereev1.ValidateActionResponse{})
	w.call("army_validate_placement", "east", refereev1.RulesService_ValidatePlacement_FullMethodName, &refereev1.ValidatePlacementRequest{
		Rules: &refereev1.ValidatePlacementRequest_RulesetId{RulesetId: "siguo"}, Seat: &other, Placement: "B8776/6.5.5/44.33/3.2.2/2MM11/MF19B",
	}, &refereev1.ValidatePlacementResponse{})
}

func moving(from, to string) *refereev1.Action {
	return &refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_MOVE, From: from, To: to}
}

// TestArmyChessBegins: the flip form begins with 50 pieces face down on every
// stop but the camps.
func TestArmyChessBegins(t *testing.T) {
	r := newRoom(t, options{})
	table := r.started(func(c *refereev1.CreateMatchRequest) {
		c.Rules = &refereev1.CreateMatchRequest_RulesetId{RulesetId: "junqi-flip"}
	})
	view := table.game.GetArmyChess()
	if view.GetFaceDown() != 50 || len(view.GetPieces()) != 50 || strings.Count(view.GetBoard(), "=??") != 50 {
		t.Errorf("%v", view)
	}
	for _, p := range view.GetPieces() {
		for _, camp := range []string{"C1", "C3", "D2", "E1", "E3", "H1", "H3", "I2", "J1", "J3"} {
			if p.GetSquare() == camp {
				t.Errorf("a piece begins in the camp %s", camp)
			}
		}
	}
}

// TestArmyChessIsAskedWrongly: whatever is malformed, or too long, is refused by
// its field and changes nothing.
func TestArmyChessIsAskedWrongly(t *testing.T) {
	r := newRoom(t, options{})
	table := r.armyMatch()
	before := table.game.GetNextSeq()
	preset := &refereev1.ValidateActionRequest_RulesetId{RulesetId: "junqi-dark"}
	const state = "A1=tF?,A4=t2?,L1=bF?,L4=b2? seat=0"
	validate := func(change func(*refereev1.ValidateActionRequest)) error {
		request := &refereev1.ValidateActionRequest{Rules: preset, State: state, Action: moving("L4", "K4")}
		change(request)
		_, err := r.rules.ValidateAction(r.as("east"), request)
		return err
	}
	must(t, validate(func(*refereev1.ValidateActionRequest) {}))
	must(t, validate(func(v *refereev1.ValidateActionRequest) { v.State += strings.Repeat(" ", 8192-len(state)) }))
	place := func(placement string) error {
		_, err := table.match.SubmitPlacement(r.as("east"), table.placing(0, placement))
		return err
	}
	two := uint32(2)
	judge := func(change func(*refereev1.ValidatePlacementRequest)) error {
		request := &refereev1.ValidatePlacementRequest{
			Rules: &refereev1.ValidatePlacementRequest_RulesetId{RulesetId: "junqi-dark"}, Seat: new(uint32), Placement: standardPlacement}
		change(request)
		_, err := r.rules.ValidatePlacement(r.as("east"), request)
		return err
	}
	must(t, judge(func(*refereev1.ValidatePlacementRequest) {}))
	for name, test := range map[string]struct {
		err   error
		field string
	}{
		"long state":             {validate(func(v *refereev1.ValidateActionRequest) { v.State += strings.Repeat(" ", 8193-len(state)) }), "state"},
		"no state":               {validate(func(v *refereev1.ValidateActionRequest) { v.State = "" }), "state"},
		"a state of dark chess":  {validate(func(v *refereev1.ValidateActionRequest) { v.State = "K---/----/----/----/----/----/----/---k red" }), "state"},
		"two pieces on a stop":   {validate(func(v *refereev1.ValidateActionRequest) { v.State = "A1=tF?,A1=t2? seat=0" }), "state"},
		"a missing rank":         {validate(func(v *refereev1.ValidateActionRequest) { v.State = "A1=tF?,A4=t?,L1=bF?,L4=b2? seat=0" }), "state"},
		"a square of dark chess": {validate(func(v *refereev1.ValidateActionRequest) { v.Action = moving("a1", "a2") }), "action.from"},
		"four players' square":   {validate(func(v *refereev1.ValidateActionRequest) { v.Action = moving("S11", "S12") }), "action.from"},
		"two boards":             {validate(func(v *refereev1.ValidateActionRequest) { v.Action = moving("L4", "S12") }), "action.to"},
		"no action":              {validate(func(v *refereev1.ValidateActionRequest) { v.Action = nil }), "action.kind"},
		"action and change":      {validate(func(v *refereev1.ValidateActionRequest) { v.Change = "out=0:time" }), "action"},
		"an action as a change":  {validate(func(v *refereev1.ValidateActionRequest) { v.Action, v.Change = nil, "L4-K4" }), "change"},
		"a pass of two players":  {validate(func(v *refereev1.ValidateActionRequest) { v.Action, v.Change = nil, "pass" }), "change"},
		"long change": {validate(func(v *refereev1.ValidateActionRequest) {
			v.Action, v.Change = nil, "out=0:time"+strings.Repeat(" ", 23)
		}), "change"},
		"seat 2":               {validate(func(v *refereev1.ValidateActionRequest) { v.Seat = &two }), "seat"},
		"turned by a move":     {validate(func(v *refereev1.ValidateActionRequest) { v.Turned = "t5" }), "turned"},
		"no piece":             {validate(func(v *refereev1.ValidateActionRequest) { v.Turned = "x5" }), "turned"},
		"no placement":         {place(""), "placement"},
		"long placement":       {place(strings.Repeat("9", 257)), "placement"},
		"placement of letters": {place(strings.Repeat("9", 256)), "placement"},
		"judged for seat 2":    {judge(func(v *refereev1.ValidatePlacementRequest) { v.Seat = &two }), "seat"},
		"judged for nobody":    {judge(func(v *refereev1.ValidatePlacementRequest) { v.Seat = nil }), "seat"},
		"judged without rows":  {judge(func(v *refereev1.ValidatePlacementRequest) { v.Placement = "98776" }), "placement"},
		"judged at length":     {judge(func(v *refereev1.ValidatePlacementRequest) { v.Placement = strings.Repeat("9", 257) }), "placement"},
	} {
		t.Run(name, func(t *testing.T) { wanted{codes.InvalidArgument, "INVALID_FIELD", test.field}.check(t, test.err) })
	}
	wanted{codes.FailedPrecondition, "NO_PLACEMENT_PHASE", ""}.check(t, judge(func(v *refereev1.ValidatePlacementRequest) {
		v.Rules = &refereev1.ValidatePlacementRequest_RulesetId{RulesetId: "junqi-flip"}
	}))
	got, err := r.match.GetGame(r.as("east"), &refereev1.GetGameRequest{MatchId: table.id})
	must(t, err)
	if got.GetGame().GetNextSeq() != before {
		t.Errorf("refused calls made events: %v", got)
	}
}

// TestArmyChessTokens: a token that is limited to a player places and looks for
// that player alone.
func TestArmyChessTokens(t *testing.T) {
	r := newRoom(t, options{})
	table := r.armyMatch()
	seat, other := uint32(0), uint32(1)
	_, err := r.match.SubmitPlacement(r.as("east/ann"), table.placing(1, standardPlacement))
	wanted{codes.PermissionDenied, "SEAT_FORBIDDEN", ""}.check(t, err)
	_, err = r.match.SubmitPlacement(r.as("west"), table.placing(0, standardPlacement))
	wanted{codes.NotFound, "NOT_FOUND", ""}.check(t, err)
	_, err = r.match.SubmitPlacement(r.as("auditor"), table.placing(0, standardPlacement))
	wanted{codes.PermissionDenied, "SCOPE_MISSING", ""}.check(t, err)
	for _, placed := range []struct {
		as   string
		seat uint32
	}{{"east/ann", 0}, {"east", 1}} {
		got, err := r.match.SubmitPlacement(r.as(placed.as), table.placing(placed.seat, standardPlacement))
		must(t, err)
		table.saw(got.GetChange())
	}
	view := func(as string, viewer *uint32) (*refereev1.Game, error) {
		got, err := r.match.GetGame(r.as(as), &refereev1.GetGameRequest{MatchId: table.id, ViewerSeat: viewer})
		return got.GetGame(), err
	}
	for _, test := range []struct {
		as     string
		viewer *uint32
		knows  string // the side whose ranks are seen
		reason string
	}{
		{"east/ann", &seat, "b", ""}, {"east/ann", nil, "", ""}, {"east/ann", &other, "", "SEAT_FORBIDDEN"},
		{"east", &other, "t", ""}, {"auditor", nil, "", ""}, {"auditor", &seat, "", "SEAT_FORBIDDEN"}, {"operator", &other, "", "SEAT_FORBIDDEN"},
	} {
		got, err := view(test.as, test.viewer)
		if reason := statusReason(err); reason != test.reason {
			t.Errorf("%s sees as %v: %v", test.as, test.viewer, err)
			continue
		}
		for _, p := range got.GetArmyChess().GetPieces() {
			if known := p.GetPiece()[1] != '?'; known != (test.knows == p.GetPiece()[:1]) {
				t.Errorf("%s sees as %v: %v", test.as, test.viewer, p)
			}
		}
	}
	_, err = r.match.ListLegalActions(r.as("auditor"), &refereev1.ListLegalActionsRequest{MatchId: table.id, ViewerSeat: &seat})
	wanted{codes.PermissionDenied, "SEAT_FORBIDDEN", ""}.check(t, err)
}
