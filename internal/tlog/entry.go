// Package tlog is the transparency log of finished games: a Merkle tree (RFC
// 6962) with one leaf a game, whose head is signed as a C2SP checkpoint. Whoever
// keeps a checkpoint can later have it proved that a game is in the log as it
// ended, and that nothing below the checkpoint has changed since.
//
// One file holds an idea: entry.go what is logged, tree.go how the tree grows,
// key.go and checkpoint.go what is signed, cosignature.go what a witness adds,
// sequencer.go who logs and signs, proof.go and tile.go what is served,
// consistency.go what a witness and an operator check, frontier.go and audit.go
// how the whole log is read against itself.
package tlog

import (
	"encoding/binary"
	"errors"

	"golang.org/x/mod/sumdb/tlog"
)

// Hash is a hash of the tree: SHA-256.
type Hash = tlog.Hash

// entryDomain separates entries from everything else that is hashed.
const entryDomain = "referee.v1 finished game\x00"

// EntryBytes is the length of an entry: domain, match, game and head.
const EntryBytes = len(entryDomain) + 16 + 2 + 32

// Entry is a finished game, however it ended; also one that was committed to and
// never started. A game has one. Game 0 is the match's log of compensations, which
// has an entry for each that is made: its head is that log's hash then.
type Entry struct {
	Match [16]byte
	Game  int      // number in the match, from 1; 0 for compensations
	Head  [32]byte // hash of the last event
}

// Data returns the entry as it is hashed into the tree: the domain, the match
// id, the game as two big-endian bytes, the hash of its last event.
func (e Entry) Data() []byte {
	data := make([]byte, 0, EntryBytes)
	data = append(data, entryDomain...)
	data = append(data, e.Match[:]...)
	data = binary.BigEndian.AppendUint16(data, uint16(e.Game))
	return append(data, e.Head[:]...)
}

// Leaf returns the entry's leaf in the tree.
func (e Entry) Leaf() Hash { return tlog.RecordHash(e.Data()) }

// ErrEntry means that bytes are not an entry of the log.
var ErrEntry = errors.New("not an entry of the log of finished games")

// ParseEntry reads an entry as Data writes it.
func ParseEntry(data []byte) (e Entry, err error) {
	if len(data) != EntryBytes || string(data[:len(entryDomain)]) != entryDomain {
		return e, ErrEntry
	}
	data = data[len(entryDomain):]
	e.Match, e.Game, e.Head = [16]byte(data[:16]), int(binary.BigEndian.Uint16(data[16:])), [32]byte(data[18:])
	return e, nil
}
