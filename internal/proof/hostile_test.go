package proof

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	refereev1 "referee.example/proto/referee/v1"
)

// absentID is a match that nobody has.
const absentID = "0190b3f4-6c1e-7d2a-9b8c-0123456789ab"

// scene is what hostile calls are made on: a match in its second game, with
// what led there.
type scene struct {
	*house
	r       *replica
	rules   *refereev1.Ruleset
	create  *refereev1.CreateMatchRequest
	start   *refereev1.StartGameRequest // of game 1
	ply     *refereev1.PlayActionRequest
	resign  *refereev1.ResignRequest
	game    *refereev1.Game // running
	settled string          // settlement of game 1
	waiting *refereev1.Game // of another match: not started yet
}

func newScene(t *testing.T) *scene {
	s := &scene{house: newHouse(t)}
	s.r = s.house.start()
	s.rules = s.ruleset(s.r, "7club-standard", untimed)
	s.create = creation(s.rules)
	s.create.ExternalRef = "order 1"
	change := s.must(s.create)
	s.start = starting(change.GetGame().GetMatchId(), 1, 2)
	change = s.must(s.start)
	s.ply = playing(change.GetGame(), flip("a1"))
	change = s.must(s.ply)
	s.resign = resigning(change.GetGame(), 1)
	change = s.must(s.resign)
	s.settled = change.GetGame().GetSettlement().GetSettlementId()
	s.game = s.must(playing(s.startNext(s.r, change.GetGame()), flip("b2"))).GetGame()
	s.waiting = s.newMatch(s.r, s.rules)
	// Whoever calls is known from now on: a token's first change notes its name.
	for _, token := range []string{"west", "operator", "second operator"} {
		if _, err := call(s.as(token), s.r, &refereev1.VoidMatchRequest{
			MatchId: absentID, Game: 1, RequestId: newID(), ExpectedSeq: 1, Note: "none",
		}); err == nil {
			t.Fatalf("%s voided a match that is not there", token)
		}
		_, _ = s.r.match.Resign(s.as(token), resigning(&refereev1.Game{MatchId: absentID, Game: 1, NextSeq: 1}, 0))
	}
	return s
}

func (s *scene) must(request proto.Message) *refereev1.Change {
	s.t.Helper()
	change, err := call(s.as("east"), s.r, request)
	must(s.t, err)
	return change
}

// refusal is a call that must be refused.
type refusal struct {
	name   string
	call   func() error
	code   codes.Code
	reason string
}

// check makes each call and compares all that is stored before and after.
func (s *scene) check(refusals []refusal) {
	before := s.everything()
	for _, c := range refusals {
		s.t.Run(c.name, func(t *testing.T) {
			err := c.call()
			if status.Code(err) != c.code || reasonOf(err) != c.reason {
				t.Errorf("answered with %v (%s), want %v (%s)", err, reasonOf(err), c.code, c.reason)
			}
			if after := s.everything(); after != before {
				here, there := whereApart(before, after)
				t.Fatalf("it changed the tables, before:\n%s\nafter:\n%s", here, there)
			}
		})
	}
}

// changing is a call of the east's that would change a match.
func (s *scene) changing(request proto.Message) func() error { return s.changingAs("east", request) }

func (s *scene) changingAs(token string, request proto.Message) func() error {
	return func() error {
		_, err := call(s.as(token), s.r, request)
		return err
	}
}

// with returns a copy of a request, with another request id, changed.
func with[M proto.Message](request M, change func(M)) M {
	request = proto.CloneOf(request)
	m := request.ProtoReflect()
	m.Set(m.Descriptor().Fields().ByName("request_id"), protoString(newID()))
	change(request)
	return request
}

