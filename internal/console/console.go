// Package console is web pages for auditors, and for whoever plays: read-only, drawn by the server from
// what the contract answers to the viewer's own token. It is a client like any
// other, so that whoever may not see something by an RPC can't see it here.
//
// One file holds a page; game.go says what is on a game's page, and a file for
// each family of games how its board is drawn (darkchess.go). Templates, style
// and script are embedded as they are; there is no build step.
package console

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"referee.example/internal/deal"
	refereev1 "referee.example/proto/referee/v1"
)

// root is where the pages are.
const root = "/console/"

// Limits of a request.
const (
	maxFormBytes  = 8 << 10
	pageTimeout   = 10 * time.Second // to draw a page
	verifyTimeout = 25 * time.Second // to judge a match anew
)

// contentSecurityPolicy lets a page load this server's own script, style and
// pictures, and ask this server; nothing written into a page can run.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Config is what a console needs.
type Config struct {
	// Contract is where its calls go, each with the viewer's token.
	Contract grpc.ClientConnInterface
	// Keys seal the sessions, so that every replica with the same keys knows them.
	Keys   deal.Keyring
	Logger *slog.Logger
}

// console serves the pages.
type console struct {
	match    refereev1.MatchServiceClient
	rules    refereev1.RulesServiceClient
	audit    refereev1.AuditServiceClient
	sessions sessions
	pages    pages
	log      *slog.Logger
}

// New returns the handler of the console's paths and of "/", which leads there.
func New(config Config) http.Handler {
	c := &console{
		match:    refereev1.NewMatchServiceClient(config.Contract),
		rules:    refereev1.NewRulesServiceClient(config.Contract),
		audit:    refereev1.NewAuditServiceClient(config.Contract),
		sessions: sessions{keys: config.Keys, now: time.Now},
		pages:    newPages(), log: config.Logger,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, root, http.StatusSeeOther) })
	mux.HandleFunc("GET /console/{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, root+"games", http.StatusSeeOther)
	})
	mux.Handle("GET /console/assets/", http.StripPrefix("/console/assets/", assets()))
	mux.HandleFunc("GET /console/login", c.loginForm)
	mux.HandleFunc("POST /console/login", c.login)
	mux.HandleFunc("POST /console/logout", c.logout)
	mux.HandleFunc("GET /console/games", c.page(pageTimeout, c.games))
	mux.HandleFunc("GET /console/matches", c.page(pageTimeout, c.matches))
	mux.HandleFunc("GET /console/find", c.stream(c.find))
	mux.HandleFunc("GET /console/matches/{match}", c.page(pageTimeout, c.matchPage))
	mux.HandleFunc("GET /console/matches/{match}/games/{game}", c.page(pageTimeout, c.gamePage))
	mux.HandleFunc("GET /console/matches/{match}/games/{game}/verification", c.page(verifyTimeout, c.verification))
	mux.HandleFunc("GET /console/matches/{match}/export.jsonl", c.stream(c.exportJSON))
	mux.HandleFunc("GET /console/matches/{match}/export.txt", c.stream(c.exportText))
	mux.HandleFunc("GET /console/matches/{match}/live", c.stream(c.live))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { c.fail(w, r, status.Error(codes.NotFound, "")) })
	// Only sign-in and sign-out change anything; no other site may cause them.
	return withPolicy(c.readable(remembering(http.NewCrossOriginProtection().Handler(mux))))
}

