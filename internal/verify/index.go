package verify

import (
	"fmt"
	"slices"

	"referee.example/internal/referee"
)

// index compares the rows by which a match is found, or told of, with its log.
// They are what triggers and creations wrote beside it, and no hash has them.
func (c *checker) index(r *referee.Record) {
	found := map[string][]string{}
	for _, row := range r.Index {
		found[row.Table] = append(found[row.Table], row.Row)
	}
	platform := ""
	if len(r.Logs) > 1 && len(r.Logs[1]) > 0 {
		if d, err := r.Logs[1][0].Created(); err == nil {
			platform = d.Platform
			c.creation(r, &d, found)
		}
	}
	ended := []string{}
	noted := []string{}
	for number, events := range r.Logs {
		for i := range events {
			if e := &events[i]; slices.Contains(referee.InterventionKinds, e.Kind) {
				noted = append(noted, fmt.Sprintf("event %d of game %d, kind %d at %d on %s", e.Seq, number, e.Kind, e.Time, platform))
			}
		}
		g := played{Game: &Game{Number: number}, events: events}
		g.read()
		if g.started == nil || g.seed == nil {
			continue
		}
		outcome, _, _ := g.outcome()
		result := 1
		switch {
		case outcome.Void:
			result = 3
		case outcome.Winners == 0:
			result = 2
		}
		ended = append(ended, fmt.Sprintf("game %d, reason %d, result %d on %s", number, outcome.Reason, result, platform))
	}
	c.sameRows("interventions", noted, found["interventions"])
	c.sameRows("ended_games", ended, found["ended_games"])
	c.fed(r, platform, found)
}

// creation compares what makes CreateMatch answer a repeated call, and who played whom.
func (c *checker) creation(r *referee.Record, d *referee.Created, found map[string][]string) {
	id, request := r.Match.ID, r.Logs[1][0].RequestID
	c.sameRows("create_requests", []string{fmt.Sprintf("request %s on %s made match %s by %x", request, d.Platform, id, d.Fingerprint())}, found["create_requests"])
	refs := []string{}
	if d.ExternalRef != "" {
		refs = append(refs, fmt.Sprintf("%s on %s is match %s", d.ExternalRef, d.Platform, id))
	}
	c.sameRows("external_refs", refs, found["external_refs"])
	pairs := []string{}
	players := slices.Sorted(slices.Values(d.Players))
	for i, low := range players {
		for _, high := range players[i+1:] {
			pairs = append(pairs, fmt.Sprintf("%s and %s on %s", low, high, d.Platform))
		}
	}
	c.sameRows("pairs", pairs, found["pairs"])
}

// fed checks that each settlement waits for the feed or has one position in it: it
// was queued with the ending, and enters as it leaves the queue.
func (c *checker) fed(r *referee.Record, platform string, found map[string][]string) {
	fed := []string{}
	queued := found["settlement_queue"]
	for i := range r.Settlements {
		s := &r.Settlements[i]
		row := fmt.Sprintf("game %d, compensates %s", s.Game, map[bool]string{false: "f", true: "t"}[s.Compensates])
		if at := slices.Index(queued, row); at >= 0 {
			queued = slices.Delete(slices.Clone(queued), at, at+1)
			continue
		}
		fed = append(fed, row+" on "+platform)
	}
	c.sameRows("settlement_feed", fed, found["settlement_feed"])
	c.sameRows("settlement_queue", nil, queued)
}

// sameRows compares rows as texts; none may come twice.
func (c *checker) sameRows(table string, want, got []string) {
	rest := slices.Clone(got)
	for _, row := range want {
		if at := slices.Index(rest, row); at >= 0 {
			rest = slices.Delete(rest, at, at+1)
			continue
		}
		c.find(0, 0, table, row, "no such row")
	}
	for _, row := range rest {
		c.find(0, 0, table, "no other row", row)
	}
}
