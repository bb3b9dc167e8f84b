package proof

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	refereev1 "referee.example/proto/referee/v1"
)

var (
	hostileCalls = flag.Int("hostile-calls", 600, "calls of TestHostileWire")
	hostileSeed  = flag.Uint64("hostile-seed", 1, "seed of what they are")
	idleConns    = flag.Int("idle-conns", 1000, "connections that TestIdleConnections holds")
)

// preface begins each HTTP/2 connection of a client, here with empty settings.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// attackers is how many hostile callers there are at once.
const attackers = 8

// hostiles are the kinds of hostile calls. None may be accepted.
var hostiles = []struct {
	name string
	call func(*attacker) error
}{
	{"bytes at random to the port", (*attacker).garbage},
	{"frames at random after the preface", (*attacker).frames},
	{"a flood of streams that are reset at once", (*attacker).resets},
	{"headers without an end", (*attacker).endlessHeaders},
	{"a message at random", (*attacker).randomMessage},
	{"a good message, spoilt", (*attacker).spoilt},
	{"a length that is negative", (*attacker).negativeLength},
	{"a message that is too long", (*attacker).tooLong},
	{"text that is no UTF-8", (*attacker).badText},
	{"a field that nobody knows, nested deep", (*attacker).deep},
	{"headers that are too long", (*attacker).longHeaders},
	{"a method that is not there", (*attacker).noMethod},
	{"no token, or another's", (*attacker).noToken},
	{"a stream that is half closed", (*attacker).halfClosed},
	{"a reader that does not read", (*attacker).slowReader},
	{"many streams, left open", (*attacker).streams},
}

// target is what hostile calls are made to.
type target struct {
	Address string
	Match   string // that goes on
	Ply     []byte // a request of PlayAction, which was answered
}

// target is the scene's replica and match.
func (s *scene) target() target {
	s.t.Helper()
	ply, err := proto.Marshal(s.ply)
	must(s.t, err)
	return target{Address: s.r.conn.Target(), Match: s.game.GetMatchId(), Ply: ply}
}

// attacker makes hostile calls.
type attacker struct {
	target
	ctx     context.Context
	conn    *replica // its own
	dice    *rand.Rand
	methods []string
}

// TestHostileWire makes malformed and hostile calls of every kind, by a fixed
// seed, beside another platform that plays on. The replica neither stops nor
// keeps anything of it, and the other platform loses no call.
func TestHostileWire(t *testing.T) {
	s := newScene(t)
	before := s.everything()
	at, neighbour := s.target(), s.dial(s.r.conn.Target())
	quiet, err := s.neighbour(neighbour, func(n int) bool { return n < 200 })
	must(t, err)
	runtime.GC()
	sessions := s.sessions()
	goroutines, files, memory := runtime.NumGoroutine(), openFiles(t, "self"), heap()
	var attacking atomic.Bool
	attacking.Store(true)
	var left atomic.Int64
	left.Store(attackers)
	var beside []time.Duration
	most := memory
	accepted := make([]map[string]int, attackers)
	together(t, attackers+1, func(i int) (err error) {
		if i == attackers {
			beside, err = s.neighbour(neighbour, func(n int) bool {
				if n%50 == 0 {
					most = max(most, heap())
				}
				return n < 200 || attacking.Load()
			})
			return err
		}
		defer func() {
			if left.Add(-1) == 0 {
				attacking.Store(false)
			}
		}()
		accepted[i], err = at.attack(s.ctx, i)
		return err
	})
	for _, by := range accepted {
		for kind, n := range by {
			t.Errorf("%s was accepted %d times", kind, n)
		}
	}
	t.Logf("%d hostile calls; the neighbour's p99 %v, quiet %v, %d calls; heap %d kB at first, %d kB at most",
		*hostileCalls, p99(beside), p99(quiet), len(beside), memory>>10, most>>10)
	if most > memory+256<<20 {
		t.Errorf("the heap grew from %d to %d bytes", memory, most)
	}
	settled := func() bool {
		return runtime.NumGoroutine() <= goroutines+5 && openFiles(t, "self") <= files+s.config.MaxConns // the pool may have grown
	}
	for deadline := time.Now().Add(time.Minute); !settled() && time.Now().Before(deadline); {
		must(t, awaitInstant(s.ctx, 50*time.Millisecond))
	}
	if !settled() {
		t.Errorf("%d goroutines and %d files are left of %d and %d", runtime.NumGoroutine(), openFiles(t, "self"), goroutines, files)
	}
	for session := range sessions {
		if !s.sessions()[session] {
			t.Error("hostile calls have cost the replica a session of the database")
		}
	}
	if after := s.everything(); after != before {
		t.Error("hostile calls have changed what is stored")
	}
}

