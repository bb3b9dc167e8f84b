package check

import (
	"math"
	"slices"
)

// ended checks the endings: one a game and one a match, the rows alike, and the
// series no shorter and no longer than its rules say.
func (c *checker) ended(m *Match) {
	decided, matchEnds := 0, 0
	for _, g := range m.Games {
		log := m.Logs[g.Number]
		endings := 0
		for i := range log {
			switch log[i].Kind {
			case kindGameEnded:
				endings++
			case kindMatchEnded:
				matchEnds++
			}
		}
		if g.Started && endings != btoi(g.Status == gameEnded) || endings > 1 {
			c.broken(Settled, m.ID, "game %d has status %d and %d endings", g.Number, g.Status, endings)
		}
		if g.Status != gameEnded {
			continue
		}
		c.Endings++
		if len(log) == 0 || string(log[len(log)-1].Hash) != string(g.Head) {
			c.broken(Settled, m.ID, "game %d ended with another head than its row has", g.Number)
		}
		if g.Winners != 0 && !g.Void {
			decided++
		}
		if last := g.Number == len(m.Games); last != (m.Status >= statusComplete) && last {
			c.broken(Settled, m.ID, "game %d is the last and has ended, the match goes on", g.Number)
		}
	}
	if over := m.Status >= statusComplete; matchEnds != btoi(over) {
		c.broken(Settled, m.ID, "the match has status %d and %d endings", m.Status, matchEnds)
	}
	c.series(m, decided)
}

// series checks how many games were decided. A draw or a void game is not valid
// and extends the match.
func (c *checker) series(m *Match, decided int) {
	want := m.Rules.Series.ValidGames
	capped := m.Rules.Series.MaxGames > 0 && len(m.Games) >= m.Rules.Series.MaxGames
	switch {
	case decided > want:
		c.broken(Settled, m.ID, "%d games were decided, the match is over after %d", decided, want)
	case m.Status == statusComplete && decided != want:
		c.broken(Settled, m.ID, "the match is complete after %d decided games, not %d", decided, want)
	case m.Status == statusDecided && decided == want:
		c.broken(Settled, m.ID, "the match has all its decided games and is not complete")
	case m.Status == statusDecided && !capped && !m.Rules.Series.StopWhenDecided:
		c.broken(Settled, m.ID, "the match ended early, which its rules do not know")
	case decided == want && m.Status < statusComplete:
		c.broken(Settled, m.ID, "the match goes on after %d decided games", decided)
	}
}

// settlements checks each game's settlement against arithmetic of its own.
func (c *checker) settlements(m *Match) {
	own, reversed := map[int]*StoredSettlement{}, map[int]*StoredSettlement{}
	for i := range m.Settlements {
		s := &m.Settlements[i]
		c.Settlements++
		into := own
		if s.Compensates {
			into = reversed
		}
		if into[s.Game] != nil {
			c.broken(Settled, m.ID, "game %d is settled twice", s.Game)
		}
		into[s.Game] = s
		c.zero(m, s)
	}
	for _, g := range m.Games {
		c.settled(m, &g, own[g.Number])
		delete(own, g.Number)
	}
	for game := range own {
		c.broken(Settled, m.ID, "game %d is settled and not there", game)
	}
	c.compensations(m, reversed)
}

// zero checks that the lines sum to zero over players and house, within 64 bits.
func (c *checker) zero(m *Match, s *StoredSettlement) {
	sums := map[string]int64{}
	for _, l := range s.Lines {
		if l.Amount < 1 || sums[l.Payer] < math.MinInt64+l.Amount || sums[l.Payee] > math.MaxInt64-l.Amount {
			c.broken(Settled, m.ID, "a line of game %d moves %d", s.Game, l.Amount)
			return
		}
		sums[l.Payer] -= l.Amount
		sums[l.Payee] += l.Amount
	}
	total := int64(0)
	for account, sum := range sums {
		total += sum
		if account != "" && !slices.Contains(m.Players, account) {
			c.broken(Settled, m.ID, "the settlement of game %d names %q, who did not play", s.Game, account)
		}
	}
	if total != 0 || len(s.Lines) == 0 {
		c.broken(Settled, m.ID, "the settlement of game %d sums to %d over %d lines", s.Game, total, len(s.Lines))
	}
}

