package proof

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	refereev1 "referee.example/proto/referee/v1"
)

// newID makes a fresh UUID.
func newID() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // documented never to fail
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// ruleset is a preset that seat 0 starts and anybody may resign from at any
// time, with further changes of the test.
func (h *house) ruleset(r *replica, preset string, change func(*refereev1.Ruleset)) *refereev1.Ruleset {
	h.t.Helper()
	got, err := r.rules.GetRuleset(h.as("east"), &refereev1.GetRulesetRequest{RulesetId: preset})
	must(h.t, err)
	out := got.GetRuleset()
	out.Id, out.Description, out.Decisions = "", "", nil
	out.FirstMover, out.ResignAfterTurns = "named", 0
	if change != nil {
		change(out)
	}
	return out
}

// untimed takes the clocks off a ruleset.
func untimed(r *refereev1.Ruleset) { r.Clock = &refereev1.ClockRules{} }

// creation is a request that two players of the east sit down to play.
func creation(rules *refereev1.Ruleset) *refereev1.CreateMatchRequest {
	first := uint32(0)
	return &refereev1.CreateMatchRequest{
		RequestId: newID(), PlayerIds: []string{"ann", "bob"}, Stake: 100, Balances: []int64{1000, 1000},
		Rules: &refereev1.CreateMatchRequest_Ruleset{Ruleset: rules}, FirstSeat: &first,
		Charges: &refereev1.Charges{Fee: 3, SceneFee: 2, DisconnectionPenalty: 7},
	}
}

func starting(matchID string, game, seq uint32) *refereev1.StartGameRequest {
	return &refereev1.StartGameRequest{
		MatchId: matchID, Game: game, RequestId: newID(), ExpectedSeq: seq, Balances: []int64{1000, 1000},
		PlayerSeeds: [][]byte{{1}, {2}},
	}
}

// newMatch creates a match and returns its first game, awaiting its start.
func (h *house) newMatch(r *replica, rules *refereev1.Ruleset) *refereev1.Game {
	h.t.Helper()
	got, err := r.match.CreateMatch(h.as("east"), creation(rules))
	must(h.t, err)
	return got.GetChange().GetGame()
}

// newGame creates a match and starts its first game.
func (h *house) newGame(r *replica, rules *refereev1.Ruleset) *refereev1.Game {
	h.t.Helper()
	return h.startNext(r, h.newMatch(r, rules))
}

// startNext starts the game that comes after, or is, the one given.
func (h *house) startNext(r *replica, game *refereev1.Game) *refereev1.Game {
	h.t.Helper()
	request := starting(game.GetMatchId(), game.GetGame(), game.GetNextSeq())
	if game.GetStatus() == refereev1.GameStatus_GAME_STATUS_ENDED {
		request.Game, request.ExpectedSeq = game.GetGame()+1, 1
	}
	got, err := r.match.StartGame(h.as("east"), request)
	must(h.t, err)
	return got.GetChange().GetGame()
}

// playing is a request of the seat to move.
func playing(game *refereev1.Game, action *refereev1.Action) *refereev1.PlayActionRequest {
	seat := game.GetToMove()
	return &refereev1.PlayActionRequest{
		MatchId: game.GetMatchId(), Game: game.GetGame(), RequestId: newID(), ExpectedPly: game.GetNextPly(),
		Seat: &seat, Action: action,
	}
}

func flip(square string) *refereev1.Action {
	return &refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_FLIP, From: square}
}

func move(from, to string) *refereev1.Action {
	return &refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_MOVE, From: from, To: to}
}

func offering(game *refereev1.Game, seat uint32) *refereev1.OfferDrawRequest {
	return &refereev1.OfferDrawRequest{MatchId: game.GetMatchId(), Game: game.GetGame(), RequestId: newID(),
		ExpectedSeq: game.GetNextSeq(), Seat: &seat}
}

func answering(game *refereev1.Game, seat uint32, accept bool) *refereev1.AnswerDrawRequest {
	return &refereev1.AnswerDrawRequest{MatchId: game.GetMatchId(), Game: game.GetGame(), RequestId: newID(),
		ExpectedSeq: game.GetNextSeq(), Seat: &seat, Accept: accept}
}

func resigning(game *refereev1.Game, seat uint32) *refereev1.ResignRequest {
	return &refereev1.ResignRequest{MatchId: game.GetMatchId(), Game: game.GetGame(), RequestId: newID(),
		ExpectedSeq: game.GetNextSeq(), Seat: &seat}
}

