package verify

import (
	"fmt"

	"referee.example/internal/deal"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// Opening proves the piece that an event turned, as the platform was given it.
type Opening struct {
	Seq int
	deal.Opening
}

// openings checks the proofs of all turned pieces against the root of the start.
func (c *checker) openings(g *played) {
	if g.Openings == nil || g.started == nil {
		return
	}
	next := 0
	for i := range g.events {
		e := &g.events[i]
		if e.Turned == rules.NoPiece {
			continue
		}
		if next >= len(g.Openings) || g.Openings[next].Seq != e.Seq {
			c.find(g.Number, e.Seq, "opening", "a proof of the turned piece", "none")
			continue
		}
		c.opening(g, e, &g.Openings[next])
		next++
	}
	if next < len(g.Openings) {
		c.find(g.Number, g.Openings[next].Seq, "opening", "none: the event turned nothing", "one")
	}
}

func (c *checker) opening(g *played, e *referee.Event, o *Opening) {
	if at := c.rules.DealIndex(e); int(o.Square) != at || o.Piece != byte(e.Turned) {
		c.find(g.Number, e.Seq, "opening", fmt.Sprintf("of %s on square %d", c.pieceName(e.Turned), at),
			fmt.Sprintf("of piece %d on square %d", o.Piece, o.Square))
	} else if !o.Verify(g.started.Root, len(c.rules.Deck())) {
		c.find(g.Number, e.Seq, "opening", "a salt and a proof that open the root "+hexOf(g.started.Root), "others")
	}
}
