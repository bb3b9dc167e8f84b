package simulate

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"referee.example/internal/simulate/check"
	refereev1 "referee.example/proto/referee/v1"
)

// streamLimit bounds one stream: then its reader comes back elsewhere, as it does
// whenever one breaks. How long one lasts is drawn anew each time.
const streamLimit = 10 * time.Second

func lasting(dice *rand.Rand) time.Duration {
	return time.Duration(1 + dice.Int64N(int64(streamLimit)))
}

// watch follows a match through whatever breaks, by the token of the last message
// that it received, until a stream says that the match has ended.
func (a *access) watch(ctx context.Context, seed uint64, match string) {
	dice := newDice(seed, 0)
	w := check.Watch{Match: match}
	token := ""
	for at := dice.IntN(len(a.match)); ctx.Err() == nil && !w.Ended; at++ {
		w.Streams++
		refused := a.stream(ctx, at%len(a.match), lasting(dice), &w, &token)
		if refused || sleep(ctx, time.Duration(5+dice.IntN(95))*time.Millisecond) != nil {
			break
		}
	}
	a.recorder.addWatch(w)
}

// stream reads one stream to its end, and reports whether it was refused for good.
func (a *access) stream(ctx context.Context, at int, lasting time.Duration, w *check.Watch, token *string) (refused bool) {
	limited, cancel := context.WithTimeout(as(ctx, platformToken), lasting)
	defer cancel()
	stream, err := a.match[at].WatchMatch(limited, &refereev1.WatchMatchRequest{MatchId: w.Match, ResumeToken: *token})
	for err == nil {
		var message *refereev1.WatchMatchResponse
		if message, err = stream.Recv(); err != nil {
			break
		}
		*token = message.GetResumeToken()
		if e := message.GetEvent(); e != nil {
			w.Events = append(w.Events, eventOf(e))
			a.recorder.see(w.Match, check.Spectator, e)
		}
		if message.GetEnd().GetReason() == refereev1.WatchEndReason_WATCH_END_REASON_MATCH_ENDED {
			w.Ended = true
		}
	}
	switch status.Code(err) {
	case codes.NotFound, codes.InvalidArgument, codes.PermissionDenied:
		return true
	}
	return false
}

// feed follows the platform's settlements through whatever breaks, as a wallet that
// is killed now and then: it goes on from the position after the last that it had
// noted down, which may be some behind the last that it received. received is the
// last position of all.
func (a *access) feed(ctx context.Context, seed uint64, received *atomic.Int64) (entries []check.FeedEntry, killed int) {
	dice := newDice(seed, 1<<33)
	from := int64(1)
	add := func(e *refereev1.SettlementEntry) {
		entries = append(entries, check.FeedEntry{Position: e.GetPosition(), SettlementID: e.GetSettlement().GetSettlementId()})
		received.Store(max(received.Load(), e.GetPosition()))
	}
	for at := dice.IntN(len(a.audit)); ctx.Err() == nil; at++ {
		limited, cancel := context.WithTimeout(as(ctx, platformToken), lasting(dice))
		if dice.IntN(3) == 0 {
			a.feedPage(limited, at%len(a.audit), 1+dice.Int32N(5), &from, add)
		} else {
			a.feedStream(limited, at%len(a.audit), &from, add)
		}
		cancel()
		if dice.IntN(4) == 0 && ctx.Err() == nil {
			from = max(1, from-dice.Int64N(4))
			killed++
		}
		_ = sleep(ctx, time.Duration(5+dice.IntN(95))*time.Millisecond)
	}
	return entries, killed
}

func (a *access) feedStream(ctx context.Context, at int, from *int64, add func(*refereev1.SettlementEntry)) {
	stream, err := a.audit[at].StreamSettlements(ctx, &refereev1.StreamSettlementsRequest{FromPosition: *from})
	for err == nil {
		var message *refereev1.StreamSettlementsResponse
		if message, err = stream.Recv(); err != nil {
			return
		}
		*from = message.GetNextPosition()
		if e := message.GetEntry(); e != nil {
			add(e)
		}
	}
}

func (a *access) feedPage(ctx context.Context, at int, size int32, from *int64, add func(*refereev1.SettlementEntry)) {
	page, err := a.audit[at].ListSettlements(ctx, &refereev1.ListSettlementsRequest{FromPosition: *from, PageSize: size})
	if err != nil {
		return
	}
	for _, e := range page.GetEntries() {
		add(e)
	}
	*from = page.GetNextPosition()
}