// settled checks a game's own settlement: what the loser's captures, counted in
// the log, say, in the transaction that ended the game.
func (c *checker) settled(m *Match, g *Game, s *StoredSettlement) {
	captures := c.captures(m, g)
	winners, losers := m.sides(g.Winners)
	var want []Line
	multiple, lost := int64(0), 0
	if g.Status == gameEnded && !g.Void && len(winners) > 0 {
		for _, loser := range losers {
			lost += captures[loser]
		}
		multiple = m.multiple(lost)
		want = m.lines(g, winners, losers, multiple)
	}
	switch {
	case len(want) == 0 && s != nil:
		c.broken(Settled, m.ID, "game %d moves nothing and is settled", g.Number)
	case len(want) == 0:
	case s == nil:
		c.broken(Settled, m.ID, "game %d was decided and is not settled", g.Number)
	case s.Multiple != multiple || s.Captures != lost || !sameLines(s.Lines, want):
		c.broken(Settled, m.ID, "game %d, its losers with %d captures, is settled as %+v instead of %d times the stake, %+v",
			g.Number, lost, s, multiple, want)
	default:
		if end := m.ending(g.Number); end != nil && end.Transaction != s.Transaction {
			c.broken(Settled, m.ID, "game %d was settled in another commit than it ended in", g.Number)
		}
	}
}

// sides are the seats that won a game and those that lost it, in order, if its winners
// are one of the two sides: a seat each, or seats 0 and 2 against 1 and 3.
func (m *Match) sides(winning int) (winners, losers []int) {
	for _, side := range []int{0, 1} {
		var own, others []int
		set := 0
		for seat := range m.Players {
			if seat%2 == side {
				own, set = append(own, seat), set|1<<seat
			} else {
				others = append(others, seat)
			}
		}
		if set == winning {
			return own, others
		}
	}
	return nil, nil
}

func (m *Match) ending(game int) *Row {
	log := m.Logs[game]
	for i := range log {
		if log[i].Kind == kindGameEnded {
			return &log[i]
		}
	}
	return nil
}

// captures counts each seat's in the log and compares them with the game's row.
func (c *checker) captures(m *Match, g *Game) []int {
	captures := c.fought[m.ID][g.Number]
	if captures == nil {
		captures = make([]int, len(m.Players))
		for _, e := range m.Logs[g.Number] {
			if e.Captured != 0 && e.Seat >= 0 && e.Seat < len(captures) {
				captures[e.Seat]++
			}
		}
	}
	if g.Status == gameEnded && g.Started {
		for seat, stored := range g.Captures {
			if int(stored) != captures[seat] {
				c.broken(Settled, m.ID, "seat %d captured %d pieces in game %d, its row says %d", seat, captures[seat], g.Number, stored)
			}
		}
	}
	return captures
}

// sevenClub are the presets whose stakes the rules state in figures: the loser
// pays twice the stake, once if it captured nine pieces or more.
var sevenClub = map[string]bool{"7club-standard": true, "7club-chariot-horse-cannon": true}

// multiple is what a loser with so many captures pays.
func (m *Match) multiple(captures int) int64 {
	if sevenClub[m.Rules.ID] {
		if captures >= 9 {
			return 1
		}
		return 2
	}
	s := m.Rules.Stakes
	if s.ReducedFromCaptures > 0 && captures >= s.ReducedFromCaptures {
		return s.ReducedMultiple
	}
	return s.LossMultiple
}

// lines are what a decided game moves: the stake from each loser to the winner of the
// same place, then from the winners what the house takes, then the penalties of those
// who lost by leaving.
func (m *Match) lines(g *Game, winners, losers []int, multiple int64) (lines []Line) {
	pay := func(payer, payee string, amount int64, why string) {
		if amount > 0 {
			lines = append(lines, Line{payer, payee, amount, why})
		}
	}
	fee := m.Fee
	if m.Rules.Stakes.FeeDoubles && multiple == m.Rules.Stakes.LossMultiple {
		fee *= 2
	}
	for i, loser := range losers {
		pay(m.Players[loser], m.Players[winners[i]], multiple*m.Stake, "stake")
	}
	for _, winner := range winners {
		pay(m.Players[winner], "", fee, "fee")
	}
	for _, winner := range winners {
		pay(m.Players[winner], "", m.SceneFee, "scene_fee")
	}
	for _, loser := range losers {
		if g.EndReason == reasonDisconnection && g.Disconnected&(1<<loser) != 0 {
			pay(m.Players[loser], "", m.Penalty, "disconnection_penalty")
		}
	}
	return lines
}

// compensations checks that each reverses the settlement of its game.
func (c *checker) compensations(m *Match, reversed map[int]*StoredSettlement) {
	for game, s := range reversed {
		var own *StoredSettlement
		for i := range m.Settlements {
			if !m.Settlements[i].Compensates && m.Settlements[i].Game == game {
				own = &m.Settlements[i]
			}
		}
		if own == nil || len(own.Lines) != len(s.Lines) {
			c.broken(Settled, m.ID, "game %d is compensated and not settled so", game)
			continue
		}
		for i, l := range own.Lines {
			if s.Lines[i] != (Line{l.Payee, l.Payer, l.Amount, l.Why}) {
				c.broken(Settled, m.ID, "the compensation of game %d does not reverse line %d", game, i+1)
			}
		}
		written := false
		for _, e := range m.Logs[0] {
			written = written || e.Transaction == s.Transaction
		}
		if !written {
			c.broken(Settled, m.ID, "the compensation of game %d was made in another commit than its event", game)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
