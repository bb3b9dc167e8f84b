package proof

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"referee.example/internal/app"
	"referee.example/internal/deal"
	"referee.example/internal/pgtest"
	"referee.example/internal/referee"
	"referee.example/internal/server"
	"referee.example/internal/store"
	"referee.example/internal/tlog"
	refereev1 "referee.example/proto/referee/v1"
)

// rapidChecks is how many cases a property gets here, where each is some
// hundred calls; -rapid.checks on the command line still wins.
const rapidChecks = "6"

func TestMain(m *testing.M) {
	if of := os.Getenv(attackVariable); of != "" {
		if err := attackOnly(of); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if err := flag.Set("rapid.checks", rapidChecks); err != nil {
		panic(err)
	}
	os.Exit(pgtest.Main(m))
}

// limit ends a test that waits for what does not come.
const limit = 5 * time.Minute

// tokens of every house, by name; the secret of each is its name.
var tokens = []server.Token{
	{Name: "east", Platform: "east", Scopes: []string{server.ScopePlay, server.ScopeAudit}},
	{Name: "west", Platform: "west", Scopes: []string{server.ScopePlay, server.ScopeAudit}},
	{Name: "auditor", Platform: server.EveryPlatform, Scopes: []string{server.ScopeAudit}},
	{Name: "operator", Platform: server.EveryPlatform, Scopes: []string{server.ScopeOperate}},
	{Name: "second operator", Platform: server.EveryPlatform, Scopes: []string{server.ScopeOperate}},
}

// house is what the replicas of one test share: a database, a key and tokens.
type house struct {
	t      *testing.T
	config app.Config
	pool   *pgxpool.Pool // for looking at the tables
	ctx    context.Context
}

// newHouse also checks that everything begun in the test has ended with it.
func newHouse(t *testing.T) *house {
	t.Helper()
	database := pgtest.New(t)
	leaks := goleak.IgnoreCurrent() // the test's own Postgres runs on
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	must(t, app.Migrate(t.Context(), database.URL))
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	pool, err := pgxpool.New(ctx, database.URL)
	must(t, err)
	t.Cleanup(pool.Close)
	return &house{t: t, pool: pool, ctx: ctx, config: app.Config{
		Listen: "127.0.0.1:0", DatabaseURL: database.URL, MaxConns: 16, Keys: app.NewKey("test"),
		LogKeyFile: logKeyFile(t), TokenFile: tokenFile(t), DrainTimeout: 10 * time.Second,
	}}
}

// tester is a test's, a benchmark's or a property's t.
type tester interface {
	Helper()
	Fatal(arguments ...any)
}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func logKeyFile(t *testing.T) string {
	t.Helper()
	key, err := tlog.NewKey("referee.example/log")
	must(t, err)
	path := filepath.Join(t.TempDir(), "log.key")
	must(t, os.WriteFile(path, []byte(key), 0o600))
	return path
}

func tokenFile(t *testing.T) string {
	t.Helper()
	list := make([]server.Token, len(tokens))
	for i, token := range tokens {
		digest := sha256.Sum256([]byte(token.Name))
		token.SHA256 = hex.EncodeToString(digest[:])
		list[i] = token
	}
	content, err := json.Marshal(list)
	must(t, err)
	path := filepath.Join(t.TempDir(), "tokens.json")
	must(t, os.WriteFile(path, content, 0o600))
	return path
}

// as is the context of a call with somebody's token.
func (h *house) as(name string) context.Context { return as(h.ctx, name) }

func as(ctx context.Context, name string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+name)
}

// replica is a client of one replica.
type replica struct {
	match refereev1.MatchServiceClient
	rules refereev1.RulesServiceClient
	audit refereev1.AuditServiceClient
	conn  *grpc.ClientConn
	stop  func() // drains the replica; at the end of the test at the latest
}

func (h *house) dial(address string) *replica {
	h.t.Helper()
	r, err := dial(address)
	must(h.t, err)
	h.t.Cleanup(func() { _ = r.conn.Close() })
	return r
}

func dial(address string) (*replica, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(64<<20)))
	if err != nil {
		return nil, err
	}
	return &replica{
		match: refereev1.NewMatchServiceClient(conn), rules: refereev1.NewRulesServiceClient(conn),
		audit: refereev1.NewAuditServiceClient(conn), conn: conn, stop: func() {},
	}, nil
}

// start starts a whole replica, as `referee serve` does.
func (h *house) start() *replica {
	h.t.Helper()
	a, err := app.Start(h.ctx, h.config, slog.New(slog.DiscardHandler))
	must(h.t, err)
	var once sync.Once
	stop := func() { once.Do(a.Stop) }
	h.t.Cleanup(stop)
	r := h.dial(a.Addr())
	r.stop = stop
	return r
}

// startDealt starts a replica without a sweep, whose arrangements are the
// test's; log gets what it logs. It beats, or its silence would pause clocks.
func (h *house) startDealt(dealer referee.Dealer, log io.Writer) *replica {
	h.t.Helper()
	s, err := store.Open(h.ctx, store.Config{URL: h.config.DatabaseURL, MaxConns: h.config.MaxConns})
	must(h.t, err)
	_, err = s.Beat(h.ctx)
	must(h.t, err)
	presets, err := referee.LoadPresets()
	must(h.t, err)
	keys, err := deal.ParseKeyring(h.config.Keys)
	must(h.t, err)
	content, err := os.ReadFile(h.config.TokenFile)
	must(h.t, err)
	known, err := server.ParseTokens(content)
	must(h.t, err)
	lis, err := (&net.ListenConfig{}).Listen(h.ctx, "tcp", h.config.Listen)
	must(h.t, err)
	served := server.New(server.Config{
		Referee: referee.New(s, presets, keys, s.Now).WithDealer(dealer), History: s, Ready: s.Ready,
		Versions: s.Versions, Access: server.NewAccess(known, nil), Conns: h.config.MaxConns, Logger: slog.New(slog.NewJSONHandler(log, nil)),
	})
	beating, stopBeating := context.WithCancel(h.ctx)
	var running sync.WaitGroup
	running.Go(func() { beat(beating, s) })
	running.Go(func() {
		if err := served.Serve(lis); err != nil {
			h.t.Errorf("serving ended: %v", err)
		}
	})
	h.t.Cleanup(func() {
		limited, cancel := context.WithTimeout(context.Background(), h.config.DrainTimeout)
		defer cancel()
		served.Drain(limited)
		stopBeating()
		running.Wait()
		s.Close()
	})
	return h.dial(lis.Addr().String())
}

func beat(ctx context.Context, s *store.Store) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_, _ = s.Beat(ctx) // one missed beat is no outage
		}
	}
}
