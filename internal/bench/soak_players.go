package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"

	"referee.example/internal/rules/banqi"
	refereev1 "referee.example/proto/referee/v1"
)

// The players of a soak go on where those that are measured would fail: they are
// refused, wait and look again.

// soakTable is a match of the referee and what its player knows.
type soakTable struct {
	client refereev1.MatchServiceClient
	game   *banqi.Game
	latest *refereev1.Game
	stream *soakStream
}

// soakTables creates matches, starts their first games and lets them share a stream
// a connection.
func soakTables(ctx context.Context, clients []refereev1.MatchServiceClient, matches int) ([]*soakTable, error) {
	game, err := loadGame()
	if err != nil {
		return nil, err
	}
	var streams []*soakStream
	for _, client := range clients {
		s, err := openSoakStream(ctx, client)
		if err != nil {
			return nil, err
		}
		streams = append(streams, s)
	}
	tables := make([]*soakTable, matches)
	for i := range tables {
		tables[i] = &soakTable{client: clients[i%len(clients)], game: game, stream: streams[i%len(clients)]}
		if err := tables[i].begin(ctx); err != nil {
			return nil, err
		}
	}
	return tables, nil
}

// begin starts the next game, of a new match if the present one is over.
func (t *soakTable) begin(ctx context.Context) error {
	next, err := t.next(ctx)
	if err != nil {
		return err
	}
	t.latest, err = start(ctx, t.client, next)
	return err
}

func (t *soakTable) next(ctx context.Context) (*refereev1.Game, error) {
	if t.latest != nil {
		present, err := t.client.GetGame(ctx, &refereev1.GetGameRequest{MatchId: t.latest.GetMatchId()})
		if err != nil || present.GetGame().GetStatus() == refereev1.GameStatus_GAME_STATUS_AWAITING_START {
			return present.GetGame(), err
		}
	}
	return create(ctx, t.client)
}

// move plays a random legal action and reports whether it did. Games that are over,
// or that wait for a ruling, give way to others.
func (t *soakTable) move(ctx context.Context) (moved bool, err error) {
	if t.latest.GetStatus() != refereev1.GameStatus_GAME_STATUS_PLAYING {
		if t.latest.GetStatus() == refereev1.GameStatus_GAME_STATUS_AWAITING_RULING {
			t.latest = nil
		}
		return false, t.begin(ctx)
	}
	action, err := t.choose()
	if err != nil {
		return false, err
	}
	seat := t.latest.GetToMove()
	request := &refereev1.PlayActionRequest{
		MatchId: t.latest.GetMatchId(), Game: t.latest.GetGame(), RequestId: newRequestID(),
		ExpectedPly: t.latest.GetNextPly(), Seat: &seat, Action: action,
	}
	change, err := t.stream.play(request)
	if err != nil {
		return false, fmt.Errorf("ply %d, %v: %w", request.GetExpectedPly(), action, err)
	}
	t.latest = change.GetGame()
	return true, nil
}

func (t *soakTable) choose() (*refereev1.Action, error) {
	position, err := t.game.ParseState(t.latest.GetDarkChess().GetState())
	if err != nil {
		return nil, err
	}
	actions := t.game.List(&position, nil)
	if len(actions) == 0 {
		return nil, errors.New("no legal action")
	}
	return message(actions[dice()%uint64(len(actions))]), nil
}

// soakStream shares one PlayActions stream among many tables.
type soakStream struct {
	sending sync.Mutex
	grpc.BidiStreamingClient[refereev1.PlayActionsRequest, refereev1.PlayActionsResponse]

	mu      sync.Mutex
	waiting map[string]chan *refereev1.PlayActionsResponse // by request
	broken  error
}

func openSoakStream(ctx context.Context, client refereev1.MatchServiceClient) (*soakStream, error) {
	calls, err := client.PlayActions(ctx)
	if err != nil {
		return nil, err
	}
	s := &soakStream{BidiStreamingClient: calls, waiting: map[string]chan *refereev1.PlayActionsResponse{}}
	go s.receive()
	return s, nil
}

func (s *soakStream) receive() {
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

func (s *soakStream) play(r *refereev1.PlayActionRequest) (*refereev1.Change, error) {
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

// lookAgain waits for a second and asks how the game stands.
func (t *soakTable) lookAgain(ctx context.Context) {
	pause(ctx, time.Second)
	if present, err := t.client.GetGame(ctx, &refereev1.GetGameRequest{MatchId: t.latest.GetMatchId()}); err == nil {
		t.latest = present.GetGame()
	}
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
