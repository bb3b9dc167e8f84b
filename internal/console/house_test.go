package console_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	randv2 "math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"referee.example/internal/app"
	"referee.example/internal/apptest"
	"referee.example/internal/pgtest"
	"referee.example/internal/server"
	"referee.example/internal/tlog"
	refereev1 "referee.example/proto/referee/v1"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// limit ends a test that waits for something that does not come.
const limit = 8 * time.Minute

// drainTimeout is how long a replica waits for what does not end.
const drainTimeout = time.Minute

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// house is a replica with a console, on a database of its own.
type house struct {
	t      testing.TB
	app    *app.App
	url    string // of the HTTP port
	rows   string // URL of the database, as its owner
	match  refereev1.MatchServiceClient
	rules  refereev1.RulesServiceClient
	audit  refereev1.AuditServiceClient
	conn   *grpc.ClientConn
	tokens map[string]string // by name
	dice   *randv2.Rand
	logged *lockedBuffer

	stopping sync.Once
}

// lockedBuffer is a log that a test reads while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// newHouse starts a replica; change may alter its settings.
func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{t: t, tokens: map[string]string{}, dice: randv2.New(randv2.NewPCG(7, 7)), logged: &lockedBuffer{}}
	config, key := apptest.Config(t, h.newTokens()...)
	config.HTTPListen, config.Console, config.DrainTimeout = "127.0.0.1:0", true, drainTimeout
	var err error
	h.rows = config.DatabaseURL
	h.app, err = app.Start(t.Context(), config, slog.New(slog.NewTextHandler(h.logged, &slog.HandlerOptions{Level: slog.LevelWarn})))
	must(t, err)
	t.Cleanup(h.stop)
	public, err := tlog.ParsePublic(key.Public())
	must(t, err)
	// The test's database is a copy of another, whose log waits for a word.
	_, err = app.ConfirmLog(t.Context(), config.DatabaseURL, public, nil)
	must(t, err)
	h.url = "http://" + h.app.HTTPAddr()
	h.conn, err = grpc.NewClient(h.app.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	t.Cleanup(func() { _ = h.conn.Close() })
	h.match, h.rules, h.audit = refereev1.NewMatchServiceClient(h.conn), refereev1.NewRulesServiceClient(h.conn), refereev1.NewAuditServiceClient(h.conn)
	return h
}

// stop stops the replica, once.
func (h *house) stop() { h.stopping.Do(h.app.Stop) }

// newTokens makes tokens for two platforms, their auditors and operators.
func (h *house) newTokens() (list []server.Token) {
	for _, t := range []server.Token{
		{Name: "arcade", Platform: "arcade", Scopes: []string{server.ScopePlay}},
		{Name: "player", Platform: "arcade", Scopes: []string{server.ScopePlay}, Player: "player-1"},
		{Name: "rival", Platform: "rival", Scopes: []string{server.ScopePlay}},
		{Name: "auditor", Platform: "arcade", Scopes: []string{server.ScopeAudit}},
		{Name: "regulator", Platform: server.EveryPlatform, Scopes: []string{server.ScopeAudit}},
		{Name: "operator", Platform: server.EveryPlatform, Scopes: []string{server.ScopeOperate}},
		{Name: "second operator", Platform: server.EveryPlatform, Scopes: []string{server.ScopeOperate}},
	} {
		h.tokens[t.Name], t.SHA256 = server.NewToken()
		list = append(list, t)
	}
	return list
}

// as is the context of a call with somebody's token.
func (h *house) as(name string) context.Context {
	ctx, cancel := context.WithTimeout(h.t.Context(), limit)
	h.t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+h.tokens[name])
}

// table is a match that a test plays itself.
type table struct {
	*house
	as   context.Context
	id   string
	game *refereev1.Game
	// seeds are the players'; two of them unless they are set.
	seeds [][]byte
}

func requestID() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // documented never to fail
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// sit creates a match on a platform and starts its first game.
func (h *house) sit(platform, ruleset string, players ...string) *table {
	h.t.Helper()
	t := &table{house: h, as: h.as(platform)}
	created, err := h.match.CreateMatch(t.as, &refereev1.CreateMatchRequest{
		RequestId: requestID(), PlayerIds: players, Stake: 500, Balances: []int64{50_000, 50_000},
		Rules: &refereev1.CreateMatchRequest_RulesetId{RulesetId: ruleset}, Charges: &refereev1.Charges{Fee: 25},
		TableRef: "table 12", ExternalRef: "round-" + requestID()[:8],
	})
	must(h.t, err)
	t.game = created.GetChange().GetGame()
	t.id = t.game.GetMatchId()
	t.start()
	return t
}

