package check

import (
	"testing"
	"time"
)

// TestFeed gives the feed's checker what a feed by sequence number would bring: a
// settlement that committed late is passed over, or takes its position afterwards.
func TestFeed(t *testing.T) {
	record := &Record{Matches: map[string]*Match{"m": {Settlements: []StoredSettlement{
		{Settlement: Settlement{ID: "a", Game: 1}}, {Settlement: Settlement{ID: "b", Game: 2}}, {Settlement: Settlement{ID: "c", Game: 3}},
	}}}}
	for name, test := range map[string]struct {
		entries []FeedEntry
		sound   bool
	}{
		"once":                     {[]FeedEntry{{1, "b"}, {2, "a"}, {3, "c"}}, true},
		"at least once":            {[]FeedEntry{{1, "b"}, {2, "a"}, {1, "b"}, {2, "a"}, {3, "c"}}, true},
		"one passed over":          {[]FeedEntry{{1, "a"}, {3, "c"}}, false},
		"one missing at the end":   {[]FeedEntry{{1, "a"}, {2, "b"}}, false},
		"one that came afterwards": {[]FeedEntry{{1, "a"}, {3, "c"}, {2, "b"}}, false},
		"one position for two":     {[]FeedEntry{{1, "a"}, {2, "b"}, {2, "c"}}, false},
		"one at two positions":     {[]FeedEntry{{1, "a"}, {2, "b"}, {3, "c"}, {4, "a"}}, false},
		"one that is not stored":   {[]FeedEntry{{1, "a"}, {2, "b"}, {3, "c"}, {4, "d"}}, false},
	} {
		if violations := Feed(test.entries, record); (len(violations) == 0) != test.sound {
			t.Errorf("%s: %v", name, violations)
		}
	}
}

// TestLatenessIsExcusedByTheFaultsOfAllReplicas: one whole replica is enough.
func TestLatenessIsExcusedByTheFaultsOfAllReplicas(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	second := Span{at(10), at(11)}
	for name, test := range map[string]struct {
		down    []Outage
		excused bool
	}{
		"nothing":               {nil, false},
		"one of two":            {[]Outage{{Span{at(9), at(12)}, 0}}, false},
		"one of two, twice":     {[]Outage{{Span{at(9), at(12)}, 0}, {Span{at(10), at(11)}, 0}}, false},
		"both":                  {[]Outage{{Span{at(9), at(12)}, 0}, {Span{at(11), at(13)}, 1}}, true},
		"both, one before it":   {[]Outage{{Span{at(9), at(12)}, 0}, {Span{at(7), at(9)}, 1}}, false},
		"both, one after it":    {[]Outage{{Span{at(9), at(12)}, 0}, {Span{at(12), at(13)}, 1}}, false},
		"what they share":       {[]Outage{{Span{at(8), at(10)}, AllReplicas}}, true},
		"what they share after": {[]Outage{{Span{at(12), at(13)}, AllReplicas}}, false},
	} {
		c := &checker{history: &History{Replicas: 2, Down: test.down}}
		if got := c.excused(second); got != test.excused {
			t.Errorf("%s: excused %t", name, got)
		}
	}
}
