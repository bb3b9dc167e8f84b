package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"referee.example/internal/pgtest"
	"referee.example/internal/tlog"
	refereev1 "referee.example/proto/referee/v1"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// limit ends a test that waits for something that does not come.
const limit = 5 * time.Minute

// table is what the replicas of one test share: a database, keys and a token.
type table struct {
	config Config
	token  string
}

func newTable(t *testing.T) *table {
	t.Helper()
	database := pgtest.New(t)
	err := Migrate(t.Context(), database.URL)
	if err != nil {
		t.Fatal(err)
	}
	token, file := NewDevToken()
	path := filepath.Join(t.TempDir(), "tokens.json")
	err = os.WriteFile(path, file, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	logKey, err := tlog.NewKey("referee.example/log")
	if err != nil {
		t.Fatal(err)
	}
	logKeyFile := filepath.Join(t.TempDir(), "log.key")
	err = os.WriteFile(logKeyFile, []byte(logKey), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return &table{token: token, config: Config{
		Listen: "127.0.0.1:0", DatabaseURL: database.URL, MaxConns: 8, Keys: NewKey("test"),
		LogKeyFile: logKeyFile, TokenFile: path, DrainTimeout: 10 * time.Second,
	}}
}

// start starts a replica; the caller stops it.
func (tt *table) start(t *testing.T, logger *slog.Logger) *App {
	t.Helper()
	a, err := Start(t.Context(), tt.config, logger)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func dial(t *testing.T, a *App) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(a.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (tt *table) context(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+tt.token)
}

// awaitHealth reads a health watch until it says what is wanted.
func awaitHealth(t *testing.T, watch grpc_health_v1.Health_WatchClient, want grpc_health_v1.HealthCheckResponse_ServingStatus) {
	t.Helper()
	for {
		answer, err := watch.Recv()
		if err != nil {
			t.Fatalf("waiting for %s: %v", want, err)
		}
		if answer.GetStatus() == want {
			return
		}
	}
}

func watchHealth(t *testing.T, a *App) grpc_health_v1.Health_WatchClient {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	watch, err := grpc_health_v1.NewHealthClient(dial(t, a)).Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return watch
}

func TestStartAndStop(t *testing.T) {
	tt := newTable(t)
	leaks := goleak.IgnoreCurrent()                   // the test's own Postgres runs on
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) }) // after the clean-up of what is made below
	var logged lockedBuffer
	a := tt.start(t, slog.New(slog.NewJSONHandler(&logged, nil)))
	health := watchHealth(t, a)
	awaitHealth(t, health, grpc_health_v1.HealthCheckResponse_SERVING)
	stopped := make(chan struct{})
	go func() { defer close(stopped); a.Stop() }()
	awaitHealth(t, health, grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	<-stopped
	_, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", a.Addr())
	if err == nil {
		t.Error("the port is still open")
	}
	logKey, err := os.ReadFile(tt.config.LogKeyFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{strings.TrimSpace(string(logKey)[len("PRIVATE+KEY+referee.example/log+"):]), strings.TrimSpace(tt.config.Keys)[len("test:"):], tt.token, password(t, tt.config.DatabaseURL)} {
		if strings.Contains(logged.String(), secret) {
			t.Errorf("the log holds a secret: %s", logged.String())
		}
	}
	for _, want := range []string{"starting", "listening", "draining", "stopped"} {
		if !strings.Contains(logged.String(), `"msg":"`+want+`"`) {
			t.Errorf("the log lacks %q: %s", want, logged.String())
		}
	}
}

// TestStopEndsWatches has a watcher that would hold a graceful stop for ever.
func TestStopEndsWatches(t *testing.T) {
	tt := newTable(t)
	tt.config.DrainTimeout = time.Minute
	a := tt.start(t, slog.New(slog.DiscardHandler))
	client := refereev1.NewMatchServiceClient(dial(t, a))
	ctx := tt.context(t)
	created := create(ctx, t, client, preset("7club-standard"))
	watch, err := client.WatchMatch(ctx, &refereev1.WatchMatchRequest{MatchId: created.GetMatch().GetMatchId()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = watch.Recv()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	a.Stop()
	if took := time.Since(began); took > tt.config.DrainTimeout/2 {
		t.Errorf("stopping took %s with one watcher", took)
	}
	for {
		message, err := watch.Recv()
		if err != nil {
			t.Fatalf("the watch ended without saying why: %v", err)
		}
		if message.GetEnd() != nil {
			if got := message.GetEnd().GetReason(); got != refereev1.WatchEndReason_WATCH_END_REASON_DRAINING {
				t.Errorf("the watch ended with %s", got)
			}
			return
		}
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	tt := newTable(t)
	ctx, cancel := context.WithCancel(t.Context())
	var logged lockedBuffer
	logged.onceLogged(`"msg":"ready"`, cancel)
	err := Run(ctx, tt.config, slog.New(slog.NewJSONHandler(&logged, nil)))
	if err != nil {
		t.Errorf("got %v, want no error", err)
	}
}

func TestStartRefuses(t *testing.T) {
	tt := newTable(t)
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	file := func(content string) string {
		path := filepath.Join(t.TempDir(), "file")
		err := os.WriteFile(path, []byte(content), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	cases := []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"settings", func(c *Config) { c.MaxConns = 0 }, "--max-conns"},
		{"no key file", func(c *Config) { c.Keys, c.KeyFile = "", "/nonexistent/key" }, "make one with"},
		{"malformed key", func(c *Config) { c.Keys = "key-1" }, "REFEREE_KEYS: deal: keyring: line 1: no colon"},
		{"no log key file", func(c *Config) { c.LogKeyFile = "/nonexistent/log.key" }, "make one with: referee log key"},
		{"malformed log key", func(c *Config) { c.LogKeyFile = file("PRIVATE+KEY+x") }, "a secret key must be one line"},
		{"no token file", func(c *Config) { c.TokenFile = "/nonexistent/tokens" }, "/nonexistent/tokens"},
		{"malformed tokens", func(c *Config) {
			c.TokenFile = file(`[{"name": "n", "sha256": "00", "platform": "p", "scopes": ["play"]}]`)
		}, "sha256"},
		{"no schema", func(c *Config) { c.DatabaseURL = pgtest.NewEmpty(t).URL }, "run `referee migrate`"},
		{"no server", func(c *Config) { c.DatabaseURL = "postgres://u:p@127.0.0.1:1/d" }, "connect"},
		{"no database", func(c *Config) { c.DatabaseURL = strings.Replace(c.DatabaseURL, "?", "_absent?", 1) }, "does not exist"},
		{"address taken", func(c *Config) { c.Listen = taken.Addr().String() }, "address already in use"},
		{"HTTP address taken", func(c *Config) { c.HTTPListen = taken.Addr().String() }, "address already in use"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			config := tt.config
			c.change(&config)
			a, err := Start(t.Context(), config, slog.New(slog.DiscardHandler))
			if err == nil {
				a.Stop()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want it to contain %q", err, c.want)
			}
		})
	}
}

func TestStartRefusesWithoutTheKeyOfAGame(t *testing.T) {
	tt := newTable(t)
	a := tt.start(t, slog.New(slog.DiscardHandler))
	create(tt.context(t), t, refereev1.NewMatchServiceClient(dial(t, a)), preset("7club-standard"))
	a.Stop()
	old := tt.config.Keys
	tt.config.Keys = NewKey("other")
	_, err := Start(t.Context(), tt.config, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), `"test"`) {
		t.Errorf("got %v, want the id of the missing key", err)
	}
	tt.config.Keys = NewKey("other") + old
	tt.start(t, slog.New(slog.DiscardHandler)).Stop()
}

// TestTwoReplicas starts a game at one replica, plays at the other and lets the
// clock run out with nobody calling: the sweep ends the game in time.
func TestTwoReplicas(t *testing.T) {
	tt := newTable(t)
	first, second := tt.start(t, slog.New(slog.DiscardHandler)), tt.start(t, slog.New(slog.DiscardHandler))
	defer first.Stop()
	defer second.Stop()
	at := []refereev1.MatchServiceClient{refereev1.NewMatchServiceClient(dial(t, first)), refereev1.NewMatchServiceClient(dial(t, second))}
	ctx := tt.context(t)
	created := create(ctx, t, at[0], quick(ctx, t, refereev1.NewRulesServiceClient(dial(t, first))))
	watch, err := at[1].WatchMatch(ctx, &refereev1.WatchMatchRequest{MatchId: created.GetMatch().GetMatchId()})
	if err != nil {
		t.Fatal(err)
	}
	game := startGame(ctx, t, at[1], created.GetGame())
	for ply := range 2 {
		game = flip(ctx, t, at[ply%2], game, fmt.Sprintf("a%d", ply+1))
	}
	deadline := game.GetClock().GetDeadlineTime().AsTime()
	for {
		message, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		event := message.GetEvent()
		if event.GetKind() != refereev1.EventKind_EVENT_KIND_GAME_ENDED {
			continue
		}
		if got := event.GetGameEnded().GetResult().GetReason(); got != refereev1.EndReason_END_REASON_TIME {
			t.Errorf("the game ended by %s", got)
		}
		if got := event.GetEventTime().AsTime(); !got.Equal(deadline) {
			t.Errorf("the expiry is recorded at %s, want its own instant %s", got, deadline)
		}
		// A busy machine has its time here. That it takes no more than a second the
		// simulation proves, which knows when the machine was held up.
		if late := message.GetServerTime().AsTime().Sub(deadline); late > 20*time.Second {
			t.Errorf("the expiry was adjudicated %s after the deadline", late)
		}
		return
	}
}

// TestStaleIsRefusedAcrossReplicas sends one ply to two replicas at once.
func TestStaleIsRefusedAcrossReplicas(t *testing.T) {
	tt := newTable(t)
	first, second := tt.start(t, slog.New(slog.DiscardHandler)), tt.start(t, slog.New(slog.DiscardHandler))
	defer first.Stop()
	defer second.Stop()
	at := []refereev1.MatchServiceClient{refereev1.NewMatchServiceClient(dial(t, first)), refereev1.NewMatchServiceClient(dial(t, second))}
	ctx := tt.context(t)
	game := startGame(ctx, t, at[0], create(ctx, t, at[0], preset("7club-standard")).GetGame())
	errs := make([]error, len(at))
	var racing sync.WaitGroup
	for i, client := range at {
		racing.Go(func() {
			_, errs[i] = client.PlayAction(ctx, flipRequest(game, fmt.Sprintf("b%d", i+1)))
		})
	}
	racing.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("got %v and %v, want exactly one accepted", errs[0], errs[1])
	}
	if err := errors.Join(errs...); status.Code(errs[0]) != codes.Aborted && status.Code(errs[1]) != codes.Aborted {
		t.Errorf("got %v, want ABORTED", err)
	}
}

// lockedBuffer is a log that several goroutines write and a test reads.
type lockedBuffer struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
	awaits string
	then   func()
}

// await waits until a text is in the log.
func (b *lockedBuffer) await(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(b.String(), text) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the log does not say %q: %s", text, b.String())
		}
	}
}

// onceLogged calls then when a line with the text is written.
func (b *lockedBuffer) onceLogged(text string, then func()) { b.awaits, b.then = text, then }

func (b *lockedBuffer) Write(line []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.then != nil && bytes.Contains(line, []byte(b.awaits)) {
		b.then()
	}
	return b.buffer.Write(line)
}

func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.String()
}
