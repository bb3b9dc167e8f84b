package server

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// sequence gives positions to what is settled, as a sequencer does; told tells
// this replica's readers, which another replica's sequencer does not.
func (r *room) sequence(told bool) {
	r.t.Helper()
	_, platforms, err := r.store.SequenceSettlements(r.t.Context(), 1000)
	must(r.t, err)
	if told {
		r.server.SettlementsSequenced(platforms)
	}
}

type following = grpc.ServerStreamingClient[refereev1.StreamSettlementsResponse]

func (r *room) follow(as, platform string, from int64) following {
	r.t.Helper()
	stream, err := r.audit.StreamSettlements(r.as(as), &refereev1.StreamSettlementsRequest{Platform: platform, FromPosition: from})
	must(r.t, err)
	return stream
}

// entry returns the next entry or end of a stream, whatever else comes before it.
func entry(t testing.TB, stream following) *refereev1.StreamSettlementsResponse {
	t.Helper()
	for {
		message, err := stream.Recv()
		must(t, err)
		if message.GetHeartbeat() == nil {
			return message
		}
	}
}

// longMatch is a match of nine valid games.
func (r *room) longMatch(change func(*refereev1.CreateMatchRequest)) *table {
	rules := r.rulesForTests()
	rules.Series.ValidGames = 9
	return r.started(func(c *refereev1.CreateMatchRequest) {
		c.Rules = &refereev1.CreateMatchRequest_Ruleset{Ruleset: rules}
		change(c)
	})
}

// settle ends the running game, and the winner is paid.
func (t *table) settle() *refereev1.Settlement {
	t.t.Helper()
	t.resign(1)
	return t.game.GetSettlement()
}

func TestSettlementsAreStreamedAsTheyCome(t *testing.T) {
	r := newRoom(t, options{})
	table := r.longMatch(func(c *refereev1.CreateMatchRequest) { c.ExternalRef = "order 9" })
	want := []*refereev1.Settlement{table.settle()}
	r.sequence(false)
	early := r.follow("east", "", 1) // finds one and waits for more
	check := func(stream following, position int) {
		t.Helper()
		message := entry(t, stream)
		got := &refereev1.SettlementEntry{Position: int64(position), Settlement: want[position-1], ExternalRef: "order 9", TableRef: "table 7"}
		if !proto.Equal(message.GetEntry(), got) || message.GetNextPosition() != int64(position)+1 || message.GetServerTime() == nil {
			t.Fatalf("streamed %v, want %v", message, got)
		}
	}
	check(early, 1)
	for position := 2; position <= 4; position++ {
		table.start()
		want = append(want, table.settle())
		r.sequence(position%2 == 0) // by this replica, by another
		check(early, position)
	}
	for from := 1; from <= 4; from++ {
		stream := r.follow("auditor", "east", int64(from))
		for position := from; position <= 4; position++ {
			check(stream, position)
		}
	}
}

func TestSettlementsAreListed(t *testing.T) {
	r := newRoom(t, options{})
	table := r.longMatch(func(*refereev1.CreateMatchRequest) {})
	for game := 1; ; game++ {
		table.settle()
		if game == 5 {
			break
		}
		table.start()
	}
	void := r.started() // moves nothing, and so makes no entry
	_, err := r.match.VoidMatch(r.as("operator"), &refereev1.VoidMatchRequest{MatchId: void.id, Game: 1, RequestId: r.id(), ExpectedSeq: 3, Note: "power cut"})
	must(t, err)
	for _, list := range []struct {
		from       int64
		size       int32
		next, last int64
	}{{1, 0, 1, 0}, {1, 0, 6, 5}, {1, 2, 3, 5}, {4, 200, 6, 5}, {6, 1, 6, 5}} {
		if list.last > 0 {
			r.sequence(false)
		}
		got, err := r.audit.ListSettlements(r.as("east"), &refereev1.ListSettlementsRequest{FromPosition: list.from, PageSize: list.size})
		must(t, err)
		if got.GetNextPosition() != list.next || got.GetLastPosition() != list.last || len(got.GetEntries()) != int(list.next-list.from) {
			t.Errorf("%+v: %v", list, got)
		}
		for i, e := range got.GetEntries() {
			if e.GetPosition() != list.from+int64(i) || e.GetSettlement().GetGame() != uint32(e.GetPosition()) {
				t.Errorf("%+v: at %d is %v", list, i, e)
			}
		}
	}
}

