package store

import (
	"sync"

	"referee.example/internal/referee"
)

// known is what this replica remembers of matches, for the sake of speed alone.
type known struct {
	recent   recent
	requests requests
}

// committed remembers a change that was, and numbers its state.
func (k *known) committed(s *referee.State, version int64, events []referee.Event) {
	s.Version = version
	k.recent.put(s)
	k.requests.committed(s.ID, events)
}

// recentLimit bounds how many matches a generation of recent holds: at about two
// kilobytes a match, some 32 MiB for the two.
const recentLimit = 8192

// recent remembers the matches that this replica read or committed last, as they
// stand in the database, in two generations: when the younger is full the older is
// forgotten. It may be stale at any time, and losing an entry costs a query,
// nothing else. The zero value is empty.
type recent struct {
	mu             sync.Mutex
	younger, older map[referee.ID]*referee.State // that nobody changes any more
}

// get returns a match, nil if it is not remembered. The caller does not change it.
func (r *recent) get(id referee.ID) *referee.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.find(id)
}

// put remembers a match, which nobody changes any more, unless a newer version of it
// is: answers may come in any order.
func (r *recent) put(s *referee.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.find(s.ID); known == nil || known.Version < s.Version {
		r.add(s)
	}
}

// find looks in both generations; what is used stays in the younger.
func (r *recent) find(id referee.ID) *referee.State {
	s := r.younger[id]
	if s != nil {
		return s
	}
	if s = r.older[id]; s != nil {
		r.add(s)
	}
	return s
}

func (r *recent) add(s *referee.State) {
	if r.younger[s.ID] == nil && len(r.younger) >= recentLimit || r.younger == nil {
		r.older, r.younger = r.younger, make(map[referee.ID]*referee.State, recentLimit)
	}
	r.younger[s.ID] = s
}
