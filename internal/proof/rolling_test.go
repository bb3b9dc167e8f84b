package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // the service config asks for it
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	refereev1 "referee.example/proto/referee/v1"
)

// rollers is how many matches are played through the restarts by calls, webRollers by
// calls to the HTTP port, and streamed by streams of actions, each of which is watched.
const rollers, webRollers, streamed = 6, 2, 2

// TestRollingRestart restarts both replicas, processes of the real binary, one
// after the other and twice, by SIGTERM and under load. A client with the
// published service config, and nothing of its own against failures, loses no
// call, and what it was answered stands in the log once. Streams end with the reason
// that has them opened again, and go on without a gap. Who calls by HTTP, and sends to
// the other replica what he got no answer to, loses nothing either.
func TestRollingRestart(t *testing.T) {
	h := newHouse(t)
	h.config.HTTPListen = "127.0.0.1:0"
	slots := h.processes(2)
	rules := h.ruleset(slots[0].client(), "7club-standard", untimed)
	client := h.published(slots)
	var restarted atomic.Bool
	answers := &answeredBy{calls: map[string]*atomic.Int64{}}
	for _, s := range slots {
		answers.calls[s.h.config.Listen] = &atomic.Int64{}
	}
	changes := make([]int, rollers+webRollers+streamed)
	web := &webClient{}
	for _, s := range slots {
		web.bases = append(web.bases, "http://"+s.h.config.HTTPListen)
	}
	t.Cleanup(web.http.CloseIdleConnections)
	streams := make([]*streamer, streamed)
	going, stop := context.WithCancel(h.ctx)
	defer stop()
	together(t, len(changes)+1, func(i int) (err error) {
		defer func() {
			if err != nil {
				stop()
			}
		}()
		dice := rand.New(rand.NewPCG(2, uint64(i)))
		switch {
		case i < rollers:
			changes[i], err = roll(as(going, "east"), client, rules, answers, dice, &restarted)
			return err
		case i < rollers+webRollers:
			changes[i], err = roll(as(going, "east"), &replica{match: refereev1.NewMatchServiceClient(web)}, rules, answers, dice, &restarted)
			return err
		case i < len(changes):
			s := &streamer{client: client, rules: rules, dice: dice}
			streams[i-rollers-webRollers] = s
			err = s.play(as(going, "east"), &restarted)
			changes[i] = s.changes
			return err
		default:
			defer restarted.Store(true)
			for range 2 {
				for _, s := range slots {
					if err := s.restart(going, answers); err != nil {
						return err
					}
				}
			}
			return nil
		}
	})
	if t.Failed() {
		return
	}
	total := 0
	for _, n := range changes {
		total += n
	}
	var stored int
	must(t, h.pool.QueryRow(h.ctx, `SELECT count(*) FROM events WHERE request_id IS NOT NULL`).Scan(&stored))
	if stored != total {
		t.Errorf("%d changes are stored, %d were answered", stored, total)
	}
	for address, calls := range answers.calls {
		t.Logf("%s answered %d calls", address, calls.Load())
	}
	t.Logf("the HTTP ports answered %d calls, %d of them by the other replica", web.answered.Load(), web.again.Load())
	for _, s := range streams {
		t.Logf("%d matches on streams of actions: %d of these were drained, and %d watches", len(s.seen), s.drained, s.unwatched)
		if s.drained < 2 || s.unwatched < 2 {
			t.Error("each restart must have ended streams: nothing is proved of them")
		}
		for _, w := range s.seen {
			h.compare(slots[0].client(), w, "a watcher")
		}
	}
	h.consistent()
}

// processes launches replicas that keep their addresses when they come again.
func (h *house) processes(n int) []*slot {
	h.t.Helper()
	binary := build(h.t)
	slots := make([]*slot, n)
	for i := range slots {
		own := *h
		slots[i] = &slot{h: &own, binary: binary}
		must(h.t, slots[i].launch())
		own.config.Listen, own.config.HTTPListen = slots[i].client().conn.Target(), slots[i].web
		h.t.Cleanup(slots[i].end)
	}
	return slots
}

