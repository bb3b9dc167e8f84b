package verify

import (
	"fmt"
	"slices"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/tlog"
)

// Proofs are those that the log of finished games holds a match's games, by the
// game's number.
type Proofs map[int]*tlog.Inclusion

// Record verifies everything that a store holds of a match. logged is what the
// log of finished games has of it, nil where that log is not at hand.
func Record(r *referee.Record, logged *Logged) *Report {
	c := newChecker(MatchOf(r), nil)
	if logged != nil {
		c.log = logged.Key
	}
	c.run()
	if logged != nil {
		c.logged(r, logged)
	}
	c.contradictedOutages(r)
	c.principals(r)
	c.index(r)
	c.games(r)
	c.createdColumns(r)
	if c.state == nil {
		return &c.Report
	}
	c.endedColumns(r)
	c.compensationRows(r)
	c.stateRow(r)
	return &c.Report
}

// MatchOf returns a store's record in the form in which it is verified.
func MatchOf(r *referee.Record) *Match {
	m := &Match{ID: r.Match.ID, Ruleset: r.Ruleset, Outages: r.Outages}
	if m.Outages == nil {
		m.Outages = []referee.Outage{}
	}
	for number, events := range r.Logs {
		log := make([]Entry, len(events))
		for i := range events {
			log[i] = Entry{referee.EncodeEvent(&events[i]), events[i].Hash}
		}
		switch {
		case number == 0:
			m.Compensations = log
		case len(log) > 0 || number < len(r.Logs)-1:
			m.Games = append(m.Games, Game{Number: number, Log: log, Settles: true, Settlement: r.Settlement(number, false)})
		}
	}
	return m
}

// row compares columns of a row with what the log says.
type row struct {
	c    *checker
	game int
	name string
}

func (r row) is(column string, expected, found any) {
	if a, b := words(expected), words(found); a != b {
		r.c.find(r.game, 0, r.name+"."+column, a, b)
	}
}

// bytes compares binary columns; an expected array of zeros is none.
func (r row) bytes(column string, expected [32]byte, found []byte) {
	if expected == ([32]byte{}) {
		r.is(column, "", fmt.Sprintf("%x", found))
		return
	}
	r.is(column, expected, fmt.Sprintf("%x", found))
}

// createdColumns compares what a match was made from with its first event.
func (c *checker) createdColumns(r *referee.Record) {
	if len(r.Logs) < 2 || len(r.Logs[1]) == 0 {
		return
	}
	d, err := r.Logs[1][0].Created()
	if err != nil {
		return // found by the replay
	}
	m := &r.Match
	w := row{c, 0, "matches"}
	w.is("created_at", r.Logs[1][0].Time, m.Created)
	w.is("stake", d.Stake, m.Stake)
	w.is("fee", d.Charges.Fee, m.Fee)
	w.is("scene_fee", d.Charges.SceneFee, m.SceneFee)
	w.is("disconnection_penalty", d.Charges.DisconnectionPenalty, m.Penalty)
	w.is("engine_version", d.EngineVersion, m.EngineVersion)
	w.is("first_seat", d.FirstSeat, m.FirstSeat)
	w.is("platform", d.Platform, m.Platform)
	w.is("external_ref", d.ExternalRef, m.ExternalRef)
	w.is("table_ref", d.TableRef, m.TableRef)
	w.bytes("ruleset_hash", d.RulesetHash, m.RulesetHash)
	w.is("player_ids", d.Players, m.Players)
	if c.rules != nil && c.rules.Hash == d.RulesetHash {
		w.is("ruleset_id", c.rules.ID, m.RulesetID)
	}
	c.participants(r, &d)
}

// participants compares the rows by which a player's matches are found.
func (c *checker) participants(r *referee.Record, d *referee.Created) {
	w := row{c, 0, "participants"}
	for seat := range max(len(d.Players), len(r.Participants)) {
		want, got := "none", "none"
		if seat < len(d.Players) {
			want = fmt.Sprint(referee.Participant{Platform: d.Platform, Player: d.Players[seat], Seat: rules.Seat(seat)})
		}
		if seat < len(r.Participants) {
			got = fmt.Sprint(r.Participants[seat])
		}
		w.is(fmt.Sprintf("seat %d", seat), want, got)
	}
}

