package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/metadata"
)

// verifiedTokens bounds the signed tokens whose verification is remembered.
const verifiedTokens = 4096

// Access is who may call: the tokens of a file and, if there is one, an issuer of
// signed ones. It does not change; SetAccess exchanges it.
type Access struct {
	tokens Tokens
	issuer *Issuer

	mu       sync.Mutex
	verified map[[sha256.Size]byte]*Token
}

// NewAccess returns the access of the tokens and, unless it is nil, of the issuer.
func NewAccess(tokens Tokens, issuer *Issuer) *Access {
	return &Access{tokens: tokens, issuer: issuer, verified: map[[sha256.Size]byte]*Token{}}
}

// SetAccess lets those call from now on whom the access knows. Streams that are
// open stay.
func (s *Server) SetAccess(a *Access) { s.access.Store(a) }

// errUnknownToken means that a call has no token, or none that is known.
var errUnknownToken = errors.New(`a known token must be sent as the header "authorization: Bearer ..."`)

// find returns the token of a call's authorization header.
func (a *Access) find(ctx context.Context, now time.Time) (*Token, error) {
	values := metadata.ValueFromIncomingContext(ctx, "authorization")
	if len(values) != 1 {
		return nil, errUnknownToken
	}
	kind, text, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(kind, "bearer") {
		return nil, errUnknownToken
	}
	// Hashes are compared, so that a lookup takes the same time whatever part of
	// a token was guessed.
	digest := sha256.Sum256([]byte(text))
	if token := a.tokens.byHash[digest]; token != nil {
		return token, nil
	}
	if a.issuer == nil || strings.Count(text, ".") != 2 {
		return nil, errUnknownToken
	}
	return a.signed(text, digest, now)
}

// signed verifies a signed token, once while it is valid.
func (a *Access) signed(text string, digest [sha256.Size]byte, now time.Time) (*Token, error) {
	a.mu.Lock()
	token := a.verified[digest]
	a.mu.Unlock()
	if token != nil && now.Before(token.until) {
		return token, nil
	}
	token, err := a.issuer.verify(text, now)
	if errors.Is(err, errNoJWT) {
		return nil, errUnknownToken
	}
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.verified) >= verifiedTokens {
		clear(a.verified)
	}
	a.verified[digest] = token
	return token, nil
}