// published is a client of all replicas with the published service config.
func (h *house) published(slots []*slot) *replica {
	h.t.Helper()
	config, err := os.ReadFile("../../proto/referee/v1/service_config.json")
	must(h.t, err)
	addresses := manual.NewBuilderWithScheme("replicas")
	var state resolver.State
	for _, s := range slots {
		state.Addresses = append(state.Addresses, resolver.Address{Addr: s.h.config.Listen})
	}
	addresses.InitialState(state)
	conn, err := grpc.NewClient("replicas:///", grpc.WithResolvers(addresses), grpc.WithDefaultServiceConfig(string(config)),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(h.t, err)
	h.t.Cleanup(func() { _ = conn.Close() })
	return &replica{match: refereev1.NewMatchServiceClient(conn), conn: conn}
}

// answeredBy counts calls by the replica that answered. It is not written to
// once calls are made.
type answeredBy struct{ calls map[string]*atomic.Int64 }

// restart ends a replica in order and starts it again, then waits, as a rolling
// upgrade does, until it is ready and the client has found it.
func (s *slot) restart(ctx context.Context, answers *answeredBy) error {
	if err := s.terminate(); err != nil {
		return fmt.Errorf("draining: %w", err)
	}
	if err := s.launch(); err != nil {
		return err
	}
	before := answers.calls[s.h.config.Listen].Load()
	for {
		got, err := healthv1.NewHealthClient(s.client().conn).Check(ctx, &healthv1.HealthCheckRequest{})
		if err == nil && got.GetStatus() == healthv1.HealthCheckResponse_SERVING && answers.calls[s.h.config.Listen].Load() > before+20 {
			return nil
		}
		if err := awaitInstant(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("the replica that came again is not called: %w", err)
		}
	}
}

// terminate tells the process to end and waits until it has, in order.
func (s *slot) terminate() error {
	s.mutex.Lock()
	process := s.process
	s.mutex.Unlock()
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	s.logs.Wait()
	return process.Wait()
}

// roll plays one match after the other and returns how many changes were
// answered. The first call that fails ends it.
func roll(ctx context.Context, r *replica, rules *refereev1.Ruleset, answers *answeredBy, dice *rand.Rand, enough *atomic.Bool) (changes int, err error) {
	var game *refereev1.Game
	var from peer.Peer
	count := func(change *refereev1.Change, err error) error {
		if err != nil {
			return err
		}
		changes++
		game = change.GetGame()
		if from.Addr != nil { // of the HTTP port nobody knows
			answers.calls[from.Addr.String()].Add(1)
		}
		return nil
	}
	for !enough.Load() {
		switch {
		case game.GetStatus() == refereev1.GameStatus_GAME_STATUS_AWAITING_START:
			got, err := r.match.StartGame(ctx, starting(game.GetMatchId(), game.GetGame(), game.GetNextSeq()), grpc.Peer(&from))
			if err := count(got.GetChange(), err); err != nil {
				return changes, err
			}
		case game.GetStatus() == refereev1.GameStatus_GAME_STATUS_PLAYING:
			listed, err := r.match.ListLegalActions(ctx, &refereev1.ListLegalActionsRequest{MatchId: game.GetMatchId()})
			if err != nil {
				return changes, err
			}
			action := listed.GetActions()[dice.IntN(len(listed.GetActions()))].GetAction()
			got, err := r.match.PlayAction(ctx, playing(game, action), grpc.Peer(&from))
			if err := count(got.GetChange(), err); err != nil {
				return changes, err
			}
		default:
			got, err := r.match.CreateMatch(ctx, creation(rules), grpc.Peer(&from))
			if err := count(got.GetChange(), err); err != nil {
				return changes, err
			}
		}
	}
	return changes, nil
}
