package check

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
)

// chain computes each event's hash anew over the stored columns and the hash
// before it, in the form that internal/README.md documents.
func (c *checker) chain(m *Match) {
	for game, log := range m.Logs {
		previous := make([]byte, sha256.Size)
		for i := range log {
			e := &log[i]
			if want := e.chained(previous); !bytes.Equal(want, e.Hash) {
				c.broken(Chain, m.ID, "event %d of game %d has another hash than its columns give", e.Seq, game)
			}
			previous = e.Hash
			c.Events++
		}
	}
}

func (e *Row) chained(previous []byte) []byte {
	b := append([]byte("referee.v1 event\x00"), previous...)
	b = append(b, e.MatchID[:]...)
	b = binary.BigEndian.AppendUint16(b, uint16(e.Game))
	b = binary.BigEndian.AppendUint32(b, uint32(e.Seq))
	b = binary.BigEndian.AppendUint32(b, uint32(e.Ply))
	for _, small := range []int{e.Seat, e.Kind, e.ActionKind, e.FromSquare, e.ToSquare, e.Turned, e.Captured} {
		b = append(b, byte(small))
	}
	b = binary.BigEndian.AppendUint64(b, uint64(e.Time.UnixMicro()))
	var request [16]byte
	if e.Request != nil {
		request = *e.Request
	}
	b = append(b, request[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(e.Principal))
	for _, part := range [][]byte{e.Clocks, e.ClientHash, e.Detail} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// log checks that each game's log is dense in seq and ply, never goes back in
// time, and that games follow one another.
func (c *checker) log(m *Match) {
	for game, log := range m.Logs {
		ply := 0
		for i := range log {
			e := &log[i]
			if e.Seq != i+1 {
				c.broken(OneLog, m.ID, "event %d of game %d comes after %d", e.Seq, game, i)
			}
			if e.Kind == kindPly || e.Kind == kindServerPly {
				ply++
			}
			if e.Ply != ply && game > 0 {
				c.broken(OneLog, m.ID, "event %d of game %d stands at ply %d, %d were played", e.Seq, game, e.Ply, ply)
				ply = e.Ply
			}
			if i > 0 && e.Time.Before(log[i-1].Time) {
				c.broken(Timely, m.ID, "event %d of game %d is before the one before it", e.Seq, game)
			}
		}
	}
	for i, g := range m.Games {
		if g.Number != i+1 {
			c.broken(OneLog, m.ID, "game %d comes after %d", g.Number, i)
		}
		if i+1 < len(m.Games) && g.Status != gameEnded {
			c.broken(OneLog, m.ID, "game %d has not ended and game %d is there", g.Number, g.Number+1)
		}
	}
}

// finished checks the log of finished games: every ended game once, as it ended,
// and every compensation that was made, at dense positions, under the root that
// its own tree gives.
func (c *checker) finished() {
	logged := map[string]map[int]int{} // entries by match and game
	heads := map[string]bool{}
	var leaves [][]byte
	for i, entry := range c.record.Entries {
		if entry.Position != int64(i) {
			c.broken(Logged, entry.Match, "position %d of the log comes after %d entries", entry.Position, i)
		}
		if logged[entry.Match] == nil {
			logged[entry.Match] = map[int]int{}
		}
		logged[entry.Match][entry.Game]++
		if heads[string(entry.Head)] {
			c.broken(Logged, entry.Match, "an entry of game %d is there twice", entry.Game)
		}
		heads[string(entry.Head)] = true
		leaves = append(leaves, c.entry(entry))
	}
	for _, id := range sortedKeys(c.record.Matches) {
		m := c.record.Matches[id]
		for _, g := range m.Games {
			if want := btoi(g.Status == gameEnded); logged[id][g.Number] != want {
				c.broken(Logged, id, "game %d has %d entries instead of %d", g.Number, logged[id][g.Number], want)
			}
		}
		made := 0
		for _, s := range m.Settlements {
			made += btoi(s.Compensates && c.record.LogsCompensations)
		}
		if logged[id][0] != made {
			c.broken(Logged, id, "%d compensations have %d entries", made, logged[id][0])
		}
	}
	if c.record.Queued != 0 {
		c.broken(Logged, "", "%d games wait for the log", c.record.Queued)
	}
	if !bytes.Equal(treeHash(leaves), c.record.Root) {
		c.broken(Logged, "", "the stored root is not that of the entries")
	}
}

// entry checks that an entry has the hash of its game's last event, or of an event
// that made a compensation, and returns its leaf.
func (c *checker) entry(entry Entry) []byte {
	m := c.record.Matches[entry.Match]
	if m == nil || len(m.Logs[entry.Game]) == 0 {
		c.broken(Logged, entry.Match, "game %d is there and was never played", entry.Game)
		return nil
	}
	log := m.Logs[entry.Game]
	found := bytes.Equal(log[len(log)-1].Hash, entry.Head)
	for i := range log {
		found = found || entry.Game == 0 && bytes.Equal(log[i].Hash, entry.Head)
	}
	if !found {
		c.broken(Logged, entry.Match, "game %d is there with another head", entry.Game)
	}
	return leafHash(log[0].MatchID, entry.Game, entry.Head)
}

func leafHash(match [16]byte, game int, head []byte) []byte {
	b := append([]byte{0}, "referee.v1 finished game\x00"...)
	b = append(b, match[:]...)
	b = binary.BigEndian.AppendUint16(b, uint16(game))
	sum := sha256.Sum256(append(b, head...))
	return sum[:]
}

// treeHash is the Merkle tree hash of RFC 6962, section 2.1, over hashed leaves.
func treeHash(leaves [][]byte) []byte {
	switch len(leaves) {
	case 0:
		sum := sha256.Sum256(nil)
		return sum[:]
	case 1:
		return leaves[0]
	}
	split := 1
	for split*2 < len(leaves) {
		split *= 2
	}
	sum := sha256.Sum256(append(append([]byte{1}, treeHash(leaves[:split])...), treeHash(leaves[split:])...))
	return sum[:]
}
