package check

import "time"

// clockError is how far, either way, a replica may be off the database's time.
const clockError = 50 * time.Millisecond

// acknowledged checks what the clients of a match were told against its log:
// every event that was told stands there as it was told, every head is the hash
// of its event, every settlement is stored.
func (c *checker) acknowledged(m *Match) {
	for _, call := range c.calls[m.ID] {
		if call.Outcome != Acknowledged {
			continue
		}
		c.Acknowledgements++
		for _, e := range call.Events {
			c.told(m, Durable, e)
		}
		c.head(m, call)
		if call.Settled != nil {
			c.toldSettlement(m, call.Settled)
		}
		if call.RequestID != "" && !call.Replayed && len(call.Events) > 0 {
			c.arrival(m, call)
		}
	}
}

// told checks that an event stands in the log as somebody was told of it.
func (c *checker) told(m *Match, promise string, e Event) {
	log := m.Logs[e.Game]
	if e.Seq < 1 || e.Seq > len(log) {
		c.broken(promise, m.ID, "event %d of game %d was told and is not stored", e.Seq, e.Game)
		return
	}
	stored := &log[e.Seq-1]
	if m.Rules.ArmyChess != nil {
		c.toldOfArmy(m, promise, e, stored)
	}
	if stored.hash() != e.Hash || stored.Kind != e.Kind || stored.Ply != e.Ply || !stored.Time.Equal(e.Time) {
		c.broken(promise, m.ID, "event %d of game %d was told as kind %d, ply %d, hash %x and is stored as kind %d, ply %d, hash %x",
			e.Seq, e.Game, e.Kind, e.Ply, e.Hash, stored.Kind, stored.Ply, stored.hash())
	}
}

// head checks that the head that was told is the hash at its seq.
func (c *checker) head(m *Match, call *Call) {
	v := call.View
	if v.Head == "" {
		return
	}
	log := m.Logs[v.Game]
	at := v.NextSeq - 1
	if v.NextSeq == 0 {
		at = len(log) // the game had ended
	}
	if at < 1 || at > len(log) || log[at-1].hash() != v.Head {
		c.broken(Durable, m.ID, "%s was answered with the head of event %d of game %d, which is not stored", call.Method, at, v.Game)
	}
}

// arrival checks that the call's event has the time of its arrival: not before
// it was sent, not after it was answered, by a clock that may be a little off.
func (c *checker) arrival(m *Match, call *Call) {
	e := call.Events[0]
	if e.Game == 0 {
		return
	}
	floor := call.Sent.Add(-clockError)
	ceiling := call.Answered.Add(clockError)
	if log := m.Logs[e.Game]; e.Seq > 1 && e.Seq <= len(log) && log[e.Seq-2].Time.After(ceiling) {
		return // it can't be before the event before it
	}
	if e.Time.Before(floor) || e.Time.After(ceiling) {
		c.broken(Timely, m.ID, "event %d of game %d is of %s; its call was sent %s and answered %s",
			e.Seq, e.Game, stamp(e.Time), stamp(call.Sent), stamp(call.Answered))
	}
}

func stamp(t time.Time) string { return t.UTC().Format("15:04:05.000000") }

func (c *checker) toldSettlement(m *Match, told *Settlement) {
	for i := range m.Settlements {
		stored := &m.Settlements[i]
		if stored.ID != told.ID {
			continue
		}
		if stored.Game != told.Game || stored.Multiple != told.Multiple || !sameLines(stored.Lines, told.Lines) {
			c.broken(Settled, m.ID, "the settlement of game %d was told otherwise than it is stored", told.Game)
		}
		return
	}
	c.broken(Durable, m.ID, "the settlement of game %d was told and is not stored", told.Game)
}

func sameLines(a, b []Line) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// requests checks that each request stands in the log at most once, where its
// answers said, that its answers are alike, that one alone is a first answer, and
// that nothing is there which nobody sent or which was refused for good.
func (c *checker) requests(m *Match) {
	stored := map[string]*Row{}
	for _, log := range m.Logs {
		for i := range log {
			request := log[i].request()
			if request == "" {
				continue
			}
			if stored[request] != nil {
				c.broken(Once, m.ID, "request %s stands in the log twice", request)
			}
			stored[request] = &log[i]
		}
	}
	first := map[string]*Call{}
	fresh := map[string]bool{}
	sent := map[string]bool{}
	for _, call := range c.calls[m.ID] {
		if call.RequestID == "" {
			continue
		}
		sent[call.RequestID] = true
		if call.Reused {
			c.reused(call)
		}
		if call.Outcome != Acknowledged || call.Reused {
			continue
		}
		row := stored[call.RequestID]
		if row == nil || len(call.Events) == 0 || row.Game != call.Events[0].Game || row.Seq != call.Events[0].Seq {
			c.broken(Durable, m.ID, "%s %s was acknowledged and does not stand where its answer said", call.Method, call.RequestID)
		}
		if other := first[call.RequestID]; other == nil {
			first[call.RequestID] = call
		} else if other.Digest != call.Digest {
			c.broken(Once, m.ID, "%s %s was answered in two ways", call.Method, call.RequestID)
		}
		if !call.Replayed && fresh[call.RequestID] {
			c.broken(Once, m.ID, "%s %s was answered for the first time twice", call.Method, call.RequestID)
		}
		fresh[call.RequestID] = fresh[call.RequestID] || !call.Replayed
	}
	for request, row := range stored {
		if !sent[request] && row.Kind != kindMatchCreated {
			c.broken(Once, m.ID, "event %d of game %d has request %s, which nobody sent", row.Seq, row.Game, request)
		}
	}
	c.refused(m, stored)
}

// transient are the codes of refusals that say nothing about the request.
var transient = map[string]bool{"Unavailable": true, "ResourceExhausted": true, "DeadlineExceeded": true}

// reused checks that a request with another's id and other content was refused for that.
func (c *checker) reused(call *Call) {
	switch {
	case call.Outcome == Acknowledged:
		c.broken(Once, call.Match, "%s %s, an id that was another request's, was acknowledged", call.Method, call.RequestID)
	case call.Outcome == Unknown || transient[call.Code] || call.Reason == "CONTENTION":
	case call.Reason != "REQUEST_ID_REUSED":
		c.broken(Once, call.Match, "%s %s, an id that was another request's, was refused as %s", call.Method, call.RequestID, call.Reason)
	default:
		c.Reused++
	}
}

// refused checks that a request of which every call was refused left nothing.
func (c *checker) refused(m *Match, stored map[string]*Row) {
	open := map[string]bool{}
	for _, call := range c.calls[m.ID] {
		if call.Outcome != Refused {
			open[call.RequestID] = true
		}
	}
	for _, call := range c.calls[m.ID] {
		if call.RequestID != "" && !open[call.RequestID] && stored[call.RequestID] != nil {
			c.broken(Once, m.ID, "%s %s was refused (%s) and is stored", call.Method, call.RequestID, call.Reason)
		}
	}
}
