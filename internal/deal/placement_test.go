package deal

import (
	"encoding/hex"
	"testing"
)

// TestPlacementCommitment pins the algorithm: stored commitments are checked for ever.
func TestPlacementCommitment(t *testing.T) {
	m := Material{Context: Context{MatchID: [16]byte{1, 2, 3}, Game: 2}, Server: Seed{4, 5, 6}, Players: [][]byte{[]byte("ann's"), nil}}
	const placement = "98776/6.5.5/44.33/3.2.2/2MM11/MF1BB"
	salt := m.PlacementSalt(1, 3)
	commitment := m.CommitPlacement(1, 3, salt, placement)
	if got := hex.EncodeToString(salt[:]); got != wantPlacementSalt {
		t.Errorf("salt %s", got)
	}
	if got := hex.EncodeToString(commitment[:]); got != wantPlacementCommitment {
		t.Errorf("commitment %s", got)
	}
	seen := map[[32]byte]bool{commitment: true}
	other := Context{MatchID: m.MatchID, Game: 3}
	for i, c := range [][32]byte{
		m.CommitPlacement(0, 3, salt, placement), m.CommitPlacement(1, 4, salt, placement), m.CommitPlacement(1, 3, [32]byte{}, placement),
		m.CommitPlacement(1, 3, salt, placement[1:]), other.CommitPlacement(1, 3, salt, placement),
		m.PlacementSalt(1, 4), m.PlacementSalt(0, 3), salt, m.Commit(m.Server),
	} {
		if seen[c] {
			t.Errorf("value %d comes twice", i)
		}
		seen[c] = true
	}
}

// What internal/verify/testdata/verify.py computes.
const (
	wantPlacementSalt       = "af5769f73c898e12eb6524a03aca6e64c7d1501485917b5d9a413c8db63abe0e"
	wantPlacementCommitment = "696bfcb96b878725dbef52f962173169385136e01fc55250278bfc860e2a5ddd"
)