func TestHostileStakesAndSeats(t *testing.T) {
	s := newScene(t)
	create := func(change func(*refereev1.CreateMatchRequest)) func() error {
		return s.changing(with(s.create, func(r *refereev1.CreateMatchRequest) { r.ExternalRef = ""; change(r) }))
	}
	play := func(change func(*refereev1.PlayActionRequest)) func() error {
		return s.changing(with(playing(s.game, flip("c3")), change))
	}
	seat := func(n uint32) *uint32 { return &n }
	s.check([]refusal{
		{"stake of 2^62", create(func(r *refereev1.CreateMatchRequest) { r.Stake = 1 << 62 }), codes.InvalidArgument, "STAKE_OUT_OF_RANGE"},
		{"stake below zero", create(func(r *refereev1.CreateMatchRequest) { r.Stake = -1 }), codes.InvalidArgument, "STAKE_OUT_OF_RANGE"},
		{"fee of 2^62", create(func(r *refereev1.CreateMatchRequest) { r.Charges.Fee = 1 << 62 }), codes.InvalidArgument, "STAKE_OUT_OF_RANGE"},
		{"penalty below zero", create(func(r *refereev1.CreateMatchRequest) { r.Charges.DisconnectionPenalty = -1 }), codes.InvalidArgument, "STAKE_OUT_OF_RANGE"},
		{"balance below zero", create(func(r *refereev1.CreateMatchRequest) { r.Balances[1] = -1 }), codes.InvalidArgument, "STAKE_OUT_OF_RANGE"},
		{"balance short by one", create(func(r *refereev1.CreateMatchRequest) { r.Balances[0] = 899 }), codes.FailedPrecondition, "INSUFFICIENT_BALANCE"},
		{"one player in both seats", create(func(r *refereev1.CreateMatchRequest) { r.PlayerIds[1] = "ann" }), codes.InvalidArgument, "INVALID_FIELD"},
		{"three players", create(func(r *refereev1.CreateMatchRequest) { r.PlayerIds = append(r.PlayerIds, "eve") }), codes.InvalidArgument, "INVALID_FIELD"},
		{"ten thousand players", create(func(r *refereev1.CreateMatchRequest) { r.PlayerIds = make([]string, 10_000) }), codes.InvalidArgument, "INVALID_FIELD"},
		{"first seat that is none", create(func(r *refereev1.CreateMatchRequest) { r.FirstSeat = seat(2) }), codes.InvalidArgument, "INVALID_FIELD"},
		{"series of 2^31 games", create(func(r *refereev1.CreateMatchRequest) { r.GetRuleset().Series.ValidGames = 1 << 31 }), codes.InvalidArgument, "INVALID_RULESET"},
		{"ruleset of a preset's name", create(func(r *refereev1.CreateMatchRequest) { r.GetRuleset().Id = "7club-standard" }), codes.InvalidArgument, "INVALID_FIELD"},
		{"seat 2", play(func(r *refereev1.PlayActionRequest) { r.Seat = seat(2) }), codes.InvalidArgument, "INVALID_FIELD"},
		{"seat 2^32-1", play(func(r *refereev1.PlayActionRequest) { r.Seat = seat(1<<32 - 1) }), codes.InvalidArgument, "INVALID_FIELD"},
		{"no seat", play(func(r *refereev1.PlayActionRequest) { r.Seat = nil }), codes.InvalidArgument, "INVALID_FIELD"},
		{"the other seat", play(func(r *refereev1.PlayActionRequest) { *r.Seat = 1 - *r.Seat }), codes.FailedPrecondition, "ILLEGAL_ACTION"},
		{"balance below zero at a start", s.changing(with(starting(s.waiting.GetMatchId(), 1, 2), func(r *refereev1.StartGameRequest) { r.Balances[0] = -5 })),
			codes.InvalidArgument, "STAKE_OUT_OF_RANGE"},
		{"five holds", s.changing(with(starting(s.waiting.GetMatchId(), 1, 2), func(r *refereev1.StartGameRequest) { r.HoldIds = make([]string, 5) })),
			codes.InvalidArgument, "INVALID_FIELD"},
		{"three seeds", s.changing(with(starting(s.waiting.GetMatchId(), 1, 2), func(r *refereev1.StartGameRequest) { r.PlayerSeeds = make([][]byte, 3) })),
			codes.InvalidArgument, "INVALID_FIELD"},
		{"seed of 65 bytes", s.changing(with(starting(s.waiting.GetMatchId(), 1, 2), func(r *refereev1.StartGameRequest) { r.PlayerSeeds[0] = make([]byte, 65) })),
			codes.InvalidArgument, "INVALID_FIELD"},
		{"everybody gone a hundred times", s.changing(&refereev1.ReportDisconnectRequest{MatchId: s.game.GetMatchId(), Game: 2, RequestId: newID(),
			ExpectedSeq: s.game.GetNextSeq(), Seats: make([]uint32, 100)}), codes.InvalidArgument, "INVALID_FIELD"},
		{"bank of 2^32-1 ms", s.changing(&refereev1.CallTimeRequest{MatchId: s.game.GetMatchId(), Game: 2, RequestId: newID(),
			ExpectedSeq: s.game.GetNextSeq(), Seat: seat(0), PortionMs: 1<<32 - 1}), codes.FailedPrecondition, "CALL_REFUSED"},
	})
}