// call makes a call by the message's type, so that a test can hold calls as data.
func call(ctx context.Context, r *replica, request proto.Message) (*refereev1.Change, error) {
	switch request := request.(type) {
	case *refereev1.CreateMatchRequest:
		got, err := r.match.CreateMatch(ctx, request)
		return got.GetChange(), err
	case *refereev1.StartGameRequest:
		got, err := r.match.StartGame(ctx, request)
		return got.GetChange(), err
	case *refereev1.PlayActionRequest:
		got, err := r.match.PlayAction(ctx, request)
		return got.GetChange(), err
	case *refereev1.OfferDrawRequest:
		got, err := r.match.OfferDraw(ctx, request)
		return got.GetChange(), err
	case *refereev1.WithdrawDrawRequest:
		got, err := r.match.WithdrawDraw(ctx, request)
		return got.GetChange(), err
	case *refereev1.AnswerDrawRequest:
		got, err := r.match.AnswerDraw(ctx, request)
		return got.GetChange(), err
	case *refereev1.RequestCountRequest:
		got, err := r.match.RequestCount(ctx, request)
		return got.GetChange(), err
	case *refereev1.ResignRequest:
		got, err := r.match.Resign(ctx, request)
		return got.GetChange(), err
	case *refereev1.CallTimeRequest:
		got, err := r.match.CallTime(ctx, request)
		return got.GetChange(), err
	case *refereev1.ReportDisconnectRequest:
		got, err := r.match.ReportDisconnect(ctx, request)
		return got.GetChange(), err
	case *refereev1.SubmitPlacementRequest:
		got, err := r.match.SubmitPlacement(ctx, request)
		return got.GetChange(), err
	case *refereev1.AbandonMatchRequest:
		got, err := r.match.AbandonMatch(ctx, request)
		return got.GetChange(), err
	case *refereev1.VoidMatchRequest:
		got, err := r.match.VoidMatch(ctx, request)
		return got.GetChange(), err
	case *refereev1.RuleFoulRequest:
		got, err := r.match.RuleFoul(ctx, request)
		return got.GetChange(), err
	}
	panic(fmt.Sprintf("%T is no change", request))
}

// infoOf returns the ErrorInfo of a refusal; empty where there is none.
func infoOf(err error) *errdetails.ErrorInfo {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info
		}
	}
	return &errdetails.ErrorInfo{}
}

func reasonOf(err error) string { return infoOf(err).GetReason() }

// retryDelay is when a refusal says to try again; 0 where it does not.
func retryDelay(err error) time.Duration {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration()
		}
	}
	return 0
}

// record is a game's whole record.
func (h *house) record(r *replica, matchID string, game uint32) *refereev1.GameRecord {
	h.t.Helper()
	got, err := r.audit.GetGameRecord(h.as("auditor"), &refereev1.GetGameRecordRequest{MatchId: matchID, Game: game})
	must(h.t, err)
	return got.GetRecord()
}

// publicly is a recorded event without what only auditors are shown, the record of an
// ended game alone tells (which pieces met) too.
func publicly(event *refereev1.Event) *refereev1.Event {
	event = proto.CloneOf(event)
	event.RequestId, event.SubmittedBy, event.ClientHash = "", "", nil
	if started := event.GetGameStarted(); started != nil {
		started.Balances, started.HoldIds = nil, nil
	}
	event.Met = nil
	if left := event.GetMatchLeft(); left != nil {
		left.Balances = nil
	}
	return event
}

// firstAnswer is an answer without what a retry's may differ in: whether it was
// given before, and the server's time.
func firstAnswer(t testing.TB, change *refereev1.Change) string {
	t.Helper()
	change = proto.CloneOf(change)
	change.Replayed, change.ServerTime = false, nil
	return bytesOf(t, change)
}

// bytesOf marshals a message the same way each time.
func bytesOf(t testing.TB, m proto.Message) string {
	t.Helper()
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	must(t, err)
	return string(b)
}

// eachField calls visit for each field that is set in a message, at any depth.
func eachField(m protoreflect.Message, visit func(protoreflect.Message, protoreflect.FieldDescriptor)) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		visit(m, field)
		switch {
		case field.IsMap():
			if field.MapValue().Message() != nil {
				panic("a map of messages is not looked into: " + field.FullName())
			}
		case field.Message() == nil || !m.Has(field):
		case field.IsList():
			for i := range value.List().Len() {
				eachField(value.List().Get(i).Message(), visit)
			}
		default:
			eachField(m.Get(field).Message(), visit)
		}
		return true
	})
}

func protoString(text string) protoreflect.Value { return protoreflect.ValueOfString(text) }
