package referee

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"referee.example/internal/clock"
	"referee.example/internal/deal"
	"referee.example/internal/rules"
)

// MaxPlacements is how often a seat may place its pieces in a game.
const MaxPlacements = 100

// placementsPurpose names the sealed placements of a game.
const placementsPurpose = "placements"

// Placing is the phase of a game in which seats place their pieces in secret, and
// what is kept of it. All but Sealed follows from the log.
type Placing struct {
	Deadline clock.Time // for all seats together; 0 for none
	// Attempts are the placements that each seat has submitted, of which the last
	// stands. A seat with none is not ready.
	Attempts [rules.MaxSeats]int
	// Sealed are the placements that stand, encrypted under a key that is not in
	// the database; nil before the first and once they are revealed.
	Sealed []byte
	// Revealed are the placements by seat, once the game has ended.
	Revealed []RevealedPlacement

	// told are the placements by seat where they are known without being unsealed.
	// It is no part of a snapshot.
	told []string
}

// RevealedPlacement opens a commitment to a placement.
type RevealedPlacement struct {
	Attempt   int // which of the seat's it is, from 1; 0 if the seat never placed
	Salt      [deal.PlacementSaltSize]byte
	Placement string
}

// ready returns the seats that have placed.
func (p *Placing) ready() (ready rules.SeatSet) {
	if p == nil {
		return 0
	}
	for seat, n := range p.Attempts {
		if n > 0 {
			ready |= rules.SeatsOf(rules.Seat(seat))
		}
	}
	return ready
}

// Ready returns the seats whose placement stands; empty where pieces are dealt.
func (g *Game) Ready() rules.SeatSet { return g.Placing.ready() }

// paused gives back what of the phase an outage took.
func (p Placing) paused(since clock.Time, o Outage) *Placing {
	if lost := o.Until - max(o.From, since); p.Deadline != 0 && lost > 0 {
		p.Deadline += lost
	}
	return &p
}

// WithSealed returns the same phase with other sealed bytes.
func (p *Placing) WithSealed(sealed []byte) *Placing {
	if p == nil {
		return nil
	}
	other := *p
	other.Sealed = sealed
	return &other
}

// withTold returns the same phase with placements that are known.
func (p Placing) withTold(told []string) *Placing {
	p.told = told
	return &p
}

// SubmitPlacement places a seat's pieces: in secret, and anew as often as the seat
// likes until all have placed. Play then begins.
type SubmitPlacement struct {
	Header
	bySeq
	// Placement is the family's text of it. It is in no event: that has a
	// commitment, which the game's ending opens.
	Placement string
	// superseded is the recorded commitment where a decision is made again and the
	// placement is not known, since a later attempt took its place.
	superseded *[32]byte
}

// same says what the event alone can tell: Referee.samePlacement compares the
// placement.
func (c *SubmitPlacement) same(e *Event) bool {
	return e.Kind == EventPlacementSubmitted && e.Seat == c.Seat
}

func (c *SubmitPlacement) decide(d *decision) (*Refusal, error) {
	s, g := d.State, &d.State.Game
	if refusal := c.refused(s); refusal != nil {
		return refusal, nil
	}
	seed, err := d.openSeed()
	if err != nil {
		return nil, err
	}
	placements, err := d.openPlacements()
	if err != nil {
		return nil, err
	}
	placements = slices.Clone(placements)
	placements[c.Seat] = c.Placement
	placed := Placed{Attempt: g.Placing.Attempts[c.Seat] + 1}
	if c.superseded != nil {
		placed.Commitment = *c.superseded
	} else {
		placed.Commitment = s.commitPlacement(seed, c.Seat, placed.Attempt, c.Placement)
	}
	e := c.event(EventPlacementSubmitted, d.env.Arrival)
	e.Detail = placed.encode()
	if _, err := d.add(e); err != nil {
		return nil, err
	}
	d.placements = placements
	if d.committed == nil {
		sealed := d.env.Keys.Seal(s.Context(), placementsPurpose, g.Placing.plain(placements), d.env.Dice.Nonce)
		g.Placing = g.Placing.WithSealed(sealed)
	}
	if g.Placing.ready().Len() < len(s.Players) {
		return nil, nil
	}
	began := Began{}
	if s.Rules.family.open() {
		began.Placements = placements
	}
	_, err = d.add(Event{Kind: EventPlayBegan, Seat: rules.NoSeat, Time: g.Last, Detail: began.encode()})
	return nil, err
}