// attack makes one attacker's share of the calls and counts those that were
// accepted by kind.
func (at target) attack(ctx context.Context, i int) (map[string]int, error) {
	a := &attacker{target: at, ctx: ctx, dice: rand.New(rand.NewPCG(*hostileSeed, uint64(i)))}
	var err error
	if a.conn, err = dial(at.Address); err != nil {
		return nil, err
	}
	defer func() { _ = a.conn.conn.Close() }()
	for name, service := range services() {
		for _, method := range service {
			a.methods = append(a.methods, "/"+name+"/"+method)
		}
	}
	slices.Sort(a.methods)
	accepted := map[string]int{}
	for n := i; n < *hostileCalls; n += attackers {
		kind := hostiles[a.dice.IntN(len(hostiles))]
		if err := kind.call(a); err == nil {
			accepted[kind.name]++
		} else if code := status.Code(err); code == codes.Internal || code == codes.Unavailable {
			return accepted, fmt.Errorf("%s: %w", kind.name, err)
		}
	}
	return accepted, nil
}

// sessions are the replicas' sessions of the database by their processes.
func (h *house) sessions() map[int]bool {
	h.t.Helper()
	rows, err := h.pool.Query(h.ctx, `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'referee'`)
	must(h.t, err)
	processes, err := pgx.CollectRows(rows, pgx.RowTo[int])
	must(h.t, err)
	sessions := make(map[int]bool, len(processes))
	for _, process := range processes {
		sessions[process] = true
	}
	return sessions
}

// services are the methods of the contract.
func services() map[string][]string {
	out := map[string][]string{}
	services := refereev1.File_referee_v1_match_service_proto.Services()
	for i := range services.Len() {
		methods := services.Get(i).Methods()
		for j := range methods.Len() {
			if method := methods.Get(j); !method.IsStreamingClient() && !method.IsStreamingServer() {
				name := string(services.Get(i).FullName())
				out[name] = append(out[name], string(method.Name()))
			}
		}
	}
	return out
}

// neighbour reads the west's feed of what it may see and lists rules, one call
// after the other, and returns how long each took. All have to be answered.
func (s *scene) neighbour(r *replica, more func(int) bool) (took []time.Duration, err error) {
	for n := 0; more(n); n++ {
		begun := time.Now()
		_, err := r.audit.ListMatches(s.as("west"), &refereev1.ListMatchesRequest{PageSize: 1})
		if err != nil {
			return took, fmt.Errorf("the neighbour's call %d: %w", n, err)
		}
		took = append(took, time.Since(begun))
	}
	return took, nil
}

func p99(took []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	return sorted[len(sorted)*99/100]
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse + stats.StackInuse
}

func openFiles(t *testing.T, process string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/" + process + "/fd")
	must(t, err)
	return len(entries)
}

func (a *attacker) bytes(most int) []byte {
	out := make([]byte, 1+a.dice.IntN(most))
	for i := range out {
		out[i] = byte(a.dice.Uint32())
	}
	return out
}

// raw sends bytes to the port, reads what comes and hangs up. What the server
// made of them shows in that it lives.
func (a *attacker) raw(content []byte) error {
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(a.ctx, "tcp", a.Address)
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(100 * time.Millisecond)) // the server may wait for more
	_, _ = conn.Write(content)
	_, _ = io.Copy(io.Discard, conn)
	return status.Error(codes.Unknown, "sent")
}

func (a *attacker) garbage() error { return a.raw(a.bytes(4096)) }

