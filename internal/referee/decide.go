package referee

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"referee.example/internal/clock"
	"referee.example/internal/deal"
	"referee.example/internal/rules"
)

// Dice are the random bytes that one decision may need: at most one new game
// is committed to in it.
type Dice struct {
	Seed  deal.Seed
	Nonce [12]byte
}

// Outage is a time in which no replica was alive.
type Outage struct{ From, Until clock.Time }

// Env is everything that a decision needs from outside.
type Env struct {
	// Arrival is when the call reached the referee and Now when it is decided,
	// both in database time.
	Arrival, Now clock.Time
	Outages      []Outage // that may concern the running turn, in order of time
	Keys         deal.Keyring
	Dice         Dice
	Deal         Dealer
}

// Dealer lays out a game's deck: what is dealt to each place follows from the
// sealed material alone. Deal is the one there is; a test may lay out a game
// that somebody else recorded.
type Dealer func(m deal.Material, deck []byte) []byte

// Deal shuffles the deck.
func Deal(m deal.Material, deck []byte) []byte { return m.Shuffle(deck) }

// Decision is what a command, or time alone, does to a match.
type Decision struct {
	State  *State  // after Events
	Events []Event // to be committed together; none if nothing changes
	Own    int     // index in Events of the command's own first event, -1 for none
	// After and Before guard the commit: database time must have reached After
	// and not yet Before. Zero is no guard.
	After, Before clock.Time
	// Known guards it against outages: no outage may have ended after this
	// instant, since it would concern the running turn and the decision did not
	// know it; where no clock ran, it is the arrival, since no command arrives in an
	// outage.
	Known   clock.Time
	Refusal *Refusal
}

// decision is a Decision in the making.
type decision struct {
	Decision
	env    Env
	seed   *deal.Seed // the present game's, once opened
	hidden hidden     // the present game's, once opened
	// placements are those of the present game by seat, once opened.
	placements []string
	// committed is what the log committed to, where a decision is made again.
	committed *[32]byte
}

// sealPurpose names what is sealed, besides its game.
const sealPurpose = "server seed"

// Settle decides what time alone has done to the match by env.Now.
func Settle(s *State, env Env) (Decision, error) {
	d := newDecision(s, env)
	if err := d.settle(); err != nil {
		return Decision{}, err
	}
	return d.Decision, nil
}

// Decide judges a command. Expiries that are due come first, each at its own
// instant, and are in the decision even if the command is then refused. The
// caller has found out already that the command is no retry.
func Decide(s *State, c Command, env Env) (Decision, error) {
	return newDecision(s, env).decide(c)
}

func (d *decision) decide(c Command) (Decision, error) {
	if err := d.settle(); err != nil {
		return Decision{}, err
	}
	settled, state := d.Decision, *d.State
	refusal, err := d.command(c)
	if err != nil {
		return Decision{}, err
	}
	if refusal != nil {
		settled.Refusal = refusal
		*settled.State = state
		return settled, nil
	}
	return d.Decision, nil
}

func newDecision(s *State, env Env) *decision {
	state := *s
	d := &decision{Decision: Decision{State: &state, Own: -1}, env: env}
	if after, running := s.OutagesAfter(); running {
		d.Known = after
		for _, outage := range env.Outages {
			d.Known = max(d.Known, outage.Until)
		}
	} else {
		d.Known = env.Arrival // no command arrives in an outage
	}
	return d
}

// command judges the command after everything due has been settled.
func (d *decision) command(c Command) (*Refusal, error) {
	h := c.header()
	s := d.State
	if deadline, running := s.Deadline(); running {
		if d.env.Arrival > deadline {
			return pending(deadline, d.env.Now), nil
		}
		d.Before = deadline + clock.Grace
	}
	if s.Status.Over() {
		return refuse(ReasonMatchOver, "the match has ended").with("status", int(s.Status)), nil
	}
	s.advance(h.Game)
	if refusal := s.fresh(h, c.byPly()); refusal != nil {
		return refusal, nil
	}
	d.Own = len(d.Events)
	return c.decide(d)
}

// pending refuses what arrives between a deadline and its adjudication.
func pending(deadline, now clock.Time) *Refusal {
	r := refuse(ReasonExpiryPending, "a deadline has passed; its expiry is about to be adjudicated")
	r.RetryAfter = time.Duration(max(deadline+clock.Grace-now, 1000)) * time.Microsecond
	return r
}

