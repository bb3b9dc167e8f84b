package server

import (
	"bytes"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Limits of a key set and of the tokens signed under it.
const (
	maxIssuerKeys  = 100
	maxKeySetBytes = 1 << 20
	leastRSABits   = 2048
	maxJWTBytes    = 8 << 10
	maxJWTAge      = 24 * time.Hour   // from nbf or iat to exp
	clockLeeway    = 30 * time.Second // between the issuer's clock and ours
)

// jwtAlgorithms are those by which a token may be signed: none that shares a
// secret, which whoever checks a token could then make one with.
var jwtAlgorithms = []jose.SignatureAlgorithm{jose.EdDSA, jose.ES256, jose.ES384, jose.PS256, jose.RS256}

// Issuer is who signs JSON Web Tokens (RFC 7519) that the service accepts beside
// those of the token file. It does not change; a rotated key set is another one.
type Issuer struct {
	name, audience string
	keys           map[string]jose.JSONWebKey // by key id
}

// ParseIssuer reads an issuer's JSON Web Key Set (RFC 7517). name is the "iss"
// and audience one "aud" that its tokens must have. It refuses a key that has no
// id, that is secret, that is short, or that is for another use than signing.
func ParseIssuer(name, audience string, keySet []byte) (*Issuer, error) {
	if len(keySet) > maxKeySetBytes {
		return nil, fmt.Errorf("key set: must have at most %d bytes", maxKeySetBytes)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	d := json.NewDecoder(bytes.NewReader(keySet))
	if err := d.Decode(&set); err != nil {
		return nil, errors.New("key set: must be a JSON Web Key Set") // the decoder's text may quote a key
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("key set: must be one JSON object")
	}
	if len(set.Keys) < 1 || len(set.Keys) > maxIssuerKeys {
		return nil, fmt.Errorf("key set: must have from 1 to %d keys", maxIssuerKeys)
	}
	issuer := &Issuer{name: name, audience: audience, keys: make(map[string]jose.JSONWebKey, len(set.Keys))}
	for i, raw := range set.Keys {
		var key jose.JSONWebKey
		if err := key.UnmarshalJSON(raw); err != nil {
			return nil, fmt.Errorf("key set: key %d can't be read", i+1)
		}
		if err := checkKey(&key); err != nil {
			return nil, fmt.Errorf("key set: key %d (%q): %w", i+1, key.KeyID, err)
		}
		if _, twice := issuer.keys[key.KeyID]; twice {
			return nil, fmt.Errorf("key set: key %d (%q): its kid is there twice", i+1, key.KeyID)
		}
		issuer.keys[key.KeyID] = key
	}
	return issuer, nil
}

func checkKey(key *jose.JSONWebKey) error {
	rsaKey, isRSA := key.Key.(*rsa.PublicKey)
	switch {
	case !key.IsPublic():
		return errors.New("must be a public key")
	case !key.Valid():
		return errors.New("is no valid key")
	case key.KeyID == "":
		return errors.New("must have a kid")
	case key.Use != "" && key.Use != "sig":
		return errors.New(`use must be "sig"`)
	case key.Algorithm != "" && !slices.Contains(jwtAlgorithms, jose.SignatureAlgorithm(key.Algorithm)):
		return fmt.Errorf("alg must be one of %v", jwtAlgorithms)
	case isRSA && rsaKey.N.BitLen() < leastRSABits:
		return fmt.Errorf("must have at least %d bits", leastRSABits)
	}
	return nil
}

// claims are what the service reads of a token beside the registered ones.
type claims struct {
	Scope    string `json:"scope"` // separated by spaces, as in RFC 9068
	Platform string `json:"platform"`
	Player   string `json:"player"`
}

// errNoJWT is any fault of a token that its holder need not be told.
var errNoJWT = errors.New("not a token of the issuer")

// verify returns what a signed token allows at the time. Whatever is wrong with
// the signature is errNoJWT.
func (i *Issuer) verify(text string, now time.Time) (*Token, error) {
	if len(text) > maxJWTBytes {
		return nil, errNoJWT
	}
	parsed, err := jwt.ParseSigned(text, jwtAlgorithms)
	if err != nil || len(parsed.Headers) != 1 {
		return nil, errNoJWT
	}
	header := parsed.Headers[0]
	key, known := i.keys[header.KeyID]
	if !known || key.Algorithm != "" && key.Algorithm != header.Algorithm {
		return nil, errNoJWT
	}
	var registered jwt.Claims
	var own claims
	if err := parsed.Claims(key.Key, &registered, &own); err != nil {
		return nil, errNoJWT
	}
	if err := i.checkRegistered(&registered, now); err != nil {
		return nil, err
	}
	token := &Token{
		// The issuer's name keeps its subjects apart from the names of the token file.
		Name: registered.Subject + "@" + i.name, Platform: own.Platform, Player: own.Player,
		Scopes: strings.Fields(own.Scope), until: registered.Expiry.Time(),
	}
	if err := token.check(); err != nil {
		return nil, fmt.Errorf("the token's claims are not those of a token: %w", err)
	}
	return token, nil
}

func (i *Issuer) checkRegistered(c *jwt.Claims, now time.Time) error {
	begin := c.NotBefore
	if begin == nil {
		begin = c.IssuedAt
	}
	switch {
	case c.Issuer != i.name || !c.Audience.Contains(i.audience):
		return errNoJWT
	case c.Subject == "":
		return errors.New("the token has no sub")
	case c.Expiry == nil || begin == nil:
		return errors.New("the token must have exp, and nbf or iat")
	case c.Expiry.Time().Sub(begin.Time()) > maxJWTAge:
		return fmt.Errorf("the token must not be valid for more than %v", maxJWTAge)
	case !now.Before(c.Expiry.Time().Add(clockLeeway)):
		return errors.New("the token has expired")
	case now.Before(begin.Time().Add(-clockLeeway)):
		return errors.New("the token is not valid yet")
	}
	return nil
}
