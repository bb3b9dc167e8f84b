package main

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// transcript is an output that tells when a text has been written to it.
type transcript struct {
	mutex   sync.Mutex
	text    strings.Builder
	awaited string
	seen    chan struct{}
	once    sync.Once
}

func newTranscript(awaited string) *transcript {
	return &transcript{awaited: awaited, seen: make(chan struct{})}
}

func (s *transcript) Write(p []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	n, err := s.text.Write(p)
	if strings.Contains(s.text.String(), s.awaited) {
		s.once.Do(func() { close(s.seen) })
	}
	return n, err
}

func (s *transcript) String() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.String()
}

func (s *transcript) wait(t *testing.T) {
	t.Helper()
	select {
	case <-s.seen:
	case <-time.After(2 * time.Minute):
		t.Fatalf("%q was not written: %s", s.awaited, s.String())
	}
}
