package referee

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"referee.example/internal/clock"
	"referee.example/internal/deal"
	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
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

// Dealer lays out a game's pieces: the piece on each square follows from the
// sealed material alone. Deal is the one there is; a test may lay out a game
// that somebody else recorded.
type Dealer func(deal.Material) []byte

// Deal shuffles the deck.
func Deal(m deal.Material) []byte { return m.Shuffle(Deck()) }

// Decision is what a command, or time alone, does to a match.
type Decision struct {
	State  State   // after Events
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
	env  Env
	seed *deal.Seed // the present game's, once opened
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
	settled := d.Decision
	refusal, err := d.command(c)
	if err != nil {
		return Decision{}, err
	}
	if refusal != nil {
		settled.Refusal = refusal
		return settled, nil
	}
	return d.Decision, nil
}

func newDecision(s *State, env Env) *decision {
	d := &decision{Decision: Decision{State: *s, Own: -1}, env: env}
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
	s := &d.State
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
		s := &d.State
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
	g := &d.State.Game
	if g.Status != GamePlaying || g.Clock.Running == rules.NoSeat {
		return Outage{}, false
	}
	if _, running := d.State.Deadline(); !running {
		return Outage{}, false
	}
	for _, outage := range d.env.Outages {
		if outage.Until > g.OutageSeen && outage.Until > g.Clock.TurnStart {
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

// expire adjudicates the expiry of the running turn: the seat loses, or the
// server plays for it.
func (d *decision) expire(deadline clock.Time) error {
	s := &d.State
	seat := s.Game.Position.Turn()
	inChain := s.Game.inChain()
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
		return d.endGame(rules.Outcome{Reason: rules.EndTime, Winners: s.opponents(seat)}, 0, deadline)
	}
	if !inChain {
		if err := d.serverPly(seat, deadline); err != nil {
			return err
		}
	}
	if s.Game.Status == GamePlaying && s.Game.inChain() {
		return d.ply(Event{Kind: EventServerPly, Seat: seat, Time: deadline, Action: rules.Stop()})
	}
	return nil
}

// serverPly plays for a seat whose time ran out: a legal action drawn from the
// game's sealed randomness, in a stream of its own for each ply.
func (d *decision) serverPly(seat rules.Seat, at clock.Time) error {
	s := &d.State
	seed, err := d.openSeed()
	if err != nil {
		return err
	}
	actions := s.Rules.game.List(&s.Game.Position, nil)
	if len(actions) == 0 {
		return fmt.Errorf("ply %d: no action to play for seat %d", s.Game.NextPly(), seat)
	}
	action := actions[s.material(seed).ServerPlay(s.Game.NextPly()).Intn(len(actions))]
	return d.ply(Event{Kind: EventServerPly, Seat: seat, Time: at, Action: action})
}

// ply makes a legal ply: it opens the deal if the action turns a piece, and
// ends the game if the ply does.
func (d *decision) ply(e Event) error {
	s := &d.State
	if s.Rules.game.TurnsFace(&s.Game.Position, e.Action) {
		piece, err := d.faceDown(turnedSquare(e.Action))
		if err != nil {
			return err
		}
		e.Turned = piece
	}
	effect, err := d.add(e)
	if err != nil {
		return err
	}
	if effect.Outcome.Over() {
		return d.endGame(effect.Outcome, 0, d.State.Game.Last)
	}
	return nil
}

// turnedSquare is the square whose piece an action turns.
func turnedSquare(a rules.Action) rules.Square {
	if a.Kind == rules.ActionFlip {
		return a.From
	}
	return a.To
}

// faceDown returns what lies face down on a square of the present game.
func (d *decision) faceDown(square rules.Square) (rules.Piece, error) {
	seed, err := d.openSeed()
	if err != nil {
		return rules.NoPiece, err
	}
	return rules.Piece(d.env.Deal(d.State.material(seed))[square]), nil
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
		sealed = d.env.Keys.Seal(c, sealPurpose, d.env.Dice.Seed[:], d.env.Dice.Nonce)
	}
	return commitment, sealed
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

// Deck returns the pieces of a deal in the order that the shuffle starts from.
func Deck() []byte {
	pieces := banqi.Deck()
	deck := make([]byte, len(pieces))
	for i, p := range pieces {
		deck[i] = byte(p)
	}
	return deck
}

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
func (d *decision) add(e Event) (banqi.Effect, error) {
	s := &d.State
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
	if effect.Merit {
		e.Detail = greatMerit()
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
	s := &d.State
	seed, err := d.openSeed()
	if err != nil {
		return err
	}
	ended := Ended{Outcome: outcome, Disconnected: disconnected, ServerSeed: seed}
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
	r := refuse(ReasonIllegalAction, "%s", s.Rules.game.Describe(i)).with("rule", string(i.Rule))
	var squares, pieces []string
	for _, square := range i.Squares {
		if square != rules.NoSquare {
			squares = append(squares, banqi.SquareName(square))
		}
	}
	for _, piece := range i.Pieces {
		if piece != rules.NoPiece {
			pieces = append(pieces, string(banqi.PieceLetter(piece)))
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