// refused returns why the seat may not place so, or now.
func (c *SubmitPlacement) refused(s *State) *Refusal {
	g := &s.Game
	switch {
	case !s.Rules.family.places():
		return refuse(ReasonNoPlacementPhase, "this game deals its pieces: there is nothing to place")
	case g.Status == GamePlaying:
		return refuse(ReasonNoPlacementPhase, "all seats have placed, and play has begun")
	case g.Status != GamePlacing:
		return refuse(ReasonGameNotRunning, "game %d has not been started", g.Number).with("game", g.Number)
	case c.Seat < 0:
		return InvalidField("seat", "must name who places")
	case g.Placing.Attempts[c.Seat] >= MaxPlacements:
		return refuse(ReasonIllegalAction, "a seat may place its pieces %d times a game", MaxPlacements).
			with("rule", "placements_spent").with("limit", MaxPlacements)
	case c.superseded != nil:
		return nil
	}
	illegal, err := s.Rules.family.checkPlacement(c.Seat, c.Placement)
	if err != nil {
		return InvalidField("placement", "%s", err)
	}
	if !illegal.OK() {
		return s.illegal(illegal)
	}
	return nil
}

// commitPlacement commits to an attempt of a seat in the present game.
func (s *State) commitPlacement(seed deal.Seed, seat rules.Seat, attempt int, placement string) [32]byte {
	salt := s.material(seed).PlacementSalt(uint8(seat), uint32(attempt))
	return s.Context().CommitPlacement(uint8(seat), uint32(attempt), salt, placement)
}

// plain is what is sealed: each seat's attempt and placement.
func (p *Placing) plain(placements []string) []byte {
	var e encoder
	for seat, text := range placements {
		e.uint(uint64(p.Attempts[seat]))
		e.str(text)
	}
	return e.buf
}

// open returns the placements by seat that stand, empty for a seat that has not
// placed. One that was sealed later than s stood so is not among them.
func (s *State) openPlacements(keys deal.Keyring) ([]string, error) {
	p := s.Game.Placing
	placements := make([]string, len(s.Players))
	switch {
	case p == nil:
		return placements, nil
	case p.told != nil:
		return p.told, nil
	case p.Revealed != nil:
		for seat := range placements {
			placements[seat] = p.Revealed[seat].Placement
		}
		return placements, nil
	case p.Sealed == nil:
		return placements, nil
	}
	plain, err := keys.Open(s.Context(), placementsPurpose, p.Sealed)
	if err != nil {
		return nil, fmt.Errorf("open the placements of game %d: %w", s.Game.Number, err)
	}
	d := decoder{buf: plain}
	for seat := range placements {
		attempt, text := d.uint(), d.str()
		if attempt == uint64(p.Attempts[seat]) {
			placements[seat] = text
		}
	}
	if err := d.end(); err != nil {
		return nil, fmt.Errorf("open the placements of game %d: %w", s.Game.Number, err)
	}
	return placements, nil
}

// ErrOtherPlacement means that a sealed placement is not the one committed to.
var ErrOtherPlacement = errors.New("a sealed placement is another than was committed to")

// CheckPlacements returns nil if the sealed placements of the match's present game
// open under a key of this replica and are those that the seats last committed to,
// ErrOtherPlacement if one is another. A game that hides none passes. What it says
// follows from ciphertext, key and commitments; the placements stay here.
func (r *Referee) CheckPlacements(s *State, commitments map[rules.Seat][32]byte) error {
	if s.Game.Placing.ready() == 0 || s.Game.Status == GameEnded {
		return nil
	}
	seed, err := OpenSeed(r.keys, s.Context(), s.Game.Sealed)
	if err != nil {
		return err
	}
	placements, err := s.openPlacements(r.keys)
	if err != nil {
		return err
	}
	for seat, text := range placements {
		attempt := s.Game.Placing.Attempts[seat]
		if attempt > 0 && s.commitPlacement(seed, rules.Seat(seat), attempt, text) != commitments[rules.Seat(seat)] {
			return ErrOtherPlacement
		}
	}
	return nil
}

// openPlacements opens the placements of the present game, once a decision.
func (d *decision) openPlacements() ([]string, error) {
	if d.placements == nil {
		placements, err := d.State.openPlacements(d.env.Keys)
		if err != nil {
			return nil, err
		}
		d.placements = placements
	}
	return d.placements, nil
}