// fresh refuses a command whose number has been given out or is ahead of the log.
func (s *State) fresh(h *Header, byPly bool) *Refusal {
	g := &s.Game
	next := g.NextSeq()
	if byPly {
		next = g.NextPly()
	}
	ended := s.Next.Commitment != ([32]byte{})
	if h.Game == g.Number && h.Expected == next && !ended {
		return nil
	}
	return s.stale()
}

// stale is the refusal that tells the present numbers.
func (s *State) stale() *Refusal {
	game, ply, seq := s.Present()
	return refuse(ReasonStale, "the game has gone on: expect ply %d or seq %d of game %d", ply, seq, game).
		with("game", game).with("next_ply", ply).with("next_seq", seq)
}

// Present returns the numbers that the next change must name: its game, and
// the ply or the seq in it.
func (s *State) Present() (game, ply, seq int) {
	if s.Next.Commitment != ([32]byte{}) {
		return s.Game.Number + 1, 1, 1
	}
	return s.Game.Number, s.Game.NextPly(), s.Game.NextSeq()
}

// settle applies what time has done: outages pause the running clock, expiries
// whose grace is over are adjudicated at their deadline, in order of time.
func (d *decision) settle() error {
	for {
		s := d.State
		deadline, running := s.Deadline()
		outage, paused := d.nextOutage()
		switch {
		case paused && (!running || outage.From < deadline):
			if err := d.pause(outage); err != nil {
				return err
			}
		case running && d.env.Now >= deadline+clock.Grace:
			d.After = deadline + clock.Grace
			if err := d.expire(deadline); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// nextOutage returns the first outage that overlaps the running turn and has
// not been accounted for. Standing clocks have nothing to pause.
func (d *decision) nextOutage() (Outage, bool) {
	after, running := d.State.OutagesAfter()
	if !running {
		return Outage{}, false
	}
	for _, outage := range d.env.Outages {
		if outage.Until > after {
			return outage, true
		}
	}
	return Outage{}, false
}

func (d *decision) pause(o Outage) error {
	_, err := d.add(Event{Kind: EventClockPaused, Seat: rules.NoSeat, Time: o.Until,
		Detail: Paused(o).encode()})
	return err
}

// expire adjudicates the expiry of the running turn: the seat loses, the turn
// passes, or the server plays for it.
func (d *decision) expire(deadline clock.Time) error {
	s := d.State
	if s.Game.Status == GamePlacing {
		return d.expirePlacing(deadline)
	}
	seat := s.Game.Position.Turn()
	inChain := s.Game.Position.inChain()
	probe := s.Game
	expiry := probe.expire(s.Rules.Clock)
	detail := Small{}
	if expiry.Lost {
		detail.Number = 1
	}
	if _, err := d.add(Event{Kind: EventExpired, Seat: seat, Time: deadline, Detail: detail.encode()}); err != nil {
		return err
	}
	if expiry.Lost {
		return d.lose(seat, rules.EndTime, deadline)
	}
	if s.Rules.family.passes() {
		return d.board(Event{Kind: EventTurnPassed, Seat: seat, Time: deadline}, rules.EndNone)
	}
	if !inChain {
		if err := d.serverPly(seat, deadline); err != nil {
			return err
		}
	}
	if s.Game.Status == GamePlaying && s.Game.Position.inChain() {
		return d.board(Event{Kind: EventServerPly, Seat: seat, Time: deadline, Action: rules.Stop()}, rules.EndNone)
	}
	return nil
}

// serverPly plays for a seat whose time ran out: a legal action drawn from the
// game's sealed randomness, in a stream of its own for each ply.
func (d *decision) serverPly(seat rules.Seat, at clock.Time) error {
	s := d.State
	seed, err := d.openSeed()
	if err != nil {
		return err
	}
	known, err := d.concealed()
	if err != nil {
		return err
	}
	actions := s.Rules.family.list(&s.Game.Position, known)
	if len(actions) == 0 {
		return fmt.Errorf("ply %d: no action to play for seat %d", s.Game.NextPly(), seat)
	}
	action := actions[s.material(seed).ServerPlay(s.Game.NextPly()).Intn(len(actions))]
	return d.board(Event{Kind: EventServerPly, Seat: seat, Time: at, Action: action}, rules.EndNone)
}

// lose makes a seat lose. Where that is a change of the board, its partner may
// play on.
func (d *decision) lose(seat rules.Seat, reason rules.EndReason, at clock.Time) error {
	if !d.State.Rules.family.putsOut() {
		return d.endGame(rules.Outcome{Reason: reason, Winners: d.State.opponents(seat)}, 0, at)
	}
	return d.board(Event{Kind: EventSeatOut, Seat: seat, Time: at}, reason)
}

// board makes a legal change of the board: it opens what is hidden if that has a
// say, and ends the game if the change does. reason is why a seat is put out.
func (d *decision) board(e Event, reason rules.EndReason) error {
	family, p := d.State.Rules.family, &d.State.Game.Position
	known, err := d.concealed()
	if err != nil {
		return err
	}
	if _, turns := family.turnsFace(p, e.Action); turns {
		if known, err = d.openHidden(); err != nil {
			return err
		}
	}
	c := e.change()
	c.reason = reason
	if e.Turned, e.Detail, err = family.judge(p, known, c); err != nil {
		return fmt.Errorf("ply %d: %w", d.State.Game.NextPly(), err)
	}
	effect, err := d.add(e)
	if err != nil {
		return err
	}
	if !effect.Outcome.Over() {
		return nil
	}
	gone := rules.SeatSet(0)
	if effect.Outcome.Reason == rules.EndDisconnection && !effect.Outcome.Void {
		gone = d.State.Game.Left
	}
	return d.endGame(effect.Outcome, gone, d.State.Game.Last)
}

// concealed opens what is hidden if seats have secrets of their own: whatever
// they do is then judged by it.
func (d *decision) concealed() (hidden, error) {
	if !d.State.Rules.family.conceals() {
		return hidden{}, nil
	}
	return d.openHidden()
}

// openHidden opens what the present game hides, once a decision.
func (d *decision) openHidden() (hidden, error) {
	if d.hidden.dealt != nil || d.hidden.ids != nil {
		return d.hidden, nil
	}
	family := d.State.Rules.family
	var dealt []byte
	var placements []string
	var err error
	if family.places() {
		placements, err = d.openPlacements()
	} else {
		var seed deal.Seed
		if seed, err = d.openSeed(); err == nil {
			dealt = d.env.Deal(d.State.material(seed), family.deck())
		}
	}
	if err != nil {
		return hidden{}, err
	}
	d.hidden, err = family.reveal(dealt, placements)
	return d.hidden, err
}

// openSeed unseals the present game's seed, once a decision.
func (d *decision) openSeed() (deal.Seed, error) {
	if d.seed == nil {
		seed, err := OpenSeed(d.env.Keys, d.State.Context(), d.State.Game.Sealed)
		if err != nil {
			return deal.Seed{}, err
		}
		d.seed = &seed
	}
	return *d.seed, nil
}

// commit commits to the seed of a game: to that of the dice, which it seals, or
// where a decision is made again to what the log committed to.
func (d *decision) commit(c deal.Context) (commitment [32]byte, sealed []byte) {
	if d.committed != nil && *d.committed != ([32]byte{}) {
		return *d.committed, nil
	}
	commitment = c.Commit(d.env.Dice.Seed)
	if d.committed == nil {
		sealed = SealSeed(d.env.Keys, c, d.env.Dice.Seed, d.env.Dice.Nonce)
	}
	return commitment, sealed
}

// SealSeed seals a game's seed, as OpenSeed opens it. A nonce is used once.
func SealSeed(keys deal.Keyring, c deal.Context, seed deal.Seed, nonce [12]byte) []byte {
	return keys.Seal(c, sealPurpose, seed[:], nonce)
}

// OpenSeed unseals a game's seed. Its errors name the key, never the seed.
func OpenSeed(keys deal.Keyring, c deal.Context, sealed []byte) (seed deal.Seed, err error) {
	plain, err := keys.Open(c, sealPurpose, sealed)
	if err != nil {
		return seed, fmt.Errorf("open the seed of game %d: %w", c.Game, err)
	}
	if len(plain) != len(seed) {
		return seed, fmt.Errorf("open the seed of game %d: %w", c.Game, errCorrupt)
	}
	copy(seed[:], plain)
	return seed, nil
}

// ErrOtherSeed means that a sealed seed is not the one that was committed to.
var ErrOtherSeed = errors.New("the sealed seed is another than was committed to")

// CheckSeal returns nil if a game's sealed seed opens under a key of this replica
// and is the one that was committed to, ErrOtherSeed if it is another, and else
// what OpenSeed does. The seed itself stays here.
func (r *Referee) CheckSeal(c deal.Context, sealed []byte, commitment [32]byte) error {
	seed, err := OpenSeed(r.keys, c, sealed)
	if err == nil && c.Commit(seed) != commitment {
		err = ErrOtherSeed
	}
	return err
}

// Deck returns the pieces of a deal in the order that the shuffle starts from;
// nil where seats place their pieces.
func (r *Rules) Deck() []byte { return slices.Clone(r.family.deck()) }

// DealIndex returns the place in the deal of the piece that a ply turned. It may
// be outside of the deal for an event that no referee made.
func (r *Rules) DealIndex(e *Event) int { return r.family.dealt(e.turnedSquare()) }

// opponents returns the seats of the sides that seat is not on.
func (s *State) opponents(seat rules.Seat) rules.SeatSet {
	var others rules.SeatSet
	for _, side := range s.Sides() {
		if !side.Has(seat) {
			others |= side
		}
	}
	return others
}

// add completes an event, applies it and appends it.
func (d *decision) add(e Event) (Effect, error) {
	s := d.State
	e.Match = s.ID
	if e.Game = s.Game.Number; e.Kind == EventMatchCreated {
		e.Game = 1
	}
	e.Seq = s.Game.Seq + 1
	e.Time = max(e.Time, s.Game.Last)
	if e.Kind == EventMatchCreated {
		e.Seq = 1
	}
	previous := s.Game.Head
	effect, err := s.apply(&e)
	if err != nil {
		return effect, err
	}
	g := &s.Game
	e.Captured, e.Ply = effect.Captured, g.Position.Ply()
	if onBoard(e.Kind) {
		e.Detail = effect.Detail
	}
	if g.Status == GamePlaying || g.Status == GameAwaitingRuling || e.Kind == EventGameEnded {
		e.Clocks = g.Clock.AppendStores(nil)
	}
	e.Hash = e.chain(previous)
	g.Head = e.Hash
	d.Events = append(d.Events, e)
	return effect, nil
}

// endGame ends the present game: result, revealed seed and, in the same
// commit, the commitment of the next game or the end of the match.
func (d *decision) endGame(outcome rules.Outcome, disconnected rules.SeatSet, at clock.Time) error {
	return d.endGameIn(outcome, disconnected, at, nil)
}

// endGameIn is endGame within an ending of the match, if one is given.
func (d *decision) endGameIn(outcome rules.Outcome, disconnected rules.SeatSet, at clock.Time, end *MatchEnd) error {
	s := d.State
	seed, err := d.openSeed()
	if err != nil {
		return err
	}
	ended := Ended{Outcome: outcome, Disconnected: disconnected, ServerSeed: seed}
	if ended.Placements, err = d.revealPlacements(seed); err != nil {
		return err
	}
	for seat := range s.Players {
		ended.Captures = append(ended.Captures, int64(s.Game.Position.Captures(rules.Seat(seat))))
	}
	standing := s.Rules.Series.Standing(append(s.outcomes(), outcome), s.Sides())
	if end == nil && standing.Over {
		end = &MatchEnd{Status: MatchComplete, Winners: standing.Winner}
		if !standing.Complete {
			end.Status = MatchDecided
		}
	}
	var sealed []byte
	if end == nil {
		ended.NextCommitment, sealed = d.commit(s.contextOf(s.Game.Number + 1))
	}
	if _, err := d.add(Event{Kind: EventGameEnded, Seat: rules.NoSeat, Time: at, Detail: ended.encode()}); err != nil {
		return err
	}
	if _, err := s.Settlement(s.Game.Number); err != nil {
		return fmt.Errorf("settle game %d: %w", s.Game.Number, err)
	}
	s.Next.Sealed = sealed
	if end == nil {
		return nil
	}
	_, err = d.add(Event{Kind: EventMatchEnded, Seat: rules.NoSeat, Time: at, Detail: end.encode()})
	return err
}

// illegal turns the board's refusal into the referee's.
func (s *State) illegal(i rules.Illegal) *Refusal {
	r := refuse(ReasonIllegalAction, "%s", s.Rules.family.describe(i)).with("rule", string(i.Rule))
	var squares, pieces []string
	for _, square := range i.Squares {
		if square != rules.NoSquare {
			squares = append(squares, s.Rules.family.squareName(square))
		}
	}
	for _, piece := range i.Pieces {
		if piece != rules.NoPiece {
			pieces = append(pieces, s.Rules.family.pieceName(piece))
		}
	}
	if len(squares) > 0 {
		r = r.with("squares", strings.Join(squares, " "))
	}
	if len(pieces) > 0 {
		r = r.with("pieces", strings.Join(pieces, " "))
	}
	return r
}
