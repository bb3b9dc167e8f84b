package tlog

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// Range is a run of the log's leaves, from the first up to but without the
// second, and the hash of the tree over them (RFC 6962, section 2.1). In one
// log it never changes, so that two proofs which give one range two hashes are
// not of one log.
type Range struct {
	From, To int64
	Hash     Hash
}

// Ranges returns all that an inclusion proof says of the log's tree, the whole
// tree last, and the checkpoint that it is under. It asks for no key: whether
// the log has signed the checkpoint Check tells. It returns ErrNotLogged if the
// proof does not lead to the checkpoint's root, ErrCheckpoint if there is none.
func (in Inclusion) Ranges(e Entry) (Checkpoint, []Range, error) {
	c, err := unverifiedCheckpoint(in.Checkpoint)
	if err != nil {
		return c, nil, err
	}
	proof, err := hashes(in.Proof)
	if err != nil {
		return c, nil, fmt.Errorf("%w: %w", ErrNotLogged, err)
	}
	if in.Index < 0 || in.Index >= c.Size {
		return c, nil, fmt.Errorf("%w: index %d in a tree of %d games", ErrNotLogged, in.Index, c.Size)
	}
	all, sound := ranges(nil, 0, c.Size, in.Index, e.Leaf(), proof)
	if !sound || all[len(all)-1].Hash != c.Root {
		return c, nil, fmt.Errorf("%w: the proof does not lead to the root", ErrNotLogged)
	}
	return c, all, nil
}

// ranges appends what a proof says of the leaves from one to another, among them
// the proved one, to known. The proof ends with the half without that leaf.
func ranges(known []Range, from, to, at int64, leaf Hash, proof []Hash) (all []Range, sound bool) {
	if to-from == 1 {
		return append(known, Range{from, to, leaf}), len(proof) == 0
	}
	if len(proof) == 0 {
		return known, false
	}
	middle := int64(1)
	for middle < to-from-middle { // twice the middle could overflow
		middle *= 2
	}
	middle += from
	beside := proof[len(proof)-1]
	var node Hash
	if at < middle {
		known, sound = ranges(known, from, middle, at, leaf, proof[:len(proof)-1])
		if sound {
			node = tlog.NodeHash(known[len(known)-1].Hash, beside)
			known = append(known, Range{middle, to, beside})
		}
	} else {
		known, sound = ranges(known, middle, to, at, leaf, proof[:len(proof)-1])
		if sound {
			node = tlog.NodeHash(beside, known[len(known)-1].Hash)
			known = append(known, Range{from, middle, beside})
		}
	}
	return append(known, Range{from, to, node}), sound
}
