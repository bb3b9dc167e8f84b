package tlog

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// ErrNotCosigned means that a checkpoint lacks the signature of a witness.
var ErrNotCosigned = errors.New("the checkpoint is not cosigned by this witness")

// Cosign adds a witness's signature to a checkpoint: C2SP tlog-cosignature with
// Ed25519, "cosignature/v1". It states that at that time this was the largest
// tree of the log that the witness had seen, and that all before it were part of
// it. The signature of the same witness that the note had is replaced.
func Cosign(c Checkpoint, log note.Verifier, witness Key, at time.Time) (Checkpoint, error) {
	_, opened, err := openCheckpoint(c.Note, log)
	if err != nil {
		return Checkpoint{}, err
	}
	if at.Unix() < 0 {
		return Checkpoint{}, fmt.Errorf("cosign: the time %s is before 1970", at)
	}
	signed, err := note.Sign(opened, cosigner{witness, uint64(at.Unix())})
	if err != nil {
		return Checkpoint{}, fmt.Errorf("cosign: %w", err)
	}
	c.Note = string(signed)
	return c, nil
}

// OpenCosigned reads a checkpoint that the log has signed and the witness
// cosigned. Errors: ErrCheckpoint, ErrNotCosigned.
func OpenCosigned(text string, log, witness note.Verifier) (Checkpoint, error) {
	c, opened, err := openCheckpoint(text, log, witness)
	if err != nil {
		return Checkpoint{}, err
	}
	signed := map[uint32]bool{}
	for _, signature := range opened.Sigs {
		signed[signature.Hash] = true
	}
	if !signed[log.KeyHash()] {
		return Checkpoint{}, fmt.Errorf("%w: it is cosigned, but not signed by the log", ErrCheckpoint)
	}
	if !signed[witness.KeyHash()] {
		return Checkpoint{}, ErrNotCosigned
	}
	return c, nil
}

// cosignedText is what a witness signs: the time, then the checkpoint's note.
func cosignedText(at uint64, text []byte) []byte {
	return fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, text)
}

// cosigner signs notes as a witness does.
type cosigner struct {
	key Key
	at  uint64 // seconds since 1970
}

func (c cosigner) Name() string { return c.key.Name() }

func (c cosigner) KeyHash() uint32 {
	return keyID(c.Name(), append([]byte{typeCosignature}, c.key.public()...))
}

func (c cosigner) Sign(text []byte) ([]byte, error) {
	signature := binary.BigEndian.AppendUint64(nil, c.at)
	return append(signature, ed25519.Sign(c.key.secret, cosignedText(c.at, text))...), nil
}

type cosignatureVerifier struct {
	name   string
	public ed25519.PublicKey
}

func (v cosignatureVerifier) Name() string { return v.name }

func (v cosignatureVerifier) KeyHash() uint32 {
	return keyID(v.name, append([]byte{typeCosignature}, v.public...))
}

func (v cosignatureVerifier) Verify(text, signature []byte) bool {
	if len(signature) != 8+ed25519.SignatureSize {
		return false
	}
	at := binary.BigEndian.Uint64(signature)
	return at <= math.MaxInt64 && ed25519.Verify(v.public, cosignedText(at, text), signature[8:])
}
