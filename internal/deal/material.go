package deal

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
)

// Version is the number of the algorithm in the package comment. It is stored
// with each game, which is judged by its own version for ever.
const Version = 1

// Limits of what players may add.
const (
	MaxPlayers         = 4  // the largest table
	MaxPlayerSeedBytes = 64 // each
)

// Labels of the streams. Actions played by the server have a stream a ply: see
// Material.ServerPlay.
const (
	LabelDeal       = "deal"
	LabelFirstMover = "first_mover"
	labelSalt       = "salt"
	labelServerPlay = "server_play:"
)

// Seed is the server's secret of one game: 32 bytes from the operating system's
// randomness. It prints as a fixed word, so that no log can leak it.
type Seed [32]byte

// Context names the game that everything here is bound to: nothing made for one
// game passes for another's.
type Context struct {
	MatchID [16]byte
	Game    uint16 // number of the game in its match, from 1
}

// Commit returns the commitment to the server's seed. Publish it before any
// player's seed is known.
func (c Context) Commit(server Seed) [32]byte {
	b := c.append(appendTag(nil, "referee.deal.v1.commit"))
	return sha256.Sum256(append(b, server[:]...))
}

func (c Context) append(b []byte) []byte {
	return binary.BigEndian.AppendUint16(append(b, c.MatchID[:]...), c.Game)
}

// Material is all that a game's randomness follows from.
type Material struct {
	Context
	Server Seed
	// Players holds each seat's seed in order of seat; an empty one where a seat
	// gave none. The number of seats counts: two empty seeds are not none.
	Players [][]byte
}

// A MaterialError says why players' seeds are refused.
type MaterialError struct {
	Seat   int // the seat whose seed is too long; -1 where there are too many seats
	Length int // its bytes, or the number of seats
	Limit  int
}

func (e *MaterialError) Error() string {
	if e.Seat < 0 {
		return fmt.Sprintf("deal: seeds of %d seats, at most %d are allowed", e.Length, e.Limit)
	}
	return fmt.Sprintf("deal: seed of seat %d has %d bytes, at most %d are allowed", e.Seat, e.Length, e.Limit)
}

// Check returns a *MaterialError if there are more than MaxPlayers seeds or one
// is longer than MaxPlayerSeedBytes.
func (m Material) Check() error {
	if n := len(m.Players); n > MaxPlayers {
		return &MaterialError{Seat: -1, Length: n, Limit: MaxPlayers}
	}
	for seat, seed := range m.Players {
		if len(seed) > MaxPlayerSeedBytes {
			return &MaterialError{Seat: seat, Length: len(seed), Limit: MaxPlayerSeedBytes}
		}
	}
	return nil
}

// Shuffle returns the arrangement that deck is dealt into: element s of the
// result is the piece on square s. The deck itself is not changed.
func (m Material) Shuffle(deck []byte) []byte {
	stream := m.Stream(LabelDeal)
	dealt := append([]byte(nil), deck...)
	for i := len(dealt) - 1; i > 0; i-- {
		j := stream.Intn(i + 1)
		dealt[i], dealt[j] = dealt[j], dealt[i]
	}
	return dealt
}

// ServerPlay returns the stream that the server's own action at ply is drawn
// from. Each ply has its own, so a draw never depends on how many went before.
func (m Material) ServerPlay(ply int) *Stream {
	return m.Stream(labelServerPlay + strconv.Itoa(ply))
}

// appendTag begins the input of a hash with what the hash is for.
func appendTag(b []byte, tag string) []byte {
	return append(append(b, byte(len(tag))), tag...)
}

// appendBytes appends a field of variable size after its length.
func appendBytes[T string | []byte](b []byte, field T) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(field))), field...)
}
