package console

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"net"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"referee.example/internal/deal"
	refereev1 "referee.example/proto/referee/v1"
)

// A session is a cookie that no script can read and no other site can send. It
// holds the viewer's token and an end, sealed with AES-256-GCM under a key that is
// derived from the service's keyring for this purpose alone: so any replica knows
// it, nothing is stored, and whoever steals it has neither the token nor a session
// that outlasts the day. The token is looked at anew with every call: withdrawing
// it ends its sessions.
const (
	sessionCookie  = "referee_session"
	sessionPurpose = "console_session"
	sessionLife    = 12 * time.Hour
	maxTokenBytes  = 2700        // so that the cookie fits
	maxCookieBytes = 4<<10 - 256 // of the 4096 that browsers keep, attributes included
	endBytes       = 8
)

type sessions struct {
	keys deal.Keyring
	now  func() time.Time
}

// begin sets the cookie of a new session.
func (s sessions) begin(w http.ResponseWriter, r *http.Request, token string) {
	var nonce [12]byte
	_, _ = rand.Read(nonce[:]) // documented never to fail
	plain := binary.BigEndian.AppendUint64(nil, uint64(s.now().Add(sessionLife).Unix()))
	sealed := s.keys.Seal(deal.Context{}, sessionPurpose, append(plain, token...), nonce)
	http.SetCookie(w, cookie(r, base64.RawURLEncoding.EncodeToString(sealed), int(sessionLife/time.Second)))
}

// end takes the cookie back.
func (s sessions) end(w http.ResponseWriter, r *http.Request) { http.SetCookie(w, cookie(r, "", -1)) }

func cookie(r *http.Request, value string, seconds int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure but for a browser on this machine, where there is no TLS
		Name: sessionCookie, Value: value, Path: root, MaxAge: seconds,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: !fromThisMachine(r),
	}
}

// fromThisMachine reports whether the viewer's browser asked for a loopback
// address, where there is no TLS and no need for it. Elsewhere a browser keeps
// the cookie only if it came by HTTPS.
func fromThisMachine(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// token returns the token of a request's session, if there is one that stands.
func (s sessions) token(r *http.Request) (string, bool) {
	set, err := r.Cookie(sessionCookie)
	if err != nil || len(set.Value) > maxCookieBytes {
		return "", false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(set.Value)
	if err != nil {
		return "", false
	}
	plain, err := s.keys.Open(deal.Context{}, sessionPurpose, sealed)
	if err != nil || len(plain) <= endBytes || s.now().Unix() >= int64(binary.BigEndian.Uint64(plain)) {
		return "", false
	}
	return string(plain[endBytes:]), true
}

// loginPage is what the form of the sign-in knows.
type loginPage struct {
	Next    string // path to go to afterwards
	Problem string // key of what was wrong, empty at first
	Plain   bool   // the browser came without TLS from another machine
}

func (c *console) loginForm(w http.ResponseWriter, r *http.Request) {
	c.showLogin(w, r, loginPage{Next: r.URL.Query().Get("next")}, http.StatusOK)
}

func (c *console) showLogin(w http.ResponseWriter, r *http.Request, p loginPage, code int) {
	p.Plain = r.TLS == nil && !fromThisMachine(r) && r.Header.Get("X-Forwarded-Proto") != "https"
	c.show(w, r, view{template: "login", title: c.pages.words(r).T("login.title"), status: code, body: p}, false)
}

// login begins a session for a token that is known.
func (c *console) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	if r.ParseForm() != nil {
		c.showLogin(w, r, loginPage{Problem: "login.unknown"}, http.StatusBadRequest)
		return
	}
	token, next := r.PostForm.Get("token"), r.PostForm.Get("next")
	problem, code := c.judge(r.Context(), token)
	if problem != "" {
		c.showLogin(w, r, loginPage{Next: next, Problem: problem}, code)
		return
	}
	c.sessions.begin(w, r, token)
	if !inside(next) {
		next = root
	}
	http.Redirect(w, r, next, http.StatusSeeOther) //nolint:gosec // inside has looked at it
}

// nobodysMatch has the form of a match's id and is none's.
const nobodysMatch = "ffffffff-ffff-7fff-bfff-ffffffffffff"

// judge asks the contract about a token by a call that every viewer must be able
// to make, and returns what is wrong with it.
func (c *console) judge(ctx context.Context, token string) (problem string, code int) {
	if token == "" || len(token) > maxTokenBytes || !printable(token) {
		return "login.unknown", http.StatusForbidden
	}
	ctx, cancel := context.WithTimeout(withToken(ctx, token), pageTimeout)
	defer cancel()
	_, err := c.match.GetMatch(ctx, &refereev1.GetMatchRequest{MatchId: nobodysMatch})
	switch status.Code(err) {
	case codes.NotFound:
		return "", 0
	case codes.Unauthenticated:
		return "login.unknown", http.StatusForbidden
	}
	return "failure.unavailable", http.StatusServiceUnavailable
}

// printable reports whether a text may stand in a header.
func printable(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

func (c *console) logout(w http.ResponseWriter, r *http.Request) {
	c.sessions.end(w, r)
	http.Redirect(w, r, root+"login", http.StatusSeeOther)
}

// sendToLogin sends a viewer to sign in and, for a page, back again.
func (c *console) sendToLogin(w http.ResponseWriter, r *http.Request) {
	to := root + "login"
	if here := r.URL.RequestURI(); inside(here) && here != root {
		to += "?next=" + url.QueryEscape(here)
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}
