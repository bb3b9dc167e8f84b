package deal

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

func FuzzParseKeyring(f *testing.F) {
	f.Add("a:" + testKey(1))
	f.Add("new:" + testKey(2) + "\r\n\n old:" + testKey(1) + "\n")
	f.Add("a:" + testKey(1) + "\na:" + testKey(2))
	f.Add("a:A=\n:\nb")
	f.Fuzz(func(t *testing.T, text string) {
		ring, err := ParseKeyring(text)
		var refusal *KeyringError
		if err != nil {
			if !errors.As(err, &refusal) || refusal.Line < 0 || refusal.Line > strings.Count(text, "\n")+1 {
				t.Fatalf("error %#v", err)
			}
			return
		}
		if !ring.Has(ring.Current()) || !strings.Contains(text, ring.Current()+":") {
			t.Fatalf("current key %q of %q", ring.Current(), text)
		}
		sealed := ring.Seal(Context{}, purpose, []byte(text), [12]byte{})
		if plain, err := ring.Open(Context{}, purpose, sealed); err != nil || string(plain) != text {
			t.Fatalf("opened %q, %v", plain, err)
		}
	})
}

// Nothing but what Seal made can be opened.
func FuzzOpen(f *testing.F) {
	ring, c := keyring(f, "k:"+testKey(1)), sample().Context
	sealed := ring.Seal(c, purpose, []byte("thirty-two bytes of server seed."), [12]byte{1})
	f.Add(sealed)
	f.Add([]byte{})
	f.Add([]byte{1, 255})
	f.Add(slices.Concat([]byte{1, 1, 'j'}, sealed[3:]))
	f.Fuzz(func(t *testing.T, blob []byte) {
		var unknown *UnknownKeyError
		plain, err := ring.Open(c, purpose, blob)
		switch {
		case bytes.Equal(blob, sealed):
			if err != nil {
				t.Fatal(err)
			}
		case plain != nil:
			t.Fatalf("%x opens", blob)
		case !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrTampered) && !errors.As(err, &unknown):
			t.Fatalf("error %v", err)
		}
	})
}

// Nothing but what Open gave can be verified.
func FuzzVerify(f *testing.F) {
	m := sample()
	tree := m.Tree(m.Shuffle(banqiDeck()))
	for _, square := range []int{0, 17, 31} {
		o := tree.Open(square)
		f.Add(o.Square, o.Piece, o.Salt, joined(o.Proof), 32)
	}
	f.Add(byte(255), byte(0), []byte{}, []byte{}, -1)
	f.Add(byte(0), byte(0), make([]byte, SaltSize), []byte{}, 1)
	f.Fuzz(func(t *testing.T, square, piece byte, salt, proof []byte, leaves int) {
		o := Opening{Square: square, Piece: piece, Salt: salt}
		for hash := range slices.Chunk(proof, 32) {
			var h [32]byte
			copy(h[:], hash)
			o.Proof = append(o.Proof, h)
		}
		honest := leaves == 32 && square < 32
		if honest {
			want := tree.Open(int(square))
			honest = piece == want.Piece && bytes.Equal(salt, want.Salt) && slices.Equal(o.Proof, want.Proof)
		}
		if o.Verify(tree.Root(), leaves) != honest {
			t.Fatalf("verified is %t", !honest)
		}
	})
}

func joined(hashes [][32]byte) []byte {
	var all []byte
	for _, hash := range hashes {
		all = append(all, hash[:]...)
	}
	return all
}
