package check

// streamed checks that the answers on each stream of actions came in the order of
// the requests, none twice.
func (c *checker) streamed() {
	for _, s := range c.history.Streamed {
		for i, answered := range s.Answered {
			if i >= len(s.Sent) || s.Sent[i] != answered {
				c.broken(Streams, s.Match, "answer %d of a stream is that of request %s; sent were %v", i+1, answered, s.Sent)
				break
			}
			c.InOrder++
		}
	}
}

// exports checks that each exported game had ended and was exported whole, none
// twice in one export, and that the last export has every ended game.
func (c *checker) exports() {
	for i, export := range c.history.Exports {
		seen := map[place]map[string]bool{}
		for _, e := range export {
			at := place{game: e.Game}
			if seen[at] == nil {
				seen[at] = map[string]bool{}
			}
			if seen[at][e.Match] {
				c.broken(Streams, e.Match, "game %d came twice in one export", e.Game)
			}
			seen[at][e.Match] = true
			c.exported(e)
		}
		if i < len(c.history.Exports)-1 {
			continue
		}
		for id, m := range c.record.Matches {
			for _, g := range m.Games {
				if g.Status == gameEnded && !seen[place{game: g.Number}][id] {
					c.broken(Streams, id, "game %d has ended and did not come in an export", g.Number)
				}
			}
		}
	}
}

func (c *checker) exported(e Exported) {
	c.Exported++
	m := c.record.Matches[e.Match]
	if m == nil {
		c.broken(Streams, e.Match, "it was exported and is not stored")
		return
	}
	log := m.Logs[e.Game]
	if e.Game == 0 {
		// Compensations may have come after an export.
		if e.Events > len(log) || e.Events < 1 || log[e.Events-1].hash() != e.Head {
			c.broken(Streams, e.Match, "its compensations were exported otherwise than they are stored")
		}
		return
	}
	if len(log) != e.Events || len(log) == 0 || log[len(log)-1].hash() != e.Head || log[len(log)-1].Kind != kindGameEnded && log[len(log)-1].Kind != kindMatchEnded {
		c.broken(Streams, e.Match, "game %d was exported with %d events, stored are %d, and it must have ended", e.Game, e.Events, len(log))
	}
}

// secrets checks that nobody received a game's seed before the commit in which the
// game, or the match that it was never started in, ended.
func (c *checker) secrets() {
	for _, id := range sortedKeys(c.record.Matches) {
		m := c.record.Matches[id]
		for _, g := range m.Games {
			log := m.Logs[g.Number]
			if len(g.Seed) != 32 || len(log) == 0 {
				continue
			}
			c.Seeds++
			revealed := log[len(log)-1].Committed
			if received, ok := c.history.Secrets[id][[32]byte(g.Seed)]; ok && received.Before(revealed) {
				c.broken(Hidden, id, "the seed of game %d was received %s, %s before the game had ended", g.Number, stamp(received), revealed.Sub(received))
			}
		}
	}
}