func TestFeedsRefuse(t *testing.T) {
	r := newRoom(t, options{})
	r.started().settle()
	r.sequence(false)
	for name, test := range map[string]struct {
		as, platform string
		from         int64
		want         wanted
		next         string
	}{
		"position 0":            {"east", "", 0, invalid("from_position"), ""},
		"position -1":           {"east", "", -1, invalid("from_position"), ""},
		"beyond the end":        {"east", "", 3, wanted{codes.OutOfRange, "POSITION_OUT_OF_RANGE", ""}, "2"},
		"beyond no beginning":   {"west", "", 2, wanted{codes.OutOfRange, "POSITION_OUT_OF_RANGE", ""}, "1"},
		"another's":             {"west", "east", 1, wanted{codes.NotFound, "NOT_FOUND", ""}, ""},
		"another's, beyond":     {"west", "east", 9, wanted{codes.NotFound, "NOT_FOUND", ""}, ""},
		"an absent one's":       {"west", "nowhere", 1, wanted{codes.NotFound, "NOT_FOUND", ""}, ""},
		"every platform's":      {"auditor", "", 1, invalid("platform"), ""},
		"a player's":            {"east/ann", "", 1, wanted{codes.PermissionDenied, "SEAT_FORBIDDEN", ""}, ""},
		"an operator's":         {"operator", "east", 1, wanted{codes.PermissionDenied, "SCOPE_MISSING", ""}, ""},
		"a name that is long":   {"auditor", fmt.Sprintf("%129d", 1), 1, invalid("platform"), ""},
		"a name that is naught": {"auditor", "a\x00b", 1, invalid("platform"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, listed := r.audit.ListSettlements(r.as(test.as), &refereev1.ListSettlementsRequest{Platform: test.platform, FromPosition: test.from})
			_, streamed := r.follow(test.as, test.platform, test.from).Recv()
			for _, err := range []error{listed, streamed} {
				test.want.check(t, err)
				if next := metadataOf(err)["next_position"]; next != test.next {
					t.Errorf("next_position is %q, want %q", next, test.next)
				}
			}
		})
	}
	for _, size := range []int32{-1, 201} {
		_, err := r.audit.ListSettlements(r.as("east"), &refereev1.ListSettlementsRequest{FromPosition: 1, PageSize: size})
		invalid("page_size").check(t, err)
	}
}

// metadataOf returns the metadata of a refusal.
func metadataOf(err error) map[string]string { return streamRefusal(status.Convert(err)).GetMetadata() }

func TestFeedStreamsBeatAndAge(t *testing.T) {
	l := quickLimits()
	l.heartbeat, l.streamAge = 10*time.Millisecond, time.Second
	r := newRoom(t, options{limits: l})
	r.started().settle()
	r.sequence(false)
	stream := r.follow("east", "", 1)
	entry(t, stream)
	for beats := 0; ; beats++ {
		message, err := stream.Recv()
		must(t, err)
		if message.GetNextPosition() != 2 || message.GetServerTime() == nil {
			t.Errorf("after the entry: %v", message)
		}
		if end := message.GetEnd(); end != nil {
			if end.GetReason() != refereev1.WatchEndReason_WATCH_END_REASON_AGE || beats == 0 {
				t.Errorf("ended by %v after %d heartbeats", end.GetReason(), beats)
			}
			return
		}
	}
}

func TestFeedStreamsEndWithADrain(t *testing.T) {
	r := newRoom(t, options{})
	stream := r.follow("east", "", 1)
	r.waitFollowed("east", 1)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		r.server.Drain(ctx)
		if ctx.Err() != nil {
			t.Error("the stream held the drain up to its limit")
		}
	}()
	if end := entry(t, stream); end.GetEnd().GetReason() != refereev1.WatchEndReason_WATCH_END_REASON_DRAINING || end.GetNextPosition() != 1 {
		t.Errorf("the stream ended with %v", end)
	}
	<-drained
}

// waitFollowed waits until so many streams follow a platform's feed.
func (r *room) waitFollowed(platform string, streams int) {
	r.t.Helper()
	for count := -1; count != streams; {
		must(r.t, r.t.Context().Err())
		r.server.feeds.mu.Lock()
		count = 0
		if log := r.server.feeds.watched[platform]; log != nil {
			count = len(log.hints)
		}
		r.server.feeds.mu.Unlock()
	}
}

