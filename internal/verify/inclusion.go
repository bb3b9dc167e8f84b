package verify

import (
	"referee.example/internal/referee"
	"referee.example/internal/tlog"
)

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
	case g.Inclusion == nil && c.log != nil && c.match.Exported:
		c.note("game %d has no proof that the log of finished games holds it", g.Number)
	case g.Inclusion == nil: // of a store's rows, logged tells
	default:
		if c.included(g.Number, end, g.Inclusion) || c.log == nil {
			c.shown = append(c.shown, proved{g.Game, entry, end.Seq})
		}
	}
}

// included checks a proof that the log has an event's hash as a game's head, and
// reports whether it has.
func (c *checker) included(game int, e *referee.Event, proof *tlog.Inclusion) bool {
	if c.log == nil {
		c.note("game %d: that the log of finished games holds it is not checked without the log's key", game)
		return false
	}
	entry := tlog.Entry{Match: c.match.ID, Game: game, Head: e.Hash}
	_, err := proof.Check(entry, c.log)
	if err != nil {
		c.find(game, e.Seq, "inclusion", "the game's head in the log of finished games", err.Error())
	}
	return err == nil
}

// madeCompensation returns the last event that made a compensation; nil if none
// did.
func madeCompensation(events []referee.Event) *referee.Event {
	for i := len(events) - 1; i >= 0; i-- {
		if d, err := events[i].Compensation(); err == nil && d.Made {
			return &events[i]
		}
	}
	return nil
}

// compensationInclusion checks an exported log of compensations: the head that is
// proved is that of an event at or after the last compensation that was made.
func (c *checker) compensationInclusion(events []referee.Event) {
	made := madeCompensation(events)
	proof := c.match.CompensationsInclusion
	switch {
	case made == nil && proof != nil:
		c.find(0, len(events), "inclusion", "none: only compensations that were made enter the log of finished games", "a proof")
	case made == nil:
	case proof == nil && c.log != nil && c.match.Exported:
		c.find(0, made.Seq, "inclusion", "a proof that the log of finished games holds the compensation", "none")
	case proof == nil:
	case c.log == nil:
		c.included(0, made, proof)
	default:
		for i := made.Seq - 1; i < len(events); i++ {
			if _, err := proof.Check(tlog.Entry{Match: c.match.ID, Head: events[i].Hash}, c.log); err == nil {
				if i+1 < len(events) {
					c.note("compensations: the events after %d are not proved by the log of finished games", events[i].Seq)
				}
				return
			}
		}
		c.included(0, made, proof)
	}
}