// frame is a frame of HTTP/2 whatever it says of itself.
func frame(length int, kind, flags byte, stream uint32, payload []byte) []byte {
	head := []byte{byte(length >> 16), byte(length >> 8), byte(length), kind, flags, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(head[5:], stream)
	return append(head, payload...)
}

func (a *attacker) frames() error {
	content := []byte(preface)
	for range 1 + a.dice.IntN(20) {
		payload := a.bytes(256)
		length := len(payload)
		if a.dice.IntN(4) == 0 {
			length = a.dice.IntN(1 << 24)
		}
		content = append(content, frame(length, byte(a.dice.IntN(12)), byte(a.dice.Uint32()), a.dice.Uint32N(16), payload)...)
	}
	return a.raw(content)
}

// opening is the header block of a call, in HPACK: fields of the static table,
// the path, the authority and the content type with literal values.
var opening = []byte("\x83\x86\x04\x20/referee.v1.MatchService/GetGame\x01\x01x\x0f\x10\x10application/grpc")

func (a *attacker) resets() error {
	content := []byte(preface)
	for i := range uint32(200) {
		content = append(content, frame(len(opening), 1, 4, 2*i+1, opening)...) // HEADERS, END_HEADERS
		content = append(content, frame(4, 3, 0, 2*i+1, []byte{0, 0, 0, 8})...) // RST_STREAM, CANCEL
	}
	return a.raw(content)
}

func (a *attacker) endlessHeaders() error {
	content := append([]byte(preface), frame(len(opening), 1, 0, 1, opening)...)
	for range 100 {
		field := append([]byte{0x00, 1, 'x', 0x7f, 0x81, 0x06}, make([]byte, 896)...)
		content = append(content, frame(len(field), 9, 0, 1, field)...) // CONTINUATION
	}
	return a.raw(content)
}

// invoke sends bytes as the message of a unary call.
func (a *attacker) invoke(ctx context.Context, method string, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return a.conn.conn.Invoke(ctx, method, &message, new([]byte), grpc.ForceCodec(rawCodec{}))
}

func (a *attacker) play(message []byte) error {
	return a.invoke(as(a.ctx, "east"), refereev1.MatchService_PlayAction_FullMethodName, message)
}

func (a *attacker) randomMessage() error {
	return a.invoke(as(a.ctx, "east"), a.methods[a.dice.IntN(len(a.methods))], a.bytes(2048))
}

// spoilt turns bits of a good request over; its match is another's, so that what
// is sound by chance is refused all the same.
func (a *attacker) spoilt() error {
	message := slices.Clone(a.Ply)
	for range 1 + a.dice.IntN(4) {
		message[a.dice.IntN(len(message))] ^= 1 << a.dice.IntN(8)
	}
	return a.invoke(as(a.ctx, "west"), refereev1.MatchService_PlayAction_FullMethodName, message[:1+a.dice.IntN(len(message))])
}

func (a *attacker) negativeLength() error {
	message := protowire.AppendTag(slices.Clone(a.Ply), protowire.Number(1+a.dice.IntN(9)), protowire.BytesType)
	return a.play(protowire.AppendVarint(message, uint64(1)<<63+a.dice.Uint64N(1<<62)))
}

func (a *attacker) tooLong() error { return a.play(make([]byte, 64<<10+1+a.dice.IntN(1<<20))) }

func (a *attacker) badText() error {
	message := protowire.AppendTag(nil, 1, protowire.BytesType)
	return a.play(protowire.AppendBytes(message, []byte{0xc3, 0x28, byte(a.dice.Uint32())}))
}

func (a *attacker) deep() error {
	inner := []byte{}
	for len(inner) < 30_000 {
		inner = protowire.AppendBytes(protowire.AppendTag(nil, 15, protowire.BytesType), inner)
		if len(inner) > 2_000 && a.dice.IntN(3) > 0 {
			break
		}
	}
	return a.play(inner)
}

func (a *attacker) longHeaders() error {
	ctx := metadata.AppendToOutgoingContext(as(a.ctx, "east"), "x-long", strings.Repeat("h", 17<<10+a.dice.IntN(64<<10)))
	err := a.invoke(ctx, refereev1.MatchService_GetGame_FullMethodName, nil)
	if err != nil && strings.Contains(err.Error(), "header list size to send violates") {
		return status.Error(codes.Unknown, "the client keeps to the limit that the server told it")
	}
	return err
}

func (a *attacker) noMethod() error {
	return a.invoke(as(a.ctx, "east"), fmt.Sprintf("/referee.v%d.MatchService/Get%d", a.dice.IntN(3), a.dice.IntN(100)), a.Ply)
}

func (a *attacker) noToken() error {
	ctx := a.ctx
	if a.dice.IntN(2) == 0 {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+strconv.FormatUint(a.dice.Uint64(), 36))
	}
	return a.invoke(ctx, refereev1.MatchService_PlayAction_FullMethodName, a.Ply)
}

