package check

import "time"

const (
	// grace is how long after a deadline nobody acts on the expiry.
	grace = 250 * time.Millisecond
	// prompt is how soon after the grace an expiry is adjudicated.
	prompt = time.Second
)

// expiries checks that each expiry, of a turn or of the time to place, stands at the
// deadline that clients had been told, was adjudicated after the grace and within a
// second of its end, and that no ply and no placement arrived after its deadline.
func (c *checker) expiries(m *Match) {
	deadlines := c.deadlines(m)
	for game, log := range m.Logs {
		for i := range log {
			e := &log[i]
			told, known := deadlines[place{game, e.Seq - 1}]
			switch e.Kind {
			case kindExpired:
				c.expired(m, e, told, known)
				if i > 0 && log[i-1].Kind == kindExpired {
					c.broken(Once, m.ID, "event %d of game %d is an expiry after an expiry, of one turn", e.Seq, game)
				}
			case kindPlacementExpired:
				c.PlacementExpiries++
				c.expired(m, e, told, known)
			case kindPly, kindPlacementSubmitted:
				if known && e.Time.After(told) {
					c.broken(Timely, m.ID, "event %d of game %d, a ply or a placement, arrived %s after its deadline", e.Seq, game, e.Time.Sub(told))
				}
			}
		}
	}
}

// place is after an event of a game.
type place struct{ game, seq int }

// deadlines are those that clients were told, by where the game stood.
func (c *checker) deadlines(m *Match) map[place]time.Time {
	deadlines := map[place]time.Time{}
	for _, call := range c.calls[m.ID] {
		v := call.View
		if call.Outcome != Acknowledged || v.Deadline.IsZero() || v.NextSeq == 0 {
			continue
		}
		at := place{v.Game, v.NextSeq - 1}
		if other, ok := deadlines[at]; ok && !other.Equal(v.Deadline) {
			c.broken(Timely, m.ID, "after event %d of game %d two deadlines were told: %s and %s", at.seq, at.game, stamp(other), stamp(v.Deadline))
		}
		deadlines[at] = v.Deadline
	}
	return deadlines
}

func (c *checker) expired(m *Match, e *Row, told time.Time, known bool) {
	c.Expiries++
	if known {
		c.DeadlinesTold++
		if !e.Time.Equal(told) {
			c.broken(Timely, m.ID, "event %d of game %d, an expiry, is of %s; the deadline was %s", e.Seq, e.Game, stamp(e.Time), stamp(told))
		}
	}
	for _, outage := range c.record.Outages {
		if outage.From.Before(e.Time) && !outage.Until.Before(e.Time) {
			c.broken(Timely, m.ID, "event %d of game %d, an expiry, is of %s, in the outage from %s until %s, which had paused its clock",
				e.Seq, e.Game, stamp(e.Time), stamp(outage.From), stamp(outage.Until))
		}
	}
	due := e.Time.Add(grace)
	if e.Committed.Before(due) {
		c.broken(Timely, m.ID, "event %d of game %d, an expiry, was adjudicated %s after its deadline, within the grace", e.Seq, e.Game, e.Committed.Sub(e.Time))
	}
	c.late(m, e, Span{due, e.Committed})
}

// late checks that no replica had been whole for a second, in one piece, between the
// end of a grace and the commit of its expiry. A machine that is held up slows every
// replica: what it was held up for is not part of the second.
func (c *checker) late(m *Match, e *Row, wait Span) {
	late := wait.length() - prompt
	if late <= 0 {
		return
	}
	whole, given := c.whole(wait)
	lateness := Lateness{Count: 1, Latest: late, Held: c.held(wait)}
	switch {
	case whole <= prompt:
		c.Excused.Add(lateness)
	case given <= prompt:
		c.Stalled.Add(lateness)
	default:
		c.broken(Timely, m.ID, "event %d of game %d, an expiry, was adjudicated %s, %s after the end of its grace; a replica had been whole for %s of that, and the machine was not held up for %s",
			e.Seq, e.Game, stamp(e.Committed), wait.length(), whole, given)
	}
}

// whole is how long, in one piece, any replica was whole in a span; given is how
// much of that, at most, the machine was not held up.
func (c *checker) whole(span Span) (whole, given time.Duration) {
	for replica := range c.history.Replicas {
		from := span.From
		for from.Before(span.Until) {
			until := span.Until
			for _, down := range c.history.Down {
				if down.Replica != replica && down.Replica != AllReplicas || !down.Until.After(from) {
					continue
				}
				if !down.From.After(from) {
					from, until = down.Until, down.Until
					break
				}
				until = earlier(until, down.From)
			}
			if until.After(from) {
				piece := Span{from, until}
				whole = max(whole, piece.length())
				given = max(given, piece.length()-c.held(piece))
				from = until
			}
		}
	}
	return whole, given
}

// held is how long the machine was held up in a span.
func (c *checker) held(span Span) (held time.Duration) {
	for _, stall := range c.history.Stalls {
		if part := (Span{later(stall.From, span.From), earlier(stall.Until, span.Until)}).length(); part > 0 {
			held += min(stall.Held, part)
		}
	}
	return held
}

func (s Span) length() time.Duration { return s.Until.Sub(s.From) }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
