package server

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	refereev1 "referee.example/proto/referee/v1"
)

const (
	testIssuer   = "https://id.example"
	testAudience = "referee"
)

// signer is a key of an issuer.
type signer struct {
	algorithm jose.SignatureAlgorithm
	id        string
	key       crypto.Signer
}

func newSigner(t testing.TB, algorithm jose.SignatureAlgorithm, id string) signer {
	t.Helper()
	var key crypto.Signer
	var err error
	switch algorithm {
	case jose.EdDSA:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case jose.ES256:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case jose.ES384:
		key, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	default:
		key, err = rsa.GenerateKey(rand.Reader, leastRSABits)
	}
	must(t, err)
	return signer{algorithm, id, key}
}

func (s signer) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: s.key.Public(), KeyID: s.id, Use: "sig", Algorithm: string(s.algorithm)}
}

// token signs claims, those of a good token with some changed.
func (s signer) token(t testing.TB, now time.Time, change map[string]any) string {
	t.Helper()
	claims := map[string]any{
		"iss": testIssuer, "aud": []string{"another", testAudience}, "sub": "backend-7", "platform": "east", "scope": "play audit",
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	for name, value := range change {
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
	}
	with, err := jose.NewSigner(jose.SigningKey{Algorithm: s.algorithm, Key: jose.JSONWebKey{Key: s.key, KeyID: s.id}}, nil)
	must(t, err)
	text, err := jwt.Signed(with).Claims(claims).Serialize()
	must(t, err)
	return text
}

func keySet(t testing.TB, signers ...signer) []byte {
	t.Helper()
	var set jose.JSONWebKeySet
	for _, s := range signers {
		set.Keys = append(set.Keys, s.public())
	}
	text, err := json.Marshal(set)
	must(t, err)
	return text
}

func issuerOf(t testing.TB, signers ...signer) *Issuer {
	t.Helper()
	issuer, err := ParseIssuer(testIssuer, testAudience, keySet(t, signers...))
	must(t, err)
	return issuer
}

func TestSignedTokens(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, algorithm := range jwtAlgorithms {
		s := newSigner(t, algorithm, "k")
		token, err := issuerOf(t, s).verify(s.token(t, now, map[string]any{"player": nil}), now)
		if err != nil || token.Name != "backend-7@"+testIssuer || token.Platform != "east" ||
			strings.Join(token.Scopes, " ") != "play audit" || !token.until.Equal(now.Add(time.Hour)) {
			t.Errorf("%s: %+v, %v", algorithm, token, err)
		}
	}
	s := newSigner(t, jose.EdDSA, "k")
	issuer := issuerOf(t, s, newSigner(t, jose.ES256, "k2"))
	token, err := issuer.verify(s.token(t, now, map[string]any{"scope": "play", "player": "ann"}), now)
	if err != nil || token.Player != "ann" {
		t.Errorf("limited to a player: %+v, %v", token, err)
	}
	for name, test := range map[string]struct {
		change map[string]any
		at     time.Duration
		want   string // "" for errNoJWT
	}{
		"another issuer":           {change: map[string]any{"iss": "https://other.example"}},
		"no issuer":                {change: map[string]any{"iss": nil}},
		"another audience":         {change: map[string]any{"aud": "another"}},
		"no audience":              {change: map[string]any{"aud": nil}},
		"no subject":               {change: map[string]any{"sub": nil}, want: "no sub"},
		"no expiry":                {change: map[string]any{"exp": nil}, want: "must have exp"},
		"no beginning":             {change: map[string]any{"iat": nil}, want: "nbf or iat"},
		"valid for too long":       {change: map[string]any{"exp": now.Add(24*time.Hour + time.Second).Unix()}, want: "24h"},
		"expired":                  {at: time.Hour + clockLeeway, want: "expired"},
		"not yet":                  {change: map[string]any{"nbf": now.Add(time.Minute).Unix()}, want: "not valid yet"},
		"no platform":              {change: map[string]any{"platform": nil}, want: "platform"},
		"platform of another kind": {change: map[string]any{"platform": 7}},
		"no scope":                 {change: map[string]any{"scope": ""}, want: "scopes"},
		"unknown scope":            {change: map[string]any{"scope": "play root"}, want: "scopes"},
		"every platform, play":     {change: map[string]any{"platform": "*"}, want: "must name its platform"},
		"player, but an auditor":   {change: map[string]any{"player": "ann"}, want: "for play only"},
		"long subject":             {change: map[string]any{"sub": strings.Repeat("s", 128)}, want: "name must"},
	} {
		_, err := issuer.verify(s.token(t, now, test.change), now.Add(test.at))
		if test.want == "" && !errors.Is(err, errNoJWT) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	for _, at := range []time.Duration{-clockLeeway, 0, time.Hour, time.Hour + clockLeeway - time.Second} {
		if _, err := issuer.verify(s.token(t, now, nil), now.Add(at)); err != nil {
			t.Errorf("%v after its time: %v", at, err)
		}
	}
}

// Forgeries: each would pass a verifier that believes a token's own header.
func TestForgedTokens(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	rsaKey, stranger := newSigner(t, jose.RS256, "k"), newSigner(t, jose.RS256, "k")
	issuer := issuerOf(t, rsaKey)
	good := rsaKey.token(t, now, nil)
	parts := strings.Split(good, ".")
	public, err := json.Marshal(rsaKey.public())
	must(t, err)
	shared, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: public}, (&jose.SignerOptions{}).WithHeader("kid", "k"))
	must(t, err)
	hmacked, err := jwt.Signed(shared).Claims(map[string]any{"iss": testIssuer}).Serialize()
	must(t, err)
	embedded, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: stranger.key}, &jose.SignerOptions{EmbedJWK: true})
	must(t, err)
	own, err := jwt.Signed(embedded).Claims(map[string]any{"iss": testIssuer}).Serialize()
	must(t, err)
	pss := signer{jose.PS256, "k", rsaKey.key}
	for name, text := range map[string]string{
		"no signature":               parts[0] + "." + parts[1] + ".",
		"alg none":                   "eyJhbGciOiJub25lIiwia2lkIjoiayJ9." + parts[1] + ".",
		"public key as shared":       hmacked,
		"a key of its own":           own,
		"a stranger's under the kid": stranger.token(t, now, nil),
		"unknown kid":                signer{jose.RS256, "k9", rsaKey.key}.token(t, now, nil),
		"another algorithm":          pss.token(t, now, nil),
		"changed claims":             parts[0] + "." + strings.Split(stranger.token(t, now, map[string]any{"platform": "west"}), ".")[1] + "." + parts[2],
		"too long":                   rsaKey.token(t, now, map[string]any{"x": strings.Repeat("x", maxJWTBytes)}),
		"empty parts":                "..",
	} {
		if token, err := issuer.verify(text, now); !errors.Is(err, errNoJWT) {
			t.Errorf("%s: %+v, %v", name, token, err)
		}
	}
	if _, err := issuer.verify(good, now); err != nil {
		t.Errorf("the good one: %v", err)
	}
}