func TestHostileActionsAndNumbers(t *testing.T) {
	s := newScene(t)
	play := func(change func(*refereev1.PlayActionRequest)) func() error {
		return s.changing(with(playing(s.game, flip("c3")), change))
	}
	huge := strings.Repeat("a", 10<<20)
	s.check([]refusal{
		{"action of 10 MB", play(func(r *refereev1.PlayActionRequest) { r.Action.From = huge }), codes.ResourceExhausted, ""},
		{"action just within the limit", play(func(r *refereev1.PlayActionRequest) { r.Action.From = huge[:60<<10] }), codes.InvalidArgument, "INVALID_FIELD"},
		{"client hash of 33 bytes", play(func(r *refereev1.PlayActionRequest) { r.ClientHash = make([]byte, 33) }), codes.InvalidArgument, "INVALID_FIELD"},
		{"no action", play(func(r *refereev1.PlayActionRequest) { r.Action = nil }), codes.InvalidArgument, "INVALID_FIELD"},
		{"action of kind 99", play(func(r *refereev1.PlayActionRequest) { r.Action.Kind = 99 }), codes.InvalidArgument, "INVALID_FIELD"},
		{"square z9", play(func(r *refereev1.PlayActionRequest) { r.Action.From = "z9" }), codes.InvalidArgument, "INVALID_FIELD"},
		{"flip to somewhere", play(func(r *refereev1.PlayActionRequest) { r.Action.To = "c4" }), codes.InvalidArgument, "INVALID_FIELD"},
		{"move onto itself", play(func(r *refereev1.PlayActionRequest) { r.Action = move("b2", "b2") }), codes.FailedPrecondition, "ILLEGAL_ACTION"},
		{"flip of a face-up piece", play(func(r *refereev1.PlayActionRequest) { r.Action = flip("b2") }), codes.FailedPrecondition, "ILLEGAL_ACTION"},
		{"stop outside a chain", play(func(r *refereev1.PlayActionRequest) {
			r.Action = &refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_STOP}
		}), codes.FailedPrecondition, "ILLEGAL_ACTION"},
		{"ply 0", play(func(r *refereev1.PlayActionRequest) { r.ExpectedPly = 0 }), codes.InvalidArgument, "INVALID_FIELD"},
		{"ply 2^32-1", play(func(r *refereev1.PlayActionRequest) { r.ExpectedPly = 1<<32 - 1 }), codes.InvalidArgument, "INVALID_FIELD"},
		{"ply ahead of the log", play(func(r *refereev1.PlayActionRequest) { r.ExpectedPly++ }), codes.Aborted, "STALE"},
		{"ply that was given out", play(func(r *refereev1.PlayActionRequest) { r.ExpectedPly-- }), codes.Aborted, "STALE"},
		{"game 2^32-1", play(func(r *refereev1.PlayActionRequest) { r.Game = 1<<32 - 1 }), codes.InvalidArgument, "INVALID_FIELD"},
		{"game that is over", play(func(r *refereev1.PlayActionRequest) { r.Game = 1 }), codes.Aborted, "STALE"},
		{"game that is to come", play(func(r *refereev1.PlayActionRequest) { r.Game = 3 }), codes.Aborted, "STALE"},
		{"second start", s.changing(starting(s.game.GetMatchId(), 2, s.game.GetNextSeq())), codes.FailedPrecondition, "GAME_RUNNING"},
		{"ply before the start", s.changing(playing(s.waiting, flip("a1"))), codes.FailedPrecondition, "GAME_NOT_RUNNING"},
		{"placement", s.changing(&refereev1.SubmitPlacementRequest{MatchId: s.game.GetMatchId(), Game: 2, RequestId: newID(),
			ExpectedSeq: s.game.GetNextSeq(), Seat: s.game.ToMove, Placement: "x"}), codes.FailedPrecondition, "NO_PLACEMENT_PHASE"},
		{"answer to no offer", s.changing(answering(s.game, 0, true)), codes.FailedPrecondition, "NO_OFFER"},
		{"leaving with the stake", s.changing(&refereev1.AbandonMatchRequest{MatchId: s.waiting.GetMatchId(), Game: 1, RequestId: newID(),
			ExpectedSeq: s.waiting.GetNextSeq(), Note: "bye"}), codes.FailedPrecondition, "ABANDON_REFUSED"},
	})
}