// revealPlacements opens the commitments to what stands.
func (d *decision) revealPlacements(seed deal.Seed) ([]RevealedPlacement, error) {
	s := d.State
	if !s.Rules.family.places() {
		return nil, nil
	}
	placements, err := d.openPlacements()
	if err != nil {
		return nil, err
	}
	revealed := make([]RevealedPlacement, len(placements))
	for seat := range revealed {
		if attempt := s.Game.Placing.Attempts[seat]; attempt > 0 {
			revealed[seat] = RevealedPlacement{Attempt: attempt, Placement: placements[seat],
				Salt: s.material(seed).PlacementSalt(uint8(seat), uint32(attempt))}
		}
	}
	return revealed, nil
}

// expirePlacing ends a game whose seats have not all placed in time: the side that
// has not has lost; where neither has, nobody has more than the other.
func (d *decision) expirePlacing(deadline clock.Time) error {
	if _, err := d.add(Event{Kind: EventPlacementExpired, Seat: rules.NoSeat, Time: deadline}); err != nil {
		return err
	}
	s := d.State
	outcome := rules.Outcome{Reason: rules.EndTime, Void: true}
	for _, side := range s.Sides() {
		if side&^s.Game.Placing.ready() == 0 {
			outcome.Winners, outcome.Void = side, false
		}
	}
	return d.endGame(outcome, 0, deadline)
}

func (s *State) applyPlacement(e *Event) error {
	d, err := e.Placed()
	if err != nil {
		return err
	}
	g := &s.Game
	if g.Status != GamePlacing || d.Attempt != g.Placing.Attempts[e.Seat]+1 {
		return fmt.Errorf("%w: it is not attempt %d of seat %d that can follow", errReplay, d.Attempt, e.Seat)
	}
	next := *g.Placing
	next.Attempts[e.Seat]++
	g.Placing = &next
	return nil
}

func (s *State) applyPlayBegan(e *Event) error {
	d, err := e.Began()
	if err != nil {
		return err
	}
	g := &s.Game
	if g.Status != GamePlacing || g.Placing.ready().Len() != len(s.Players) || (len(d.Placements) != 0) != s.Rules.family.open() {
		return fmt.Errorf("%w: not all seats have placed", errReplay)
	}
	shown := hidden{}
	if s.Rules.family.open() {
		if len(d.Placements) != len(s.Players) {
			return fmt.Errorf("%w: a placement is missing", errReplay)
		}
		for seat, text := range d.Placements {
			if illegal, err := s.Rules.family.checkPlacement(rules.Seat(seat), text); err != nil || !illegal.OK() {
				return fmt.Errorf("%w: the placement of seat %d can't be", errReplay, seat)
			}
		}
		if shown, err = s.Rules.family.reveal(nil, d.Placements); err != nil {
			return err
		}
	}
	s.play(shown, e.Time)
	return nil
}

// checkRevealed compares what an ending reveals with who has placed.
func (s *State) checkRevealed(revealed []RevealedPlacement) error {
	seats := 0
	if s.Rules.family.places() && s.Game.Started != 0 {
		seats = len(s.Players)
	}
	if len(revealed) != seats {
		return fmt.Errorf("%w: %d placements are revealed, and not %d", errReplay, len(revealed), seats)
	}
	for seat := range revealed {
		if revealed[seat].Attempt != s.Game.Placing.Attempts[seat] {
			return fmt.Errorf("%w: the placement of seat %d that is revealed is not the one that stood", errReplay, seat)
		}
	}
	return nil
}

func (s *State) applyPlacementExpired(e *Event) error {
	if deadline, runs := s.Deadline(); s.Game.Status != GamePlacing || !runs || deadline != e.Time {
		return fmt.Errorf("%w: no time to place is over then", errReplay)
	}
	return nil
}

// Placed is the detail of EventPlacementSubmitted.
type Placed struct {
	Attempt    int // of the seat, from 1
	Commitment [32]byte
}

func (p Placed) encode() []byte {
	var e encoder
	e.uint(uint64(p.Attempt))
	e.fixed(p.Commitment[:])
	return e.buf
}

// Placed decodes the event's detail.
func (e *Event) Placed() (p Placed, err error) {
	d := decoder{buf: e.Detail}
	p.Attempt, p.Commitment = int(d.uint()), d.hash()
	return p, d.end()
}

