package check

// watches checks that each watcher got every event of its match once, in order,
// as it is stored, and all of them if its stream said so.
func (c *checker) watches() {
	for i := range c.history.Watches {
		w := &c.history.Watches[i]
		m := c.record.Matches[w.Match]
		if m == nil {
			c.broken(Streams, w.Match, "it was watched and is not stored")
			continue
		}
		c.watched(m, w)
	}
}

func (c *checker) watched(m *Match, w *Watch) {
	game, seq, compensations := 1, 0, 0
	for _, e := range w.Events {
		c.Watched++
		c.told(m, Streams, e)
		switch {
		case e.Game == 0 && e.Seq == compensations+1:
			compensations++
		case e.Game == game && e.Seq == seq+1:
			seq++
		case e.Game == game+1 && e.Seq == 1 && seq == len(m.Logs[game]):
			game, seq = e.Game, 1
		default:
			c.broken(Streams, m.ID, "event %d of game %d came after event %d of game %d", e.Seq, e.Game, seq, game)
			return
		}
	}
	if w.Ended && (game != len(m.Games) || seq != len(m.Logs[game])) {
		c.broken(Streams, m.ID, "a stream ended with the match after event %d of game %d of %d", seq, game, len(m.Games))
	}
}

// Feed checks the settlements feed as a reader received it, which may be more
// than once: dense positions, each settlement at one of them, and all of those
// that are stored.
func Feed(entries []FeedEntry, r *Record) []Violation {
	c := &checker{record: r}
	at, positions := map[int64]string{}, map[string]int64{}
	last := int64(0)
	for _, e := range entries {
		if e.Position > last+1 {
			c.broken(Streams, "", "the feed went from position %d to %d", last, e.Position)
		}
		if other, ok := at[e.Position]; ok && other != e.SettlementID {
			c.broken(Streams, "", "position %d of the feed was %s and then %s", e.Position, other, e.SettlementID)
		}
		if other, ok := positions[e.SettlementID]; ok && other != e.Position {
			c.broken(Streams, "", "settlement %s has positions %d and %d", e.SettlementID, other, e.Position)
		}
		at[e.Position], positions[e.SettlementID] = e.SettlementID, e.Position
		last = max(last, e.Position)
	}
	for _, id := range sortedKeys(r.Matches) {
		for _, s := range r.Matches[id].Settlements {
			if _, ok := positions[s.ID]; !ok {
				c.broken(Streams, id, "the settlement of game %d did not come by the feed", s.Game)
			}
			delete(positions, s.ID)
		}
	}
	for id := range positions {
		c.broken(Streams, "", "the feed brought settlement %s, which is not stored", id)
	}
	return c.Violations
}
