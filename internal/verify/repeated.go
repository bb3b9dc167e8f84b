package verify

import (
	"bytes"
	"fmt"
)

// repeated compares the lines of a file that are of one game. It returns those
// with the same log, whose other parts are then judged like the first line's;
// another log is a finding.
func (c *checker) repeated(g *Game) (same []Game) {
	for i := range g.repeated {
		other := &g.repeated[i]
		if at := differs(g.Log, other.Log); at > 0 {
			c.differ(g, other, at)
			continue
		}
		c.note("game %d is seen twice, the same in line %d as in line %d", g.Number, g.Line, other.Line)
		same = append(same, *other)
	}
	return same
}

// repeatedCompensations compares the lines that are of the match's log of
// compensations. It grows after the games have ended, so that of two lines one
// may have more; the longest is the one judged.
func (c *checker) repeatedCompensations() {
	for i := range c.match.repeated {
		a, b := c.match.Compensations, c.match.repeated[i].Log
		common := min(len(a), len(b))
		if at := differs(a[:common], b[:common]); at > 0 {
			c.find(0, at, "log", "one log of compensations", fmt.Sprintf("another in line %d", c.match.repeated[i].Line))
			continue
		}
		c.note("the log of compensations is seen twice, the second time in line %d", c.match.repeated[i].Line)
		if len(b) > len(a) {
			c.match.Compensations = b
		}
	}
}

// differs returns the number of the first event in which two logs differ, 0 if
// they are the same.
func differs(a, b []Entry) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i].Hash != b[i].Hash || !bytes.Equal(a[i].Canonical, b[i].Canonical) {
			return i + 1
		}
	}
	return 0
}

func (c *checker) differ(a, b *Game, at int) {
	text := func(g *Game) string {
		if at > len(g.Log) {
			return fmt.Sprintf("the log's end in line %d", g.Line)
		}
		return fmt.Sprintf("the event with hash %s in line %d", hexOf(g.Log[at-1].Hash), g.Line)
	}
	c.find(a.Number, at, "log", text(a), text(b))
}