func withPolicy(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", contentSecurityPolicy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// readable lets only requests through whose text the contract could take: what is
// no UTF-8 names nothing.
func (c *console) readable(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, err := url.QueryUnescape(r.URL.RawQuery)
		if err != nil || !utf8.ValidString(r.URL.Path+query+r.Header.Get(lastEventHeader)) {
			c.fail(w, r, errNotFound)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// view is one page to be drawn.
type view struct {
	template string
	title    string
	status   int // 200 unless set
	body     any
}

// page draws a page for whoever has signed in.
func (c *console) page(limit time.Duration, draw func(ctx context.Context, r *http.Request, say words) (view, error)) http.HandlerFunc {
	return c.signedIn(func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		v, err := draw(ctx, r, c.pages.words(r))
		if err != nil {
			c.fail(w, r, err)
			return
		}
		c.show(w, r, v, true)
	})
}

// stream answers with something else than a page.
func (c *console) stream(send func(ctx context.Context, w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return c.signedIn(func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		if err := send(ctx, w, r); err != nil {
			c.fail(w, r, err)
		}
	})
}

// signedIn lets a request through with the viewer's token in its context, and
// sends others to sign in.
func (c *console) signedIn(next func(context.Context, http.ResponseWriter, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token, ok := c.sessions.token(r)
		if !ok {
			c.sendToLogin(w, r)
			return
		}
		next(withToken(r.Context(), token), w, r)
	}
}

func withToken(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

// show draws a page whole before a byte of it leaves: half a page is worse than
// an error.
func (c *console) show(w http.ResponseWriter, r *http.Request, v view, signedIn bool) {
	say := c.pages.words(r)
	var out bytes.Buffer
	err := c.pages.draw(&out, v.template, frame{
		words: say, Title: v.title, Here: r.URL.RequestURI(), SignedIn: signedIn, Body: v.body,
		Other: say.other(), OtherHere: withQuery(r.URL, languageParameter, say.other().Tag),
	})
	if err != nil {
		c.log.Error("drawing a page", "template", v.template, "cause", err)
		http.Error(w, "a fault of the server", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if v.status != 0 {
		w.WriteHeader(v.status)
	}
	_, _ = w.Write(bytes.Map(legible, out.Bytes())) // fails only when the viewer is gone
}

// legible puts a mark in the place of what would show a page otherwise than it is
// written: an id with a character that turns the direction of text around would
// have "wins" read of the other player. Pages hold no such character of their own,
// and the addresses in them are escaped.
func legible(r rune) rune {
	turns := r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
	if turns || unicode.IsControl(r) && r != '\n' && r != '\t' {
		return unicode.ReplacementChar
	}
	return r
}

// failures are how refusals are shown.
var failures = map[codes.Code]int{
	codes.NotFound: http.StatusNotFound, codes.PermissionDenied: http.StatusForbidden,
	// What is malformed in a path names nothing; a search shows its own faults.
	codes.InvalidArgument: http.StatusNotFound, codes.Unavailable: http.StatusServiceUnavailable,
	codes.ResourceExhausted: http.StatusServiceUnavailable, codes.DeadlineExceeded: http.StatusGatewayTimeout,
	codes.FailedPrecondition: http.StatusConflict,
	codes.Canceled:           http.StatusServiceUnavailable, // the viewer has gone, and reads it no more
}

// failure is what the page of a refusal says.
type failure struct {
	Key    string // of the text
	Reason string // the contract's
}

// fail shows a refusal of a call. The contract answers what is not there and
// what the viewer may not see alike, and so does the page.
func (c *console) fail(w http.ResponseWriter, r *http.Request, err error) {
	st := status.Convert(err)
	if st.Code() == codes.Unauthenticated { // the token was withdrawn
		c.sessions.end(w, r)
		c.sendToLogin(w, r)
		return
	}
	code, known := failures[st.Code()]
	if !known {
		code = http.StatusInternalServerError
		c.log.Error("a page could not be made", "path", r.URL.Path, "code", st.Code().String())
	}
	say := c.pages.words(r)
	f := failure{Key: "failure.other", Reason: reasonOf(st)}
	switch {
	case code == http.StatusNotFound:
		f.Key = "failure.not_found"
	case code == http.StatusForbidden:
		f.Key = "failure.forbidden"
	case code == http.StatusServiceUnavailable, code == http.StatusGatewayTimeout:
		f.Key = "failure.unavailable"
	case f.Reason == refereev1.ErrorReason_ERROR_REASON_LOG_DETACHED.String()[len("ERROR_REASON_"):]:
		f.Key = "failure.detached"
	}
	_, signedIn := c.sessions.token(r)
	c.show(w, r, view{template: "failure", title: say.T(f.Key), status: code, body: f}, signedIn)
}

func reasonOf(st *status.Status) string {
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}

// errNotFound is a path that names nothing, as of a game called "x".
var errNotFound = status.Error(codes.NotFound, "")

// inside reports whether an address, a path with its query, leads to the console
// and nowhere else: browsers follow the dots in it.
func inside(address string) bool {
	u, err := url.Parse(address)
	return err == nil && strings.HasPrefix(address, root) && !strings.ContainsAny(address, "\\\r\n") &&
		strings.HasPrefix(path.Clean(u.Path)+"/", root)
}
