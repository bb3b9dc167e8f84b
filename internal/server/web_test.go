package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	refereev1 "referee.example/proto/referee/v1"
)

// web opens a room's HTTP port and returns its URL.
func (r *room) web(pages http.Handler) string {
	r.t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(r.t.Context(), "tcp", "127.0.0.1:0")
	must(r.t, err)
	served := make(chan error, 1)
	go func() { served <- r.server.ServeWeb(lis, pages) }()
	client := http.DefaultTransport.(*http.Transport)
	r.t.Cleanup(func() {
		client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = r.server.web.http.Shutdown(ctx) // again does no harm
		if err := <-served; err != nil {
			r.t.Errorf("serving HTTP ended: %v", err)
		}
	})
	return "http://" + lis.Addr().String()
}

// posting is one request as curl would send it.
type posting struct {
	path, body string
	method     string // POST unless set
	as         string // whose token; none when empty
	header     map[string]string
}

// posted is what a request was answered with, its body apart.
type posted struct {
	code   int
	header http.Header
}

func (r *room) post(url string, p posting) (posted, string) {
	r.t.Helper()
	if p.method == "" {
		p.method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(r.t.Context(), p.method, url+p.path, strings.NewReader(p.body))
	must(r.t, err)
	request.Header.Set("Content-Type", "application/json")
	if p.as != "" {
		request.Header.Set("Authorization", "Bearer "+secretOf(p.as))
	}
	for name, value := range p.header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	must(r.t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	must(r.t, err)
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Access-Control-Allow-Origin": "",
		"Access-Control-Allow-Headers": "", "Access-Control-Allow-Methods": "",
	} {
		if got := response.Header.Get(name); got != want {
			r.t.Errorf("%s %s: the header %s is %q, want %q", p.method, p.path, name, got, want)
		}
	}
	return posted{response.StatusCode, response.Header}, string(body)
}

// call posts a message that has to be answered.
func (r *room) call(url, as, path string, request, answer proto.Message) {
	r.t.Helper()
	body, err := protojson.Marshal(request)
	must(r.t, err)
	response, text := r.post(url, posting{path: path, body: string(body), as: as})
	if response.code != http.StatusOK || response.header.Get("Content-Type") != "application/json" {
		r.t.Fatalf("%s: %d, %s: %s", path, response.code, response.header.Get("Content-Type"), text)
	}
	must(r.t, protojson.Unmarshal([]byte(text), answer))
}

// TestWebCallsAreThoseOfTheContract plays over HTTP and reads over gRPC.
func TestWebCallsAreThoseOfTheContract(t *testing.T) {
	r := newRoom(t, options{})
	url := r.web(nil)
	request := r.creation(r.rulesForTests())
	created, again := &refereev1.CreateMatchResponse{}, &refereev1.CreateMatchResponse{}
	r.call(url, "east", "/referee.v1.MatchService/CreateMatch", request, created)
	r.call(url, "east", "/referee.v1.MatchService/CreateMatch", request, again)
	if created.GetChange().GetReplayed() || !again.GetChange().GetReplayed() {
		t.Error("a retry over HTTP is not answered as one")
	}
	id := created.GetChange().GetMatch().GetMatchId()
	started := &refereev1.StartGameResponse{}
	r.call(url, "east", "/referee.v1.MatchService/StartGame", &refereev1.StartGameRequest{
		MatchId: id, Game: 1, RequestId: r.id(), ExpectedSeq: 2, Balances: []int64{1000, 2000}, PlayerSeeds: [][]byte{{1}, {2}},
	}, started)
	seat := uint32(0)
	played := &refereev1.PlayActionResponse{}
	r.call(url, "east", "/referee.v1.MatchService/PlayAction", &refereev1.PlayActionRequest{
		MatchId: id, Game: 1, RequestId: r.id(), ExpectedPly: 1, Seat: &seat, Action: flip("b3"),
	}, played)
	over, err := r.match.GetGame(r.as("east"), &refereev1.GetGameRequest{MatchId: id})
	must(t, err)
	if got, want := over.GetGame().GetDarkChess().GetBoard(), played.GetChange().GetGame().GetDarkChess().GetBoard(); got != want || got == "" {
		t.Errorf("over gRPC the board is %q, over HTTP it was %q", got, want)
	}
	response, text := r.post(url, posting{path: "/referee.v1.MatchService/GetMatch", body: `{"matchId": "` + id + `"}`, as: "east",
		header: map[string]string{"Content-Type": "application/json; charset=utf-8", "X-Request-Id": "curl-1"}})
	match := &refereev1.GetMatchResponse{}
	must(t, protojson.Unmarshal([]byte(text), match))
	if match.GetMatch().GetMatchId() != id || response.header.Get("X-Request-Id") != "curl-1" {
		t.Errorf("got %v, headers %v", match, response.header)
	}
}

// connectError is the Connect form of a refusal.
type connectError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Details []struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	} `json:"details"`
}

