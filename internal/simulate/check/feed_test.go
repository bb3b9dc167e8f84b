package check

import "testing"

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