// endedColumns compares what a match came to with the state that its logs give.
func (c *checker) endedColumns(r *referee.Record) {
	w := row{c, 0, "matches"}
	w.is("status", c.state.Status, r.Match.Status)
	w.is("winners", c.state.Winners, r.Match.Winners)
	w.is("ended_at", c.state.Ended, r.Match.Ended)
	w.is("end_note", c.state.EndNote, r.Match.EndNote)
}

// games compares the rows of games with their logs, whose details say what a
// game's row must.
func (c *checker) games(r *referee.Record) {
	there := map[int]bool{}
	for i := range r.Games {
		g := &r.Games[i]
		there[g.Game] = true
		var events []referee.Event
		if g.Game < len(r.Logs) {
			events = r.Logs[g.Game]
		}
		c.gameRow(g, events)
	}
	logs := len(r.Logs)
	if c.state != nil && c.state.Next.Commitment != ([32]byte{}) {
		logs++ // a game that is committed to has a row before it has events
	}
	for number := 1; number < logs; number++ {
		if !there[number] {
			c.find(number, 0, "games", "a row", "none")
		}
	}
	for i := range r.Settlements {
		if n := r.Settlements[i].Game; n < 1 || n >= len(r.Logs) || len(r.Logs[n]) == 0 {
			c.compareSettlement(0, nil, &r.Settlements[i])
		}
	}
}

// gameRow compares one row. A game that nobody has spoken of yet has no events,
// and its row is compared with the commitment that the state holds.
func (c *checker) gameRow(got *referee.RecordedGame, events []referee.Event) {
	g := played{Game: &Game{Number: got.Game}, events: events}
	g.read()
	w := row{c, got.Game, "games"}
	c.startColumns(w, &g, got)
	c.endColumns(w, &g, got)
	if g.created != nil {
		w.bytes("commitment", g.created.Commitment, got.Commitment)
	}
	if c.state == nil {
		return
	}
	switch {
	case got.Game == c.state.Game.Number:
		w.is("status", c.state.Game.Status, got.Status)
		w.bytes("commitment", c.state.Game.Commitment, got.Commitment)
	case got.Game == c.state.Game.Number+1:
		w.is("status", referee.GameAwaitingStart, got.Status)
		w.bytes("commitment", c.state.Next.Commitment, got.Commitment)
	default:
		w.is("status", referee.GameEnded, got.Status)
		w.bytes("commitment", c.committed[got.Game], got.Commitment)
	}
}

func (c *checker) startColumns(w row, g *played, got *referee.RecordedGame) {
	if g.started == nil {
		w.is("started_at", clock.Time(0), got.Started)
		return
	}
	w.is("started_at", g.events[g.startedAt].Time, got.Started)
	w.is("first_seat", g.started.First, got.FirstSeat)
	w.is("balances", g.started.Balances, got.Balances)
	w.is("hold_ids", append([]string{}, g.started.HoldIDs...), append([]string{}, got.HoldIDs...))
	w.is("player_seeds", g.started.PlayerSeeds, got.PlayerSeeds)
	w.is("root", hexOf(g.started.Root), fmt.Sprintf("%x", got.Root)) // all zeros where nothing is dealt
}

func (c *checker) endColumns(w row, g *played, got *referee.RecordedGame) {
	if g.seed == nil {
		w.is("ended_at", clock.Time(0), got.Ended)
		w.is("server_seed", "", fmt.Sprintf("%x", got.ServerSeed))
		return
	}
	end := &g.events[len(g.events)-1]
	w.is("ended_at", g.events[g.revealedAt].Time, got.Ended)
	w.is("plies", end.Ply, got.Plies)
	w.bytes("server_seed", *g.seed, got.ServerSeed)
	w.bytes("head_hash", end.Hash, got.Head)
	outcome, captures, gone := g.outcome()
	w.is("end_reason", outcome.Reason, got.Outcome.Reason)
	w.is("winners", outcome.Winners, got.Outcome.Winners)
	w.is("void", outcome.Void, got.Outcome.Void)
	w.is("first_ply", outcome.FirstPly, got.Outcome.FirstPly)
	w.is("last_ply", outcome.LastPly, got.Outcome.LastPly)
	w.is("captures", captures, got.Captures)
	w.is("disconnected", gone, got.Disconnected)
}