func TestHostileRequestIDs(t *testing.T) {
	s := newScene(t)
	reuse := func(id string, request proto.Message) func() error {
		request.ProtoReflect().Set(request.ProtoReflect().Descriptor().Fields().ByName("request_id"), protoString(id))
		return s.changing(request)
	}
	other := func(change func(*refereev1.PlayActionRequest)) *refereev1.PlayActionRequest {
		request := proto.CloneOf(s.ply)
		change(request)
		return request
	}
	var refusals []refusal
	for name, request := range map[string]proto.Message{
		"another action": other(func(r *refereev1.PlayActionRequest) { r.Action = flip("a2") }),
		"another seat":   other(func(r *refereev1.PlayActionRequest) { *r.Seat = 1 - *r.Seat }),
		"another hash":   other(func(r *refereev1.PlayActionRequest) { r.ClientHash = []byte("x") }),
		"another ply":    other(func(r *refereev1.PlayActionRequest) { r.ExpectedPly = 2 }),
		"another kind":   proto.CloneOf(s.resign),
	} {
		refusals = append(refusals, refusal{name, reuse(s.ply.GetRequestId(), request), codes.AlreadyExists, "REQUEST_ID_REUSED"})
	}
	created := proto.CloneOf(s.create)
	created.Balances[0]++
	started := proto.CloneOf(s.start)
	started.PlayerSeeds[0] = []byte{9}
	s.check(append(refusals,
		refusal{"another match", s.changing(created), codes.AlreadyExists, "REQUEST_ID_REUSED"},
		refusal{"another seed", s.changing(started), codes.AlreadyExists, "REQUEST_ID_REUSED"},
		refusal{"a taken reference", s.changing(with(s.create, func(*refereev1.CreateMatchRequest) {})), codes.AlreadyExists, "EXTERNAL_REF_TAKEN"},
		// What is neither is a retry and is answered, and changes nothing either.
		refusal{"the same ply", s.changing(s.ply), codes.OK, ""},
		refusal{"the same start", s.changing(s.start), codes.OK, ""},
		refusal{"the same ending", s.changing(s.resign), codes.OK, ""},
		refusal{"the same creation", s.changing(s.create), codes.OK, ""},
	))
}

