package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"referee.example/internal/referee"
)

// Scopes of a token.
const (
	ScopePlay    = "play"    // play the platform's matches
	ScopeAudit   = "audit"   // read the history
	ScopeOperate = "operate" // void, rule and compensate
)

// EveryPlatform is the platform of a token that is bound to none.
const EveryPlatform = "*"

// Token is what a bearer token allows. The token itself is not kept.
type Token struct {
	// Name is who holds it; it is recorded with what the token changed.
	Name string `json:"name"`
	// SHA256 is the hexadecimal SHA-256 of the token.
	SHA256 string `json:"sha256"`
	// Platform whose matches it sees; EveryPlatform for auditors and operators
	// of all.
	Platform string   `json:"platform"`
	Scopes   []string `json:"scopes"`
	// Player limits a token for play to one player's seats; empty for no limit.
	Player string `json:"player,omitempty"`

	until time.Time // when it expires; zero for never
}

// has reports whether the token has one of the scopes; no scopes ask for none.
func (t *Token) has(scopes []string) bool {
	return len(scopes) == 0 || slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(t.Scopes, s) })
}

// Tokens are the known tokens by the hash of their text, so that a lookup takes
// the same time whatever part of a token was guessed.
type Tokens struct{ byHash map[[sha256.Size]byte]*Token }

// NewTokens checks the tokens and makes them ready.
func NewTokens(list []Token) (Tokens, error) {
	tokens := Tokens{byHash: make(map[[sha256.Size]byte]*Token, len(list))}
	names := map[string]bool{}
	for i := range list {
		token := list[i]
		if err := token.check(); err != nil {
			return Tokens{}, fmt.Errorf("token %d (%q): %w", i+1, token.Name, err)
		}
		digest, err := hex.DecodeString(token.SHA256)
		if err != nil || len(digest) != sha256.Size {
			return Tokens{}, fmt.Errorf("token %d (%q): sha256 must be %d hexadecimal digits", i+1, token.Name, 2*sha256.Size)
		}
		if key := [sha256.Size]byte(digest); names[token.Name] || tokens.byHash[key] != nil {
			return Tokens{}, fmt.Errorf("token %d (%q): name or token is there twice", i+1, token.Name)
		}
		names[token.Name] = true
		tokens.byHash[[sha256.Size]byte(digest)] = &token
	}
	return tokens, nil
}

func (t *Token) check() error {
	every := t.Platform == EveryPlatform
	switch {
	case len(t.Name) < 1 || len(t.Name) > 128:
		return fmt.Errorf("name must have from 1 to 128 bytes")
	case len(t.Platform) < 1 || len(t.Platform) > 128:
		return fmt.Errorf("platform must have from 1 to 128 bytes")
	case len(t.Scopes) == 0:
		return fmt.Errorf("scopes must not be empty")
	case slices.ContainsFunc(t.Scopes, func(s string) bool { return s != ScopePlay && s != ScopeAudit && s != ScopeOperate }):
		return fmt.Errorf("scopes must be %q, %q or %q", ScopePlay, ScopeAudit, ScopeOperate)
	case every && slices.Contains(t.Scopes, ScopePlay):
		return fmt.Errorf("a token for play must name its platform")
	case t.Player != "" && !slices.Equal(t.Scopes, []string{ScopePlay}):
		return fmt.Errorf("a token that is limited to a player is for play only")
	}
	return nil
}

// ParseTokens reads a token file: a JSON array of Token. Unknown fields are refused.
func ParseTokens(content []byte) (Tokens, error) {
	var list []Token
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return Tokens{}, fmt.Errorf("token file: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Tokens{}, fmt.Errorf("token file: must be one JSON array")
	}
	return NewTokens(list)
}

// NewToken makes a random token and its SHA-256 as Token.SHA256 wants it.
func NewToken() (token, digest string) {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // documented never to fail
	token = base64.RawURLEncoding.EncodeToString(secret)
	sum := sha256.Sum256([]byte(token))
	return token, hex.EncodeToString(sum[:])
}

// tokenKey is the context's key of the call's token.
type tokenKey struct{}

// authenticate finds the token of a call and asks whether it may call the method.
func (s *Server) authenticate(ctx context.Context, method string) (context.Context, error) {
	token, err := s.access.Load().find(ctx, s.now())
	if err != nil {
		return ctx, &referee.Refusal{Reason: reasonUnauthenticated, Message: err.Error()}
	}
	scopes, known := scopesOf[method]
	if !known {
		return ctx, fmt.Errorf("no scopes are set for method %s", method)
	}
	if !token.has(scopes) {
		return ctx, &referee.Refusal{Reason: reasonScopeMissing,
			Message: "the token lacks the scope " + strings.Join(scopes, " or "),
			Meta:    map[string]string{"scope": strings.Join(scopes, " ")}}
	}
	return context.WithValue(ctx, tokenKey{}, token), nil
}

// now is the database's time where it is known, so that a replica whose own
// clock is wrong neither refuses good tokens nor accepts expired ones.
func (s *Server) now() time.Time {
	now, err := s.referee.Now()
	if err != nil {
		return time.Now()
	}
	return time.UnixMicro(int64(now))
}

// untilExpiry returns a stream's context, which ends when its token expires.
func (s *Server) untilExpiry(ctx context.Context) (context.Context, context.CancelFunc) {
	token := tokenOf(ctx)
	if token.until.IsZero() {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, token.until.Add(clockLeeway).Sub(s.now()), errTokenExpired)
}

// errTokenExpired ends a stream.
var errTokenExpired error = &referee.Refusal{Reason: reasonUnauthenticated, Message: "the stream's token has expired"}

// tokenOf returns the token that authenticate found.
func tokenOf(ctx context.Context) *Token {
	token, _ := ctx.Value(tokenKey{}).(*Token)
	return token
}

// reader is the caller of a call that records nothing.
func reader(ctx context.Context) referee.Caller {
	token := tokenOf(ctx)
	return referee.Caller{Platform: token.Platform, Player: token.Player, Plays: token.has(players)}
}

// caller is the caller of a call that may change something.
func (s *Server) caller(ctx context.Context) (referee.Caller, error) {
	caller := reader(ctx)
	id, err := s.history.Principal(ctx, tokenOf(ctx).Name)
	if err != nil {
		return caller, fmt.Errorf("principal of the token: %w", err)
	}
	caller.Principal, caller.Name = id, tokenOf(ctx).Name
	return caller, nil
}
