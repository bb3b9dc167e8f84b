package store

import (
	"slices"
	"sync"

	"referee.example/internal/referee"
)

// requestsLimit bounds the request ids and logs that a generation of requests holds:
// 16 MiB at most.
const requestsLimit = 1 << 19

// requests remembers which request ids are in the logs of the games that this
// replica was asked about, in two generations as recent does. What it knows of a log
// is its beginning, which nothing changes any more unless a promoted standby has lost
// some of it: so only that an id is not there is taken from it. The zero value is empty.
type requests struct {
	mu             sync.Mutex
	younger, older map[referee.ID]*requestLog
	held           int // ids of the younger
}

// requestLog is what is known of one game's log.
type requestLog struct {
	game    int
	through int // seq of the last event that is known
	ids     []referee.ID
}

// look reports whether the beginning of a game's log that is known has the request
// id, and how far it goes.
func (r *requests) look(id referee.ID, game int, request referee.ID) (has bool, through int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.find(id)
	if l == nil || l.game != game {
		return false, 0
	}
	return slices.Contains(l.ids, request), l.through
}

// learn adds what was read of a game's log after the event of a seq, unless a later
// game of the match is known.
func (r *requests) learn(id referee.ID, game, after int, events []requestEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.find(id)
	switch {
	case l == nil || l.game < game:
		l = &requestLog{game: game}
		r.add(id, l)
	case l.game > game:
		return
	}
	r.extend(l, after, events)
}

// committed adds the events of a change, if all that was logged before is known: for
// most games, from their first event on.
func (r *requests) committed(id referee.ID, events []referee.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.find(id)
	for i := range events {
		e := &events[i]
		if e.Seq == 1 && (l == nil || l.game < e.Game) {
			l = &requestLog{game: e.Game}
			r.add(id, l)
		}
		if l != nil && l.game == e.Game {
			r.extend(l, e.Seq-1, []requestEvent{{e.Seq, e.RequestID}})
		}
	}
}

// extend adds events that follow on the event of a seq.
func (r *requests) extend(l *requestLog, after int, events []requestEvent) {
	if l.through < after {
		return
	}
	for _, e := range events {
		if e.seq <= l.through {
			continue
		}
		l.through = e.seq
		if e.request != (referee.ID{}) {
			l.ids = append(l.ids, e.request)
			r.held++
		}
	}
}

// find looks in both generations; what is used stays in the younger.
func (r *requests) find(id referee.ID) *requestLog {
	l := r.younger[id]
	if l != nil {
		return l
	}
	if l = r.older[id]; l != nil {
		r.add(id, l)
	}
	return l
}

func (r *requests) add(id referee.ID, l *requestLog) {
	if r.held >= requestsLimit || r.younger == nil {
		r.older, r.younger, r.held = r.younger, map[referee.ID]*requestLog{}, 0
	}
	r.younger[id] = l
	r.held += 1 + len(l.ids)
}

// requestEvent is an event's number and request id, which is zero where the server
// made the event.
type requestEvent struct {
	seq     int
	request referee.ID
}
