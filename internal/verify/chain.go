package verify

import (
	"encoding/hex"
	"fmt"

	"referee.example/internal/referee"
)

// chain checks a log's bytes, hashes and numbers. It returns the events up to
// the first that stands in the wrong place or can't be read; whole tells that
// there is none.
func (c *checker) chain(game int, log []Entry) (events []referee.Event, whole bool) {
	events = make([]referee.Event, 0, len(log))
	whole = true
	var previous [32]byte
	seen := make(map[referee.ID]int, len(log))
	seq, time := 1, int64(0)
	for i := range log {
		c.Events++
		entry := &log[i]
		if got := referee.ChainHash(previous, entry.Canonical); got != entry.Hash {
			c.find(game, seq, "hash", hexOf(got), hexOf(entry.Hash))
		}
		previous = entry.Hash
		e, err := referee.DecodeEvent(entry.Canonical)
		if err != nil {
			c.find(game, seq, "encoding", "the canonical form of an event", err.Error())
			whole = false
			seq++
			continue
		}
		e.Hash = entry.Hash
		if !c.place(game, seq, time, &e) {
			whole = false
		}
		if at := seen[e.RequestID]; at != 0 && e.RequestID != (referee.ID{}) {
			c.find(game, seq, "request_id", "an id of its own", fmt.Sprintf("that of event %d", at))
		}
		seen[e.RequestID] = seq
		if whole {
			events = append(events, e)
		}
		seq, time = e.Seq+1, int64(e.Time)
	}
	return events, whole
}

// place checks that an event stands where it belongs.
func (c *checker) place(game, seq int, after int64, e *referee.Event) bool {
	ok := true
	wrong := func(what, expected, found string) {
		c.find(game, seq, what, expected, found)
		ok = false
	}
	if e.Match != c.match.ID {
		wrong("match_id", c.match.ID.String(), e.Match.String())
	}
	if e.Game != game {
		wrong("game", fmt.Sprint(game), fmt.Sprint(e.Game))
	}
	if e.Seq != seq {
		wrong("seq", fmt.Sprint(seq), fmt.Sprint(e.Seq))
	}
	if int64(e.Time) < after {
		// It can be replayed all the same: the time alone is wrong.
		c.find(game, seq, "time", "not before "+instant(after), instant(int64(e.Time)))
	}
	return ok
}

func hexOf(hash [32]byte) string { return hex.EncodeToString(hash[:]) }
