package server

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"time"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc"
)

// WatchMatch streams a match's events from the log. A slow reader holds up its
// own stream only: nothing is read from the log before the last was sent.
func (m *matchService) WatchMatch(r *refereev1.WatchMatchRequest, stream grpc.ServerStreamingServer[refereev1.WatchMatchResponse]) error {
	ctx := stream.Context()
	var c check
	id, viewer := c.id("match_id", r.GetMatchId()), c.optionalSeat("viewer_seat", r.ViewerSeat)
	if err := c.err(); err != nil {
		return err
	}
	at, err := parseCursor(r.GetResumeToken(), id)
	if err != nil {
		return err
	}
	hint, unwatch, err := m.hub.watch(id)
	if err != nil {
		return err
	}
	defer unwatch()
	state, err := m.peek(ctx, id)
	if err != nil {
		return err
	}
	if err := state.ViewerSeat(reader(ctx), viewer, state.Game.Number); err != nil {
		return err
	}
	if !at.within(state) {
		return invalidPageToken()
	}
	w := &watch{service: m, stream: stream, hint: hint, id: id, at: at, writer: eventWriter{referee: m.referee}}
	return w.run(ctx, state)
}

// peek returns a match as it stands, to a watch.
func (m *matchService) peek(ctx context.Context, id referee.ID) (state *referee.State, err error) {
	err = m.admission.read(ctx, func(ctx context.Context) (err error) {
		state, err = m.referee.Peek(ctx, reader(ctx), id)
		return err
	})
	return state, err
}

// watch is one stream of a match's events.
type watch struct {
	service *matchService
	stream  grpc.ServerStreamingServer[refereev1.WatchMatchResponse]
	hint    <-chan struct{}
	id      referee.ID
	at      cursor
	writer  eventWriter
	warned  clock.Time // warning instant that was sent last
}

// run sends what there is and waits for more until something ends the stream.
func (w *watch) run(ctx context.Context, state *referee.State) error {
	age := time.NewTimer(w.service.limits.streamAge)
	defer age.Stop()
	heartbeat := time.NewTicker(w.service.limits.heartbeat)
	defer heartbeat.Stop()
	for {
		if err := w.catchUp(ctx, state); err != nil {
			return err
		}
		if state.Status.Over() {
			return w.end(refereev1.WatchEndReason_WATCH_END_REASON_MATCH_ENDED)
		}
		warning := w.warningTimer(state)
		again := false
		for !again {
			var err error
			select {
			case <-w.hint:
				again = true
			case <-heartbeat.C:
				err = w.send(&refereev1.WatchMatchResponse{Message: &refereev1.WatchMatchResponse_Heartbeat{Heartbeat: &refereev1.Heartbeat{}}})
			case <-warning:
				warning, err = nil, w.warn(state)
			case <-age.C:
				return w.end(refereev1.WatchEndReason_WATCH_END_REASON_AGE)
			case <-w.service.draining.Done():
				return w.end(refereev1.WatchEndReason_WATCH_END_REASON_DRAINING)
			case <-ctx.Done():
				return ctx.Err()
			}
			if err != nil {
				return err
			}
		}
		var err error
		if state, err = w.service.peek(ctx, w.id); err != nil {
			return err
		}
	}
}

// catchUp sends every event after the cursor that the state knows of.
func (w *watch) catchUp(ctx context.Context, state *referee.State) error {
	w.writer.state = state
	for w.at.game < state.Game.Number {
		if err := w.sendLog(ctx, w.at.game, &w.at.seq, 0); err != nil {
			return err
		}
		w.at.game, w.at.seq = w.at.game+1, 0
	}
	if err := w.sendLog(ctx, w.at.game, &w.at.seq, state.Game.Seq); err != nil {
		return err
	}
	return w.sendLog(ctx, 0, &w.at.compensation, state.Compensations.Seq)
}

