package tlog

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Signature types of C2SP signed-note, section "Signature types".
const (
	typeEd25519     = 0x01
	typeCosignature = 0x04
)

var (
	errKey          = errors.New(`a secret key must be one line "PRIVATE+KEY+name+id+base64", as it was made`)
	errWitnessKey   = errors.New(`a witness's key must be "name+id+base64" with signature type 4`)
	errKeyName      = errors.New("a key's name must not be empty nor hold spaces, line ends or a plus")
	errKeyIDMatches = errors.New("the key's id does not belong to its name and key")
)

// Key is the secret key of a log or of a witness, with its name: for a log the
// origin of its checkpoints.
type Key struct {
	secret   ed25519.PrivateKey
	signer   note.Signer // as a log
	verifier note.Verifier
}

// NewKey makes a key and returns it as ParseKey reads it. The name should be a
// URL without its scheme, such as referee.example/log, and be no other log's.
func NewKey(name string) (string, error) {
	secret, _, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		return "", fmt.Errorf("make a key: %w", err)
	}
	// The library makes keys of names that it then refuses to read.
	if _, err := note.NewSigner(secret); err != nil {
		return "", errKeyName
	}
	return secret + "\n", nil
}

// ParseKey reads a key as NewKey wrote it. Its errors hold nothing of the key.
func ParseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	signer, err := note.NewSigner(text)
	if err != nil {
		return Key{}, errKey
	}
	// PRIVATE+KEY+name+id+base64, where only the base64 may hold a plus itself.
	content, err := base64.StdEncoding.DecodeString(strings.SplitN(text, "+", 5)[4])
	if err != nil || len(content) != 1+ed25519.SeedSize {
		return Key{}, errKey
	}
	k := Key{secret: ed25519.NewKeyFromSeed(content[1:]), signer: signer}
	k.verifier, err = note.NewVerifier(k.Public())
	return k, err
}

// Name returns the key's name.
func (k Key) Name() string { return k.signer.Name() }

func (k Key) public() ed25519.PublicKey { return k.secret.Public().(ed25519.PublicKey) }

// Public returns the verifier key of a log: "name+id+base64", for everyone.
func (k Key) Public() string { return verifierKey(k.Name(), typeEd25519, k.public()) }

// PublicWitness returns the verifier key of a witness that has this key.
func (k Key) PublicWitness() string { return verifierKey(k.Name(), typeCosignature, k.public()) }

func verifierKey(name string, kind byte, public ed25519.PublicKey) string {
	content := append([]byte{kind}, public...)
	return fmt.Sprintf("%s+%08x+%s", name, keyID(name, content), base64.StdEncoding.EncodeToString(content))
}

// keyID is the key ID of C2SP signed-note; key begins with the signature type.
func keyID(name string, key []byte) uint32 {
	sum := sha256.Sum256(append([]byte(name+"\n"), key...))
	return binary.BigEndian.Uint32(sum[:])
}

// ParsePublic reads the verifier key of a log.
func ParsePublic(text string) (note.Verifier, error) {
	verifier, err := note.NewVerifier(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf(`a log's key must be "name+id+base64": %w`, err)
	}
	return verifier, nil
}

// ParsePublicWitness reads the verifier key of a witness.
func ParsePublicWitness(text string) (note.Verifier, error) {
	fields := strings.SplitN(strings.TrimSpace(text), "+", 3)
	if len(fields) != 3 || fields[0] == "" || strings.ContainsAny(fields[0], " \n") {
		return nil, errWitnessKey
	}
	id, err := strconv.ParseUint(fields[1], 16, 32)
	if err != nil || len(fields[1]) != 8 {
		return nil, errWitnessKey
	}
	content, err := base64.StdEncoding.DecodeString(fields[2])
	if err != nil || len(content) != 1+ed25519.PublicKeySize || content[0] != typeCosignature {
		return nil, errWitnessKey
	}
	if keyID(fields[0], content) != uint32(id) {
		return nil, errKeyIDMatches
	}
	return cosignatureVerifier{fields[0], content[1:]}, nil
}