// reason reads the ErrorInfo, empty where there is none.
func (e connectError) reason(t *testing.T) string {
	t.Helper()
	for _, detail := range e.Details {
		if detail.Type != "google.rpc.ErrorInfo" {
			continue
		}
		raw, err := base64.RawStdEncoding.DecodeString(detail.Value)
		must(t, err)
		info := &errdetails.ErrorInfo{}
		must(t, proto.Unmarshal(raw, info))
		return info.GetReason()
	}
	return ""
}

func TestWebRefusals(t *testing.T) {
	r := newRoom(t, options{})
	url := r.web(nil)
	table := r.started()
	getMatch := "/referee.v1.MatchService/GetMatch"
	mine := `{"match_id": "` + table.id + `"}`
	for _, c := range []struct {
		name    string
		posting posting
		status  int
		code    string // empty where the answer is no RPC's
		reason  string
		says    string
	}{
		{"no token", posting{path: getMatch, body: mine}, 401, "unauthenticated", "UNAUTHENTICATED", "Bearer"},
		{"unknown token", posting{path: getMatch, body: mine, as: "nobody"}, 401, "unauthenticated", "UNAUTHENTICATED", "Bearer"},
		{"malformed and no token", posting{path: getMatch, body: "{"}, 401, "unauthenticated", "UNAUTHENTICATED", "Bearer"},
		{"scope", posting{path: "/referee.v1.AuditService/ListGames", body: "{}", as: "east"}, 403, "permission_denied", "SCOPE_MISSING", "audit"},
		{"foreign match", posting{path: getMatch, body: mine, as: "west"}, 404, "not_found", "NOT_FOUND", ""},
		{"field", posting{path: getMatch, body: `{"match_id": "x"}`, as: "east"}, 400, "invalid_argument", "INVALID_FIELD", "match_id"},
		{"illegal action", posting{path: "/referee.v1.MatchService/PlayAction", as: "east",
			body: `{"match_id": "` + table.id + `", "game": 1, "request_id": "` + r.id() + `", "expected_ply": 1, "seat": 0, "action": {"kind": "ACTION_KIND_MOVE", "from": "a1", "to": "a2"}}`},
			400, "failed_precondition", "ILLEGAL_ACTION", ""},
		{"stale", posting{path: "/referee.v1.MatchService/Resign", as: "east",
			body: `{"match_id": "` + table.id + `", "game": 1, "request_id": "` + r.id() + `", "expected_seq": 1, "seat": 0}`},
			409, "aborted", "STALE", ""},
		{"half a message", posting{path: getMatch, body: `{"match_id": `, as: "east"}, 400, "invalid_argument", "INVALID_FIELD", "EOF"},
		{"no message", posting{path: getMatch, as: "east"}, 400, "invalid_argument", "INVALID_FIELD", ""},
		{"mistyped name", posting{path: getMatch, body: `{"match": "x"}`, as: "east"}, 400, "invalid_argument", "INVALID_FIELD", `unknown field \"match\"`},
		{"not UTF-8", posting{path: getMatch, body: "{\"match_id\": \"\xff\"}", as: "east"}, 400, "invalid_argument", "INVALID_FIELD", "UTF-8"},
		{"binary", posting{path: getMatch, as: "east", header: map[string]string{"Content-Type": "application/proto"}}, 415, "", "", "application/json"},
		{"too long", posting{path: getMatch, body: `{"match_id": "` + strings.Repeat("x", MaxRequestBytes) + `"}`, as: "east"},
			400, "invalid_argument", "INVALID_FIELD", "65536 bytes"},
		{"no time", posting{path: getMatch, body: mine, as: "east", header: map[string]string{"Connect-Timeout-Ms": "45"}},
			504, "deadline_exceeded", "DEADLINE_TOO_SHORT", ""},
		{"negative time", posting{path: getMatch, body: mine, as: "east", header: map[string]string{"Connect-Timeout-Ms": "-1"}},
			400, "invalid_argument", "INVALID_FIELD", "Connect-Timeout-Ms"},
		{"time that is no number", posting{path: getMatch, body: mine, as: "east", header: map[string]string{"Connect-Timeout-Ms": "soon"}},
			400, "invalid_argument", "INVALID_FIELD", "Connect-Timeout-Ms"},
		{"time too long", posting{path: getMatch, body: mine, as: "east", header: map[string]string{"Connect-Timeout-Ms": "12345678901"}},
			400, "invalid_argument", "INVALID_FIELD", "10 digits"},
		{"another charset", posting{path: getMatch, body: mine, as: "east", header: map[string]string{"Content-Type": "application/json; charset=latin1"}},
			415, "", "", "UTF-8"},
		{"stream", posting{path: "/referee.v1.MatchService/WatchMatch", body: mine, as: "east"}, 501, "unimplemented", "", "gRPC port"},
		{"no method", posting{path: "/referee.v1.MatchService/Steal", body: "{}", as: "east"}, 501, "unimplemented", "", "no such method"},
		{"no service", posting{path: "/referee.v1.Other/Get", body: "{}", as: "east"}, 404, "", "", ""},
		{"health is not here", posting{path: "/grpc.health.v1.Health/Check", body: "{}"}, 404, "", "", ""},
		{"GET", posting{path: getMatch, method: http.MethodGet, as: "east"}, 405, "", "", "POST"},
		{"preflight", posting{path: getMatch, method: http.MethodOptions,
			header: map[string]string{"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}}, 405, "", "", "POST"},
		{"a form", posting{path: getMatch, body: mine, as: "east", header: map[string]string{"Content-Type": "text/plain"}}, 415, "", "", "application/json"},
		{"compressed", posting{path: getMatch, body: mine, as: "east", header: map[string]string{"Content-Encoding": "gzip"}}, 415, "", "", "not compressed"},
		{"gRPC", posting{path: getMatch, body: mine, as: "east", header: map[string]string{"Content-Type": "application/grpc"}}, 415, "", "", ""},
		{"longest header", posting{path: getMatch, body: mine, as: "east", header: map[string]string{"X-Long": strings.Repeat("x", maxHeaderBytes+8<<10)}}, 431, "-", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.code == "-" { // refused by net/http itself, before any header of ours
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+c.posting.path, nil)
				must(t, err)
				request.Header.Set("X-Long", c.posting.header["X-Long"])
				response, err := http.DefaultClient.Do(request)
				must(t, err)
				_ = response.Body.Close()
				if response.StatusCode != c.status {
					t.Errorf("got %s", response.Status)
				}
				return
			}
			response, body := r.post(url, c.posting)
			for strings.Contains(body, "context deadline exceeded") { // its time ran out before it could be looked at
				response, body = r.post(url, c.posting)
			}
			if response.code != c.status || !strings.Contains(body, c.says) {
				t.Fatalf("got %d %s, want %d and %q", response.code, body, c.status, c.says)
			}
			if c.code == "" {
				return
			}
			var got connectError
			must(t, json.Unmarshal([]byte(body), &got))
			if got.Code != c.code || got.reason(t) != c.reason || got.Message == "" {
				t.Errorf("got %s with reason %q, want %s with %q: %s", got.Code, got.reason(t), c.code, c.reason, body)
			}
		})
	}
	if got := table.room.seqOf(table.id); got != table.game.GetNextSeq() {
		t.Errorf("refusals moved the game's log from %d to %d", table.game.GetNextSeq(), got)
	}
}

// seqOf is the number of a game's next event.
func (r *room) seqOf(match string) uint32 {
	got, err := r.match.GetGame(r.as("east"), &refereev1.GetGameRequest{MatchId: match})
	must(r.t, err)
	return got.GetGame().GetNextSeq()
}

// TestWebTakesJSONHoweverItIsSpelt: clients add the charset with and without a
// space, in any case, and name the encoding that there is none.
func TestWebTakesJSONHoweverItIsSpelt(t *testing.T) {
	r := newRoom(t, options{})
	url := r.web(nil)
	for _, header := range []map[string]string{
		{"Content-Type": "application/json;charset=utf-8"}, {"Content-Type": "application/json; charset=UTF-8"},
		{"Content-Type": `Application/JSON; charset="utf-8"`}, {"Content-Encoding": "identity"},
		{"Connect-Timeout-Ms": "9999999999"},
	} {
		response, body := r.post(url, posting{path: "/referee.v1.RulesService/ListRulesets", body: "{}", as: "east", header: header})
		if response.code != http.StatusOK || !strings.Contains(body, "7club-standard") {
			t.Errorf("%v: %d %s", header, response.code, body)
		}
	}
}

// TestWebConnectionsAreLimited: the HTTP port too takes so many connections and
// closes others as they come, and has a place again once one is gone.
func TestWebConnectionsAreLimited(t *testing.T) {
	limits := quickLimits()
	limits.conns = 2
	r := newRoom(t, options{limits: limits})
	address := strings.TrimPrefix(r.web(nil), "http://")
	dial := func() net.Conn {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		must(t, err)
		must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
		return conn
	}
	served := func(conn net.Conn) bool {
		_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		n, _ := conn.Read(make([]byte, 1))
		return n == 1
	}
	first, second := dial(), dial()
	defer func() { _ = second.Close() }()
	if !served(first) || !served(second) {
		t.Fatal("two connections are not served")
	}
	third := dial()
	if served(third) {
		t.Error("a third connection is served")
	}
	must(t, errors.Join(third.Close(), first.Close()))
	for again := false; !again; {
		conn := dial()
		again = served(conn)
		must(t, conn.Close())
	}
}

func TestWebHealth(t *testing.T) {
	var broken atomic.Bool
	r := newRoom(t, options{ready: func(context.Context) error {
		if broken.Load() {
			return io.ErrUnexpectedEOF
		}
		return nil
	}})
	url := r.web(nil)
	await := func(status int, says string) {
		t.Helper()
		for {
			response, body := r.post(url, posting{path: "/healthz", method: http.MethodGet})
			if response.code == status {
				if strings.TrimSpace(body) != says {
					t.Errorf("%d says %q", status, body)
				}
				return
			}
		}
	}
	await(http.StatusOK, "SERVING")
	broken.Store(true)
	await(http.StatusServiceUnavailable, "NOT_SERVING")
}

// TestWebDrain has a page under way when the server drains: it is finished, and
// what takes longer than the drain may is cut off.
func TestWebDrain(t *testing.T) {
	for name, patient := range map[string]bool{"finished": true, "cut off": false} {
		t.Run(name, func(t *testing.T) {
			entered, release := make(chan struct{}), make(chan struct{})
			r := newRoom(t, options{})
			url := r.web(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				close(entered)
				<-release
				_, _ = io.WriteString(w, "whole")
			}))
			answered := make(chan string, 1)
			go func() {
				response, err := http.Get(url + "/page")
				if err != nil {
					answered <- ""
					return
				}
				defer func() { _ = response.Body.Close() }()
				body, _ := io.ReadAll(response.Body)
				answered <- string(body)
			}()
			<-entered
			ctx, cancel := context.WithCancel(t.Context())
			drained := make(chan struct{})
			go func() { defer close(drained); r.server.Drain(ctx) }()
			<-r.server.draining.Done()
			want := ""
			if patient {
				want = "whole"
				close(release)
			} else {
				defer close(release)
				cancel()
			}
			if got := <-answered; got != want {
				t.Errorf("the page under way came as %q, want %q", got, want)
			}
			<-drained
			cancel()
			_, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
			if err == nil {
				t.Error("the port is still open")
			}
		})
	}
}

