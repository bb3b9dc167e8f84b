package proof

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"referee.example/internal/app"
	"referee.example/internal/apptest"
	"referee.example/internal/pgtest"
	"referee.example/internal/referee"
	"referee.example/internal/server"
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
	config, _ := apptest.Config(t, tokens...)
	leaks := goleak.IgnoreCurrent() // the test's own Postgres runs on
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	pool, err := pgxpool.New(ctx, config.DatabaseURL)
	must(t, err)
	t.Cleanup(pool.Close)
	return &house{t: t, pool: pool, ctx: ctx, config: config}
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
// test's; log gets what it logs.
func (h *house) startDealt(dealer referee.Dealer, log io.Writer) *replica {
	h.t.Helper()
	_, address := apptest.Dealt(h.t, h.config, dealer, slog.New(slog.NewJSONHandler(log, nil)))
	return h.dial(address)
}
