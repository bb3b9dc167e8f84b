package store

import (
	"sync"

	"referee.example/internal/referee"
)

// recentLimit bounds how many matches a generation of recent holds: at about a
// kilobyte a snapshot, some 16 MiB for the two.
const recentLimit = 8192

// recent remembers the rows of the matches that this replica read or committed
// last, as they stand in the database, in two generations: when the younger is
// full the older is forgotten. It may be stale at any time, and losing an entry
// costs a query, nothing else. The zero value is empty.
type recent struct {
	mu             sync.Mutex
	younger, older map[referee.ID]remembered
}

// remembered is a match's row. Nobody changes the snapshot's bytes.
type remembered struct {
	version  int64
	snapshot []byte
}

// get returns a match's row, nil if it is not remembered.
func (r *recent) get(id referee.ID) (version int64, snapshot []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row := r.find(id)
	return row.version, row.snapshot
}

// put remembers a row unless a newer one is: answers may come in any order.
func (r *recent) put(id referee.ID, version int64, snapshot []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.find(id).version < version {
		r.add(id, remembered{version, snapshot})
	}
}

// find looks in both generations; what is used stays in the younger.
func (r *recent) find(id referee.ID) remembered {
	row, ok := r.younger[id]
	if ok {
		return row
	}
	if row, ok = r.older[id]; ok {
		r.add(id, row)
	}
	return row
}

func (r *recent) add(id referee.ID, row remembered) {
	if _, ok := r.younger[id]; !ok && len(r.younger) >= recentLimit || r.younger == nil {
		r.older, r.younger = r.younger, make(map[referee.ID]remembered, recentLimit)
	}
	r.younger[id] = row
}