// A server that is drained before it serves, as one that is stopped while it starts,
// closes what it was given to serve on and fails at nothing.
func TestDrainBeforeServing(t *testing.T) {
	r := newRoom(t, options{})
	r.server.Drain(t.Context())
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	if err := r.server.Serve(lis); err != nil {
		t.Errorf("serving ended: %v", err)
	}
	if _, err := lis.Accept(); err == nil {
		t.Error("the listener is open")
	}
}

// TestWebPanics has a handler that panics with what must not be logged.
func TestWebPanics(t *testing.T) {
	var logged bytes.Buffer
	w := newWebServer((&Server{log: slog.Default()}).newGRPC(), slog.New(slog.NewTextHandler(&logged, nil)))
	defer w.drain(t.Context())
	answer := httptest.NewRecorder()
	w.recovering(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("b3 hides the general") })).
		ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	if answer.Code != http.StatusInternalServerError || strings.Contains(answer.Body.String(), "general") {
		t.Errorf("answered %d %s", answer.Code, answer.Body)
	}
	if !strings.Contains(logged.String(), "TestWebPanics") || strings.Contains(logged.String(), "general") {
		t.Errorf("logged %s", &logged)
	}
}

// TestWebReadingEnds: the deadline for reading a request is not one for answering
// it, as it would be for a stream.
func TestWebReadingEnds(t *testing.T) {
	r := newRoom(t, options{})
	const limit = time.Second
	r.server.web.http.ReadTimeout = limit
	url := r.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(limit + limit/5):
			_, _ = io.WriteString(w, "whole")
		}
	}))
	if _, body := r.post(url, posting{path: "/page", method: http.MethodGet}); body != "whole" {
		t.Errorf("the page came as %q", body)
	}
}

// TestInProcess calls without a port, and is asked for a token all the same.
func TestInProcess(t *testing.T) {
	r := newRoom(t, options{})
	table := r.create()
	client := refereev1.NewMatchServiceClient(r.server.InProcess())
	got, err := client.GetMatch(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+secretOf("east")),
		&refereev1.GetMatchRequest{MatchId: table.id})
	if err != nil || got.GetMatch().GetMatchId() != table.id {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = client.GetMatch(t.Context(), &refereev1.GetMatchRequest{MatchId: table.id})
	if reason := reasonOf(statusOf(err)); reason != string(reasonUnauthenticated) {
		t.Errorf("without a token: %v", err)
	}
}
