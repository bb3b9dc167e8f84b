package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"

	"referee.example/internal/referee"

	"google.golang.org/protobuf/proto"
)

// Sizes of pages.
const (
	defaultPageSize = 50
	maxPageSize     = 200
)

// sumBytes of a hash bind a page token to its query, and its key to both: a token
// that was altered on its way is refused, not read as another place of the list.
const sumBytes = 8

// page is where in a list a call begins, and how much of it is wanted.
type page struct {
	size  int
	after []byte // key of the last entry before; empty for the first page
	query []byte // hash of what is asked, and by whom
}

// page reads the page that a query asks for. query is the request without
// anything about pages; scope is what else its result depends on, such as the
// caller's platform.
func (c *check) page(query proto.Message, scope string, size int32) page {
	p := page{size: int(size), query: fingerprint(query, scope)}
	switch {
	case size < 0 || size > maxPageSize:
		c.refuse("page_size", "must be from 0 to %d", maxPageSize)
	case size == 0:
		p.size = defaultPageSize
	}
	return p
}

// open reads the token of the page before. valid tells a key that this list may
// have written from one that somebody made up.
func (p *page) open(token string, valid func(key []byte) bool) error {
	if token == "" {
		return nil
	}
	content, err := decodeToken(token)
	if err != nil || len(content) <= sumBytes {
		return invalidPageToken()
	}
	sum, key := content[:sumBytes], content[sumBytes:]
	if !slices.Equal(sum, p.sum(key)) || !valid(key) {
		return invalidPageToken()
	}
	p.after = key
	return nil
}

// next returns the token of the page that follows the entry with this key.
func (p *page) next(key []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(p.sum(key), key...))
}

func (p *page) sum(key []byte) []byte {
	sum := sha256.Sum256(append(slices.Clone(p.query), key...))
	return sum[:sumBytes]
}

// decodeToken reads the bytes of a token. The library passes over ends of lines,
// which no token has.
func decodeToken(token string) ([]byte, error) {
	if strings.ContainsAny(token, "\r\n") {
		return nil, base64.CorruptInputError(0)
	}
	return base64.RawURLEncoding.Strict().DecodeString(token)
}

func invalidPageToken() *referee.Refusal {
	return &referee.Refusal{Reason: referee.ReasonInvalidPageToken,
		Message: "the token is malformed or belongs to another query or match"}
}

func fingerprint(query proto.Message, scope string) []byte {
	content, _ := proto.MarshalOptions{Deterministic: true}.Marshal(query) // fails on invalid UTF-8 only, which never arrives
	sum := sha256.Sum256(append(append([]byte(scope), 0), content...))
	return sum[:]
}

// The keys of lists: a match's id; that and a game's number.
const (
	matchKeyBytes = 16
	gameKeyBytes  = matchKeyBytes + 2
)

func matchKey(id referee.ID) []byte { return id[:] }

func isMatchKey(key []byte) bool { return len(key) == matchKeyBytes }

// isGameKey reports whether a key names a game that there can be.
func isGameKey(key []byte) bool {
	return len(key) == gameKeyBytes && binary.BigEndian.Uint16(key[matchKeyBytes:]) <= maxGame
}

func gameKey(k referee.GameKey) []byte {
	return binary.BigEndian.AppendUint16(slices.Clone(k.Match[:]), uint16(k.Game))
}

// match returns the match that the page begins after, zero for the first page.
func (p *page) match() (id referee.ID) {
	copy(id[:], p.after)
	return id
}

// game returns the game that the page begins after, zero for the first page.
func (p *page) game() (k referee.GameKey) {
	if len(p.after) > 0 {
		k.Match = p.match()
		k.Game = int(binary.BigEndian.Uint16(p.after[matchKeyBytes:]))
	}
	return k
}
