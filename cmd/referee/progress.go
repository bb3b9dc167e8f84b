package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// How often progress is told: on a terminal its line is drawn anew, elsewhere a
// line is added.
const (
	redrawEach = 200 * time.Millisecond
	tellEach   = 10 * time.Second
)

const barWidth = 30

// progress tells how far an export has come. How many games there will be nobody
// knows, but they come newest first: with a time to begin from, the share of the
// time that has been passed is known, else how far back it has come.
type progress struct {
	out                  io.Writer
	terminal             bool
	now                  func() time.Time
	began, told          time.Time
	from, newest, oldest time.Time
	games, events        int
	bytes                int
}

func newProgress(out io.Writer, from *timestamppb.Timestamp, now func() time.Time) *progress {
	p := &progress{out: out, terminal: isTerminal(out), now: now}
	if from != nil {
		p.from = from.AsTime()
	}
	p.began = now()
	p.told = p.began
	return p
}

// add counts a game of a match.
func (p *progress) add(match string, events, bytes int) {
	p.games++
	p.events += events
	p.bytes += bytes
	at, ok := createdAt(match)
	if p.oldest = at; ok && p.newest.IsZero() {
		p.newest = at
	}
	each := tellEach
	if p.terminal {
		each = redrawEach
	}
	if now := p.now(); now.Sub(p.told) >= each {
		p.told = now
		p.tell()
	}
}

func (p *progress) tell() {
	if p.terminal {
		_, _ = fmt.Fprintf(p.out, "\r%s\x1b[K", p.line())
		return
	}
	_, _ = fmt.Fprintf(p.out, "%s\n", p.line())
}

// stop leaves a terminal's line empty for what follows.
func (p *progress) stop() {
	if p.terminal {
		_, _ = fmt.Fprintf(p.out, "\r\x1b[K")
	}
}

func (p *progress) line() string {
	seconds := max(p.now().Sub(p.began).Seconds(), 0.001)
	text := fmt.Sprintf("%d games, %d events, %.1f MB, %.0f events/s, back to %s",
		p.games, p.events, float64(p.bytes)/1e6, float64(p.events)/seconds, p.oldest.Format("2006-01-02 15:04"))
	if p.from.IsZero() || !p.newest.After(p.from) {
		return text
	}
	share := min(max(float64(p.newest.Sub(p.oldest))/float64(p.newest.Sub(p.from)), 0), 1)
	full := int(share * barWidth)
	return fmt.Sprintf("[%s%s] %3.0f%%  %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), share*100, text)
}

// createdAt returns the instant in a match's id, a UUIDv7.
func createdAt(match string) (time.Time, bool) {
	digits, err := hex.DecodeString(strings.ReplaceAll(match, "-", ""))
	if err != nil || len(digits) != 16 {
		return time.Time{}, false
	}
	var milliseconds int64
	for _, b := range digits[:6] {
		milliseconds = milliseconds<<8 | int64(b)
	}
	return time.UnixMilli(milliseconds).UTC(), true
}
