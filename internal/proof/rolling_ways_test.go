package proof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	refereev1 "referee.example/proto/referee/v1"
)

// attempts is how often a call is sent at most, as the published service config says.
const attempts = 4

// streamer plays matches on streams of actions, each beside a watcher.
type streamer struct {
	client *replica
	rules  *refereev1.Ruleset
	dice   *rand.Rand

	stream    grpc.BidiStreamingClient[refereev1.PlayActionsRequest, refereev1.PlayActionsResponse]
	seen      []*watcher
	changes   int
	drained   int // streams of actions that a replica ended because it was going down
	unwatched int // watches
}

// play plays one match after the other, the last to its end.
func (s *streamer) play(ctx context.Context, enough *atomic.Bool) error {
	for !enough.Load() {
		created, err := s.client.match.CreateMatch(ctx, creation(s.rules))
		if err != nil {
			return err
		}
		s.changes++
		game := created.GetChange().GetGame()
		w := &watcher{match: game.GetMatchId()}
		s.seen = append(s.seen, w)
		watched := make(chan error, 1)
		watching, stop := context.WithCancel(ctx)
		go func() { watched <- s.watch(watching, w) }()
		if err = s.playMatch(ctx, game, enough); err != nil {
			stop()
		}
		err = errors.Join(err, <-watched)
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// watch watches a match to its end, over as many streams as it takes.
func (s *streamer) watch(ctx context.Context, w *watcher) error {
	for {
		switch reason, err := w.read(ctx, s.client, 0); {
		case err != nil:
			return fmt.Errorf("a watch: %w", err)
		case reason == refereev1.WatchEndReason_WATCH_END_REASON_MATCH_ENDED:
			return nil
		case reason != refereev1.WatchEndReason_WATCH_END_REASON_DRAINING:
			return fmt.Errorf("a watch ended with %v", reason)
		}
		s.unwatched++
	}
}

// playMatch plays a match; once that is enough, seats resign until it is over.
func (s *streamer) playMatch(ctx context.Context, game *refereev1.Game, enough *atomic.Bool) error {
	for {
		requests, err := next(ctx, s.client, game, s.dice)
		if err != nil {
			return err
		}
		var change *refereev1.Change
		ply, plays := requests[0].(*refereev1.PlayActionRequest)
		switch {
		case plays && enough.Load():
			change, err = call(ctx, s.client, resigning(game, game.GetToMove()))
		case plays:
			change, err = s.send(ctx, ply)
		default:
			change, err = call(ctx, s.client, requests[0])
		}
		if err != nil {
			return err
		}
		s.changes++
		game = change.GetGame()
		if change.GetMatch().GetEndTime() != nil {
			return nil
		}
	}
}

// send sends a ply on the stream and returns its answer. If the replica has ended the
// stream because it is going down, the ply, of which nothing is known, goes once more
// on another.
func (s *streamer) send(ctx context.Context, ply *refereev1.PlayActionRequest) (*refereev1.Change, error) {
	for range attempts {
		answer, err := s.exchange(ctx, ply)
		switch {
		case err == nil && answer.GetChange() == nil:
			return nil, fmt.Errorf("a ply on a stream was refused: %v", answer.GetRefusal())
		case err == nil:
			return answer.GetChange(), nil
		case status.Code(err) != codes.Unavailable || reasonOf(err) != "NOT_READY":
			return nil, fmt.Errorf("a stream of actions: %w", err)
		}
		s.stream = nil
		s.drained++
	}
	return nil, errors.New("streams of actions end as often as they are opened")
}

func (s *streamer) exchange(ctx context.Context, ply *refereev1.PlayActionRequest) (answer *refereev1.PlayActionsResponse, err error) {
	if s.stream == nil {
		if s.stream, err = s.client.match.PlayActions(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.stream.Send(&refereev1.PlayActionsRequest{Play: ply}); err != nil && !errors.Is(err, io.EOF) { // the status comes by Recv
		return nil, err
	}
	answer, err = s.stream.Recv()
	if err == nil && answer.GetRequestId() != ply.GetRequestId() {
		err = fmt.Errorf("request %s was answered as %s", ply.GetRequestId(), answer.GetRequestId())
	}
	return answer, err
}

// webClient calls the HTTP ports of all replicas in turn. What gets no answer, or is
// UNAVAILABLE, it sends once more, unchanged, to the next.
type webClient struct {
	http            http.Client
	bases           []string
	answered, again atomic.Int64
}

// Invoke makes a unary call of the contract as JSON.
func (c *webClient) Invoke(ctx context.Context, method string, request, answer any, _ ...grpc.CallOption) error {
	body, err := protojson.Marshal(request.(proto.Message))
	if err != nil {
		return err
	}
	first := int(c.answered.Add(1))
	for i := range attempts {
		var got []byte
		var code int
		if code, got, err = c.post(ctx, c.bases[(first+i)%len(c.bases)]+method, body); err == nil {
			switch code {
			case http.StatusOK:
				return protojson.Unmarshal(got, answer.(proto.Message))
			case http.StatusServiceUnavailable:
				err = status.Errorf(codes.Unavailable, "%s", got)
			default:
				return status.Errorf(codes.Unknown, "HTTP %d: %s", code, got)
			}
		}
		c.again.Add(1)
		if wait := awaitInstant(ctx, 100*time.Millisecond<<i); wait != nil {
			return wait
		}
	}
	return err
}

func (c *webClient) post(ctx context.Context, url string, body []byte) (code int, answer []byte, err error) {
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(limited, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	sent, _ := metadata.FromOutgoingContext(ctx)
	r.Header["Authorization"] = sent.Get("authorization")
	got, err := c.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = got.Body.Close() }()
	answer, err = io.ReadAll(got.Body)
	return got.StatusCode, answer, err
}

// NewStream refuses: the HTTP port has no streams.
func (c *webClient) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "no streams by HTTP")
}
