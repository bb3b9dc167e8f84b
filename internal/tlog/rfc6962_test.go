package tlog

import (
	"crypto/sha256"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

// A second implementation of RFC 6962, straight from its definitions (section
// 2.1) and from the verification algorithms of RFC 9162 (sections 2.1.3.2 and
// 2.1.4.2). It shares no code with the first.

func leafHash(data []byte) [32]byte { return sha256.Sum256(append([]byte{0}, data...)) }

func nodeHash(left, right [32]byte) [32]byte {
	return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
}

// treeHash is MTH(D[n]).
func treeHash(data [][]byte) [32]byte {
	switch len(data) {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return leafHash(data[0])
	}
	k := 1
	for 2*k < len(data) {
		k *= 2
	}
	return nodeHash(treeHash(data[:k]), treeHash(data[k:]))
}

func verifyInclusion(leaf [32]byte, index, size int64, proof []Hash, root [32]byte) bool {
	if index >= size {
		return false
	}
	fn, sn, r := index, size-1, leaf
	for _, p := range proof {
		if sn == 0 {
			return false
		}
		if fn%2 == 1 || fn == sn {
			r = nodeHash(p, r)
			for fn%2 == 0 && fn != 0 {
				fn, sn = fn>>1, sn>>1
			}
		} else {
			r = nodeHash(r, p)
		}
		fn, sn = fn>>1, sn>>1
	}
	return sn == 0 && r == root
}

func verifyConsistency(first, second int64, firstRoot, secondRoot [32]byte, proof []Hash) bool {
	if first == second {
		return len(proof) == 0 && firstRoot == secondRoot
	}
	if first&(first-1) == 0 {
		proof = append([]Hash{firstRoot}, proof...)
	}
	if len(proof) == 0 {
		return false
	}
	fn, sn := first-1, second-1
	for fn%2 == 1 {
		fn, sn = fn>>1, sn>>1
	}
	fr, sr := [32]byte(proof[0]), [32]byte(proof[0])
	for _, c := range proof[1:] {
		if sn == 0 {
			return false
		}
		if fn%2 == 1 || fn == sn {
			fr, sr = nodeHash(c, fr), nodeHash(c, sr)
			for fn%2 == 0 && fn != 0 {
				fn, sn = fn>>1, sn>>1
			}
		} else {
			sr = nodeHash(sr, c)
		}
		fn, sn = fn>>1, sn>>1
	}
	return sn == 0 && fr == firstRoot && sr == secondRoot
}

// stored keeps the hashes of a tree as the database does.
type stored []Hash

func (s stored) read(indexes []int64) ([]Hash, error) {
	hashes := make([]Hash, len(indexes))
	for i, index := range indexes {
		hashes[i] = s[index]
	}
	return hashes, nil
}

func entry(n int) Entry {
	e := Entry{Game: n%3 + 1, Head: sha256.Sum256([]byte{byte(n), byte(n >> 8)})}
	e.Match[0], e.Match[15] = byte(n), byte(n>>8)
	return e
}

// TestTreeFollowsRFC6962 grows trees in batches and compares every root and
// every proof with the second implementation.
func TestTreeFollowsRFC6962(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree, hashes, data := EmptyTree, stored{}, [][]byte{}
		for len(data) < 3 || rapid.IntRange(0, 3).Draw(t, "more") > 0 && len(data) < 400 {
			batch := rapid.IntRange(1, 70).Draw(t, "batch")
			leaves := make([]Hash, batch)
			for i := range leaves {
				e := entry(len(data))
				leaves[i] = e.Leaf()
				data = append(data, e.Data())
			}
			g, err := grow(tree, leaves, hashes.read)
			if err != nil {
				t.Fatal(err)
			}
			if g.first != int64(len(hashes)) {
				t.Fatalf("new hashes begin at %d, stored are %d", g.first, len(hashes))
			}
			tree, hashes = g.to, append(hashes, g.hashes...)
			if want := treeHash(data); tree.Root != want || tree.Size != int64(len(data)) {
				t.Fatalf("%d leaves: root %s of %d, want %s", len(data), tree.Root, tree.Size, Hash(want))
			}
		}
		size := rapid.Int64Range(1, tree.Size).Draw(t, "size")
		root := treeHash(data[:size])
		index := rapid.Int64Range(0, size-1).Draw(t, "index")
		inclusion, err := tlog.ProveRecord(size, index, tlog.HashReaderFunc(hashes.read))
		if err != nil || !verifyInclusion(leafHash(data[index]), index, size, inclusion, root) {
			t.Fatalf("leaf %d of %d is not proved: %v", index, size, err)
		}
		if verifyInclusion(leafHash([]byte("another")), index, size, inclusion, root) {
			t.Fatal("another leaf is proved")
		}
		consistency, err := tlog.ProveTree(tree.Size, size, tlog.HashReaderFunc(hashes.read))
		if err != nil || !verifyConsistency(size, tree.Size, root, tree.Root, consistency) {
			t.Fatalf("%d of %d is not proved: %v", size, tree.Size, err)
		}
		if verifyConsistency(size, tree.Size, leafHash(nil), tree.Root, consistency) {
			t.Fatal("another tree is proved")
		}
	})
}

func TestGrowRefusesADamagedEdge(t *testing.T) {
	leaves := make([]Hash, 7)
	for i := range leaves {
		leaves[i] = entry(i).Leaf()
	}
	g, err := grow(EmptyTree, leaves, stored{}.read)
	if err != nil {
		t.Fatal(err)
	}
	// Of 7 leaves the right edge is a subtree of 4, one of 2 and a leaf.
	for _, index := range []int64{tlog.StoredHashIndex(2, 0), tlog.StoredHashIndex(1, 2), tlog.StoredHashIndex(0, 6)} {
		damaged := append(stored{}, g.hashes...)
		damaged[index][0] ^= 1
		if _, err := grow(g.to, leaves, damaged.read); !isDamaged(err) {
			t.Errorf("hash %d was altered: %v", index, err)
		}
	}
	other := g.to
	other.Root[31] ^= 1
	if _, err := grow(other, leaves, stored(g.hashes).read); !isDamaged(err) {
		t.Errorf("the root was altered: %v", err)
	}
}
