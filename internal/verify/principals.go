package verify

import (
	"fmt"

	"referee.example/internal/referee"
)

// Events name who submitted them by a small number, whose name stands in the table
// of principals, outside of every hash. Compensations, which take two operators,
// have the names in the log too.

// principals compares the table of principals with the log: each event's has a
// row, and those of compensations the name that the operator had.
func (c *checker) principals(r *referee.Record) {
	missing := map[int32]bool{}
	for game, events := range r.Logs {
		for i := range events {
			e := &events[i]
			name, there := r.Principals[e.Principal]
			if e.Principal != 0 && !there && !missing[e.Principal] {
				missing[e.Principal] = true
				c.find(game, e.Seq, "principals", fmt.Sprintf("the name of principal %d", e.Principal), "none")
			}
			if operator := operatorOf(e); there && operator != "" && operator != name {
				c.find(game, e.Seq, "principals", fmt.Sprintf("%q as principal %d", operator, e.Principal), fmt.Sprintf("%q", name))
			}
		}
	}
}

// operatorOf returns the name that a compensation's event keeps; empty for none.
func operatorOf(e *referee.Event) string {
	if e.Kind != referee.EventCompensation {
		return ""
	}
	d, err := e.Compensation()
	if err != nil {
		return "" // found by the replay
	}
	return d.Operator
}

// submitted compares the names that exported games give to principals with those in
// the match's own log.
func (c *checker) submitted(events []referee.Event) {
	for i := range c.match.Games {
		g := &c.match.Games[i]
		if g.Readable == nil {
			continue
		}
		for j := range events {
			operator := operatorOf(&events[j])
			name, there := g.Readable.SubmittedBy[fmt.Sprint(events[j].Principal)]
			if there && operator != "" && operator != name {
				c.find(g.Number, 0, "readable.submitted_by", fmt.Sprintf("%q as principal %d", operator, events[j].Principal), fmt.Sprintf("%q", name))
			}
		}
	}
}
