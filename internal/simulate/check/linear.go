package check

import (
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// linearLimit bounds the search for an order of one match's operations.
const linearLimit = 20 * time.Second

// A match is a register of its commits: each takes it from one to the next. An
// operation either makes one of them or sees how many there are.
type operation struct {
	makes bool // one commit, from from to from+1
	// from is the commit that is made; or at least from and at most until commits
	// are seen.
	from, until int
}

var register = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, _ any) (bool, any) {
		n, o := state.(int), input.(operation)
		switch {
		case o.makes:
			return n == o.from, n + 1
		}
		return o.from <= n && n <= o.until, n
	},
}

// timeline is a match's log as the commits that made it.
type timeline struct {
	commits []commit
	at      map[place]int // the commit of each event
}

// commit is one transaction's events, and where the match stood after it.
type commit struct {
	transaction            string
	last                   place
	hash                   string
	game, nextPly, nextSeq int
	byClient               bool
}

func newTimeline(m *Match) *timeline {
	t := &timeline{at: map[place]int{}}
	for game := 1; game <= len(m.Games); game++ {
		log := m.Logs[game]
		for i := range log {
			e := &log[i]
			if n := len(t.commits); n == 0 || t.commits[n-1].transaction != e.Transaction {
				t.commits = append(t.commits, commit{transaction: e.Transaction})
			}
			last := &t.commits[len(t.commits)-1]
			last.last, last.hash = place{game, e.Seq}, e.hash()
			last.game, last.nextPly, last.nextSeq = game, e.Ply+1, e.Seq+1
			if e.Kind == kindGameEnded {
				last.game, last.nextPly, last.nextSeq = game+1, 1, 1
			}
			last.byClient = last.byClient || e.Request != nil
			t.at[place{game, e.Seq}] = len(t.commits) - 1
		}
	}
	return t
}

// linear checks that the calls of a match, those of all clients at all replicas,
// can have been carried out one after the other, each between its sending and
// its answer, in the order of the log.
func (c *checker) linear(m *Match) {
	t := newTimeline(m)
	var history []porcupine.Operation
	start := time.Time{}
	for _, call := range c.calls[m.ID] {
		if start.IsZero() || call.Sent.Before(start) {
			start = call.Sent
		}
	}
	const forever = int64(1) << 62
	made := m.places()
	makers := c.makers(m)
	for _, call := range c.calls[m.ID] {
		o, ok := t.operation(call, made, makers)
		if !ok {
			continue
		}
		sent, answered := int64(call.Sent.Sub(start)), int64(call.Answered.Sub(start))
		if o.makes && call.Replayed {
			history = append(history, porcupine.Operation{Input: operation{from: o.from + 1, until: many}, Call: sent, Return: answered})
		}
		if call.Outcome == Unknown || o.makes && call.Replayed {
			answered = forever
		}
		history = append(history, porcupine.Operation{Input: o, Call: sent, Return: answered})
	}
	for i, commit := range t.commits {
		if !commit.byClient {
			history = append(history, porcupine.Operation{Input: operation{makes: true, from: i}, Call: 0, Return: forever})
		}
	}
	sort.SliceStable(history, func(i, j int) bool { return history[i].Call < history[j].Call })
	switch porcupine.CheckOperationsTimeout(register, history, linearLimit) {
	case porcupine.Illegal:
		c.broken(Linear, m.ID, "%d operations have no order", len(history))
	case porcupine.Unknown:
		c.Undecided++
	case porcupine.Ok:
		c.Linearized += len(history)
	}
}

// places are the events that requests made.
func (m *Match) places() map[string]place {
	made := map[string]place{}
	for game, log := range m.Logs {
		for i := range log {
			if request := log[i].request(); request != "" && game > 0 {
				made[request] = place{game, log[i].Seq}
			}
		}
	}
	return made
}

// makers are the calls that carried each request out: the one that was answered
// for the first time or, where that answer was lost on the way to the client or to the
// replica, the earliest of all. The commit may then have come any time after its
// sending, and any other call of the request found it or never arrived.
func (c *checker) makers(m *Match) map[string]*Call {
	makers := map[string]*Call{}
	for _, call := range c.calls[m.ID] {
		maker := makers[call.RequestID]
		switch {
		case call.RequestID == "" || call.Reused || call.Outcome == Refused:
		case call.Outcome == Acknowledged && !call.Replayed:
			makers[call.RequestID] = call
		case maker == nil || (maker.Outcome == Unknown || maker.Replayed) && call.Sent.Before(maker.Sent):
			makers[call.RequestID] = call
		}
	}
	return makers
}

// many is more commits than any match has.
const many = 1 << 30

// operation is what a call did to the register; false where it says nothing.
func (t *timeline) operation(call *Call, made map[string]place, makers map[string]*Call) (operation, bool) {
	at, stored := made[call.RequestID]
	switch {
	case call.Outcome == Acknowledged && call.RequestID == "":
		return t.read(call)
	case call.Outcome == Refused:
		return t.refusal(call)
	case call.RequestID == "" || call.Reused || !stored:
		return operation{}, false
	case makers[call.RequestID] == call:
		return operation{makes: true, from: t.at[at]}, true
	case call.Outcome == Unknown:
		return operation{}, false
	}
	return operation{from: t.at[at] + 1, until: many}, true
}

// read is what a view says: after which commit it was taken. A head that is not
// the last of its commit was read in the middle of one.
func (t *timeline) read(call *Call) (operation, bool) {
	v := call.View
	for i, commit := range t.commits {
		switch {
		case v.Head != "" && commit.hash == v.Head:
			return operation{from: i + 1, until: i + 1}, true
		case v.Head == "" && commit.nextSeq == 1 && v.NextSeq == 1 && commit.game == v.Game:
			return operation{from: i + 1, until: i + 1}, true
		}
	}
	return operation{from: -1, until: -1}, v.Head != "" // impossible: such a view is never right
}

// afterNumbers are the reasons of refusals that come once the request's numbers
// were found to be the present ones.
var afterNumbers = map[string]bool{
	"ILLEGAL_ACTION": true, "RESIGNATION_TOO_EARLY": true, "NO_OFFER_LEFT": true, "OFFER_STANDS": true,
	"NO_OFFER": true, "NOT_YOUR_TURN": true, "CALL_REFUSED": true, "COUNT_REFUSED": true, "NO_PLACEMENT_PHASE": true,
}

// refusal is what a refusal says of the present numbers: those that it tells, or
// that they were the request's.
func (t *timeline) refusal(call *Call) (operation, bool) {
	game, ply, seq := call.View.Game, call.View.NextPly, call.View.NextSeq
	switch {
	case call.Reason == "STALE":
	case afterNumbers[call.Reason] && call.ByPly:
		game, ply, seq = call.Game, call.Expected, 0
	case afterNumbers[call.Reason]:
		game, ply, seq = call.Game, 0, call.Expected
	default:
		return operation{}, false
	}
	o := operation{from: -1, until: -1}
	for i, commit := range t.commits {
		if commit.game == game && (ply == 0 || commit.nextPly == ply) && (seq == 0 || commit.nextSeq == seq) {
			if o.from < 0 {
				o.from = i + 1
			}
			o.until = i + 1
		}
	}
	return o, true
}
