package referee

import (
	"fmt"
	"slices"

	"referee.example/internal/clock"
	"referee.example/internal/rules"
	"referee.example/internal/series"
)

// The first byte of a snapshot is its version. An old binary refuses a newer one,
// a new binary reads all older ones. Only a match that has compensations with
// operators' names takes the newer: it is over, and the old binary plays the others.
const (
	snapshotVersion      = 1
	namedSnapshotVersion = 2
)

// Snapshot encodes the match as one row of compact bytes. What never changes
// comes first, so that consecutive snapshots share their beginning.
func (s *State) Snapshot() []byte {
	e := encoder{buf: make([]byte, 0, 1024)}
	version := uint8(snapshotVersion)
	if s.Compensations.named() {
		version = namedSnapshotVersion
	}
	e.u8(version)
	e.fixed(s.Rules.Hash[:])
	e.str(s.Platform)
	e.str(s.ExternalRef)
	e.str(s.TableRef)
	e.strs(s.Players)
	e.uint(uint64(s.EngineVersion))
	e.int(s.Stake)
	e.ints([]int64{s.Charges.Fee, s.Charges.SceneFee, s.Charges.DisconnectionPenalty})
	e.int(int64(s.FirstSeat))
	e.int(int64(s.Created))
	e.u8(uint8(s.Status))
	e.str(s.EndNote)
	e.u8(uint8(s.Winners))
	e.int(int64(s.Ended))
	e.uint(uint64(len(s.Past)))
	for _, past := range s.Past {
		e.past(past, len(s.Players))
	}
	e.fixed(s.Next.Commitment[:])
	e.bytes(s.Next.Sealed)
	e.compensations(s.Compensations, version)
	e.game(s.Rules, &s.Game)
	return e.buf
}

func (e *encoder) past(p PastGame, seats int) {
	e.outcome(p.Outcome)
	for _, n := range p.Captures[:seats] {
		e.uint(uint64(n))
	}
	e.u8(uint8(p.Disconnected))
	e.int(int64(p.Ended))
}

func (d *decoder) past(seats int) (p PastGame) {
	p.Outcome = d.outcome()
	for seat := range seats {
		p.Captures[seat] = int(d.uint())
	}
	p.Disconnected = rules.SeatSet(d.u8())
	p.Ended = clock.Time(d.int())
	return p
}

// named reports whether an operator's name is known.
func (log CompensationLog) named() bool {
	return slices.ContainsFunc(log.Entries, func(entry CompensationEntry) bool { return entry.Operator != "" })
}

func (e *encoder) compensations(log CompensationLog, version uint8) {
	e.uint(uint64(log.Seq))
	e.fixed(log.Head[:])
	e.int(int64(log.Last))
	e.uint(uint64(len(log.Entries)))
	for _, entry := range log.Entries {
		e.uint(uint64(entry.Game))
		e.uint(uint64(entry.Proposer))
		e.bool(entry.Made)
		e.str(entry.Note)
		if version == namedSnapshotVersion {
			e.str(entry.Operator)
		}
	}
}

func (d *decoder) compensations(version uint8) (log CompensationLog) {
	log.Seq = int(d.uint())
	log.Head = d.hash()
	log.Last = clock.Time(d.int())
	log.Entries = list(d, func() (entry CompensationEntry) {
		entry.Game, entry.Proposer = int(d.uint()), int32(d.uint())
		entry.Made, entry.Note = d.bool(), d.str()
		if version == namedSnapshotVersion {
			entry.Operator = d.str()
		}
		return entry
	})
	return log
}

// game encodes the present game. Board and clocks are missing before the start.
func (e *encoder) game(r *Rules, g *Game) {
	e.uint(uint64(g.Number))
	e.fixed(g.Commitment[:])
	e.bytes(g.Sealed)
	e.byteses(g.PlayerSeeds)
	e.fixed(g.Root[:])
	e.int(int64(g.First))
	e.int(int64(g.Started))
	e.outcome(g.Outcome)
	e.fixed(g.ServerSeed[:])
	e.u8(uint8(g.Status))
	e.uint(uint64(g.Seq))
	e.fixed(g.Head[:])
	e.int(int64(g.Last))
	e.int(int64(g.DrawOffer))
	for _, n := range g.OffersMade {
		e.uint(uint64(n))
	}
	e.int(int64(g.OutageSeen))
	e.fixed(g.seen[:])
	if g.Started != 0 {
		e.bytes(r.family.encode(&g.Position))
		e.bytes(g.Clock.AppendBinary(nil))
		if r.family.places() {
			e.placing(g.Placing, r.Seats())
		}
		if r.family.putsOut() {
			e.u8(uint8(g.Left))
		}
	}
}