// sendLog sends a log's events after *seq, up to last or, for 0, to its end.
func (w *watch) sendLog(ctx context.Context, game int, seq *int, last int) error {
	for last == 0 || *seq < last {
		limit := eventPage
		if last != 0 {
			limit = min(limit, last-*seq)
		} else if game == 0 {
			return nil
		}
		var events []referee.Event
		err := w.service.admission.read(ctx, func(ctx context.Context) (err error) {
			events, err = w.service.referee.Events(ctx, w.id, game, *seq+1, limit)
			return err
		})
		if err != nil {
			return err
		}
		for i := range events {
			event, err := w.writer.write(ctx, &events[i])
			if err != nil {
				return err
			}
			*seq = events[i].Seq
			if err := w.send(&refereev1.WatchMatchResponse{Message: &refereev1.WatchMatchResponse_Event{Event: event}}); err != nil {
				return err
			}
		}
		if len(events) < limit {
			return nil
		}
	}
	return nil
}

// warningTimer fires when the running turn's player is to be warned; nil when
// he isn't or has been.
func (w *watch) warningTimer(state *referee.State) <-chan time.Time {
	at, ok := warningOf(state)
	if !ok || at == w.warned {
		return nil
	}
	now, err := w.service.referee.Now()
	if err != nil {
		return nil // a warning may be missed, an expiry is not
	}
	return time.After(time.Duration(max(at-now, 0)) * time.Microsecond)
}

func warningOf(state *referee.State) (clock.Time, bool) {
	if state.Game.Status != referee.GamePlaying {
		return 0, false
	}
	return state.Game.Clock.Warning(state.Rules.Clock)
}

func (w *watch) warn(state *referee.State) error {
	w.warned, _ = warningOf(state)
	deadline, _ := state.Deadline()
	return w.send(&refereev1.WatchMatchResponse{Message: &refereev1.WatchMatchResponse_ClockWarning{
		ClockWarning: &refereev1.ClockWarning{
			Game: uint32(state.Game.Number), Seat: uint32(state.Game.Clock.Running), DeadlineTime: stamp(deadline),
		}}})
}

func (w *watch) end(reason refereev1.WatchEndReason) error {
	return w.send(&refereev1.WatchMatchResponse{Message: &refereev1.WatchMatchResponse_End{End: &refereev1.WatchEnd{Reason: reason}}})
}

// send sends a message with the cursor after it.
func (w *watch) send(out *refereev1.WatchMatchResponse) error {
	out.ResumeToken = w.at.token(w.id)
	if now, err := w.service.referee.Now(); err == nil {
		out.ServerTime = stamp(now)
	}
	return w.stream.Send(out)
}

// cursor is how far a watcher has read: the last event of a game that it was
// sent, and the last of the match's own log of compensations.
type cursor struct {
	game, seq, compensation int
}

// A resume token holds the match, so that it can't be used for another, and
// the cursor.
const (
	cursorVersion = 1
	cursorBytes   = 1 + 16 + 2 + 4 + 4
)

func (c cursor) token(id referee.ID) string {
	b := append([]byte{cursorVersion}, id[:]...)
	b = binary.BigEndian.AppendUint16(b, uint16(c.game))
	b = binary.BigEndian.AppendUint32(b, uint32(c.seq))
	b = binary.BigEndian.AppendUint32(b, uint32(c.compensation))
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseCursor reads a resume token of a match; an empty one is the beginning.
func parseCursor(token string, id referee.ID) (cursor, error) {
	if token == "" {
		return cursor{game: 1}, nil
	}
	b, err := decodeToken(token)
	if err != nil || len(b) != cursorBytes || b[0] != cursorVersion || referee.ID(b[1:17]) != id {
		return cursor{}, invalidPageToken()
	}
	return cursor{
		game: int(binary.BigEndian.Uint16(b[17:])), seq: int(binary.BigEndian.Uint32(b[19:])),
		compensation: int(binary.BigEndian.Uint32(b[23:])),
	}, nil
}

// within reports whether the match has come as far as the cursor.
func (c cursor) within(s *referee.State) bool {
	return c.game >= 1 && c.game <= s.Game.Number && (c.game < s.Game.Number || c.seq <= s.Game.Seq) &&
		c.compensation <= s.Compensations.Seq
}