func (t *table) start() {
	t.t.Helper()
	if t.seeds == nil {
		t.seeds = [][]byte{[]byte("one"), []byte("two")}
	}
	balances := make([]int64, len(t.seeds))
	for seat := range balances {
		balances[seat] = 50_000
	}
	started, err := t.match.StartGame(t.as, &refereev1.StartGameRequest{
		MatchId: t.id, Game: t.game.GetGame(), RequestId: requestID(), ExpectedSeq: t.game.GetNextSeq(),
		Balances: balances, PlayerSeeds: t.seeds,
	})
	must(t.t, err)
	t.game = started.GetChange().GetGame()
}

// play plays so many plies, captures first; pause is waited before each.
func (t *table) play(plies int, pause func()) {
	t.t.Helper()
	for range plies {
		if t.game.GetStatus() != refereev1.GameStatus_GAME_STATUS_PLAYING {
			return
		}
		legal, err := t.match.ListLegalActions(t.as, &refereev1.ListLegalActionsRequest{MatchId: t.id, Game: t.game.GetGame()})
		must(t.t, err)
		action := legal.GetActions()[t.dice.IntN(len(legal.GetActions()))]
		for _, a := range legal.GetActions() {
			if a.GetCaptures() != "" {
				action = a
			}
		}
		if pause != nil {
			pause()
		}
		t.act(action.GetAction())
	}
}

func (t *table) act(action *refereev1.Action) {
	t.t.Helper()
	played, err := t.match.PlayAction(t.as, &refereev1.PlayActionRequest{
		MatchId: t.id, Game: t.game.GetGame(), RequestId: requestID(), ExpectedPly: t.game.GetNextPly(),
		Seat: t.game.ToMove, Action: action, //nolint:protogetter // absent is not 0
	})
	must(t.t, err)
	t.game = played.GetChange().GetGame()
}

// viewer is a browser without a screen.
type viewer struct {
	t      testing.TB
	url    string
	client *http.Client
}

// viewer returns a browser that nobody has signed in to.
func (h *house) viewer() *viewer {
	jar, err := cookiejar.New(nil)
	must(h.t, err)
	client := &http.Client{Jar: jar, Transport: &http.Transport{}, Timeout: limit}
	h.t.Cleanup(client.CloseIdleConnections)
	return &viewer{t: h.t, url: h.url, client: client}
}

// signedIn returns the browser of somebody.
func (h *house) signedIn(name string) *viewer {
	h.t.Helper()
	v := h.viewer()
	code, body := v.post("/console/login", url.Values{"token": {h.tokens[name]}})
	if code != http.StatusOK || strings.Contains(body, `name="token"`) {
		h.t.Fatalf("signing %s in: %d %s\n%s", name, code, body, h.logged)
	}
	return v
}

// answer is what a browser got, after it has followed where it was sent.
type answer struct {
	code   int
	header http.Header
	url    *url.URL
}

func (v *viewer) do(method, path string, form url.Values, header http.Header) (answer, string) {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), method, v.url+path, strings.NewReader(form.Encode()))
	must(v.t, err)
	if header != nil {
		request.Header = header
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := v.client.Do(request)
	must(v.t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	must(v.t, err)
	return answer{response.StatusCode, response.Header, response.Request.URL}, string(body)
}

func (v *viewer) post(path string, form url.Values) (int, string) {
	v.t.Helper()
	response, body := v.do(http.MethodPost, path, form, nil)
	return response.code, body
}

// get asks for a page that has to be there.
func (v *viewer) get(path string) string {
	v.t.Helper()
	response, body := v.do(http.MethodGet, path, nil, nil)
	if response.code != http.StatusOK {
		v.t.Fatalf("GET %s: %d\n%s", path, response.code, body)
	}
	return body
}

// code is the status that a path is answered with.
func (v *viewer) code(path string) int {
	v.t.Helper()
	response, _ := v.do(http.MethodGet, path, nil, nil)
	return response.code
}
