// Package referee decides: from the state of a match, a command and the time
// to a change or a refusal. Deciding is pure; Referee around it loads a match,
// decides, commits under the version it decided on, and tries again when
// somebody else was first.
package referee

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"referee.example/internal/clock"
	"referee.example/internal/deal"
)

// What a Store answers besides its results. Everything else it returns is a
// fault of the machinery.
var (
	// ErrNotFound means that there is no such match, game or event.
	ErrNotFound = errors.New("not found")
	// ErrDetached means that the match is there and its log is not: its month was
	// taken out of the log to be kept elsewhere.
	ErrDetached = errors.New("the match's log has been detached")
	// ErrConflict means that the match has changed since it was loaded.
	ErrConflict = errors.New("the match has changed meanwhile")
	// ErrTooLate and ErrTooEarly mean that the commit missed its guards in
	// database time: decide again.
	ErrTooLate  = errors.New("the commit came after its time")
	ErrTooEarly = errors.New("the commit came before its time")
	// ErrRefTaken means that the platform has a match of this external_ref.
	ErrRefTaken = errors.New("external_ref is taken")
	// ErrOverloaded means that as many changes wait to be committed as the store
	// takes; nothing changed.
	ErrOverloaded = errors.New("too many changes wait to be committed")
)

// Loaded is a match as it stands in the database.
type Loaded struct {
	State *State
	// Outages are those that ended after the match's last event of the
	// running game, in order of time.
	Outages []Outage
	// AliveSince is when the last outage ended, of concern to the match or not; 0 if
	// there was none. Nobody was there before to take a command.
	AliveSince clock.Time
}

// Change is what a decision commits: all of it or nothing.
type Change struct {
	State  *State // after the events; its Version is the one decided on
	Events []Event
	// After and Before guard the commit in database time; zero is no guard.
	After, Before clock.Time
	// Known guards it against outages: see Decision.
	Known clock.Time
	// Create is set for a new match.
	Create *CreateMatch
	// Sweep lets the commit move the wake-up of the match later, which an
	// ordinary change never does.
	Sweep bool
}

// Store keeps matches. Package store implements it on Postgres.
type Store interface {
	Load(ctx context.Context, id ID) (Loaded, error)
	// Recent returns a match as this replica saw it last, without asking the
	// database, or nil. It may be stale: a commit decided on it is then refused.
	// The caller does not change it.
	Recent(ctx context.Context, id ID) *State
	// Commit keeps what the change points to, which nobody changes any more, and gives
	// the state its new version.
	// It returns ErrConflict, ErrTooLate, ErrTooEarly, ErrOverloaded or
	// ErrRefTaken with nothing changed. After any other error the outcome is unknown.
	Commit(ctx context.Context, c Change) error
	// FindCreated returns the match that a CreateMatch request made and the
	// fingerprint of that request; ErrNotFound if there is none.
	FindCreated(ctx context.Context, platform string, request ID) (match ID, fingerprint []byte, err error)
	FindExternalRef(ctx context.Context, platform, ref string) (ID, error)
	// Events returns a game's events from seq on, at most limit, in order.
	Events(ctx context.Context, id ID, game, seq, limit int) ([]Event, error)
	// EventsBetween returns a match's events from one place in its games' logs to
	// another, both included, at most limit, in order.
	EventsBetween(ctx context.Context, id ID, from, to EventPlace, limit int) ([]Event, error)
	// PlyEvent returns the event of a game's ply; ErrNotFound if there is none.
	PlyEvent(ctx context.Context, id ID, game, ply int) (Event, error)
	// RequestEvent returns a game's first event with a request id from seq on.
	RequestEvent(ctx context.Context, id ID, game, seq int) (Event, error)
	// HasRequest reports whether any event of the game, up to that of seq through at
	// least, has the request id.
	HasRequest(ctx context.Context, id ID, game, through int, request ID) (bool, error)
	// Durable returns nil when all that was read before is as durable as what
	// Commit has returned nil for.
	Durable(ctx context.Context) error
	// SealedSeeds returns the sealed seeds of a match's games, from game 1 on.
	SealedSeeds(ctx context.Context, id ID) ([][]byte, error)
}

// Referee plays matches. What it holds of any follows from the match and may be
// lost at any time: every replica is the same.
type Referee struct {
	store   Store
	presets Presets
	keys    deal.Keyring
	now     func() (clock.Time, error)
	deal    Dealer
	provers *provers
}

// New returns a referee. now is the database's time as this replica knows it;
// its error means that it can't be known well enough to judge by.
func New(store Store, presets Presets, keys deal.Keyring, now func() (clock.Time, error)) *Referee {
	return &Referee{store: store, presets: presets, keys: keys, now: now, deal: Deal, provers: &provers{}}
}

// WithDealer returns a referee that lays out its games in another way.
func (r *Referee) WithDealer(d Dealer) *Referee {
	other := *r
	other.deal, other.provers = d, &provers{}
	return &other
}

// Now returns the database's time.
func (r *Referee) Now() (clock.Time, error) {
	now, err := r.now()
	if err != nil {
		return 0, refuse(ReasonNotReady, "the replica does not know the time well enough")
	}
	return now, nil
}

// Presets returns the houses' rulesets.
func (r *Referee) Presets() Presets { return r.presets }

// attempts bounds how often a command is decided again after a conflict.
const attempts = 10

// Answer is what became of a command.
type Answer struct {
	State    *State  // after the command's own events
	Events   []Event // those it made itself
	Replayed bool
	Now      clock.Time
}

