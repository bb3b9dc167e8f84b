package console

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	refereev1 "referee.example/proto/referee/v1"
)

// lastEventHeader is in which a browser that comes back names the message before.
const lastEventHeader = "Last-Event-ID"

// live tells a page by server-sent events that its match has changed; what has
// changed, the page asks for as it did at first. The address names the last event
// that the page shows, and events up to that are passed over; a browser that comes
// back names in Last-Event-ID the token that it got with the last message.
func (c *console) live(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	game, _ := strconv.ParseUint(r.URL.Query().Get("game"), 10, 15)
	seq, _ := strconv.ParseUint(r.URL.Query().Get("seq"), 10, 31)
	stream, err := c.match.WatchMatch(ctx, &refereev1.WatchMatchRequest{
		MatchId: r.PathValue("match"), ResumeToken: r.Header.Get(lastEventHeader),
	})
	if err != nil {
		return err
	}
	control := http.NewResponseController(w)
	begun := false
	for {
		message, err := stream.Recv()
		if err != nil && !begun {
			return err
		}
		if err != nil {
			return nil // the browser comes back by itself
		}
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("X-Accel-Buffering", "no") // proxies must not hold it back
			_, _ = fmt.Fprintf(w, "retry: %d\n\n", reconnectPause.Milliseconds())
		}
		text := liveMessage(message, uint32(game), uint32(seq))
		if text == "" {
			continue
		}
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := fmt.Fprint(w, text); err != nil {
			return nil
		}
		if control.Flush() != nil {
			return nil
		}
	}
}

// reconnectPause is after which time a browser comes back.
const reconnectPause = 2 * time.Second

// liveMessage is a watch's message in the form of server-sent events, empty for
// what the page knows.
func liveMessage(m *refereev1.WatchMatchResponse, game, seq uint32) string {
	switch e := m.GetEvent(); {
	case e != nil:
		known := e.GetGame() != 0 && (e.GetGame() < game || e.GetGame() == game && e.GetSeq() <= seq)
		if known {
			return ""
		}
		return fmt.Sprintf("id: %s\nevent: change\ndata: {\"game\": %d, \"seq\": %d}\n\n", m.GetResumeToken(), e.GetGame(), e.GetSeq())
	case m.GetHeartbeat() != nil:
		return fmt.Sprintf("id: %s\n: alive\n\n", m.GetResumeToken())
	case m.GetEnd().GetReason() == refereev1.WatchEndReason_WATCH_END_REASON_MATCH_ENDED:
		return "event: end\ndata: {}\n\n"
	}
	return ""
}
