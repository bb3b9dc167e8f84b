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
	w := &watch{service: m, stream: stream, hint: hint, id: id, at: at, writer: eventWriter{referee: m.referee}}
	state, err := w.peek(ctx)
	if err != nil {
		return err
	}
	if err := state.ViewerSeat(reader(ctx), viewer, state.Game.Number); err != nil {
		return err
	}
	if !at.within(state) {
		return invalidPageToken()
	}
	return w.run(ctx, state)
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
		if state, err = w.peek(ctx); err != nil {
			return err
		}
	}
}

// peek returns the match as it stands: as this replica saw it last if that is what the
// hub has told of, or if the hub does not know yet. Where that is stale, the hub finds
// out and hints again. Who has lost the database, or has been cut off from what took its
// place, does not go by what it saw.
func (w *watch) peek(ctx context.Context) (state *referee.State, err error) {
	if w.service.isReady.Load() {
		state = w.service.referee.PeekRecent(ctx, reader(ctx), w.id)
		told := w.service.hub.version(w.id)
		if state != nil && w.at.within(state) && (told == unknown || told == state.Version) {
			return state, nil
		}
	}
	err = w.read(ctx, func(ctx context.Context) (err error) {
		state, err = w.service.referee.Peek(ctx, reader(ctx), w.id)
		return err
	})
	return state, err
}

// read reads from the database when it is the watch's turn.
func (w *watch) read(ctx context.Context, read func(context.Context) error) error {
	return w.service.admission.read(ctx, watches, tokenOf(ctx).Platform, read)
}

// catchUp sends every event after the cursor that the state knows of.
func (w *watch) catchUp(ctx context.Context, state *referee.State) error {
	w.writer.state = state
	err := w.sendUpTo(ctx, referee.EventPlace{Game: state.Game.Number, Seq: state.Game.Seq}, state.Game.Head,
		func() referee.EventPlace { return referee.EventPlace{Game: w.at.game, Seq: w.at.seq} })
	if err != nil {
		return err
	}
	return w.sendUpTo(ctx, referee.EventPlace{Seq: state.Compensations.Seq}, state.Compensations.Head,
		func() referee.EventPlace { return referee.EventPlace{Seq: w.at.compensation} })
}

// sendUpTo sends the events of logs up to a place, whose event has a hash; sent tells
// where the last one stands that was sent.
func (w *watch) sendUpTo(ctx context.Context, last referee.EventPlace, head [32]byte, sent func() referee.EventPlace) error {
	for sent().Before(last) {
		events, err := w.page(ctx, sent(), last, head)
		if err != nil {
			return err
		}
		for _, event := range events {
			w.at.pass(event)
			if err := w.send(&refereev1.WatchMatchResponse{Message: &refereev1.WatchMatchResponse_Event{Event: event}}); err != nil {
				return err
			}
		}
		if len(events) < eventPage {
			return nil
		}
	}
	return nil
}

// page returns the first events after one place in the logs up to another, as those
// who watch the match too have read them, or from the database when it is the watch's turn.
func (w *watch) page(ctx context.Context, after, to referee.EventPlace, head [32]byte) (events []*refereev1.Event, err error) {
	key, known := pageKey{match: w.id, after: after, head: head}, &w.service.pages
	if events = known.get(key); events != nil {
		return events, nil
	}
	err = w.read(ctx, func(ctx context.Context) error {
		if events = known.get(key); events != nil {
			return nil
		}
		from := referee.EventPlace{Game: after.Game, Seq: after.Seq + 1}
		read, err := w.service.referee.EventsBetween(ctx, w.id, from, to, eventPage)
		if err != nil {
			return err
		}
		events = make([]*refereev1.Event, len(read))
		for i := range read {
			if events[i], err = w.writer.write(ctx, &read[i]); err != nil {
				return err
			}
		}
		known.put(key, events)
		return nil
	})
	return events, err
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

// pass puts the cursor after an event.
func (c *cursor) pass(e *refereev1.Event) {
	if e.GetGame() == 0 {
		c.compensation = int(e.GetSeq())
		return
	}
	c.game, c.seq = int(e.GetGame()), int(e.GetSeq())
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