// outcome is what a game that has ended came to.
func (g *played) outcome() (rules.Outcome, []int64, rules.SeatSet) {
	if g.ended != nil {
		return g.ended.Outcome, g.ended.Captures, g.ended.Disconnected
	}
	outcome := rules.Outcome{Reason: rules.EndMatchAbandoned, Void: true}
	if d, err := g.events[len(g.events)-1].MatchEnd(); err == nil && d.Status == referee.MatchVoid {
		outcome.Reason = rules.EndMatchVoided
	}
	return outcome, nil, 0
}

// compensationRows compares the settlements that reverse others with the
// match's own log.
func (c *checker) compensationRows(r *referee.Record) {
	made := map[int]referee.Event{}
	for _, e := range r.Logs[0] {
		if d, err := e.Compensation(); err == nil && d.Made {
			made[d.Game] = e
		}
	}
	for game := 1; game < len(r.Logs); game++ {
		var due *referee.RecordedSettlement
		e, ok := made[game]
		if ok && game <= len(c.state.Past) {
			var err error
			if due, err = c.due(game, true); err != nil || due == nil {
				continue // found as an event that can't be
			}
			due.Settled = e.Time
		}
		c.compareSettlement(0, due, r.Settlement(game, true))
	}
}

// stateRow compares the row that every change rewrites: the snapshot part by
// part, and the numbers that the commits and the sweep go by.
func (c *checker) stateRow(r *referee.Record) {
	s, got := c.state, &r.State
	w := row{c, 0, "match_states"}
	for i := range r.Games {
		switch r.Games[i].Game {
		case s.Game.Number:
			s.Game.Sealed = r.Games[i].Sealed
		case s.Game.Number + 1:
			s.Next.Sealed = r.Games[i].Sealed
		}
	}
	stored, err := referee.DecodeSnapshot(got.Snapshot, c.match.ID, got.Version, c.rules)
	if err != nil {
		w.is("state", "a snapshot of the match", err.Error())
		return
	}
	if stored.Game.Placing != nil { // what is sealed does not follow from the log
		s.Game.Placing = s.Game.Placing.WithSealed(stored.Game.Placing.Sealed)
	}
	for _, d := range s.Differences(stored) {
		w.is("state: "+d.Part, d.A, d.B)
	}
	if low, high := commits(r.Logs); got.Version < low || got.Version > high {
		w.is("version", fmt.Sprintf("%d to %d", low, high), got.Version)
	}
	deadline, running := s.Deadline()
	after := clock.Time(0)
	if running {
		after, _ = s.OutagesAfter()
	}
	w.is("deadline", deadline, got.Deadline)
	w.is("outages_after", after, got.OutagesAfter)
	if running && (got.WakeAt == 0 || got.WakeAt > deadline) {
		w.is("wake_at", "not after "+words(deadline), got.WakeAt)
	}
}

// commits returns how many commits the logs took at least and at most: a command
// is one, and what time did came with it or in one of its own.
func commits(logs [][]referee.Event) (low, high int64) {
	for _, events := range logs {
		for i := range events {
			switch events[i].Kind {
			case referee.EventExpired, referee.EventPlacementExpired, referee.EventClockPaused:
				high++
			default:
				if events[i].RequestID != (referee.ID{}) {
					low, high = low+1, high+1
				}
			}
		}
	}
	return low, high
}

// pauses compares the pauses of a game with the outages on record.
func (c *checker) pauses(g *played) {
	if c.match.Outages == nil {
		return
	}
	for i := range g.events {
		e := &g.events[i]
		if e.Kind != referee.EventClockPaused {
			continue
		}
		if d, err := e.Paused(); err == nil && !slices.Contains(c.match.Outages, referee.Outage(d)) {
			c.find(g.Number, e.Seq, "outage", "one that is on record", fmt.Sprintf("%s to %s", at(d.From), at(d.Until)))
		}
	}
}

// contradictedOutages finds pauses for outages in which replicas were at work.
func (c *checker) contradictedOutages(r *referee.Record) {
	for game, events := range r.Logs {
		for i := range events {
			d, err := events[i].Paused()
			if events[i].Kind != referee.EventClockPaused || err != nil {
				continue
			}
			for _, denied := range r.Contradicted {
				if denied.Outage == referee.Outage(d) {
					c.find(game, events[i].Seq, "outage", "a time in which no replica was alive", "a move at "+instant(int64(denied.Move))+", which one took")
				}
			}
		}
	}
}