// Do carries a command out. Errors of type *Refusal changed nothing of the
// command's own.
//
// It begins with the match as this replica saw it last, if it has: committing
// proves that this was the match's state, and that no outage was missed. What
// commits nothing proves nothing, so whatever else comes of it, a refusal or a
// retry, is decided once more on the match as it stands.
func (r *Referee) Do(ctx context.Context, c Command) (Answer, error) {
	h := c.header()
	arrival, err := r.Now()
	if err != nil {
		return Answer{}, err
	}
	var window window
	if recent := r.store.Recent(ctx, h.Match); recent != nil && h.Caller.sees(recent.Platform) {
		answer, committed, err := r.attempt(ctx, Loaded{State: recent}, c, arrival, &window)
		if committed || errors.Is(err, ErrOverloaded) {
			return answer, err
		}
	}
	for range attempts {
		loaded, err := r.load(ctx, h.Caller, h.Match)
		if err != nil {
			return Answer{}, err
		}
		arrival = max(arrival, loaded.AliveSince)
		answer, _, err := r.attempt(ctx, loaded, c, arrival, &window)
		if !retriable(err) {
			return answer, err
		}
	}
	return Answer{}, refuse(ReasonContention, "too many changes of this match at once")
}

// attempt answers a retry again, or decides a command on a match and commits
// the decision. It reports whether something was committed: the command,
// expiries that were due before a refused one, or both. An error of the store
// that is retriable asks for another attempt, and window has learned from it.
func (r *Referee) attempt(ctx context.Context, loaded Loaded, c Command, arrival clock.Time, w *window) (answer Answer, committed bool, err error) {
	if refusal := loaded.State.forbidden(c.header()); refusal != nil {
		return Answer{}, false, refusal
	}
	answer, found, err := r.replayed(ctx, loaded.State, c)
	if err != nil || found {
		return answer, false, err
	}
	env, err := r.env(arrival, loaded.Outages)
	if err != nil {
		return Answer{}, false, err
	}
	env.Now = w.fit(env.Now)
	decision, err := Decide(loaded.State, c, env)
	if err != nil {
		return Answer{}, false, err
	}
	if err := r.commit(ctx, &decision, nil, false); err != nil {
		w.learn(err, &decision)
		return Answer{}, false, err
	}
	committed = len(decision.Events) > 0
	if decision.Refusal != nil {
		return Answer{}, committed, decision.Refusal
	}
	answer, err = r.answer(&decision)
	return answer, committed, err
}

func retriable(err error) bool {
	return errors.Is(err, ErrConflict) || errors.Is(err, ErrTooLate) || errors.Is(err, ErrTooEarly)
}

// window is what the database has said about the present time by refusing a
// commit for its guards. The replica's own reading, exact to some milliseconds
// only, is fitted into it, or the next attempt would decide the same again.
type window struct{ from, until clock.Time }

func (w *window) learn(err error, d *Decision) {
	switch {
	case errors.Is(err, ErrTooLate):
		w.from = d.Before
	case errors.Is(err, ErrTooEarly):
		w.until = d.After - 1
	}
}

func (w *window) fit(now clock.Time) clock.Time {
	if w.until != 0 {
		now = min(now, w.until)
	}
	return max(now, w.from)
}

// commit stores what a decision changed, if it changed anything.
func (r *Referee) commit(ctx context.Context, d *Decision, create *CreateMatch, sweep bool) error {
	if len(d.Events) == 0 {
		return nil
	}
	return r.store.Commit(ctx, Change{State: d.State, Events: d.Events, After: d.After, Before: d.Before,
		Known: d.Known, Create: create, Sweep: sweep})
}

func (r *Referee) answer(d *Decision) (Answer, error) {
	now, err := r.now()
	if err != nil {
		now = d.State.Game.Last // committed: an unsure clock must not hide that
	}
	return Answer{State: d.State, Events: d.Events[d.Own:], Now: now}, nil
}

// load loads a match that the caller may see.
func (r *Referee) load(ctx context.Context, caller Caller, id ID) (Loaded, error) {
	loaded, err := r.store.Load(ctx, id)
	if errors.Is(err, ErrNotFound) || err == nil && !caller.sees(loaded.State.Platform) {
		return Loaded{}, notFound()
	}
	return loaded, err
}

// forbidden refuses a seat that is not at the table or not the caller's, and squares
// of another board than the match's.
func (s *State) forbidden(h *Header) *Refusal {
	if int(h.Seat) >= len(s.Players) {
		return InvalidField("seat", "must be from 0 to %d", len(s.Players)-1)
	}
	if h.Board != NoBoard && h.Board != s.Rules.Board() {
		return InvalidField("action.from", "must be a square of the match's board, such as %s", s.Rules.SquareName(0))
	}
	if h.Caller.Player == "" {
		return nil
	}
	if h.Seat < 0 || s.Players[h.Seat] != h.Caller.Player {
		return refuse(ReasonSeatForbidden, "the token is limited to another player")
	}
	return nil
}

func (r *Referee) env(arrival clock.Time, outages []Outage) (Env, error) {
	now, err := r.Now()
	if err != nil {
		return Env{}, err
	}
	dice, err := roll()
	if err != nil {
		return Env{}, err
	}
	return Env{Arrival: arrival, Now: now, Outages: outages, Keys: r.keys, Dice: dice, Deal: r.deal}, nil
}

// roll draws the dice of one decision from the operating system.
func roll() (d Dice, err error) {
	if _, err = rand.Read(d.Seed[:]); err == nil {
		_, err = rand.Read(d.Nonce[:])
	}
	if err != nil {
		err = fmt.Errorf("draw random bytes: %w", err)
	}
	return d, err
}
