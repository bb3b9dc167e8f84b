package tlog

import (
	"errors"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

// TestFrontier compares with the library's trees, and carries on from what was
// written down at any size.
func TestFrontier(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, 300).Draw(t, "size")
		rest := rapid.Int64Range(0, size).Draw(t, "written down at")
		var stored []Hash
		read := hashReader(func(indexes []int64) ([]Hash, error) {
			hashes := make([]Hash, len(indexes))
			for i, index := range indexes {
				hashes[i] = stored[index]
			}
			return hashes, nil
		})
		f := &Frontier{}
		for n := range size {
			if n == rest {
				again, err := ParseFrontier(f.Size(), f.Edge())
				if err != nil {
					t.Fatal(err)
				}
				f = again
			}
			leaf := tlog.RecordHash([]byte{byte(n), byte(n >> 8)})
			hashes, err := tlog.StoredHashesForRecordHash(n, leaf, read)
			if err != nil {
				t.Fatal(err)
			}
			stored = append(stored, hashes...)
			f.Append(leaf)
			root, err := tlog.TreeHash(n+1, read)
			if err != nil || f.Tree() != (Tree{n + 1, root}) {
				t.Fatalf("%d leaves: %+v, the library has %s, %v", n+1, f.Tree(), root, err)
			}
		}
	})
	if (&Frontier{}).Tree() != EmptyTree {
		t.Error("the zero frontier is not the empty tree")
	}
	for size, edge := range map[int64]int{0: 32, 1: 0, 1 << 40: 64, 3: 65, 7: 64, -1: 32} {
		if _, err := ParseFrontier(size, make([]byte, edge)); err == nil {
			t.Errorf("%d bytes were taken for the edge of %d leaves", edge, size)
		}
	}
}

func TestParseEntry(t *testing.T) {
	e := Entry{Match: [16]byte{1, 2, 15: 3}, Game: 4097, Head: [32]byte{5, 31: 6}}
	if got, err := ParseEntry(e.Data()); err != nil || got != e {
		t.Errorf("%+v, %v", got, err)
	}
	for _, data := range [][]byte{nil, e.Data()[1:], append(e.Data(), 0), append([]byte("R"), e.Data()[1:]...)} {
		if got, err := ParseEntry(data); !errors.Is(err, ErrEntry) {
			t.Errorf("%x is read as %+v, %v", data, got, err)
		}
	}
}
