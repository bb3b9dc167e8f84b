package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"referee.example/internal/app"
	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
	refereev1 "referee.example/proto/referee/v1"
)

// ruleset is the preset that is played.
const ruleset = "7club-standard"

// table is a match of the referee and what its player knows.
type table struct {
	client refereev1.MatchServiceClient
	game   *banqi.Game
	latest *refereev1.Game
	play   func(context.Context, *refereev1.PlayActionRequest) (*refereev1.Change, error)
}

func (b *bench) refereeUnary(ctx context.Context, matches int) (played, error) {
	return b.referee(ctx, matches, func(_ context.Context, clients []refereev1.MatchServiceClient, tables []*table) error {
		for i, t := range tables {
			client := clients[i%len(clients)]
			t.play = func(ctx context.Context, r *refereev1.PlayActionRequest) (*refereev1.Change, error) {
				answer, err := client.PlayAction(ctx, r)
				return answer.GetChange(), err
			}
		}
		return nil
	})
}

func (b *bench) refereeStream(ctx context.Context, matches int) (played, error) {
	return b.referee(ctx, matches, func(ctx context.Context, clients []refereev1.MatchServiceClient, tables []*table) error {
		var streams []*stream
		for _, client := range clients[:min(len(clients), len(tables))] {
			s, err := openStream(ctx, client)
			if err != nil {
				return err
			}
			streams = append(streams, s)
		}
		for i, t := range tables {
			t.play = streams[i%len(streams)].play
		}
		return nil
	})
}

// referee plays on a whole replica: one that seals, proves, chains and logs.
func (b *bench) referee(ctx context.Context, matches int,
	connect func(context.Context, []refereev1.MatchServiceClient, []*table) error) (played, error) {
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
	clients, hangUp, err := dial(replica.Addr())
	if err != nil {
		return played{}, err
	}
	defer hangUp()
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token))
	defer cancel()
	tables, err := seat(ctx, clients, matches)
	if err != nil {
		return played{}, err
	}
	if err := connect(ctx, clients, tables); err != nil {
		return played{}, err
	}
	players := make([]player, len(tables))
	for i, t := range tables {
		players[i] = t.move
	}
	return b.playAll(ctx, players)
}

// seat creates matches and starts their first games.
func seat(ctx context.Context, clients []refereev1.MatchServiceClient, matches int) ([]*table, error) {
	game, err := loadGame()
	if err != nil {
		return nil, err
	}
	tables := make([]*table, matches)
	for i := range tables {
		tables[i] = &table{client: clients[i%len(clients)], game: game}
		if err := tables[i].begin(ctx); err != nil {
			return nil, err
		}
	}
	return tables, nil
}

// begin starts the next game, of a new match if the present one is over.
func (t *table) begin(ctx context.Context) error {
	next, err := t.next(ctx)
	if err != nil {
		return err
	}
	started, err := t.client.StartGame(ctx, &refereev1.StartGameRequest{
		MatchId: next.GetMatchId(), Game: next.GetGame(), RequestId: newRequestID(), ExpectedSeq: next.GetNextSeq(),
		Balances: []int64{100_000, 100_000},
	})
	t.latest = started.GetChange().GetGame()
	return err
}

func (t *table) next(ctx context.Context) (*refereev1.Game, error) {
	if t.latest != nil {
		present, err := t.client.GetGame(ctx, &refereev1.GetGameRequest{MatchId: t.latest.GetMatchId()})
		if err != nil || present.GetGame().GetStatus() == refereev1.GameStatus_GAME_STATUS_AWAITING_START {
			return present.GetGame(), err
		}
	}
	created, err := t.client.CreateMatch(ctx, &refereev1.CreateMatchRequest{
		RequestId: newRequestID(), PlayerIds: []string{"player-" + newRequestID()[:8], "player-" + newRequestID()[:8]},
		Rules: &refereev1.CreateMatchRequest_RulesetId{RulesetId: ruleset}, Stake: 100, Balances: []int64{100_000, 100_000},
	})
	return created.GetChange().GetGame(), err
}

