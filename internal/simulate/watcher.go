package simulate

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"referee.example/internal/simulate/check"
	refereev1 "referee.example/proto/referee/v1"
)

// watchLimit bounds one stream: then the watcher comes back elsewhere, as it does
// whenever one breaks.
const watchLimit = 20 * time.Second

// watch follows a match through whatever breaks, by the token of the last message
// that it received, until a stream says that the match has ended.
func (a *access) watch(ctx context.Context, seed uint64, match string) {
	dice := newDice(seed, 0)
	w := check.Watch{Match: match}
	token := ""
	for at := dice.IntN(len(a.match)); ctx.Err() == nil && !w.Ended; at++ {
		w.Streams++
		refused := a.stream(ctx, at%len(a.match), &w, &token)
		if refused || sleep(ctx, time.Duration(5+dice.IntN(95))*time.Millisecond) != nil {
			break
		}
	}
	a.recorder.addWatch(w)
}

// stream reads one stream to its end, and reports whether it was refused for good.
func (a *access) stream(ctx context.Context, at int, w *check.Watch, token *string) (refused bool) {
	limited, cancel := context.WithTimeout(as(ctx, platformToken), watchLimit)
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

// feed follows the platform's settlements through whatever breaks, from the
// position after the last that it received, until ctx ends.
func (a *access) feed(ctx context.Context, seed uint64) (entries []check.FeedEntry) {
	dice := newDice(seed, 1<<33)
	from := int64(1)
	for at := dice.IntN(len(a.audit)); ctx.Err() == nil; at++ {
		a.feedStream(ctx, at%len(a.audit), &from, func(e check.FeedEntry) { entries = append(entries, e) })
		_ = sleep(ctx, time.Duration(5+dice.IntN(95))*time.Millisecond)
	}
	return entries
}

func (a *access) feedStream(ctx context.Context, at int, from *int64, add func(check.FeedEntry)) {
	limited, cancel := context.WithTimeout(as(ctx, platformToken), watchLimit)
	defer cancel()
	stream, err := a.audit[at].StreamSettlements(limited, &refereev1.StreamSettlementsRequest{FromPosition: *from})
	for err == nil {
		var message *refereev1.StreamSettlementsResponse
		if message, err = stream.Recv(); err != nil {
			return
		}
		*from = message.GetNextPosition()
		if e := message.GetEntry(); e != nil {
			add(check.FeedEntry{Position: e.GetPosition(), SettlementID: e.GetSettlement().GetSettlementId()})
		}
	}
}