// Began is the detail of EventPlayBegan: the placements by seat in open play,
// where they become public; empty elsewhere.
type Began struct{ Placements []string }

func (b Began) encode() []byte {
	if len(b.Placements) == 0 {
		return nil
	}
	var e encoder
	e.strs(b.Placements)
	return e.buf
}

// Began decodes the event's detail.
func (e *Event) Began() (b Began, err error) {
	if len(e.Detail) == 0 {
		return b, nil
	}
	d := decoder{buf: e.Detail}
	if b.Placements = d.strs(); len(b.Placements) == 0 {
		d.fail()
	}
	return b, d.end()
}

func (e *encoder) revealed(placements []RevealedPlacement) {
	e.uint(uint64(len(placements)))
	for _, p := range placements {
		e.uint(uint64(p.Attempt))
		e.fixed(p.Salt[:])
		e.str(p.Placement)
	}
}

func (d *decoder) revealed() []RevealedPlacement {
	return list(d, func() (p RevealedPlacement) {
		p.Attempt, p.Salt = int(d.uint()), d.hash()
		p.Placement = d.str()
		return p
	})
}

// placing encodes what is kept of the phase, by seat.
func (e *encoder) placing(p *Placing, seats int) {
	e.int(int64(p.Deadline))
	for _, n := range p.Attempts[:seats] {
		e.uint(uint64(n))
	}
	e.bytes(p.Sealed)
	e.revealed(p.Revealed)
}

func (d *decoder) placing(seats int) *Placing {
	p := &Placing{}
	p.Deadline = clock.Time(d.int())
	for seat := range seats {
		p.Attempts[seat] = int(d.uint())
	}
	p.Sealed, p.Revealed = d.bytes(), d.revealed()
	return p
}

// samePlacement refuses a retry of another placement than first, which came of the
// same request id, committed to; then is the match as it stood after it. Where it
// is the same, then shows it as the one that stood.
func (r *Referee) samePlacement(then *State, c *SubmitPlacement, first *Event) error {
	detail, err := first.Placed()
	if err != nil {
		return err
	}
	seed := deal.Seed(then.Game.ServerSeed)
	if then.Game.Status != GameEnded {
		if seed, err = OpenSeed(r.keys, then.Context(), then.Game.Sealed); err != nil {
			return err
		}
	}
	if then.commitPlacement(seed, c.Seat, detail.Attempt, c.Placement) != detail.Commitment {
		return reused()
	}
	placements, err := then.openPlacements(r.keys)
	if err != nil {
		return err
	}
	told := slices.Clone(placements)
	told[c.Seat] = c.Placement
	then.Game.Placing = then.Game.Placing.withTold(told)
	return nil
}

// recallPlacements gives a past state of a match, s being its present one, the
// placements that stood: sealed while their game runs, else as its ending revealed
// them.
func (r *Referee) recallPlacements(ctx context.Context, s, then *State) error {
	g := &then.Game
	if !s.Rules.family.places() || g.Started == 0 || g.Status == GameEnded {
		return nil
	}
	var revealed []RevealedPlacement
	if g.Number == s.Game.Number {
		if revealed = s.Game.Placing.Revealed; revealed == nil {
			g.Placing = g.Placing.WithSealed(s.Game.Placing.Sealed)
			return nil
		}
	}
	if g.Number != s.Game.Number {
		var err error
		if revealed, err = r.revealedIn(ctx, s.ID, g.Number, g.Seq+1); err != nil {
			return err
		}
	}
	told := make([]string, len(then.Players))
	for seat := range told {
		if seat < len(revealed) && revealed[seat].Attempt == g.Placing.Attempts[seat] {
			told[seat] = revealed[seat].Placement
		}
	}
	g.Placing = g.Placing.withTold(told)
	return nil
}

// revealedIn returns the placements that the ending of a game revealed, which
// comes at seq or later.
func (r *Referee) revealedIn(ctx context.Context, id ID, game, seq int) ([]RevealedPlacement, error) {
	for {
		events, err := r.store.Events(ctx, id, game, seq, foldPage)
		if err != nil {
			return nil, err
		}
		for i := range events {
			if events[i].Kind == EventGameEnded {
				d, err := events[i].GameEnded()
				return d.Placements, err
			}
		}
		if len(events) < foldPage {
			return nil, fmt.Errorf("the ending of game %d of match %s: %w", game, id, ErrNotFound)
		}
		seq += len(events)
	}
}