func (a *attacker) halfClosed() error {
	ctx, cancel := context.WithCancel(as(a.ctx, "east"))
	defer cancel()
	stream, err := a.conn.match.PlayActions(ctx)
	if err != nil {
		return err
	}
	if a.dice.IntN(2) == 0 {
		_ = stream.Send(&refereev1.PlayActionsRequest{})
	}
	_ = stream.CloseSend()
	if a.dice.IntN(2) == 0 {
		cancel()
	}
	for err == nil {
		_, err = stream.Recv()
	}
	return status.Error(codes.Canceled, err.Error())
}

// slowReader asks for a whole log and reads none of it.
func (a *attacker) slowReader() error {
	ctx, cancel := context.WithTimeout(as(a.ctx, "east"), 50*time.Millisecond)
	defer cancel()
	_, err := a.conn.match.WatchMatch(ctx, &refereev1.WatchMatchRequest{MatchId: a.Match})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return status.FromContextError(ctx.Err()).Err()
}

func (a *attacker) streams() error {
	ctx, cancel := context.WithCancel(as(a.ctx, "east"))
	defer cancel()
	var opened sync.WaitGroup
	for range 50 {
		opened.Go(func() {
			if stream, err := a.conn.match.WatchMatch(ctx, &refereev1.WatchMatchRequest{MatchId: a.Match}); err == nil {
				_, _ = stream.Recv()
			}
		})
	}
	opened.Wait()
	return status.Error(codes.Canceled, "left")
}

// TestIdleConnections holds connections that say nothing further to a replica of
// its own process. They cost little, hinder nobody, and leave nothing.
func TestIdleConnections(t *testing.T) {
	h := newHouse(t)
	s := h.processes(1)[0]
	r := s.client()
	process := strconv.Itoa(s.process.Process.Pid)
	ask := func() {
		t.Helper()
		_, err := r.audit.ListMatches(h.as("west"), &refereev1.ListMatchesRequest{})
		must(t, err)
	}
	ask()
	files, memory := openFiles(t, process), resident(t, process)
	conns := make([]net.Conn, *idleConns)
	for i := range conns {
		conn, err := (&net.Dialer{}).DialContext(h.ctx, "tcp", r.conn.Target())
		must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		conns[i] = conn
		_, err = conn.Write([]byte(preface))
		must(t, err)
		_, err = io.ReadFull(conn, make([]byte, 9)) // the server's settings: it has shaken hands
		must(t, err)
	}
	each := (resident(t, process) - memory) / *idleConns
	t.Logf("%d idle connections: %d bytes of memory each", *idleConns, each)
	if each > 64<<10 {
		t.Errorf("an idle connection takes %d bytes", each)
	}
	ask()
	for _, conn := range conns {
		_ = conn.Close()
	}
	for openFiles(t, process) > files+h.config.MaxConns { // its pool may have grown
		must(t, awaitInstant(h.ctx, 20*time.Millisecond))
	}
	ask()
}

// resident is a process's memory in bytes.
func resident(t *testing.T, process string) int {
	t.Helper()
	content, err := os.ReadFile("/proc/" + process + "/statm")
	must(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(content))[1])
	must(t, err)
	return pages * os.Getpagesize()
}
