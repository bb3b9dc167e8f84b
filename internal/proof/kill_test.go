package proof

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	refereev1 "referee.example/proto/referee/v1"
)

var (
	kills    = flag.Int("kills", 50, "replicas that TestKill kills")
	killSeed = flag.Uint64("kill-seed", 1, "seed of whom TestKill kills when")
)

// killers is how many matches are played at once while replicas are killed.
const killers = 6

// callsBetween is the least and the most calls that are sent between two kills.
const callsBetween, callsBetweenMost = 5, 40

// TestKill plays matches against two processes of the real binary and kills one
// of them, SIGKILL, again and again. Whoever gets no answer sends the same
// request to the other replica. Nothing that was acknowledged may be missing and
// nothing may be there twice.
func TestKill(t *testing.T) {
	h := newHouse(t)
	h.ctx = withLimit(t, limit+time.Duration(*kills)*5*time.Second)
	binary := build(t)
	fleet := &fleet{slots: []*slot{{h: h, binary: binary}, {h: h, binary: binary}}, sent: make(chan struct{}, 1)}
	for _, s := range fleet.slots {
		must(t, s.launch())
		t.Cleanup(s.end)
	}
	rules := h.ruleset(fleet.slots[0].client(), "7club-standard", func(r *refereev1.Ruleset) {
		untimed(r)
		r.DrawOffers = &refereev1.DrawOfferRules{Unlimited: true}
	})
	players := make([]*player, killers)
	var killed atomic.Bool
	going, stop := context.WithCancel(h.ctx)
	defer stop()
	together(t, killers+1, func(i int) error {
		if i == killers {
			defer killed.Store(true)
			return fleet.killAll(going, *kills, rand.New(rand.NewPCG(*killSeed, 0)))
		}
		players[i] = &player{fleet: fleet, rules: rules, dice: rand.New(rand.NewPCG(*killSeed, uint64(i)+1))}
		err := players[i].play(as(going, "east"), &killed)
		if err != nil {
			stop() // there is nothing left to prove
		}
		return err
	})
	if t.Failed() {
		return
	}
	h.checkAcknowledged(players)
	h.consistent()
	h.checkRecords(fleet.slots[0].client(), players)
}

func withLimit(t *testing.T, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// build builds the real binary.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "referee")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "referee.example/cmd/referee").CombinedOutput()
	if err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return path
}

// slot is where a replica's process runs, one after the other.
type slot struct {
	h      *house
	binary string

	mutex   sync.Mutex
	process *exec.Cmd
	dialled *replica
	web     string // address of the HTTP port, if there is one
	logs    sync.WaitGroup
}

// launch starts a process and returns when it listens.
func (s *slot) launch() error {
	process := exec.CommandContext(s.h.ctx, s.binary, "serve")
	// In a session of its own, as a service is: the kernel shares the processors between sessions.
	process.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c := s.h.config
	process.Env = append(os.Environ(), "REFEREE_LISTEN="+c.Listen, "REFEREE_HTTP_LISTEN="+c.HTTPListen, "REFEREE_DATABASE_URL="+c.DatabaseURL,
		"REFEREE_KEYS="+c.Keys, "REFEREE_TOKEN_FILE="+c.TokenFile, "REFEREE_LOG_KEY_FILE="+c.LogKeyFile)
	log, err := process.StderrPipe()
	if err != nil {
		return err
	}
	if err := process.Start(); err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.process = process
	lines := bufio.NewReader(log)
	address, web, err := listening(lines)
	if err != nil {
		return errors.Join(err, process.Process.Kill(), process.Wait())
	}
	s.logs.Go(func() { _, _ = io.Copy(io.Discard, lines) }) // its pipe must not fill
	if s.dialled != nil {
		_ = s.dialled.conn.Close()
	}
	s.dialled, s.web = s.h.dial(address), web
	return nil
}