func TestFeedStreamsAreLimited(t *testing.T) {
	l := quickLimits()
	l.watches = 1
	r := newRoom(t, options{limits: l})
	ctx, leave := context.WithCancel(r.as("east"))
	_, err := r.audit.StreamSettlements(ctx, &refereev1.StreamSettlementsRequest{FromPosition: 1})
	must(t, err)
	r.waitFollowed("east", 1)
	_, err = r.follow("west", "", 1).Recv()
	wanted{codes.ResourceExhausted, "OVERLOADED", ""}.check(t, err)
	leave()
	r.waitFollowed("east", 0)
	r.follow("west", "", 1)
	r.waitFollowed("west", 1)
}

// TestFeedsReadInTurn: of feeds that are opened together a few read from the database,
// the others wait.
func TestFeedsReadInTurn(t *testing.T) {
	r := newRoom(t, options{})
	r.started().settle()
	r.sequence(true)
	turns := r.server.admission.turns[feeds]
	for range cap(turns) {
		turns <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(r.as("east"), 2*leastTime)
	defer cancel()
	waiting, err := r.audit.StreamSettlements(ctx, &refereev1.StreamSettlementsRequest{FromPosition: 1})
	must(t, err)
	if message, err := waiting.Recv(); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("without a turn it was sent %v, %v", message, err)
	}
	stream := r.follow("east", "", 1)
	for range cap(turns) {
		<-turns
	}
	if message := entry(t, stream); message.GetEntry().GetPosition() != 1 {
		t.Errorf("after a turn it was sent %v", message)
	}
}

// A reader that reads nothing holds up neither other readers nor more than a page
// of the feed in the server.
func TestASlowReaderOfAFeedWaitsAlone(t *testing.T) {
	var reads atomic.Int64
	r := newRoom(t, options{config: func(c *Config) { c.History = &countedHistory{c.History, &reads} }})
	table := r.started()
	table.settle()
	r.sequence(false)
	// Some twenty pages; the stream's flow control takes a few.
	id, _ := parseID(table.id)
	const more = 4000
	r.owner(`INSERT INTO games (match_id, game, status, commitment, sealed_seed) SELECT $1, n, 1, sha256(''), '' FROM generate_series(3, $2) n`, id.String(), more+1)
	r.owner(`INSERT INTO settlements (match_id, game, compensates, settlement_id, multiple, loser_captures, settled_at)
		SELECT $1, n, false, gen_random_uuid(), 1, 0, now() FROM generate_series(2, $2) n`, id.String(), more+1)
	r.owner(`INSERT INTO settlement_lines (match_id, game, compensates, line, payer, payee, amount, why)
		SELECT $1, n, false, 1, repeat('x', 100), 'ann', 1, 'stake' FROM generate_series(2, $2) n`, id.String(), more+1)
	r.owner(`INSERT INTO settlement_feed (platform, position, match_id, game, compensates)
		SELECT 'east', n, $1, n, false FROM generate_series(2, $2) n`, id.String(), more+1)
	r.owner(`UPDATE settlement_heads SET position = $1`, more+1)
	slow := r.follow("east", "", 1)
	entry(t, slow) // and no more
	quick := r.follow("east", "", 1)
	for position := int64(1); position <= more+1; position++ {
		if got := entry(t, quick).GetEntry().GetPosition(); got != position {
			t.Fatalf("read %d, want %d", got, position)
		}
	}
	// The quick one has read 21 pages, and perhaps one more that was empty.
	if pages := reads.Load(); pages > 22+10 {
		t.Errorf("%d pages were read, most of them for nobody", pages)
	}
	for position := int64(2); position <= more+1; position++ {
		if got := entry(t, slow).GetEntry().GetPosition(); got != position {
			t.Fatalf("the slow one read %d, want %d", got, position)
		}
	}
}

// countedHistory counts the pages of feeds that are read.
type countedHistory struct {
	referee.History
	reads *atomic.Int64
}

func (h *countedHistory) Settlements(ctx context.Context, platform string, from int64, limit int) ([]referee.FeedEntry, error) {
	h.reads.Add(1)
	return h.History.Settlements(ctx, platform, from, limit)
}