func (d *decoder) game(r *Rules) (g Game) {
	g.Number = int(d.uint())
	g.Commitment = d.hash()
	g.Sealed, g.PlayerSeeds = d.bytes(), d.byteses()
	g.Root = d.hash()
	g.First, g.Started = rules.Seat(d.int()), clock.Time(d.int())
	g.Outcome = d.outcome()
	g.ServerSeed = d.hash()
	g.Status = GameStatus(d.u8())
	g.Seq = int(d.uint())
	g.Head = d.hash()
	g.Last = clock.Time(d.int())
	g.DrawOffer = rules.Seat(d.int())
	for i := range g.OffersMade {
		g.OffersMade[i] = int(d.uint())
	}
	g.OutageSeen = clock.Time(d.int())
	copy(g.seen[:], d.fixed(len(g.seen)))
	if g.Started != 0 && d.err == nil {
		d.board(r, &g)
	}
	return g
}

func (d *decoder) board(r *Rules, g *Game) {
	position, err := r.family.decode(d.bytes())
	if err != nil {
		d.fail()
		return
	}
	c, rest, err := clock.DecodeBinary(d.bytes())
	if err != nil || len(rest) != 0 {
		d.fail()
		return
	}
	g.Position, g.Clock = position, c
	if r.family.places() {
		g.Placing = d.placing(r.Seats())
	}
	if r.family.putsOut() {
		g.Left = rules.SeatSet(d.u8())
	}
}

// RulesetHash reads from a snapshot which ruleset it needs.
func RulesetHash(snapshot []byte) (hash [32]byte, err error) {
	if len(snapshot) < 1+len(hash) {
		return hash, errCorrupt
	}
	if snapshot[0] != snapshotVersion && snapshot[0] != namedSnapshotVersion {
		return hash, fmt.Errorf("referee: snapshot of version %d, this binary reads up to %d", snapshot[0], namedSnapshotVersion)
	}
	copy(hash[:], snapshot[1:])
	return hash, nil
}

// DecodeSnapshot reads a match back. The caller gives the ruleset that
// RulesetHash asked for, the match's id and its version.
func DecodeSnapshot(snapshot []byte, id ID, version int64, r *Rules) (*State, error) {
	hash, err := RulesetHash(snapshot)
	if err != nil {
		return nil, err
	}
	if hash != r.Hash {
		return nil, fmt.Errorf("referee: snapshot of match %s is under another ruleset", id)
	}
	s := &State{ID: id, Version: version, Rules: r}
	d := decoder{buf: snapshot[1+len(hash):]}
	s.Platform, s.ExternalRef, s.TableRef = d.str(), d.str(), d.str()
	s.Players = d.strs()
	s.EngineVersion = int(d.uint())
	s.Stake = d.int()
	if charges := d.ints(); len(charges) == 3 {
		s.Charges = series.Charges{Fee: charges[0], SceneFee: charges[1], DisconnectionPenalty: charges[2]}
	} else {
		d.fail()
	}
	s.FirstSeat = rules.Seat(d.int())
	s.Created = clock.Time(d.int())
	s.Status = MatchStatus(d.u8())
	s.EndNote = d.str()
	s.Winners = rules.SeatSet(d.u8())
	s.Ended = clock.Time(d.int())
	if len(s.Players) > rules.MaxSeats {
		d.fail()
	}
	s.Past = list(&d, func() PastGame { return d.past(len(s.Players)) })
	s.Next.Commitment = d.hash()
	s.Next.Sealed = d.bytes()
	s.Compensations = d.compensations(snapshot[0])
	s.Game = d.game(r)
	if err := d.end(); err != nil {
		return nil, fmt.Errorf("snapshot of match %s: %w", id, err)
	}
	return s, nil
}