// listening reads a replica's log until it says where it listens.
func listening(log *bufio.Reader) (address, web string, err error) {
	var before string
	for {
		line, err := log.ReadString('\n')
		if err != nil {
			return "", "", fmt.Errorf("the replica did not start: %s%s", before, line)
		}
		before += line
		var entry struct{ Msg, Address, HTTP string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "listening" {
			return entry.Address, entry.HTTP, nil
		}
	}
}

// kill kills the process at once, as a failing machine would.
func (s *slot) kill() error {
	s.mutex.Lock()
	process := s.process
	s.mutex.Unlock()
	if err := process.Process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	s.logs.Wait()
	if err := process.Wait(); process.ProcessState == nil || process.ProcessState.Exited() {
		return fmt.Errorf("the replica had ended by itself: %w", err)
	}
	return nil
}

func (s *slot) end() {
	if err := s.kill(); err != nil {
		s.h.t.Error(err)
	}
}

func (s *slot) client() *replica {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.dialled
}

// fleet is the replicas and how many calls they were sent.
type fleet struct {
	slots []*slot
	calls atomic.Int64
	sent  chan struct{} // holds a hint that calls has grown
}

// killAll kills a replica whenever some more calls have been sent, with calls
// in all stages of their way, and starts it again.
func (f *fleet) killAll(ctx context.Context, times int, dice *rand.Rand) error {
	for range times {
		until := f.calls.Load() + int64(callsBetween+dice.IntN(callsBetweenMost-callsBetween))
		for f.calls.Load() < until {
			select {
			case <-f.sent:
			case <-ctx.Done():
				return fmt.Errorf("the players got stuck: %w", ctx.Err())
			}
		}
		victim := f.slots[dice.IntN(len(f.slots))]
		if err := victim.kill(); err != nil {
			return err
		}
		if err := victim.launch(); err != nil {
			return err
		}
	}
	return nil
}

// send sends one request, unchanged, to one replica after the other until it is
// answered. answered is false for a refusal.
func (f *fleet) send(ctx context.Context, request proto.Message, at int) (*refereev1.Change, error) {
	for ; ; at++ {
		f.calls.Add(1)
		select {
		case f.sent <- struct{}{}:
		default:
		}
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		change, err := call(limited, f.slots[at%len(f.slots)].client(), request)
		cancel()
		if err == nil || ctx.Err() != nil {
			return change, err
		}
		switch status.Code(err) {
		case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded:
		default:
			return nil, err
		}
	}
}

// acknowledged is a request that was answered, with the events it made.
type acknowledged struct {
	match, request string
	game           uint32
	events         []*refereev1.Event
}

// seen is a board that a player was shown.
type seen struct {
	match     string
	game, ply uint32
	board     string
}

// player plays matches, both seats of them, for as long as replicas are killed.
type player struct {
	fleet *fleet
	rules *refereev1.Ruleset
	dice  *rand.Rand

	matches      []string
	settlements  []*refereev1.Settlement
	acknowledged []acknowledged
	boards       []seen
	replays      int // answers that were lost once and given again
}

// play plays whole matches; the last is played to its end after the last kill.
func (p *player) play(ctx context.Context, killed *atomic.Bool) error {
	for !killed.Load() {
		change, err := p.do(ctx, creation(p.rules))
		if err != nil {
			return err
		}
		p.matches = append(p.matches, change.GetMatch().GetMatchId())
		for change.GetMatch().GetEndTime() == nil {
			request, err := p.choose(ctx, change.GetGame())
			if err != nil {
				return err
			}
			if change, err = p.do(ctx, request); err != nil {
				return err
			}
		}
	}
	return nil
}

// do has a request answered, notes the answer and checks that it is the one
// that comes next.
func (p *player) do(ctx context.Context, request proto.Message) (*refereev1.Change, error) {
	change, err := p.fleet.send(ctx, request, p.dice.IntN(2))
	if err != nil {
		return nil, fmt.Errorf("%T, the only one of its match: %w", request, err)
	}
	if change.GetReplayed() {
		p.replays++
	}
	game := change.GetGame()
	numbered := request.(interface{ GetRequestId() string })
	p.acknowledged = append(p.acknowledged, acknowledged{game.GetMatchId(), numbered.GetRequestId(), game.GetGame(), change.GetEvents()})
	if game.GetDarkChess() != nil {
		p.boards = append(p.boards, seen{game.GetMatchId(), game.GetGame(), change.GetEvents()[0].GetPly(), game.GetDarkChess().GetBoard()})
	}
	if game.GetSettlement() != nil {
		p.settlements = append(p.settlements, game.GetSettlement())
	}
	switch r := request.(type) {
	case *refereev1.PlayActionRequest:
		if change.GetEvents()[0].GetPly() != r.GetExpectedPly() {
			return nil, fmt.Errorf("ply %d was answered with %v", r.GetExpectedPly(), change.GetEvents())
		}
	case interface{ GetExpectedSeq() uint32 }:
		if change.GetEvents()[0].GetSeq() != r.GetExpectedSeq() {
			return nil, fmt.Errorf("event %d was answered with %v", r.GetExpectedSeq(), change.GetEvents())
		}
	}
	return change, nil
}

// choose makes the next request: mostly plies, some offers, and a resignation
// early enough for many games.
func (p *player) choose(ctx context.Context, game *refereev1.Game) (proto.Message, error) {
	if game.GetStatus() != refereev1.GameStatus_GAME_STATUS_PLAYING {
		number, seq := game.GetGame(), game.GetNextSeq()
		if game.GetStatus() == refereev1.GameStatus_GAME_STATUS_ENDED {
			number, seq = number+1, 1
		}
		return starting(game.GetMatchId(), number, seq), nil
	}
	if game.DrawOfferedBy != nil {
		return answering(game, 1-game.GetDrawOfferedBy(), p.dice.IntN(3) == 0), nil
	}
	switch p.dice.IntN(25) {
	case 0:
		return offering(game, uint32(p.dice.IntN(2))), nil
	case 1:
		return resigning(game, uint32(p.dice.IntN(2))), nil
	}
	for at := p.dice.IntN(2); ; at++ {
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		got, err := p.fleet.slots[at%2].client().match.ListLegalActions(limited, &refereev1.ListLegalActionsRequest{MatchId: game.GetMatchId()})
		cancel()
		if err == nil {
			return playing(game, got.GetActions()[p.dice.IntN(len(got.GetActions()))].GetAction()), nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
	}
}

// checkAcknowledged compares what players were told with the log: each request
// stands in it once, where its answer said, and no other does.
func (h *house) checkAcknowledged(players []*player) {
	t := h.t
	t.Helper()
	type place struct {
		game, seq, ply uint32
		kind           int32
	}
	rows, err := h.pool.Query(h.ctx, `SELECT match_id::text || ' ' || request_id::text, game, seq, ply, kind FROM events WHERE request_id IS NOT NULL`)
	must(t, err)
	stored := map[string]place{}
	var key string
	var at place
	_, err = pgx.ForEachRow(rows, []any{&key, &at.game, &at.seq, &at.ply, &at.kind}, func() error {
		stored[key] = at
		return nil
	})
	must(t, err)
	total, matches, settlements, replays := 0, 0, 0, 0
	for _, p := range players {
		matches += len(p.matches)
		total += len(p.acknowledged)
		settlements += len(p.settlements)
		replays += p.replays
		for _, a := range p.acknowledged {
			e := a.events[0]
			want := place{a.game, e.GetSeq(), e.GetPly(), int32(e.GetKind())}
			if got, ok := stored[a.match+" "+a.request]; !ok || got != want {
				t.Errorf("request %s of match %s was acknowledged as %+v and is stored as %+v", a.request, a.match, want, got)
			}
		}
	}
	if len(stored) != total {
		t.Errorf("%d requests are stored, %d were acknowledged", len(stored), total)
	}
	var created, settled int
	must(t, h.pool.QueryRow(h.ctx, `SELECT (SELECT count(*) FROM matches), (SELECT count(*) FROM settlements)`).Scan(&created, &settled))
	if created != matches {
		t.Errorf("%d matches are stored, %d were acknowledged", created, matches)
	}
	if settled != settlements {
		t.Errorf("%d settlements are stored, %d were acknowledged", settled, settlements)
	}
	h.none("a match that did not go on to its end", `SELECT match_id, status FROM matches WHERE status <> 4`)
	t.Logf("%d kills, %d matches, %d requests, %d of them answered again, %d settlements", *kills, created, total, replays, settled)
	if replays == 0 && *kills >= 50 {
		t.Error("no replica was killed between a commit and its answer")
	}
}

// checkRecords replays the log: boards are those that players were shown,
// settlements and events those that they were told.
func (h *house) checkRecords(r *replica, players []*player) {
	t := h.t
	t.Helper()
	for _, p := range players {
		for i, b := range p.boards {
			if i%25 != 0 { // each is a replay of its game
				continue
			}
			got, err := r.audit.GetGameRecord(h.as("auditor"), &refereev1.GetGameRecordRequest{MatchId: b.match, Game: b.game, AtPly: &b.ply})
			must(t, err)
			if board := got.GetRecord().GetPosition().GetDarkChess().GetBoard(); board != b.board {
				t.Errorf("game %d of %s at ply %d: %s is recorded, %s was shown", b.game, b.match, b.ply, board, b.board)
			}
		}
		for _, s := range p.settlements {
			position := h.record(r, s.GetMatchId(), s.GetGame()).GetPosition()
			if !proto.Equal(position.GetSettlement(), s) {
				t.Errorf("%v is recorded, %v was told", position.GetSettlement(), s)
			}
		}
		h.checkEvents(r, p)
	}
}

// checkEvents compares every event that a player was told with the record.
func (h *house) checkEvents(r *replica, p *player) {
	records := map[string]*refereev1.GameRecord{}
	for _, a := range p.acknowledged {
		key := fmt.Sprint(a.match, a.game)
		if records[key] == nil {
			records[key] = h.record(r, a.match, a.game)
		}
		for _, e := range a.events {
			stored := publicly(records[key].GetEvents()[e.GetSeq()-1])
			if !proto.Equal(stored, e) {
				h.t.Fatalf("%v is recorded, %v was told", stored, e)
			}
		}
	}
}
