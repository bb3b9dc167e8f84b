package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"testing"

	refereev1 "referee.example/proto/referee/v1"
)

func requestID() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // documented never to fail
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

func preset(id string) *refereev1.CreateMatchRequest {
	return &refereev1.CreateMatchRequest{Rules: &refereev1.CreateMatchRequest_RulesetId{RulesetId: id}}
}

// quick is the standard ruleset with turns of half a second and no extensions.
func quick(t *testing.T, ctx context.Context, rules refereev1.RulesServiceClient) *refereev1.CreateMatchRequest {
	t.Helper()
	answer, err := rules.GetRuleset(ctx, &refereev1.GetRulesetRequest{RulesetId: "7club-standard"})
	if err != nil {
		t.Fatal(err)
	}
	ruleset := answer.GetRuleset()
	ruleset.Id = ""
	ruleset.Clock.TurnMs, ruleset.Clock.Extensions, ruleset.Clock.ExtensionMs, ruleset.Clock.WarningMs = 500, 0, 0, 0
	return &refereev1.CreateMatchRequest{Rules: &refereev1.CreateMatchRequest_Ruleset{Ruleset: ruleset}}
}

func create(t *testing.T, ctx context.Context, client refereev1.MatchServiceClient, request *refereev1.CreateMatchRequest) *refereev1.Change {
	t.Helper()
	request.RequestId, request.PlayerIds = requestID(), []string{"player-1", "player-2"}
	request.Stake, request.Balances = 100, []int64{900, 900}
	answer, err := client.CreateMatch(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetChange()
}

func startGame(t *testing.T, ctx context.Context, client refereev1.MatchServiceClient, game *refereev1.Game) *refereev1.Game {
	t.Helper()
	answer, err := client.StartGame(ctx, &refereev1.StartGameRequest{
		MatchId: game.GetMatchId(), Game: game.GetGame(), RequestId: requestID(), ExpectedSeq: game.GetNextSeq(),
		Balances: []int64{900, 900},
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetChange().GetGame()
}

func flipRequest(game *refereev1.Game, square string) *refereev1.PlayActionRequest {
	seat := game.GetToMove()
	return &refereev1.PlayActionRequest{
		MatchId: game.GetMatchId(), Game: game.GetGame(), RequestId: requestID(), ExpectedPly: game.GetNextPly(),
		Seat: &seat, Action: &refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_FLIP, From: square},
	}
}

func flip(t *testing.T, ctx context.Context, client refereev1.MatchServiceClient, game *refereev1.Game, square string) *refereev1.Game {
	t.Helper()
	answer, err := client.PlayAction(ctx, flipRequest(game, square))
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetChange().GetGame()
}

// password returns the one in a database's URL.
func password(t *testing.T, text string) string {
	t.Helper()
	parsed, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	secret, ok := parsed.User.Password()
	if !ok {
		t.Fatal("the test database has no password")
	}
	return secret
}
