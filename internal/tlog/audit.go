package tlog

import (
	"fmt"
	"strconv"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Finding is a fault of a stored log.
type Finding struct {
	Position        int64 // in the log, from 0; NoPosition for the log as a whole
	What            string
	Expected, Found string
}

// NoPosition is the position of what concerns no entry.
const NoPosition = -1

func (f Finding) String() string {
	where := "log"
	if f.Position != NoPosition {
		where = fmt.Sprintf("position %d", f.Position)
	}
	return fmt.Sprintf("%s: %s: expected %s, found %s", where, f.What, f.Expected, f.Found)
}

// CheckHead returns what is wrong with a stored head by itself: a checkpoint that
// is not by one of these keys or does not fit the columns beside it. Without keys no
// signature is checked. Whether the tree has that root is for Audit, or for a proof.
func CheckHead(h Head, keys ...note.Verifier) []Finding {
	if h.Checkpoint == "" {
		return nil
	}
	c, err := openByAny(h.Checkpoint, keys)
	switch {
	case err != nil:
		return []Finding{{NoPosition, "log_head.checkpoint", "a checkpoint that the log signed", err.Error()}}
	case c.Size > h.Size:
		return []Finding{{NoPosition, "log_head.size", fmt.Sprintf("at least the %d that are signed", c.Size), strconv.FormatInt(h.Size, 10)}}
	case c.Size != h.SignedSize:
		return []Finding{{NoPosition, "log_head.signed_size", strconv.FormatInt(c.Size, 10), strconv.FormatInt(h.SignedSize, 10)}}
	case c.Size == h.Size && c.Root != h.Root:
		return []Finding{{NoPosition, "log_head.root", c.Root.String(), h.Root.String()}}
	}
	return nil
}

// openByAny opens a checkpoint that one of the keys has signed. A log that
// changes its key has two for a while.
func openByAny(text string, keys []note.Verifier) (c Checkpoint, err error) {
	if len(keys) == 0 {
		c.Tree, err = unverifiedTree(text)
	}
	for _, key := range keys {
		if c, err = OpenCheckpoint(text, key); err == nil {
			return c, nil
		}
	}
	return c, err
}

// KeyOf returns the one of the keys that has signed a checkpoint; the first if
// none has, whose refusal then tells so.
func KeyOf(checkpoint string, keys []note.Verifier) note.Verifier {
	for _, key := range keys {
		if _, err := OpenCheckpoint(checkpoint, key); err == nil {
			return key
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return keys[0]
}

// Audit reads a stored log from its first leaf to its last and compares entries,
// hashes of the tree, head and checkpoints, each with the next. What it holds is
// one edge of the tree. A fault is found where it is: the tree goes on from the
// hashes that are stored.
type Audit struct {
	keys     []note.Verifier
	find     func(Finding)
	frontier Frontier
	due      []dueTree
}

// dueTree is a tree that the log must have had at its size.
type dueTree struct {
	Tree
	what string
	met  bool
}

// NewAudit begins an audit. keys are the log's public keys; held are checkpoints
// that somebody else has kept, which the log must contain, and find is told of
// each fault.
func NewAudit(keys []note.Verifier, held []Checkpoint, find func(Finding)) *Audit {
	a := &Audit{keys: keys, find: find}
	for _, c := range held {
		a.due = append(a.due, dueTree{Tree: c.Tree, what: "held checkpoint"})
	}
	return a
}

// Find adds a fault that the caller has seen.
func (a *Audit) Find(position int64, what, expected, found string) {
	a.find(Finding{position, what, expected, found})
}

// Head begins with the stored head. entries and hashes are how many positions and
// storage indexes were in use when it was read.
func (a *Audit) Head(h Head, entries, hashes int64) {
	for _, f := range CheckHead(h, a.keys...) {
		a.find(f)
	}
	if entries != h.Size {
		a.Find(NoPosition, "log_head.size", fmt.Sprintf("%d, the entries on record", entries), strconv.FormatInt(h.Size, 10))
	}
	if want := tlog.StoredHashCount(h.Size); hashes != want {
		a.Find(NoPosition, "log_hashes", fmt.Sprintf("%d hashes", want), strconv.FormatInt(hashes, 10))
	}
	a.due = append(a.due, dueTree{Tree: h.Tree, what: "log_head.root"})
	if tree, err := unverifiedTree(h.Checkpoint); h.Checkpoint != "" && err == nil {
		a.due = append(a.due, dueTree{Tree: tree, what: "log_head.checkpoint"})
	}
	a.meet()
}

// Size returns how many leaves have been read.
func (a *Audit) Size() int64 { return a.frontier.size }

// HashesOf returns the storage indexes of the hashes of a range of leaves, each
// with the subtrees that it completes: from first, below last.
func HashesOf(from, to int64) (first, last int64) {
	return tlog.StoredHashCount(from), tlog.StoredHashCount(to)
}

// Next reads the next position: its entry, nil where there is none, and the
// stored hashes by storage index.
func (a *Audit) Next(e *Entry, stored map[int64]Hash) {
	position := a.frontier.size
	index := tlog.StoredHashCount(position)
	var leaf Hash
	if e != nil {
		leaf = e.Leaf()
	} else {
		a.Find(position, "log_entries", "an entry", "none")
	}
	a.frontier.grow(leaf, func(level int, computed Hash) Hash {
		kept, ok := stored[index]
		what := fmt.Sprintf("log_hashes, storage index %d", index)
		index++
		switch {
		case !ok:
			a.Find(position, what, computed.String(), "none")
			return computed
		case kept != computed && level > 0:
			a.Find(position, what, computed.String(), kept.String())
		case kept != computed && e != nil:
			a.Find(position, "log_entries", "what the leaf "+kept.String()+" is the hash of", "an entry with the leaf "+computed.String())
		}
		return kept
	})
	a.meet()
}

// meet compares the tree so far with those that are due at its size.
func (a *Audit) meet() {
	for i := range a.due {
		d := &a.due[i]
		if d.met || d.Size != a.frontier.size {
			continue
		}
		d.met = true
		if tree := a.frontier.Tree(); tree.Root != d.Root {
			a.Find(NoPosition, d.what, fmt.Sprintf("the root %s of %d leaves", tree.Root, d.Size), d.Root.String())
		}
	}
}

// Done ends the audit after the last position.
func (a *Audit) Done() {
	for _, d := range a.due {
		if !d.met {
			a.Find(NoPosition, d.what, fmt.Sprintf("at most the %d leaves on record", a.frontier.size), strconv.FormatInt(d.Size, 10))
		}
	}
}
