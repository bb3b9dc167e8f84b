package server

import (
	"context"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	refereev1 "referee.example/proto/referee/v1"
)

// do carries a command of a request out, once its fields are found well formed,
// and answers with the view of the seat that acts: a spectator's where the
// platform itself does.
func (s *Server) do(ctx context.Context, c *check, command referee.Command, h *referee.Header) (*refereev1.Change, error) {
	if err := c.err(); err != nil {
		return nil, err
	}
	caller, err := s.caller(ctx)
	if err != nil {
		return nil, err
	}
	h.Caller = caller
	answer, err := s.referee.Do(ctx, command)
	if err != nil {
		return nil, err
	}
	s.hub.changed(h.Match)
	return s.change(ctx, answer, h.Seat)
}

// change converts the answer to a call that changed a match.
func (s *Server) change(ctx context.Context, a referee.Answer, viewer rules.Seat) (*refereev1.Change, error) {
	game, err := s.game(a.State, viewer)
	if err != nil {
		return nil, err
	}
	out := &refereev1.Change{Game: game, Replayed: a.Replayed, ServerTime: stamp(a.Now)}
	if out.Events, err = s.events(ctx, a.State, a.Events, nil); err != nil {
		return nil, err
	}
	for i := range a.Events {
		if changesMatch(a.Events[i].Kind) {
			if out.Match, err = protoMatch(a.State); err != nil {
				return nil, err
			}
			out.Match.NextCompensationSeq = 0 // it may differ when the answer is given again
			break
		}
	}
	return out, nil
}

// events converts events that state is at or after; names as in eventWriter.
func (s *Server) events(ctx context.Context, state *referee.State, events []referee.Event, names map[int32]string) ([]*refereev1.Event, error) {
	w := eventWriter{referee: s.referee, state: state, names: names}
	out := make([]*refereev1.Event, len(events))
	for i := range events {
		var err error
		if out[i], err = w.write(ctx, &events[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// changesMatch reports whether an event changes more than its game.
func changesMatch(kind referee.EventKind) bool {
	switch kind {
	case referee.EventMatchCreated, referee.EventGameStarted, referee.EventGameEnded, referee.EventMatchEnded:
		return true
	}
	return false
}
