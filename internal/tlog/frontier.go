package tlog

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// Frontier is the right edge of a tree: the hashes of the complete subtrees that
// its leaves fall into. It grows by leaves and knows the root, in 32 bytes for
// each bit of the size. The zero value is the empty tree.
type Frontier struct {
	size int64
	edge []Hash // the largest subtree first
}

// Size returns the number of leaves.
func (f *Frontier) Size() int64 { return f.size }

// Append adds a leaf.
func (f *Frontier) Append(leaf Hash) {
	f.grow(leaf, func(_ int, computed Hash) Hash { return computed })
}

// grow adds a leaf. stored is told of it, level 0, and of each subtree that it
// completes, in the order of their storage indexes, and says what to go on with.
func (f *Frontier) grow(leaf Hash, stored func(level int, computed Hash) Hash) {
	h := stored(0, leaf)
	for level := 0; f.size>>level&1 == 1; level++ {
		last := len(f.edge) - 1
		h = stored(level+1, tlog.NodeHash(f.edge[last], h))
		f.edge = f.edge[:last]
	}
	f.edge = append(f.edge, h)
	f.size++
}

// Tree returns the tree's head.
func (f *Frontier) Tree() Tree {
	if f.size == 0 {
		return EmptyTree
	}
	last := len(f.edge) - 1
	root := f.edge[last]
	for i := last - 1; i >= 0; i-- {
		root = tlog.NodeHash(f.edge[i], root)
	}
	return Tree{f.size, root}
}

var errFrontier = errors.New("the hashes of a tree's edge do not fit its size")

// Edge returns the hashes as ParseFrontier takes them.
func (f *Frontier) Edge() []byte {
	var all []byte
	for _, h := range f.edge {
		all = append(all, h[:]...)
	}
	return all
}

// ParseFrontier reads the edge of a tree of that size.
func ParseFrontier(size int64, edge []byte) (*Frontier, error) {
	f := &Frontier{size: size}
	for rest := size; rest > 0; rest &= rest - 1 {
		if len(edge) < len(Hash{}) {
			return nil, errFrontier
		}
		f.edge, edge = append(f.edge, Hash(edge[:len(Hash{})])), edge[len(Hash{}):]
	}
	if size < 0 || len(edge) != 0 {
		return nil, fmt.Errorf("%w: %d leaves", errFrontier, size)
	}
	return f, nil
}
