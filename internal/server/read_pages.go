package server

import (
	"sync"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"
)

// maxPageEvents bounds the events of the pages that a replica remembers, each of about
// a kilobyte.
const maxPageEvents = 8192

// pageKey names a page of what a match's watchers are sent: what comes after one of its
// events up to another. That one's hash goes over all before it, so that the page is the
// same whenever it is read, be it of a database that has lost events since.
type pageKey struct {
	match referee.ID
	after referee.EventPlace
	head  [32]byte
}

// readPages remembers the pages that watches read last. Many who watch one match, or
// one who opens many watches at once, would else have each of them read and converted
// as often. When there are too many all go: losing them costs time only. Nobody changes
// an event that is in it. The zero value is empty.
type readPages struct {
	mu     sync.Mutex
	pages  map[pageKey][]*refereev1.Event
	events int
}

func (p *readPages) get(key pageKey) []*refereev1.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pages[key]
}

// put remembers a page, unless it is there or empty: that tells only that something is
// missing.
func (p *readPages) put(key pageKey, events []*refereev1.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(events) == 0 || p.pages[key] != nil {
		return
	}
	if p.pages == nil || p.events+len(events) > maxPageEvents {
		p.pages, p.events = map[pageKey][]*refereev1.Event{}, 0
	}
	p.pages[key] = events
	p.events += len(events)
}
