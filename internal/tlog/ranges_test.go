package tlog

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

// leaves are entries, and the stored hashes of the tree over them.
func leaves(t testing.TB, n int) (entries []Entry, stored []Hash) {
	t.Helper()
	for i := range n {
		e := Entry{Game: i + 1, Head: [32]byte{byte(i), byte(i >> 8)}}
		entries = append(entries, e)
		hashes, err := tlog.StoredHashesForRecordHash(int64(i), e.Leaf(), reading(stored))
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, hashes...)
	}
	return entries, stored
}

func reading(stored []Hash) hashReader {
	return func(indexes []int64) ([]Hash, error) {
		var out []Hash
		for _, i := range indexes {
			out = append(out, stored[i])
		}
		return out, nil
	}
}

// rangeHash is the hash of RFC 6962, section 2.1, as it is written there.
func rangeHash(entries []Entry) Hash {
	if len(entries) == 1 {
		return entries[0].Leaf()
	}
	k := 1
	for 2*k < len(entries) {
		k *= 2
	}
	return tlog.NodeHash(rangeHash(entries[:k]), rangeHash(entries[k:]))
}

// TestRanges compares all that proofs say with the tree's definition, and with
// what the library says of proofs that were changed.
func TestRanges(t *testing.T) {
	t.Parallel()
	key := newKey(t, "referee.example/log")
	verifier := publicOf(t, key)
	all, stored := leaves(t, 40)
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, int64(len(all))).Draw(t, "size")
		at := rapid.Int64Range(0, size-1).Draw(t, "index")
		tree := Tree{Size: size, Root: rangeHash(all[:size])}
		signed, err := key.sign(tree)
		if err != nil {
			t.Fatal(err)
		}
		proof, err := tlog.ProveRecord(size, at, reading(stored))
		if err != nil {
			t.Fatal(err)
		}
		in := Inclusion{Checkpoint: signed.Note, Index: at, Proof: raw(proof)}
		c, ranges, err := in.Ranges(all[at])
		if err != nil || c.Tree != tree || c.Origin != key.Name() || len(ranges) != 2*len(proof)+1 {
			t.Fatalf("%d ranges of a proof of %d hashes, %+v, %v", len(ranges), len(proof), c, err)
		}
		for _, r := range ranges {
			if r.Hash != rangeHash(all[r.From:r.To]) {
				t.Errorf("games %d to %d: %s", r.From, r.To, r.Hash)
			}
		}
		if last := ranges[len(ranges)-1]; last != (Range{0, size, tree.Root}) {
			t.Errorf("the last range is %v", last)
		}
		changed := in
		changed.Index = rapid.Int64Range(-1, size).Draw(t, "another index")
		changed.Proof = slices.Clone(in.Proof)[:rapid.IntRange(0, len(proof)).Draw(t, "hashes")]
		_, _, err = changed.Ranges(all[at])
		_, library := changed.Check(all[at], verifier)
		if (err == nil) != (library == nil) || err != nil && !errors.Is(err, ErrNotLogged) {
			t.Errorf("index %d of %d, %d hashes: %v, %v", changed.Index, size, len(changed.Proof), err, library)
		}
	})
}

// TestRangesOfHugeTrees ends, whatever size a checkpoint claims.
func TestRangesOfHugeTrees(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{math.MaxInt64, 1<<62 + 1, 1 << 62} {
		note := fmt.Sprintf("o\n%d\n%s\n\n— o AAAA\n", size, Hash{})
		in := Inclusion{Checkpoint: note, Index: size - 1, Proof: raw(make([]Hash, 63))}
		if _, _, err := in.Ranges(Entry{}); !errors.Is(err, ErrNotLogged) {
			t.Errorf("%d: %v", size, err)
		}
	}
	if _, _, err := (Inclusion{Checkpoint: "x"}).Ranges(Entry{}); !errors.Is(err, ErrCheckpoint) {
		t.Error(err)
	}
}