// TestHostileStrangers asks for the east's match with the west's token, in each
// way there is: the answer is, to the byte, that for a match which is not there.
func TestHostileStrangers(t *testing.T) {
	s := newScene(t)
	ways := map[string]func(context.Context, string) error{
		"GetMatch": func(ctx context.Context, id string) error {
			_, err := s.r.match.GetMatch(ctx, &refereev1.GetMatchRequest{MatchId: id})
			return err
		},
		"GetGame": func(ctx context.Context, id string) error {
			_, err := s.r.match.GetGame(ctx, &refereev1.GetGameRequest{MatchId: id})
			return err
		},
		"ListLegalActions": func(ctx context.Context, id string) error {
			_, err := s.r.match.ListLegalActions(ctx, &refereev1.ListLegalActionsRequest{MatchId: id})
			return err
		},
		"WatchMatch": func(ctx context.Context, id string) error {
			stream, err := s.r.match.WatchMatch(ctx, &refereev1.WatchMatchRequest{MatchId: id})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
		"GetGameRecord": func(ctx context.Context, id string) error {
			_, err := s.r.audit.GetGameRecord(ctx, &refereev1.GetGameRecordRequest{MatchId: id, Game: 1})
			return err
		},
	}
	for _, request := range []proto.Message{
		s.ply, s.resign, s.start, playing(s.game, flip("c3")), offering(s.game, 0), answering(s.game, 0, true),
		&refereev1.WithdrawDrawRequest{Game: 2, RequestId: newID(), ExpectedSeq: s.game.GetNextSeq(), Seat: s.game.ToMove},
		&refereev1.ReportDisconnectRequest{Game: 2, RequestId: newID(), ExpectedSeq: s.game.GetNextSeq(), Seats: []uint32{0}},
		&refereev1.CallTimeRequest{Game: 2, RequestId: newID(), ExpectedSeq: s.game.GetNextSeq()},
		&refereev1.RequestCountRequest{Game: 2, RequestId: newID(), ExpectedSeq: s.game.GetNextSeq(), Seat: s.game.ToMove},
		&refereev1.AbandonMatchRequest{Game: 2, RequestId: newID(), ExpectedSeq: s.game.GetNextSeq()},
	} {
		ways[fmt.Sprintf("%T %d", request, len(ways))] = func(ctx context.Context, id string) error {
			request := proto.CloneOf(request)
			setMatch(request, id)
			_, err := call(ctx, s.r, request)
			return err
		}
	}
	var refusals []refusal
	for name, way := range ways {
		refusals = append(refusals, refusal{name, func() error {
			theirs, absent := way(s.as("west"), s.game.GetMatchId()), way(s.as("west"), absentID)
			if bytesOf(s.t, status.Convert(theirs).Proto()) != bytesOf(s.t, status.Convert(absent).Proto()) {
				return fmt.Errorf("another's match is answered with %v, none with %v", theirs, absent)
			}
			return theirs
		}, codes.NotFound, "NOT_FOUND"})
	}
	s.check(append(refusals, refusal{"FindMatch", func() error {
		_, err := s.r.match.FindMatch(s.as("west"), &refereev1.FindMatchRequest{By: &refereev1.FindMatchRequest_ExternalRef{ExternalRef: "order 1"}})
		return err
	}, codes.NotFound, "NOT_FOUND"}))
	listed, err := s.r.audit.ListMatches(s.as("west"), &refereev1.ListMatchesRequest{})
	must(t, err)
	if len(listed.GetMatches()) != 0 {
		t.Errorf("the west lists %v", listed.GetMatches())
	}
}

func TestHostileTokensAndText(t *testing.T) {
	s := newScene(t)
	listed, err := s.r.audit.ListMatches(s.as("auditor"), &refereev1.ListMatchesRequest{PageSize: 1})
	must(t, err)
	pageToken := listed.GetNextPageToken()
	watch := &watcher{match: s.game.GetMatchId()}
	_, err = watch.read(s.as("east"), s.r, 3)
	must(t, err)
	list := func(token string, r *refereev1.ListMatchesRequest) func() error {
		return func() error {
			_, err := s.r.audit.ListMatches(s.as(token), r)
			return err
		}
	}
	get := func(ctx context.Context, id string) func() error {
		return func() error {
			_, err := s.r.match.GetMatch(ctx, &refereev1.GetMatchRequest{MatchId: id})
			return err
		}
	}
	named := func(name string) func() error {
		return s.changing(with(s.create, func(r *refereev1.CreateMatchRequest) { r.ExternalRef, r.PlayerIds[0] = "", name }))
	}
	id := s.game.GetMatchId()
	refusals := []refusal{
		{"page token of another query", list("auditor", &refereev1.ListMatchesRequest{PageSize: 1, PageToken: pageToken,
			Filter: &refereev1.HistoryFilter{MinStake: 5}}), codes.InvalidArgument, "INVALID_PAGE_TOKEN"},
		{"page token of another caller", list("east", &refereev1.ListMatchesRequest{PageSize: 1, PageToken: pageToken}), codes.InvalidArgument, "INVALID_PAGE_TOKEN"},
		{"page token of nothing", list("auditor", &refereev1.ListMatchesRequest{PageToken: "AAAA"}), codes.InvalidArgument, "INVALID_PAGE_TOKEN"},
		{"page of 2^31-1", list("auditor", &refereev1.ListMatchesRequest{PageSize: 1<<31 - 1}), codes.InvalidArgument, "INVALID_FIELD"},
		{"page of -1", list("auditor", &refereev1.ListMatchesRequest{PageSize: -1}), codes.InvalidArgument, "INVALID_FIELD"},
		{"resume token of another match", func() error {
			_, err := (&watcher{match: s.waiting.GetMatchId(), token: watch.token}).read(s.as("east"), s.r, 1)
			return err
		}, codes.InvalidArgument, "INVALID_PAGE_TOKEN"},
		{"NUL in a player", named("an\x00n"), codes.InvalidArgument, "INVALID_FIELD"},
		{"nameless player", named(""), codes.InvalidArgument, "INVALID_FIELD"},
		{"player of 129 bytes", named(strings.Repeat("a", 129)), codes.InvalidArgument, "INVALID_FIELD"},
		{"bad UTF-8", s.badText, codes.Internal, ""}, // by gRPC itself, before any code of the referee's
		{"no token", get(s.ctx, id), codes.Unauthenticated, "UNAUTHENTICATED"},
		{"unknown token", get(s.as("nobody"), id), codes.Unauthenticated, "UNAUTHENTICATED"},
		{"two tokens", get(metadata.AppendToOutgoingContext(s.as("east"), "authorization", "Bearer east"), id), codes.Unauthenticated, "UNAUTHENTICATED"},
		{"play with an auditor's token", s.changingAs("auditor", playing(s.game, flip("c3"))), codes.PermissionDenied, "SCOPE_MISSING"},
		{"void with a player's token", s.changing(&refereev1.VoidMatchRequest{MatchId: id, Game: 2, RequestId: newID(),
			ExpectedSeq: s.game.GetNextSeq(), Note: "mine"}), codes.PermissionDenied, "SCOPE_MISSING"},
		{"void without a reason", s.changingAs("operator", &refereev1.VoidMatchRequest{MatchId: id, Game: 2, RequestId: newID(),
			ExpectedSeq: s.game.GetNextSeq()}), codes.InvalidArgument, "INVALID_FIELD"},
		{"compensation of another settlement", func() error {
			_, err := s.r.match.CompensateSettlement(s.as("operator"), &refereev1.CompensateSettlementRequest{MatchId: id, Game: 2,
				RequestId: newID(), ExpectedSeq: 1, SettlementId: s.settled, Note: "x"})
			return err
		}, codes.NotFound, "NOT_FOUND"},
	}
	for _, malformed := range []string{"", "1", strings.ToUpper(id), "{" + id + "}", strings.ReplaceAll(id, "-", ""), id + " ", "00000000-0000-0000-0000-000000000000"} {
		refusals = append(refusals, refusal{fmt.Sprintf("match %q", malformed), get(s.as("east"), malformed), codes.InvalidArgument, "INVALID_FIELD"})
	}
	s.check(refusals)
}

// badText sends a player's name that is no UTF-8, which the generated client
// would not.
func (s *scene) badText() error {
	request, err := proto.Marshal(with(s.create, func(r *refereev1.CreateMatchRequest) { r.ExternalRef = "" }))
	if err != nil {
		return err
	}
	request = protowire.AppendTag(request, 9, protowire.BytesType) // external_ref
	request = protowire.AppendBytes(request, []byte{0xff, 0xfe})
	return s.r.conn.Invoke(s.as("east"), refereev1.MatchService_CreateMatch_FullMethodName, &request, new([]byte), grpc.ForceCodec(rawCodec{}))
}

// rawCodec sends bytes as they are.
type rawCodec struct{}

var _ encoding.Codec = rawCodec{}

func (rawCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (rawCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = data
	return nil
}

func (rawCodec) Name() string { return "proto" }
