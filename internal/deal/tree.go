package deal

import (
	"crypto/sha256"
	"fmt"
	"math/bits"
)

// Limits of the tree.
const (
	MaxSquares = 64
	SaltSize   = 16 // bytes: 128 bits, out of reach of trying them all
)

// Tree commits to an arrangement square by square, each with a salt of its own,
// so that one square can be opened and the others stay hidden. It holds the
// arrangement and is as secret.
type Tree struct {
	redacted
	pieces []byte
	salts  []byte
	// nodes[1] is the top, nodes[2i] and nodes[2i+1] are the children of
	// nodes[i]; the second half are the leaves in order of square.
	nodes [][sha256.Size]byte
}

// Tree returns the tree over arrangement, whose element s is the piece on square
// s. It panics unless there are 1 to MaxSquares squares.
func (m Material) Tree(arrangement []byte) Tree {
	n := len(arrangement)
	if n < 1 || n > MaxSquares {
		panic(fmt.Sprintf("deal: a tree over %d squares, 1 to %d are allowed", n, MaxSquares))
	}
	return newTree(arrangement, m.Stream(labelSalt).Bytes(n*SaltSize))
}

func newTree(arrangement, salts []byte) Tree {
	n, width := len(arrangement), 1<<depth(len(arrangement))
	t := Tree{pieces: append([]byte(nil), arrangement...), salts: salts, nodes: make([][sha256.Size]byte, 2*width)}
	for square := range n {
		t.nodes[width+square] = leaf(byte(square), arrangement[square], t.salt(square))
	}
	for square := n; square < width; square++ {
		t.nodes[width+square] = sha256.Sum256(appendTag(nil, "referee.deal.v1.pad"))
	}
	for i := width - 1; i > 0; i-- {
		t.nodes[i] = node(&t.nodes[2*i], &t.nodes[2*i+1])
	}
	return t
}

// Root returns the commitment to the whole arrangement. Publish it before the
// first ply.
func (t Tree) Root() [32]byte { return rootOf(len(t.pieces), &t.nodes[1]) }

// Open returns the proof of what lies on square. It panics if the tree has no
// such square.
func (t Tree) Open(square int) Opening {
	o := Opening{Square: byte(square), Piece: t.pieces[square], Salt: append([]byte(nil), t.salt(square)...)}
	for i := len(t.nodes)/2 + square; i > 1; i /= 2 {
		o.Proof = append(o.Proof, t.nodes[i^1])
	}
	return o
}

func (t Tree) salt(square int) []byte { return t.salts[square*SaltSize : (square+1)*SaltSize] }

// Opening proves the piece on one square of a committed arrangement and tells
// nothing of the others.
type Opening struct {
	Square byte
	Piece  byte
	Salt   []byte     // SaltSize bytes
	Proof  [][32]byte // the hashes beside the path, from the leaf upwards
}

// Verify reports whether root commits to leaves squares with o.Piece on
// o.Square. Anything malformed is false.
func (o Opening) Verify(root [32]byte, leaves int) bool {
	if leaves < 1 || leaves > MaxSquares || int(o.Square) >= leaves ||
		len(o.Salt) != SaltSize || len(o.Proof) != depth(leaves) {
		return false
	}
	path := leaf(o.Square, o.Piece, o.Salt)
	for level := range o.Proof {
		if o.Square>>level&1 == 0 {
			path = node(&path, &o.Proof[level])
		} else {
			path = node(&o.Proof[level], &path)
		}
	}
	return rootOf(leaves, &path) == root
}

// depth returns the number of levels above the leaves of a tree over n squares.
func depth(n int) int { return bits.Len(uint(n - 1)) }

func leaf(square, piece byte, salt []byte) [32]byte {
	b := appendTag(make([]byte, 0, 64), "referee.deal.v1.leaf")
	return sha256.Sum256(append(append(b, square, piece), salt...))
}

func node(left, right *[32]byte) [32]byte {
	b := appendTag(make([]byte, 0, 96), "referee.deal.v1.node")
	return sha256.Sum256(append(append(b, left[:]...), right[:]...))
}

// rootOf binds the number of squares, so that padding never passes for a square.
func rootOf(squares int, top *[32]byte) [32]byte {
	b := append(appendTag(make([]byte, 0, 64), "referee.deal.v1.root"), byte(squares))
	return sha256.Sum256(append(b, top[:]...))
}
