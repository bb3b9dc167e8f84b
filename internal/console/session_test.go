package console

import (
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"referee.example/internal/deal"
)

func testKeys(t *testing.T, text string) deal.Keyring {
	t.Helper()
	keys, err := deal.ParseKeyring(text)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func keyLine(id string, fill byte) string {
	key := make([]byte, deal.KeySize)
	for i := range key {
		key[i] = fill
	}
	return id + ":" + base64.StdEncoding.EncodeToString(key) + "\n"
}

// begun returns the cookie of a new session.
func begun(t *testing.T, s sessions, host, token string) *http.Cookie {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "http://"+host+"/console/login", nil)
	s.begin(w, r, token)
	cookies := w.Result().Cookies()
	if len(cookies) != 1 {
		t.Fatalf("%d cookies were set", len(cookies))
	}
	return cookies[0]
}

// token reads a session from a cookie's value.
func tokenOf(s sessions, value string) string {
	r := httptest.NewRequest(http.MethodGet, "http://referee.example/console/games", nil)
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: value})
	token, _ := s.token(r)
	return token
}

func TestSession(t *testing.T) {
	const secret = "a-very-secret-token"
	now := time.Unix(1_800_000_000, 0)
	old := testKeys(t, keyLine("k1", 1))
	s := sessions{keys: old, now: func() time.Time { return now }}
	cookie := begun(t, s, "referee.example", secret)
	if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/console/" {
		t.Errorf("the cookie is %v", cookie)
	}
	if begun(t, s, "127.0.0.1:8080", secret).Secure || begun(t, s, "localhost:8080", secret).Secure || begun(t, s, "[::1]:8080", secret).Secure {
		t.Error("a browser on this machine could not keep the session")
	}
	raw, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || strings.Contains(string(raw), secret) || strings.Contains(cookie.Value, secret) {
		t.Errorf("the cookie shows the token, or %v", err)
	}
	if got := tokenOf(s, cookie.Value); got != secret {
		t.Errorf("the session holds %q", got)
	}
	if begun(t, s, "referee.example", secret).Value == cookie.Value {
		t.Error("two sessions have the same cookie")
	}

	rotated := sessions{keys: testKeys(t, keyLine("k2", 2)+keyLine("k1", 1)), now: s.now}
	if got := tokenOf(rotated, cookie.Value); got != secret {
		t.Errorf("after a rotation of keys the session holds %q", got)
	}
	foreign := sessions{keys: testKeys(t, keyLine("k1", 9)), now: s.now}
	if got := tokenOf(foreign, cookie.Value); got != "" {
		t.Errorf("under another key the session holds %q", got)
	}
	for at := range raw {
		raw[at] ^= 1
		if got := tokenOf(s, base64.RawURLEncoding.EncodeToString(raw)); got != "" {
			t.Fatalf("with byte %d changed the session holds %q", at, got)
		}
		raw[at] ^= 1
	}
	// A deal's seed is sealed under the same keyring for another purpose.
	seed := old.Seal(deal.Context{}, "server_seed", []byte("12345678another"), [12]byte{1})
	for _, value := range []string{"", "x", "%%%", strings.Repeat("A", maxCookieBytes+1), base64.RawURLEncoding.EncodeToString(seed)} {
		if got := tokenOf(s, value); got != "" {
			t.Errorf("%.20q is a session of %q", value, got)
		}
	}
	long := strings.Repeat("t", maxTokenBytes)
	ring := sessions{keys: testKeys(t, keyLine(strings.Repeat("k", deal.MaxKeyIDBytes), 3)), now: s.now}
	longest := begun(t, ring, "referee.example", long)
	if got := len(longest.String()); got > 4096 || tokenOf(ring, longest.Value) != long {
		t.Errorf("the longest token makes a cookie of %d bytes, which browsers do not keep, or is forgotten", got)
	}
	now = now.Add(sessionLife - time.Second)
	if tokenOf(s, cookie.Value) != secret {
		t.Error("the session ended early")
	}
	now = now.Add(time.Second)
	if tokenOf(s, cookie.Value) != "" {
		t.Error("the session outlived its end")
	}
}

// TestWhoGoesIsNoFault: a viewer who leaves a page before it is there puts no error
// into the log.
func TestWhoGoesIsNoFault(t *testing.T) {
	var logged strings.Builder
	c := &console{pages: newPages(), log: slog.New(slog.NewTextHandler(&logged, nil)), sessions: sessions{keys: testKeys(t, keyLine("one", 1)), now: time.Now}}
	for code, faulty := range map[codes.Code]bool{codes.Canceled: false, codes.NotFound: false, codes.Internal: true} {
		logged.Reset()
		c.fail(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/console/games", nil), status.Error(code, ""))
		if got := strings.Contains(logged.String(), "level=ERROR"); got != faulty {
			t.Errorf("%v: an error is logged: %t", code, got)
		}
	}
}

func TestInside(t *testing.T) {
	for path, want := range map[string]bool{
		"/console/games?player_id=x": true, "/console/": true, "": false, "/": false, "//evil.example/console/": false,
		"https://evil.example/console/": false, "/console/\\evil": false, "/console/\r\nSet-Cookie: x": false, "/healthz": false,
		"/console/../healthz": false, "/console/%2e%2e/healthz": false, "/console/matches/../../x": false, "/console/..//evil.example/": false,
		"/console/%zz": false, "/console/matches/x/../y?ref=/../": true,
	} {
		if got := inside(path); got != want {
			t.Errorf("inside(%q) = %t", path, got)
		}
	}
}
