package deal

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

const purpose = "server_seed"

func keyring(t testing.TB, text string) Keyring {
	ring, err := ParseKeyring(text)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func TestSealOpens(t *testing.T) {
	ring := keyring(t, "new:"+testKey(2)+"\nold:"+testKey(1))
	rapid.Check(t, func(t *rapid.T) {
		c, purpose := drawContext(t), rapid.String().Draw(t, "purpose")
		plain := drawBytes(0, 300).Draw(t, "plain")
		nonce := [12]byte(drawBytes(12, 12).Draw(t, "nonce"))
		sealed := ring.Seal(c, purpose, plain, nonce)
		if id, err := KeyID(sealed); id != "new" || err != nil {
			t.Fatalf("key id %q, %v", id, err)
		}
		if want := 1 + 1 + len("new") + 12 + len(plain) + 16; len(sealed) != want {
			t.Fatalf("%d bytes, want %d", len(sealed), want)
		}
		opened, err := ring.Open(c, purpose, sealed)
		if err != nil || !bytes.Equal(opened, plain) {
			t.Fatalf("opened %x, %v", opened, err)
		}
	})
}

// Every change of a single bit, and every other length, is refused.
func TestTamperedSealIsRefused(t *testing.T) {
	ring, c := keyring(t, "k:"+testKey(1)+"\nj:"+testKey(2)), sample().Context
	sealed := ring.Seal(c, purpose, []byte("thirty-two bytes of server seed."), [12]byte{1})
	for place := range sealed {
		for bit := range 8 {
			changed := slices.Clone(sealed)
			changed[place] ^= 1 << bit
			refused(t, ring, c, purpose, changed)
		}
	}
	for length := range sealed {
		refused(t, ring, c, purpose, sealed[:length])
	}
	refused(t, ring, c, purpose, append(slices.Clone(sealed), 0))
}

// refused checks that Open and Reseal give a typed error and no bytes.
func refused(t *testing.T, ring Keyring, c Context, purpose string, sealed []byte) {
	t.Helper()
	var unknown *UnknownKeyError
	plain, err := ring.Open(c, purpose, sealed)
	if plain != nil || !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrTampered) && !errors.As(err, &unknown) {
		t.Fatalf("%x opened as %x, %v", sealed, plain, err)
	}
	again, err := ring.Reseal(c, purpose, sealed, [12]byte{})
	if again != nil || err == nil {
		t.Fatalf("%x sealed again as %x, %v", sealed, again, err)
	}
}

func TestSealIsForOneGameAndPurpose(t *testing.T) {
	ring, c := keyring(t, "k:"+testKey(1)), sample().Context
	sealed := ring.Seal(c, purpose, []byte("secret"), [12]byte{1})
	otherMatch, otherGame := c, c
	otherMatch.MatchID[0] ^= 1
	otherGame.Game++
	cases := []struct {
		Context
		purpose string
	}{{otherMatch, purpose}, {otherGame, purpose}, {c, "placement"}, {c, ""}, {c, purpose + "\x00"}}
	for _, other := range cases {
		if _, err := ring.Open(other.Context, other.purpose, sealed); !errors.Is(err, ErrTampered) {
			t.Errorf("%v, %q: %v", other.Context, other.purpose, err)
		}
	}
}

func TestOpenNamesWhatIsWrong(t *testing.T) {
	ring, c := keyring(t, "k:"+testKey(1)), sample().Context
	sealed := ring.Seal(c, purpose, []byte("secret"), [12]byte{1})

	var unknown *UnknownKeyError
	_, err := keyring(t, "j:"+testKey(1)).Open(c, purpose, sealed)
	if !errors.As(err, &unknown) || unknown.KeyID != "k" {
		t.Errorf("without the key: %v", err)
	}
	if _, err = (Keyring{}).Open(c, purpose, sealed); !errors.As(err, &unknown) {
		t.Errorf("without any key: %v", err)
	}
	if _, err = keyring(t, "k:"+testKey(2)).Open(c, purpose, sealed); !errors.Is(err, ErrTampered) {
		t.Errorf("with another key of this id: %v", err)
	}
	later, noID := slices.Clone(sealed), slices.Clone(sealed)
	later[0], noID[2] = 2, ' '
	for _, bytes := range [][]byte{nil, {1}, {1, 1}, {1, 0}, later, noID, make([]byte, 100), {1, 255, 'k'}} {
		if _, err = ring.Open(c, purpose, bytes); !errors.Is(err, ErrMalformed) {
			t.Errorf("%x: %v", bytes, err)
		}
		if _, err = KeyID(bytes); !errors.Is(err, ErrMalformed) {
			t.Errorf("key id of %x: %v", bytes, err)
		}
	}
}

func TestRotation(t *testing.T) {
	c, secret := sample().Context, []byte("secret")
	before := keyring(t, "old:"+testKey(1))
	during := keyring(t, "new:"+testKey(2)+"\nold:"+testKey(1))
	after := keyring(t, "new:"+testKey(2))

	old := before.Seal(c, purpose, secret, [12]byte{1})
	if plain, err := during.Open(c, purpose, old); err != nil || !bytes.Equal(plain, secret) {
		t.Fatalf("an old seal under the new keyring: %q, %v", plain, err)
	}
	moved, err := during.Reseal(c, purpose, old, [12]byte{2})
	if err != nil {
		t.Fatal(err)
	}
	if id, err := KeyID(moved); id != "new" || err != nil {
		t.Fatalf("sealed again under %q, %v", id, err)
	}
	if plain, err := after.Open(c, purpose, moved); err != nil || !bytes.Equal(plain, secret) {
		t.Fatalf("without the old key: %q, %v", plain, err)
	}
	var unknown *UnknownKeyError
	if _, err := after.Open(c, purpose, old); !errors.As(err, &unknown) || unknown.KeyID != "old" {
		t.Fatalf("an old seal without the old key: %v", err)
	}
}

// The same secret under the same nonce looks different in another game, so that
// a nonce drawn twice tells nothing across games.
func TestGamesHaveKeysOfTheirOwn(t *testing.T) {
	ring, c := keyring(t, "k:"+testKey(1)), sample().Context
	other := c
	other.Game++
	secret, header := make([]byte, 32), 2+len("k")+12
	a := ring.Seal(c, purpose, secret, [12]byte{})[header:]
	b := ring.Seal(other, purpose, secret, [12]byte{})[header:]
	if bytes.Equal(a[:32], b[:32]) {
		t.Error("two games share a key")
	}
	p := ring.Seal(c, "placement", secret, [12]byte{})[header:]
	if bytes.Equal(a[:32], p[:32]) {
		t.Error("two purposes share a key")
	}
}

func TestEmptyKeyringNeverSeals(t *testing.T) {
	mustPanic(t, func() { Keyring{}.Seal(Context{}, purpose, []byte("secret"), [12]byte{}) })
}
