package check

import "time"

const (
	// grace is how long after a deadline nobody acts on the expiry.
	grace = 250 * time.Millisecond
	// prompt is how soon after the grace an expiry is adjudicated.
	prompt = time.Second
)

// expiries checks that each expiry stands at the deadline that clients had been
// told, was adjudicated after the grace and within a second of its end, and that
// no ply arrived after the deadline that it had.
func (c *checker) expiries(m *Match) {
	deadlines := c.deadlines(m)
	for game, log := range m.Logs {
		for i := range log {
			e := &log[i]
			told, known := deadlines[place{game, e.Seq - 1}]
			switch e.Kind {
			case kindExpired:
				c.expired(m, e, told, known)
			case kindPly:
				if known && e.Time.After(told) {
					c.broken(Timely, m.ID, "ply %d of game %d arrived %s after its deadline", e.Ply, game, e.Time.Sub(told))
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
	if !e.Committed.After(due.Add(prompt)) {
		return
	}
	switch second := (Span{due, due.Add(prompt)}); {
	case c.excused(second):
		c.Excused++
		return
	case c.stalled(second):
		c.Stalled++
		return
	}
	c.broken(Timely, m.ID, "event %d of game %d, an expiry, was adjudicated %s, %s after the end of its grace", e.Seq, e.Game, stamp(e.Committed), e.Committed.Sub(due))
}

// stalled reports whether the machine was slow in a second.
func (c *checker) stalled(second Span) bool {
	for _, stall := range c.history.Stalls {
		if stall.overlaps(second) {
			return true
		}
	}
	return false
}

// excused reports whether no replica was whole during the second in which an
// expiry was due.
func (c *checker) excused(due Span) bool {
	whole := make([]bool, c.history.Replicas)
	for i := range whole {
		whole[i] = true
	}
	for _, down := range c.history.Down {
		if !down.overlaps(due) {
			continue
		}
		if down.Replica == AllReplicas {
			return true
		}
		whole[down.Replica] = false
	}
	for _, w := range whole {
		if w {
			return false
		}
	}
	return true
}

func (s Span) overlaps(other Span) bool {
	return !s.From.After(other.Until) && !other.From.After(s.Until)
}
