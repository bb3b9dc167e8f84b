package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"referee.example/internal/app"
	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
	refereev1 "referee.example/proto/referee/v1"
)

// ruleset is the preset that is played.
const ruleset = "7club-standard"

// refereeTable is a match of the referee and what its player knows.
type refereeTable struct {
	client   refereev1.MatchServiceClient
	rules    *banqi.Game
	present  *refereev1.Game // when it began
	position banqi.State
	actions  []rules.Action // room
	played   rules.Action   // that is on its way
	another  bool           // game follows in the match
	move     refereev1.PlayActionRequest
}

func (b *bench) refereeUnary(ctx context.Context, matches int) (played, error) {
	return b.referee(ctx, matches, false, seat)
}

func (b *bench) refereeStream(ctx context.Context, matches int) (played, error) {
	return b.referee(ctx, matches, true, seat)
}

// seats creates so many matches and brings each to its first ply.
type seats func(ctx context.Context, client refereev1.MatchServiceClient, matches int) ([]table, error)

// referee plays on a whole replica: one that seals, proves, chains and logs.
func (b *bench) referee(ctx context.Context, matches int, streamed bool, seat seats) (played, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return played{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	token, file := app.NewDevToken()
	tokens, logKey := filepath.Join(dir, "tokens.json"), filepath.Join(dir, "log.key")
	if err := errors.Join(os.WriteFile(tokens, file, 0o600), os.WriteFile(logKey, []byte(b.logKey), 0o600)); err != nil {
		return played{}, err
	}
	log, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return played{}, err
	}
	defer func() { _ = log.Close() }()
	replica, err := app.Start(ctx, app.Config{
		Listen: "127.0.0.1:0", DatabaseURL: b.url, MaxConns: b.maxConns, Sharded: b.sharded, Keys: b.keys, LogKeyFile: logKey,
		TokenFile: tokens, DrainTimeout: 10 * time.Second,
	}, slog.New(slog.NewJSONHandler(log, nil)))
	if err != nil {
		return played{}, err
	}
	defer replica.Stop()
	conn, err := grpc.NewClient(replica.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return played{}, err
	}
	defer func() { _ = conn.Close() }()
	authorization := "Bearer " + token
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", authorization)
	tables, err := seat(ctx, refereev1.NewMatchServiceClient(conn), matches)
	if err != nil {
		return played{}, err
	}
	return b.playAll(ctx, replica.Addr(), streamed, tables, hpack.HeaderField{Name: "authorization", Value: authorization})
}

// seat is the seats of dark chess.
func seat(ctx context.Context, client refereev1.MatchServiceClient, matches int) ([]table, error) {
	game, err := loadGame()
	if err != nil {
		return nil, err
	}
	tables := make([]table, matches)
	for i := range tables {
		tables[i] = &refereeTable{client: client, rules: game}
		if err := tables[i].begin(ctx); err != nil {
			return nil, err
		}
	}
	return tables, nil
}

// begin starts the next game, of a new match if the present one is over or waits
// for a ruling.
func (t *refereeTable) begin(ctx context.Context) error {
	next, err := t.next(ctx)
	if err != nil {
		return err
	}
	if t.present, err = start(ctx, t.client, next); err != nil {
		return err
	}
	t.position, err = t.rules.ParseState(t.present.GetDarkChess().GetState())
	return err
}

func (t *refereeTable) next(ctx context.Context) (*refereev1.Game, error) {
	if t.another {
		return &refereev1.Game{MatchId: t.present.GetMatchId(), Game: t.present.GetGame() + 1, NextSeq: 1}, nil
	}
	return create(ctx, t.client)
}

// create returns the first game of a new match.
func create(ctx context.Context, client refereev1.MatchServiceClient) (*refereev1.Game, error) {
	created, err := client.CreateMatch(ctx, &refereev1.CreateMatchRequest{
		RequestId: newRequestID(), PlayerIds: []string{"player-" + newRequestID()[:8], "player-" + newRequestID()[:8]},
		Rules: &refereev1.CreateMatchRequest_RulesetId{RulesetId: ruleset}, Stake: 100, Balances: []int64{100_000, 100_000},
	})
	return created.GetChange().GetGame(), err
}

func start(ctx context.Context, client refereev1.MatchServiceClient, next *refereev1.Game) (*refereev1.Game, error) {
	started, err := client.StartGame(ctx, &refereev1.StartGameRequest{
		MatchId: next.GetMatchId(), Game: next.GetGame(), RequestId: newRequestID(), ExpectedSeq: next.GetNextSeq(),
		Balances: []int64{100_000, 100_000},
	})
	return started.GetChange().GetGame(), err
}

// message is an action as calls have it.
func message(a rules.Action) *refereev1.Action {
	out := &refereev1.Action{Kind: refereev1.ActionKind(a.Kind)}
	if a.From != rules.NoSquare {
		out.From = banqi.SquareName(a.From)
	}
	if a.To != rules.NoSquare {
		out.To = banqi.SquareName(a.To)
	}
	return out
}

func (t *refereeTable) match() string { return t.present.GetMatchId() }

// request plays a random legal action.
func (t *refereeTable) request(b []byte) ([]byte, error) {
	t.actions = t.rules.List(&t.position, t.actions[:0])
	if len(t.actions) == 0 {
		return nil, errors.New("no legal action")
	}
	a := t.actions[dice()%uint64(len(t.actions))]
	seat := uint32(t.position.Turn())
	t.played = a
	t.move.MatchId, t.move.Game, t.move.RequestId = t.present.GetMatchId(), t.present.GetGame(), newRequestID()
	t.move.ExpectedPly, t.move.Seat, t.move.Action = uint32(t.position.Ply()+1), &seat, message(a)
	return proto.MarshalOptions{}.MarshalAppend(b, &t.move)
}

// take makes the move on the player's own board, by the piece that it turned.
func (t *refereeTable) take(change []byte) (goesOn bool, err error) {
	game, _ := field(change, 1)
	event, _ := field(change, 3)
	letter, _ := field(event, 7)
	_, status := field(game, 3)
	match, _ := field(change, 2) // that the game's end has changed
	_, matchStatus := field(match, 11)
	t.another = refereev1.MatchStatus(matchStatus) == refereev1.MatchStatus_MATCH_STATUS_AWAITING_START
	turned := rules.NoPiece
	if len(letter) == 1 {
		if turned, err = banqi.ParsePiece(letter[0]); err != nil {
			return false, err
		}
	}
	if _, err := t.rules.Apply(&t.position, t.played, turned); err != nil {
		return false, fmt.Errorf("%v was accepted: %w", t.played, err)
	}
	return refereev1.GameStatus(status) == refereev1.GameStatus_GAME_STATUS_PLAYING, nil
}