func TestKeySets(t *testing.T) {
	good := newSigner(t, jose.ES256, "k")
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	must(t, err)
	set := func(keys ...jose.JSONWebKey) string {
		text, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
		must(t, err)
		return string(text)
	}
	change := func(f func(*jose.JSONWebKey)) string {
		key := good.public()
		f(&key)
		return set(key)
	}
	for name, test := range map[string]struct{ text, want string }{
		"no JSON":           {"keys", "must be a JSON Web Key Set"},
		"two objects":       {set(good.public()) + "{}", "one JSON object"},
		"no keys":           {`{"keys":[]}`, "from 1 to 100"},
		"too many":          {`{"keys":[` + strings.Repeat(`{},`, 100) + `{}]}`, "from 1 to 100"},
		"too long":          {strings.Repeat(" ", maxKeySetBytes+1), "at most"},
		"no key":            {`{"keys":[{"kty":"none"}]}`, "key 1 can't be read"},
		"a shared secret":   {`{"keys":[{"kty":"oct","kid":"k","k":"c2VjcmV0"}]}`, "public key"},
		"a private key":     {set(jose.JSONWebKey{Key: good.key, KeyID: "k"}), "public key"},
		"no kid":            {change(func(k *jose.JSONWebKey) { k.KeyID = "" }), "kid"},
		"for encryption":    {change(func(k *jose.JSONWebKey) { k.Use = "enc" }), "use"},
		"another algorithm": {change(func(k *jose.JSONWebKey) { k.Algorithm = "HS256" }), "alg"},
		"a short key":       {set(jose.JSONWebKey{Key: &small.PublicKey, KeyID: "k"}), "2048 bits"},
		"one kid twice":     {set(good.public(), newSigner(t, jose.EdDSA, "k").public()), "twice"},
	} {
		_, err := ParseIssuer(testIssuer, testAudience, []byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "c2VjcmV0") {
			t.Errorf("%s: the refusal quotes a secret: %v", name, err)
		}
	}
}

// A signed token works over the wire, only for its platform and scopes; a key
// that is rotated out takes its tokens along; a stream ends with its token.
func TestSignedTokensOverTheWire(t *testing.T) {
	r := newRoom(t, options{})
	now := time.Now()
	old, fresh := newSigner(t, jose.ES256, "old"), newSigner(t, jose.EdDSA, "new")
	use := func(signers ...signer) { r.server.SetAccess(NewAccess(knownTokens(t), issuerOf(t, signers...))) }
	with := func(text string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+text)
	}
	list := func(text string) codes.Code {
		_, err := r.audit.ListMatches(with(text), &refereev1.ListMatchesRequest{})
		return status.Code(err)
	}
	token := old.token(t, now, nil)
	if got := list(token); got != codes.Unauthenticated {
		t.Errorf("without an issuer: %v", got)
	}
	use(old)
	if got := list(token); got != codes.OK {
		t.Errorf("a signed token: %v", got)
	}
	if got := list(old.token(t, now, map[string]any{"scope": "play"})); got != codes.PermissionDenied {
		t.Errorf("a signed token without the scope: %v", got)
	}
	use(old, fresh)
	if got := list(token); got != codes.OK {
		t.Errorf("while both keys are known: %v", got)
	}
	use(fresh)
	if got := list(token); got != codes.Unauthenticated {
		t.Errorf("after its key was taken out: %v", got)
	}
	if got := list(fresh.token(t, now, nil)); got != codes.OK {
		t.Errorf("under the new key: %v", got)
	}
	if got := list(secretOf("auditor")); got != codes.OK {
		t.Errorf("a token of the file: %v", got)
	}

	id := r.create().id
	ending := fresh.token(t, now, map[string]any{"nbf": now.Add(-time.Hour).Unix(), "exp": now.Add(time.Second - clockLeeway).Unix()})
	watch, err := r.match.WatchMatch(with(ending), &refereev1.WatchMatchRequest{MatchId: id})
	must(t, err)
	for {
		if _, err = watch.Recv(); err != nil {
			break
		}
	}
	if got := status.Convert(err); got.Code() != codes.Unauthenticated || !strings.Contains(got.Message(), "expired") {
		t.Errorf("a watch whose token expired ended with %v", err)
	}
}
