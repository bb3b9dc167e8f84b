package deal

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// Limits of a keyring.
const (
	KeySize       = 32 // bytes
	MaxKeyIDBytes = 32
)

// Keyring holds the keys that seal secrets at rest: one to seal with, and all
// that older secrets were sealed under. It never prints its keys. The zero value
// holds none and can only refuse to open.
type Keyring struct {
	redacted
	current string // id
	keys    map[string][KeySize]byte
}

// A KeyringError says which line of a keyring is wrong and why. It never holds
// what stands there, since a misplaced field may be a key.
type KeyringError struct {
	Line    int // from 1; 0 where the whole text is meant
	Problem string
}

func (e *KeyringError) Error() string {
	if e.Line == 0 {
		return "deal: keyring: " + e.Problem
	}
	return fmt.Sprintf("deal: keyring: line %d: %s", e.Line, e.Problem)
}

// ParseKeyring reads one key a line, "id:key", the current one first. An id has
// 1 to MaxKeyIDBytes letters, digits, '-', '_' or '.'; a key is KeySize bytes in
// standard base64 with padding. Empty lines and space around a line are
// ignored. To rotate, put the new key before the others. It returns a
// *KeyringError if there is no key, a line is malformed, or an id or a key stands
// there twice.
func ParseKeyring(text string) (Keyring, error) {
	ring := Keyring{keys: map[string][KeySize]byte{}}
	lines := map[[KeySize]byte]int{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		id, key, problem := parseKey(line)
		if _, known := ring.keys[id]; problem == "" && known {
			problem = "its id stands on an earlier line too"
		}
		if earlier := lines[key]; problem == "" && earlier != 0 {
			problem = fmt.Sprintf("its key is that of line %d", earlier)
		}
		if problem != "" {
			return Keyring{}, &KeyringError{Line: number, Problem: problem}
		}
		if ring.current == "" {
			ring.current = id
		}
		ring.keys[id], lines[key] = key, number
	}
	if ring.current == "" {
		return Keyring{}, &KeyringError{Problem: "no key; a line is id:base64 of 32 bytes"}
	}
	return ring, nil
}

// parseKey reads one line. The problem is empty if there is none.
func parseKey(line string) (id string, key [KeySize]byte, problem string) {
	id, encoded, found := strings.Cut(line, ":")
	switch {
	case !found:
		return "", key, "no colon; a line is id:base64 of 32 bytes"
	case !validKeyID(id):
		return "", key, "the id is not 1 to 32 letters, digits, '-', '_' or '.'"
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	switch {
	case err != nil:
		return "", key, "the key is not standard base64"
	case len(raw) != KeySize:
		return "", key, fmt.Sprintf("the key has %d bytes, not %d", len(raw), KeySize)
	}
	return id, [KeySize]byte(raw), ""
}

func validKeyID(id string) bool {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
	return len(id) >= 1 && len(id) <= MaxKeyIDBytes && strings.Trim(id, allowed) == ""
}

// Current returns the id of the key that Seal uses; empty for the zero value.
func (k Keyring) Current() string { return k.current }

// Has reports whether secrets sealed under the key id can be opened.
func (k Keyring) Has(id string) bool {
	_, ok := k.keys[id]
	return ok
}
