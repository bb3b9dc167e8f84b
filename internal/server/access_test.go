package server

import (
	"context"
	"testing"

	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// TestScopes calls every method with every kind of token: those that lack its
// scope are turned away before the request is looked at, the others are not.
func TestScopes(t *testing.T) {
	r := newRoom(t, options{})
	calls := map[string]string{ScopePlay: "east", ScopeAudit: "auditor", ScopeOperate: "operator"}
	for method, scopes := range scopesOf {
		for scope, name := range calls {
			token := Token{Scopes: scopes}
			err := r.invoke(r.as(name), method)
			allowed := len(scopes) == 0 || token.has([]string{scope})
			if refused := reasonOf(status.Convert(err)) == "SCOPE_MISSING"; refused == allowed {
				t.Errorf("%s with scope %s: %v", method, scope, err)
			}
		}
		err := r.invoke(t.Context(), method)
		wanted{codes.Unauthenticated, "UNAUTHENTICATED", ""}.check(t, err)
		err = r.invoke(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer nonsense"), method)
		wanted{codes.Unauthenticated, "UNAUTHENTICATED", ""}.check(t, err)
	}
}

// invoke sends an empty request to a method and returns how the call ended.
func (r *room) invoke(ctx context.Context, method string) error {
	for _, service := range services {
		for _, m := range service.Methods {
			if method == "/"+service.ServiceName+"/"+m.MethodName {
				return r.conn.Invoke(ctx, method, &refereev1.Heartbeat{}, &refereev1.Heartbeat{})
			}
		}
	}
	stream, err := r.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	_ = stream.CloseSend()
	err = stream.RecvMsg(&refereev1.Heartbeat{})
	if err != nil && err.Error() == "EOF" {
		return nil
	}
	return err
}

// TestForeignIsAbsent asks for another platform's match and for one that
// doesn't exist: the answers are the same, byte for byte.
func TestForeignIsAbsent(t *testing.T) {
	r := newRoom(t, options{})
	theirs := r.started(func(c *refereev1.CreateMatchRequest) { c.ExternalRef = "order 9" })
	before := theirs.version()
	absent := r.id()
	west := r.as("west")
	calls := map[string]func(id string) error{
		"GetMatch": func(id string) error {
			_, err := r.match.GetMatch(west, &refereev1.GetMatchRequest{MatchId: id})
			return err
		},
		"GetGame": func(id string) error {
			_, err := r.match.GetGame(west, &refereev1.GetGameRequest{MatchId: id})
			return err
		},
		"ListLegalActions": func(id string) error {
			_, err := r.match.ListLegalActions(west, &refereev1.ListLegalActionsRequest{MatchId: id})
			return err
		},
		"PlayAction": func(id string) error {
			request := theirs.action(flip("a1"))
			request.MatchId = id
			_, err := r.match.PlayAction(west, request)
			return err
		},
		"Resign": func(id string) error {
			_, err := r.match.Resign(west, &refereev1.ResignRequest{MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 3, Seat: proto.Uint32(0)})
			return err
		},
		"WatchMatch": func(id string) error {
			stream, err := r.match.WatchMatch(west, &refereev1.WatchMatchRequest{MatchId: id})
			must(t, err)
			_, err = stream.Recv()
			return err
		},
		"FindMatch": func(id string) error {
			ref := "order 9"
			if id == absent {
				ref = "order 10"
			}
			_, err := r.match.FindMatch(west, &refereev1.FindMatchRequest{By: &refereev1.FindMatchRequest_ExternalRef{ExternalRef: ref}})
			return err
		},
	}
	for name, call := range calls {
		foreign, none := call(theirs.id), call(absent)
		wanted{codes.NotFound, "NOT_FOUND", ""}.check(t, foreign)
		a, err := proto.MarshalOptions{Deterministic: true}.Marshal(status.Convert(foreign).Proto())
		must(t, err)
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(status.Convert(none).Proto())
		must(t, err)
		if string(a) != string(b) {
			t.Errorf("%s tells a foreign match from an absent one:\n%v\n%v", name, foreign, none)
		}
	}
	if theirs.version() != before {
		t.Error("the match has changed")
	}
	listed, err := r.audit.ListMatches(r.as("east/auditor"), &refereev1.ListMatchesRequest{Filter: &refereev1.HistoryFilter{Platform: "west"}})
	must(t, err)
	if len(listed.GetMatches()) != 0 {
		t.Error("an auditor of the east lists the west")
	}
	listed, err = r.audit.ListMatches(r.as("east/auditor"), &refereev1.ListMatchesRequest{})
	must(t, err)
	if len(listed.GetMatches()) != 1 {
		t.Error("an auditor of the east does not list the east")
	}
}

func TestPlayersTokenMovesAndSeesItsSeatOnly(t *testing.T) {
	r := newRoom(t, options{deal: tidy})
	table := r.started() // ann has seat 0
	ann, mine, other := r.as("east/ann"), proto.Uint32(0), proto.Uint32(1)
	forbidden := wanted{codes.PermissionDenied, "SEAT_FORBIDDEN", ""}

	_, err := r.match.GetGame(ann, &refereev1.GetGameRequest{MatchId: table.id, ViewerSeat: mine})
	must(t, err)
	_, err = r.match.GetGame(ann, &refereev1.GetGameRequest{MatchId: table.id})
	must(t, err)
	_, err = r.match.GetGame(ann, &refereev1.GetGameRequest{MatchId: table.id, ViewerSeat: other})
	forbidden.check(t, err)
	stream, err := r.match.WatchMatch(ann, &refereev1.WatchMatchRequest{MatchId: table.id, ViewerSeat: other})
	must(t, err)
	_, err = stream.Recv()
	forbidden.check(t, err)

	played, err := r.match.PlayAction(ann, table.action(flip("a1")))
	must(t, err)
	table.saw(played.GetChange())
	_, err = r.match.PlayAction(ann, table.action(flip("a2")))
	forbidden.check(t, err)
	bobs := table.action(flip("a2"))
	played, err = r.match.PlayAction(r.as("east"), bobs)
	must(t, err)
	table.saw(played.GetChange())
	before := table.version()
	_, err = r.match.PlayAction(ann, bobs) // its answer has bob's view
	forbidden.check(t, err)
	_, err = r.match.Resign(ann, &refereev1.ResignRequest{MatchId: table.id, Game: 1, RequestId: r.id(), ExpectedSeq: 5, Seat: other})
	forbidden.check(t, err)
	_, err = r.match.ReportDisconnect(ann, &refereev1.ReportDisconnectRequest{MatchId: table.id, Game: 1, RequestId: r.id(), ExpectedSeq: 5, Seats: []uint32{1}})
	forbidden.check(t, err)
	_, err = r.match.CreateMatch(ann, r.creation(r.rulesForTests()))
	forbidden.check(t, err)
	if table.version() != before {
		t.Error("a refusal changed the match")
	}
}

// TestUnknownFieldsAreIgnored sends a field that the contract doesn't know, as a
// newer client would: it is ignored.
func TestUnknownFieldsAreIgnored(t *testing.T) {
	r := newRoom(t, options{})
	table := r.create()
	request := &refereev1.GetMatchRequest{MatchId: table.id}
	request.ProtoReflect().SetUnknown([]byte{0xf8, 0x3f, 0x01}) // field 1023, varint 1
	_, err := r.match.GetMatch(r.as("east"), request)
	must(t, err)
}
