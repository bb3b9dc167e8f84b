package server

import (
	"context"
	"strconv"
	"time"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc"
)

// feedPage is how many settlements a stream reads at a time: it holds no more of
// them for a reader that is slow.
const feedPage = 200

// feed is a platform's settlements as a call asks for them.
type feed struct {
	platform string
	next     int64 // position
	last     int64 // there is, when the call came
}

// openFeed finds the feed that a call asks for and refuses a position that the
// feed does not reach to.
func (a *auditService) openFeed(ctx context.Context, c *check, platform string, from int64) (feed, error) {
	caller := reader(ctx)
	f := feed{platform: c.platform("platform", platform, caller, true), next: from}
	if from < 1 {
		c.refuse("from_position", "must be at least 1")
	}
	switch err := c.err(); {
	case err != nil:
		return f, err
	case caller.Player != "":
		return f, &referee.Refusal{Reason: referee.ReasonSeatForbidden,
			Message: "the token is limited to a player, and the feed is the platform's"}
	case caller.Platform != EveryPlatform && caller.Platform != f.platform:
		return f, notFound()
	}
	heads, err := a.history.SettlementHeads(ctx, []string{f.platform})
	if err != nil {
		return f, err
	}
	f.last = heads[f.platform]
	if from-1 > f.last {
		return f, &referee.Refusal{Reason: reasonOutOfRange,
			Message: "the feed ends at position " + strconv.FormatInt(f.last, 10),
			Meta:    map[string]string{"next_position": strconv.FormatInt(f.last+1, 10)}}
	}
	return f, nil
}

// ListSettlements returns a page of a platform's feed.
func (a *auditService) ListSettlements(ctx context.Context, r *refereev1.ListSettlementsRequest) (*refereev1.ListSettlementsResponse, error) {
	var c check
	p := c.page(r, "", r.GetPageSize())
	f, err := a.openFeed(ctx, &c, r.GetPlatform(), r.GetFromPosition())
	if err != nil {
		return nil, err
	}
	entries, err := a.history.Settlements(ctx, f.platform, f.next, p.size)
	if err != nil {
		return nil, err
	}
	now, err := a.referee.Now()
	if err != nil {
		return nil, err
	}
	out := &refereev1.ListSettlementsResponse{NextPosition: f.next, LastPosition: f.last, ServerTime: stamp(now)}
	for i := range entries {
		out.Entries = append(out.Entries, protoEntry(&entries[i]))
		out.NextPosition = entries[i].Position + 1
	}
	// The feed may have grown since its head was read.
	out.LastPosition = max(out.LastPosition, out.NextPosition-1)
	return out, nil
}

// StreamSettlements streams a platform's feed. A slow reader holds up its own
// stream only: nothing is read before what was read earlier has been sent.
func (a *auditService) StreamSettlements(r *refereev1.StreamSettlementsRequest, stream grpc.ServerStreamingServer[refereev1.StreamSettlementsResponse]) error {
	ctx := stream.Context()
	var f feed
	err := a.admission.read(ctx, feeds, tokenOf(ctx).Platform, func(ctx context.Context) (err error) {
		f, err = a.openFeed(ctx, &check{}, r.GetPlatform(), r.GetFromPosition())
		return err
	})
	if err != nil {
		return err
	}
	hint, unwatch, err := a.feeds.watch(f.platform)
	if err != nil {
		return err
	}
	defer unwatch()
	s := &feedStream{service: a, stream: stream, hint: hint, feed: f}
	return s.run(ctx)
}

// feedStream is one stream of a feed.
type feedStream struct {
	service *auditService
	stream  grpc.ServerStreamingServer[refereev1.StreamSettlementsResponse]
	hint    <-chan struct{}
	feed    feed
}

// run sends what there is and waits for more until something ends the stream.
func (s *feedStream) run(ctx context.Context) error {
	age := time.NewTimer(s.service.limits.streamAge)
	defer age.Stop()
	heartbeat := time.NewTicker(s.service.limits.heartbeat)
	defer heartbeat.Stop()
	atOnce := make(chan struct{})
	close(atOnce)
	for {
		full, err := s.page(ctx)
		if err != nil {
			return err
		}
		hint := s.hint
		if full {
			hint = atOnce // unless something ends the stream
		}
		for again := false; !again; {
			select {
			case <-age.C:
				return s.end(refereev1.WatchEndReason_WATCH_END_REASON_AGE)
			case <-s.service.draining.Done():
				return s.end(refereev1.WatchEndReason_WATCH_END_REASON_DRAINING)
			case <-ctx.Done():
				return ctx.Err()
			case <-heartbeat.C:
				if err := s.send(&refereev1.StreamSettlementsResponse{
					Message: &refereev1.StreamSettlementsResponse_Heartbeat{Heartbeat: &refereev1.Heartbeat{}}}); err != nil {
					return err
				}
			case <-hint:
				again = true
			}
		}
	}
}

// page sends the next settlements and reports whether there may be more.
func (s *feedStream) page(ctx context.Context) (full bool, err error) {
	var entries []referee.FeedEntry
	err = s.service.admission.read(ctx, feeds, tokenOf(ctx).Platform, func(ctx context.Context) (err error) {
		entries, err = s.service.history.Settlements(ctx, s.feed.platform, s.feed.next, feedPage)
		return err
	})
	if err != nil {
		return false, err
	}
	for i := range entries {
		s.feed.next = entries[i].Position + 1
		err := s.send(&refereev1.StreamSettlementsResponse{
			Message: &refereev1.StreamSettlementsResponse_Entry{Entry: protoEntry(&entries[i])}})
		if err != nil {
			return false, err
		}
	}
	return len(entries) == feedPage, nil
}

func (s *feedStream) end(reason refereev1.WatchEndReason) error {
	return s.send(&refereev1.StreamSettlementsResponse{
		Message: &refereev1.StreamSettlementsResponse_End{End: &refereev1.WatchEnd{Reason: reason}}})
}

// send sends a message with the position after it.
func (s *feedStream) send(out *refereev1.StreamSettlementsResponse) error {
	out.NextPosition = s.feed.next
	if now, err := s.service.referee.Now(); err == nil {
		out.ServerTime = stamp(now)
	}
	return s.stream.Send(out)
}

func protoEntry(e *referee.FeedEntry) *refereev1.SettlementEntry {
	settlement := &refereev1.Settlement{
		SettlementId: e.ID.String(), MatchId: e.Match.String(), Game: uint32(e.Game), Multiple: e.Multiple,
		LoserCaptures: uint32(e.LoserCaptures), SettleTime: stamp(e.Settled),
	}
	if e.Compensates {
		settlement.CompensatesId = referee.SettlementID(e.Match, e.Game, false).String()
	}
	for _, line := range e.Lines {
		settlement.Lines = append(settlement.Lines, &refereev1.SettlementLine{
			Payer: line.Payer, Payee: line.Payee, Amount: line.Amount, Why: line.Why,
		})
	}
	return &refereev1.SettlementEntry{
		Position: e.Position, Settlement: settlement, ExternalRef: e.ExternalRef, TableRef: e.TableRef,
	}
}
