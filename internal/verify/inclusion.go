package verify

import "referee.example/internal/tlog"

// inclusion checks that the log of finished games has the final head: what was
// rewritten from end to end, every hash made anew, is found by this alone.
func (c *checker) inclusion(g *played) {
	if g.seed == nil {
		return
	}
	end := &g.events[len(g.events)-1]
	entry := tlog.Entry{Match: c.match.ID, Game: g.Number, Head: end.Hash}
	switch {
	case g.Inclusion == nil && c.log != nil && g.Ended:
		c.find(g.Number, end.Seq, "inclusion", "a proof that the log of finished games holds the game", "none")
	case g.Inclusion == nil && c.log != nil:
		c.note("game %d has no proof that the log of finished games holds it", g.Number)
	case g.Inclusion == nil:
	case c.log == nil:
		c.note("game %d: that the log of finished games holds it is not checked without the log's key", g.Number)
		c.logged = append(c.logged, logged{g.Game, entry, end.Seq})
	default:
		if _, err := g.Inclusion.Check(entry, c.log); err != nil {
			c.find(g.Number, end.Seq, "inclusion", "the game's head in the log of finished games", err.Error())
			return
		}
		c.logged = append(c.logged, logged{g.Game, entry, end.Seq})
	}
}
