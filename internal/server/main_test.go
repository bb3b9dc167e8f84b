package server

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"referee.example/internal/deal"
	"referee.example/internal/pgtest"
	"referee.example/internal/referee"
	"referee.example/internal/rules/banqi"
	"referee.example/internal/store"
	"referee.example/internal/tlog"
	refereev1 "referee.example/proto/referee/v1"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"
)

// TestMain also finds goroutines that outlive their server.
func TestMain(m *testing.M) {
	code := pgtest.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// The tokens of the tests by name, and whose they are.
var testTokens = []Token{
	{Name: "east", Platform: "east", Scopes: []string{ScopePlay}},
	{Name: "east/ann", Platform: "east", Scopes: []string{ScopePlay}, Player: "ann"},
	{Name: "west", Platform: "west", Scopes: []string{ScopePlay}},
	{Name: "auditor", Platform: EveryPlatform, Scopes: []string{ScopeAudit}},
	{Name: "east/auditor", Platform: "east", Scopes: []string{ScopeAudit}},
	{Name: "operator", Platform: EveryPlatform, Scopes: []string{ScopeOperate}},
	{Name: "second operator", Platform: EveryPlatform, Scopes: []string{ScopeOperate}},
}

// room is a server on a database of its own, and a client of it.
type room struct {
	t       testing.TB
	store   *store.Store
	referee *referee.Referee
	server  *Server
	dial    func(change func(net.Conn) net.Conn) *grpc.ClientConn // a further connection
	conn    *grpc.ClientConn
	match   refereev1.MatchServiceClient
	rules   refereev1.RulesServiceClient
	audit   refereev1.AuditServiceClient
	ids     atomic.Uint64
	url     string // of the database
}

// options of a room; the zero value is a server as in production, its hub and
// health but quicker.
type options struct {
	limits limits
	deal   referee.Dealer
	log    io.Writer
	ready  func(context.Context) error
	config func(*Config)
}

func quickLimits() limits {
	l := standardLimits
	l.poll, l.ready = 20*time.Millisecond, 100*time.Millisecond
	return l
}

func newRoom(t testing.TB, o options) *room {
	t.Helper()
	url := pgtest.New(t).URL
	s, err := store.Open(t.Context(), store.Config{URL: url, MaxConns: 8})
	must(t, err)
	t.Cleanup(s.Close)
	pgtest.KeepBeating(t, s)
	presets, err := referee.LoadPresets()
	must(t, err)
	keys, err := deal.ParseKeyring("test:" + base64.StdEncoding.EncodeToString(make([]byte, deal.KeySize)))
	must(t, err)
	r := &room{t: t, store: s, referee: referee.New(s, presets, keys, s.Now), url: url}
	if o.deal != nil {
		r.referee = r.referee.WithDealer(o.deal)
	}
	if o.limits == (limits{}) {
		o.limits = quickLimits()
	}
	if o.ready == nil {
		o.ready = s.Ready
	}
	if o.log == nil {
		o.log = io.Discard
	}
	config := Config{
		Referee: r.referee, History: s, Records: s, Ready: o.ready, Versions: s.Versions, Log: tlog.NewLog(s), Access: NewAccess(knownTokens(t), nil), Conns: 8,
		Logger: slog.New(slog.NewJSONHandler(o.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if o.config != nil {
		o.config(&config)
	}
	r.server = newServer(config, o.limits)
	r.serve()
	return r
}

// serve starts the server and connects to it.
func (r *room) serve() {
	lis := bufconn.Listen(1 << 20)
	served := make(chan error, 1)
	go func() { served <- r.server.Serve(lis) }()
	r.dial = func(change func(net.Conn) net.Conn) *grpc.ClientConn {
		conn, err := grpc.NewClient("passthrough:room", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				conn, err := lis.DialContext(ctx)
				return change(conn), err
			}),
			// A window of its own choice may grow to 16 MB, which hides what the server holds.
			grpc.WithInitialWindowSize(128<<10), grpc.WithInitialConnWindowSize(128<<10),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxResponseBytes), grpc.MaxCallSendMsgSize(32<<20)))
		must(r.t, err)
		r.t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	r.conn = r.dial(func(c net.Conn) net.Conn { return c })
	conn := r.conn
	r.match, r.rules, r.audit = refereev1.NewMatchServiceClient(conn), refereev1.NewRulesServiceClient(conn), refereev1.NewAuditServiceClient(conn)
	r.t.Cleanup(func() {
		_ = conn.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		r.server.Drain(ctx)
		if err := <-served; err != nil {
			r.t.Errorf("serving ended: %v", err)
		}
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func secretOf(name string) string { return "secret of " + name }

func knownTokens(t testing.TB) Tokens {
	t.Helper()
	list := make([]Token, len(testTokens))
	copy(list, testTokens)
	for i := range list {
		sum := sha256.Sum256([]byte(secretOf(list[i].Name)))
		list[i].SHA256 = hex.EncodeToString(sum[:])
	}
	tokens, err := NewTokens(list)
	must(t, err)
	return tokens
}

// callLimit ends a call of a test that waits for what does not come: on a busy machine
// calls take their time.
const callLimit = 5 * time.Minute

// as is the context of a call with somebody's token.
func (r *room) as(name string) context.Context {
	ctx, cancel := context.WithTimeout(r.t.Context(), callLimit)
	r.t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+secretOf(name))
}

// id makes a fresh UUID, the same in each run.
func (r *room) id() string {
	var id referee.ID
	binary.BigEndian.PutUint64(id[8:], r.ids.Add(1))
	id[0], id[6], id[8] = 0xee, 0x40, 0x80
	return id.String()
}

// rulesForTests are 7 CLUB's with a named first mover, so that seat 0 begins.
func (r *room) rulesForTests() *refereev1.Ruleset {
	got, err := r.rules.GetRuleset(r.as("east"), &refereev1.GetRulesetRequest{RulesetId: "7club-standard"})
	must(r.t, err)
	got.Ruleset.Id, got.Ruleset.Description, got.Ruleset.Decisions = "", "", nil
	got.Ruleset.FirstMover, got.Ruleset.ResignAfterTurns = referee.FirstMoverNamed, 0
	return got.Ruleset
}

// creation is a well-formed request between ann and bob on the east.
func (r *room) creation(ruleset *refereev1.Ruleset) *refereev1.CreateMatchRequest {
	first := uint32(0)
	return &refereev1.CreateMatchRequest{
		RequestId: r.id(), PlayerIds: []string{"ann", "bob"}, Stake: 100, Balances: []int64{1000, 2000},
		Rules: &refereev1.CreateMatchRequest_Ruleset{Ruleset: ruleset}, FirstSeat: &first,
		Charges: &refereev1.Charges{Fee: 5, DisconnectionPenalty: 30}, TableRef: "table 7",
	}
}

// table is a match that is being played.
type table struct {
	*room
	id   string
	game *refereev1.Game
	// last is the answer that changed it last.
	last *refereev1.Change
}

// create creates a match; change may alter the request.
func (r *room) create(change ...func(*refereev1.CreateMatchRequest)) *table {
	r.t.Helper()
	request := r.creation(r.rulesForTests())
	for _, f := range change {
		f(request)
	}
	got, err := r.match.CreateMatch(r.as("east"), request)
	must(r.t, err)
	t := &table{room: r}
	t.saw(got.GetChange())
	t.id = got.GetChange().GetMatch().GetMatchId()
	return t
}

func (t *table) saw(c *refereev1.Change) {
	t.game, t.last = c.GetGame(), c
}

// start starts the next game.
func (t *table) start() *refereev1.Change {
	t.t.Helper()
	request := &refereev1.StartGameRequest{
		MatchId: t.id, Game: t.game.GetGame(), RequestId: t.room.id(), ExpectedSeq: t.game.GetNextSeq(),
		Balances: []int64{1000, 2000}, HoldIds: []string{"hold-a", "hold-b"}, PlayerSeeds: [][]byte{{1}, {2}},
	}
	if t.game.GetStatus() == refereev1.GameStatus_GAME_STATUS_ENDED {
		request.Game, request.ExpectedSeq = t.game.GetGame()+1, 1
	}
	got, err := t.match.StartGame(t.as("east"), request)
	must(t.t, err)
	t.saw(got.GetChange())
	return got.GetChange()
}

// started creates a match and starts its first game.
func (r *room) started(change ...func(*refereev1.CreateMatchRequest)) *table {
	r.t.Helper()
	t := r.create(change...)
	t.start()
	return t
}

// action is a request of the seat to move.
func (t *table) action(a *refereev1.Action) *refereev1.PlayActionRequest {
	return &refereev1.PlayActionRequest{
		MatchId: t.id, Game: t.game.GetGame(), RequestId: t.room.id(), ExpectedPly: t.game.GetNextPly(),
		Seat: t.game.ToMove, Action: a, //nolint:protogetter // absent is not 0
	}
}

func flip(square string) *refereev1.Action {
	return &refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_FLIP, From: square}
}

// play plays an action that has to be accepted.
func (t *table) play(a *refereev1.Action) *refereev1.Change {
	t.t.Helper()
	got, err := t.match.PlayAction(t.as("east"), t.action(a))
	must(t.t, err)
	t.saw(got.GetChange())
	return got.GetChange()
}

// resign ends the running game by the seat's resignation.
func (t *table) resign(seat uint32) *refereev1.Change {
	t.t.Helper()
	got, err := t.match.Resign(t.as("east"), &refereev1.ResignRequest{
		MatchId: t.id, Game: t.game.GetGame(), RequestId: t.room.id(), ExpectedSeq: t.game.GetNextSeq(), Seat: &seat,
	})
	must(t.t, err)
	t.saw(got.GetChange())
	return got.GetChange()
}

// tidy is a deal that is the same in each run: the deck as it is.
func tidy(_ deal.Material, deck []byte) []byte { return deck }

// deck is what is dealt in dark chess, in the order that a shuffle starts from.
func deck() []byte {
	var pieces []byte
	for _, piece := range banqi.Deck() {
		pieces = append(pieces, byte(piece))
	}
	return pieces
}