// move plays a random legal action. Games that are over, or that wait for a
// ruling, give way to others.
func (t *table) move(ctx context.Context) (time.Duration, error) {
	if t.latest.GetStatus() != refereev1.GameStatus_GAME_STATUS_PLAYING {
		if t.latest.GetStatus() == refereev1.GameStatus_GAME_STATUS_AWAITING_RULING {
			t.latest = nil
		}
		return 0, t.begin(ctx)
	}
	action, err := t.choose()
	if err != nil {
		return 0, err
	}
	seat := t.latest.GetToMove()
	request := &refereev1.PlayActionRequest{
		MatchId: t.latest.GetMatchId(), Game: t.latest.GetGame(), RequestId: newRequestID(),
		ExpectedPly: t.latest.GetNextPly(), Seat: &seat, Action: action,
	}
	start := time.Now()
	change, err := t.play(ctx, request)
	latency := time.Since(start)
	if err != nil {
		return 0, fmt.Errorf("ply %d, %v: %w", request.GetExpectedPly(), action, err)
	}
	t.latest = change.GetGame()
	return latency, nil
}

func (t *table) choose() (*refereev1.Action, error) {
	position, err := t.game.ParseState(t.latest.GetDarkChess().GetState())
	if err != nil {
		return nil, err
	}
	actions := t.game.List(&position, nil)
	if len(actions) == 0 {
		return nil, errors.New("no legal action")
	}
	a := actions[dice()%uint64(len(actions))]
	out := &refereev1.Action{Kind: refereev1.ActionKind(a.Kind)}
	if a.From != rules.NoSquare {
		out.From = banqi.SquareName(a.From)
	}
	if a.To != rules.NoSquare {
		out.To = banqi.SquareName(a.To)
	}
	return out, nil
}

// stream shares one PlayActions stream among many tables.
type stream struct {
	sending sync.Mutex
	grpc.BidiStreamingClient[refereev1.PlayActionsRequest, refereev1.PlayActionsResponse]

	mu      sync.Mutex
	waiting map[string]chan *refereev1.PlayActionsResponse // by request
	broken  error
}

func openStream(ctx context.Context, client refereev1.MatchServiceClient) (*stream, error) {
	calls, err := client.PlayActions(ctx)
	if err != nil {
		return nil, err
	}
	s := &stream{BidiStreamingClient: calls, waiting: map[string]chan *refereev1.PlayActionsResponse{}}
	go s.receive()
	return s, nil
}

func (s *stream) receive() {
	for {
		answer, err := s.Recv()
		s.mu.Lock()
		if err != nil {
			s.broken = err
			for _, waiting := range s.waiting {
				close(waiting)
			}
			s.mu.Unlock()
			return
		}
		waiting := s.waiting[answer.GetRequestId()]
		delete(s.waiting, answer.GetRequestId())
		s.mu.Unlock()
		waiting <- answer
	}
}

func (s *stream) play(_ context.Context, r *refereev1.PlayActionRequest) (*refereev1.Change, error) {
	answer := make(chan *refereev1.PlayActionsResponse, 1)
	s.mu.Lock()
	if s.broken != nil {
		s.mu.Unlock()
		return nil, s.broken
	}
	s.waiting[r.GetRequestId()] = answer
	s.mu.Unlock()
	s.sending.Lock()
	err := s.Send(&refereev1.PlayActionsRequest{Play: r})
	s.sending.Unlock()
	if err != nil {
		return nil, err
	}
	got, ok := <-answer
	if !ok {
		return nil, errors.New("the stream broke")
	}
	if refusal := got.GetRefusal(); refusal != nil {
		return nil, fmt.Errorf("refused: %s %s", refusal.GetReason(), refusal.GetMessage())
	}
	return got.GetChange(), nil
}
