package deal

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func identityDeck(n int) []byte {
	deck := make([]byte, n)
	for i := range deck {
		deck[i] = byte(i)
	}
	return deck
}

func TestEverySquareOfEverySizeOpens(t *testing.T) {
	m := sample()
	for n := 1; n <= MaxSquares; n++ {
		arrangement := m.Shuffle(identityDeck(n))
		tree := m.Tree(arrangement)
		for square := range n {
			o := tree.Open(square)
			if int(o.Square) != square || o.Piece != arrangement[square] || !o.Verify(tree.Root(), n) {
				t.Fatalf("%d squares: square %d does not open", n, square)
			}
			for leaves := -1; leaves <= MaxSquares+1; leaves++ {
				if leaves != n && o.Verify(tree.Root(), leaves) {
					t.Fatalf("square %d of %d opens as one of %d", square, n, leaves)
				}
			}
		}
	}
}

func TestTreeLimits(t *testing.T) {
	m := sample()
	mustPanic(t, func() { m.Tree(nil) })
	mustPanic(t, func() { m.Tree(make([]byte, MaxSquares+1)) })
	mustPanic(t, func() { m.Tree(make([]byte, 5)).Open(5) })
	mustPanic(t, func() { m.Tree(make([]byte, 5)).Open(-1) })
}

// Every change of a single bit, anywhere in an opening, is refused.
func TestTamperedOpeningIsRefused(t *testing.T) {
	m := sample()
	for _, n := range []int{1, 5, 32} {
		tree := m.Tree(m.Shuffle(identityDeck(n)))
		for square := range n {
			for place := range 2 + SaltSize + 32*depth(n) {
				for bit := range 8 {
					o := tree.Open(square)
					*byteOf(&o, place) ^= 1 << bit
					if o.Verify(tree.Root(), n) {
						t.Fatalf("square %d of %d: bit %d of byte %d may change", square, n, bit, place)
					}
				}
			}
		}
	}
}

func byteOf(o *Opening, place int) *byte {
	switch {
	case place == 0:
		return &o.Square
	case place == 1:
		return &o.Piece
	case place < 2+SaltSize:
		return &o.Salt[place-2]
	}
	place -= 2 + SaltSize
	return &o.Proof[place/32][place%32]
}

func TestMisshapenOpeningIsRefused(t *testing.T) {
	m := sample()
	tree := m.Tree(m.Shuffle(banqiDeck()))
	other := m
	other.Game++
	cases := map[string]func(*Opening){
		"no salt":         func(o *Opening) { o.Salt = nil },
		"salt too short":  func(o *Opening) { o.Salt = o.Salt[:SaltSize-1] },
		"salt too long":   func(o *Opening) { o.Salt = append(o.Salt, 0) },
		"no proof":        func(o *Opening) { o.Proof = nil },
		"proof too short": func(o *Opening) { o.Proof = o.Proof[:4] },
		"proof too long":  func(o *Opening) { o.Proof = append(o.Proof, [32]byte{}) },
		"proof reordered": func(o *Opening) { o.Proof[0], o.Proof[1] = o.Proof[1], o.Proof[0] },
		"past the end":    func(o *Opening) { o.Square = 32 },
		"far past it":     func(o *Opening) { o.Square |= 0x80 },
		"of another game": func(o *Opening) { *o = other.Tree(other.Shuffle(banqiDeck())).Open(int(o.Square)) },
		"of a neighbour":  func(o *Opening) { o.Square ^= 1 },
		"piece exchanged": func(o *Opening) { o.Piece = o.Piece%14 + 1 },
		"a node as leaf":  func(o *Opening) { o.Salt, o.Proof = o.Proof[0][:16], o.Proof[1:] },
	}
	for name, change := range cases {
		o := tree.Open(9)
		if !o.Verify(tree.Root(), 32) {
			t.Fatal("the sample does not open")
		}
		if change(&o); o.Verify(tree.Root(), 32) {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Padding never passes for a square, not even for one who knows the pad's hash.
func TestPaddingIsNoSquare(t *testing.T) {
	m := sample()
	tree := m.Tree(m.Shuffle(identityDeck(5)))
	o := tree.Open(4)
	for square := byte(5); square < 8; square++ {
		o.Square = square
		if o.Verify(tree.Root(), 5) || o.Verify(tree.Root(), 8) {
			t.Errorf("square %d of 5 opens", square)
		}
	}
}

// A house that builds its root dishonestly still cannot open what has not the
// shape of an opening.
func TestHostileRoot(t *testing.T) {
	tree := sample().Tree(identityDeck(8))
	past, last := tree.Open(5), tree.Open(4)
	root := rootOf(5, &tree.nodes[1]) // eight squares passed off as five
	if !last.Verify(root, 5) || past.Verify(root, 5) {
		t.Error("a square past the last one opens")
	}
	for size := range 3 * SaltSize {
		o := Opening{Piece: 1, Salt: make([]byte, size)}
		top := leaf(o.Square, o.Piece, o.Salt)
		if o.Verify(rootOf(1, &top), 1) != (size == SaltSize) {
			t.Errorf("a salt of %d bytes", size)
		}
	}
	deep := tree.Open(0) // three levels, under a root for two squares or for 65
	for _, squares := range []int{2, MaxSquares + 1} {
		if deep.Verify(rootOf(squares, &tree.nodes[1]), squares) {
			t.Errorf("a proof of three levels opens one of %d squares", squares)
		}
	}
	wide := make([]byte, MaxSquares+1)
	large := newTree(wide, make([]byte, len(wide)*SaltSize))
	if large.Open(0).Verify(large.Root(), len(wide)) {
		t.Error("a tree over more squares than allowed opens")
	}
}

// One arrangement alone fits a root: any exchange of two unlike pieces shows.
func TestRootBindsTheArrangement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, arrangement := drawMaterial(t), drawBytes(1, MaxSquares).Draw(t, "arrangement")
		before := m.Tree(arrangement).Root()
		if m.Tree(arrangement).Root() != before {
			t.Fatal("two trees over one arrangement differ")
		}
		square := rapid.IntRange(0, len(arrangement)-1).Draw(t, "square")
		arrangement[square] ^= byte(rapid.IntRange(1, 255).Draw(t, "change"))
		if m.Tree(arrangement).Root() == before {
			t.Fatal("another arrangement has the same root")
		}
	})
}

// A tree keeps what it committed to, whatever becomes of the slices around it.
func TestTreeSharesNothing(t *testing.T) {
	m := sample()
	arrangement := m.Shuffle(banqiDeck())
	tree := m.Tree(arrangement)
	clear(arrangement)
	clear(tree.Open(3).Salt)
	clear(tree.Open(3).Proof)
	if !tree.Open(3).Verify(tree.Root(), 32) {
		t.Error("a tree changed with its neighbours")
	}
}

func TestSaltsDiffer(t *testing.T) {
	m, seen := sample(), map[string]int{}
	for game := range 64 {
		m.Game = uint16(game)
		tree := m.Tree(make([]byte, MaxSquares))
		for square := range MaxSquares {
			o := tree.Open(square)
			seen[string(o.Salt)]++
			if bytes.Count(o.Salt, []byte{0}) > 8 {
				t.Errorf("salt %x", o.Salt)
			}
		}
	}
	if len(seen) != 64*MaxSquares {
		t.Errorf("%d salts of %d differ", len(seen), 64*MaxSquares)
	}
}
