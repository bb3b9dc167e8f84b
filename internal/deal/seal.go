package deal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
)

// sealVersion is the first byte of everything sealed.
const sealVersion = 1

const (
	nonceSize = 12
	gcmTag    = 16
)

// Refusals of Open, Reseal and KeyID. An unknown key is an *UnknownKeyError.
var (
	// ErrMalformed: the bytes are not the output of Seal, or of a later version.
	ErrMalformed = errors.New("deal: sealed bytes are malformed")
	// ErrTampered: the bytes were changed, or sealed under another key, for
	// another game or for another purpose.
	ErrTampered = errors.New("deal: sealed bytes are not authentic for this game and purpose")
)

// An UnknownKeyError says that a key is missing from the keyring.
type UnknownKeyError struct{ KeyID string }

func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("deal: sealed under key %q, which the keyring does not hold", e.KeyID)
}

// Seal encrypts plain for one game and purpose, such as "server_seed", with
// AES-256-GCM under the current key. A nonce must be fresh: 12 bytes from the
// operating system's randomness each time. The result is
//
//	u8(1) || u8(length of key id) || key id || nonce (12) || ciphertext || tag (16)
//
// Each game and purpose has its own key, so that the number of games never
// comes near the limit that GCM sets to random nonces under one key:
//
//	key = HMAC-SHA256(key of the ring, tag("referee.seal.v1.key") || context || u32(length) || purpose)
//	aad = tag("referee.seal.v1.aad") || u32(length) || key id || context || u32(length) || purpose
//
// with the notation of the package comment. Seal panics if the keyring is empty.
func (k Keyring) Seal(c Context, purpose string, plain []byte, nonce [12]byte) []byte {
	key, ok := k.keys[k.current]
	if !ok {
		panic("deal: Seal with an empty keyring")
	}
	out := make([]byte, 0, 2+len(k.current)+nonceSize+len(plain)+gcmTag)
	out = append(append(out, sealVersion, byte(len(k.current))), k.current...)
	out = append(out, nonce[:]...)
	return gameCipher(key, c, purpose).Seal(out, nonce[:], plain, sealedFor(k.current, c, purpose))
}

// Open returns what Seal encrypted for the same game and purpose. It returns
// ErrMalformed, ErrTampered or an *UnknownKeyError, and then no bytes.
func (k Keyring) Open(c Context, purpose string, sealed []byte) ([]byte, error) {
	id, body, err := splitSealed(sealed)
	if err != nil {
		return nil, err
	}
	key, ok := k.keys[id]
	if !ok {
		return nil, &UnknownKeyError{KeyID: id}
	}
	nonce, ciphertext := body[:nonceSize], body[nonceSize:]
	plain, err := gameCipher(key, c, purpose).Open(nil, nonce, ciphertext, sealedFor(id, c, purpose))
	if err != nil {
		return nil, ErrTampered
	}
	return plain, nil
}

// Reseal returns the same secret sealed under the current key. It refuses what
// Open refuses.
func (k Keyring) Reseal(c Context, purpose string, sealed []byte, nonce [12]byte) ([]byte, error) {
	plain, err := k.Open(c, purpose, sealed)
	if err != nil {
		return nil, err
	}
	return k.Seal(c, purpose, plain, nonce), nil
}

// KeyID returns the id of the key that sealed is under, without opening it. It
// returns ErrMalformed if Seal cannot have made these bytes.
func KeyID(sealed []byte) (string, error) {
	id, _, err := splitSealed(sealed)
	return id, err
}

// splitSealed returns the key id and what follows it: nonce, ciphertext, tag.
func splitSealed(sealed []byte) (id string, body []byte, err error) {
	if len(sealed) < 2 || sealed[0] != sealVersion {
		return "", nil, ErrMalformed
	}
	length := int(sealed[1])
	if len(sealed) < 2+length+nonceSize+gcmTag || !validKeyID(string(sealed[2:2+length])) {
		return "", nil, ErrMalformed
	}
	return string(sealed[2 : 2+length]), sealed[2+length:], nil
}

// gameCipher returns the cipher of one game and purpose.
func gameCipher(key [KeySize]byte, c Context, purpose string) cipher.AEAD {
	mac := hmac.New(sha256.New, key[:])
	mac.Write(appendBytes(c.append(appendTag(nil, "referee.seal.v1.key")), purpose))
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		panic(err) // only for a wrong key size, and a MAC of SHA-256 has 32 bytes
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // only for a wrong block size, and AES has 16 bytes
	}
	return aead
}

// sealedFor returns what is authenticated along with the secret.
func sealedFor(id string, c Context, purpose string) []byte {
	b := appendBytes(appendTag(nil, "referee.seal.v1.aad"), id)
	return appendBytes(c.append(b), purpose)
}
