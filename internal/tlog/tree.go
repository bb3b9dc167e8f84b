package tlog

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// ErrDamaged means that the stored tree contradicts itself or what was signed
// of it. Nothing more may be logged or signed until it has been looked at.
var ErrDamaged = errors.New("the stored log of finished games is damaged")

// Tree is the head of a tree.
type Tree struct {
	Size int64 // leaves
	Root Hash
}

// EmptyTree is the tree without a leaf.
var EmptyTree = Tree{Root: Hash{
	0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24,
	0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
}} // SHA-256 of nothing (RFC 6962, section 2.1)

// hashReader reads stored hashes by their storage index.
type hashReader = tlog.HashReaderFunc

// growth is what leaves add to a tree.
type growth struct {
	to     Tree
	first  int64  // storage index of the first new hash
	hashes []Hash // those to store from there on, without a gap
}

// grow appends leaves to a tree. It reads the stored hashes of the tree's right
// edge, once, and returns ErrDamaged if the tree's root does not follow from them.
func grow(from Tree, leaves []Hash, stored hashReader) (growth, error) {
	known := map[int64]Hash{}
	edge := hashReader(func(indexes []int64) ([]Hash, error) {
		hashes, err := stored(indexes)
		if err == nil && len(hashes) == len(indexes) {
			for i, index := range indexes {
				known[index] = hashes[i]
			}
		}
		return hashes, err
	})
	if err := checkRoot(from, edge); err != nil {
		return growth{}, err
	}
	read := hashReader(func(indexes []int64) ([]Hash, error) {
		hashes := make([]Hash, len(indexes))
		for i, index := range indexes {
			hash, ok := known[index]
			if !ok {
				return nil, fmt.Errorf("hash %d is not at the right edge of a tree of %d leaves", index, from.Size)
			}
			hashes[i] = hash
		}
		return hashes, nil
	})
	g := growth{to: from, first: tlog.StoredHashCount(from.Size)}
	for _, leaf := range leaves {
		hashes, err := tlog.StoredHashesForRecordHash(g.to.Size, leaf, read)
		if err != nil {
			return growth{}, err
		}
		for _, hash := range hashes {
			known[g.first+int64(len(g.hashes))] = hash
			g.hashes = append(g.hashes, hash)
		}
		g.to.Size++
	}
	var err error
	g.to.Root, err = tlog.TreeHash(g.to.Size, read)
	return g, err
}

// checkRoot returns ErrDamaged unless the tree's root follows from the stored
// hashes.
func checkRoot(t Tree, stored hashReader) error {
	root, err := tlog.TreeHash(t.Size, stored)
	if err != nil {
		return fmt.Errorf("root of %d leaves: %w", t.Size, err)
	}
	if root != t.Root {
		return fmt.Errorf("%w: %d leaves have the root %s, on record is %s", ErrDamaged, t.Size, root, t.Root)
	}
	return nil
}
