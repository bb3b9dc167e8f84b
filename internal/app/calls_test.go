package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

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

// quick is the standard ruleset with turns of three seconds and no extensions.
func quick(ctx context.Context, t *testing.T, rules refereev1.RulesServiceClient) *refereev1.CreateMatchRequest {
	t.Helper()
	answer, err := rules.GetRuleset(ctx, &refereev1.GetRulesetRequest{RulesetId: "7club-standard"})
	if err != nil {
		t.Fatal(err)
	}
	ruleset := answer.GetRuleset()
	ruleset.Id = ""
	ruleset.Clock.TurnMs, ruleset.Clock.Extensions, ruleset.Clock.ExtensionMs, ruleset.Clock.WarningMs = 3000, 0, 0, 0
	return &refereev1.CreateMatchRequest{Rules: &refereev1.CreateMatchRequest_Ruleset{Ruleset: ruleset}}
}

func create(ctx context.Context, t *testing.T, client refereev1.MatchServiceClient, request *refereev1.CreateMatchRequest) *refereev1.Change {
	t.Helper()
	request.RequestId, request.PlayerIds = requestID(), []string{"player-1", "player-2"}
	request.Stake, request.Balances = 100, []int64{900, 900}
	answer, err := client.CreateMatch(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetChange()
}

func startGame(ctx context.Context, t *testing.T, client refereev1.MatchServiceClient, game *refereev1.Game) *refereev1.Game {
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

func flip(ctx context.Context, t *testing.T, client refereev1.MatchServiceClient, game *refereev1.Game, square string) *refereev1.Game {
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

// execute runs one statement on a connection of its own.
func execute(t *testing.T, url, statement string, arguments ...any) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // clean-ups come after its end
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement, arguments...)
	if err != nil {
		t.Fatal(err)
	}
}

// asUser makes a user in a role for the length of a test and returns its URL.
func asUser(t *testing.T, superuser, role string) string {
	t.Helper()
	user := "user_" + strings.ReplaceAll(requestID(), "-", "")
	execute(t, superuser, fmt.Sprintf(`CREATE USER %s PASSWORD 'secret' IN ROLE %s`, user, role))
	t.Cleanup(func() { execute(t, superuser, `DROP USER `+user) })
	parsed, err := url.Parse(superuser)
	if err != nil {
		t.Fatal(err)
	}
	parsed.User = url.UserPassword(user, "secret")
	return parsed.String()
}
