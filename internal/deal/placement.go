package deal

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// PlacementSaltSize is the length of a placement's salt in bytes.
const PlacementSaltSize = 32

// PlacementSalt returns the salt of the commitment to a placement: how a seat has
// placed its pieces, at the attempt of this number, from 1. Each attempt has its
// own.
func (m Material) PlacementSalt(seat uint8, attempt uint32) (salt [PlacementSaltSize]byte) {
	copy(salt[:], m.Stream(fmt.Sprintf("placement:%d:%d", seat, attempt)).Bytes(len(salt)))
	return salt
}

// CommitPlacement returns the commitment to a placement. Publish it when the
// placement is made; salt and placement open it when the game has ended.
func (c Context) CommitPlacement(seat uint8, attempt uint32, salt [PlacementSaltSize]byte, placement string) [32]byte {
	b := append(c.append(appendTag(make([]byte, 0, 128), "referee.placement.v1.commit")), seat)
	b = binary.BigEndian.AppendUint32(b, attempt)
	return sha256.Sum256(appendBytes(append(b, salt[:]...), placement))
}
