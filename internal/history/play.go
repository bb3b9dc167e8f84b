package history

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"referee.example/internal/clock"
	"referee.example/internal/deal"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/series"
	"referee.example/internal/store"
)

// What the copies of a match put others for, in its rows and in its snapshot:
// names of the same length.
const (
	modelPlatform = "model"
	modelTable    = "table 0000"
	modelStake    = 100
)

var modelPlayers = []string{"model--0", "model--1"}

// ending is how the games of a played match end.
type ending string

const (
	byRules         ending = "by rules"
	byResignation   ending = "resignation"
	byTime          ending = "time"
	byDisconnection ending = "disconnection"
	byAgreement     ending = "agreement"
	byAllGone       ending = "all gone"
	byVoid          ending = "void"
	byAbandoning    ending = "abandoning"
	running         ending = "running" // the last game does not end
)

const (
	second = clock.Time(time.Second / time.Microsecond)
	// longest is after how many games a match that found no end is left.
	longest = 8
)

// table plays one match: decided as in production, stored a game at a time.
type table struct {
	store *store.Store
	keys  deal.Keyring
	dice  *rand.ChaCha8
	rand  *rand.Rand
	at    clock.Time
	state *referee.State
	// events are those that are not stored yet.
	events []referee.Event
}

// Key is the line of a keyring by which the deals of a generated history open. It
// is no secret.
func Key() string {
	return "history:" + base64.StdEncoding.EncodeToString(make([]byte, deal.KeySize))
}

// newTable seeds everything that a match rolls.
func newTable(s *store.Store, seed uint64, at clock.Time) (*table, error) {
	keys, err := deal.ParseKeyring(Key())
	if err != nil {
		return nil, err
	}
	var long [32]byte
	binary.BigEndian.PutUint64(long[:], seed)
	dice := rand.NewChaCha8(long)
	return &table{store: s, keys: keys, dice: dice, rand: rand.New(dice), at: at}, nil //nolint:gosec // generated players keep no secrets
}

// play plays a match from its creation to its end, and returns its id and the
// number of games that were started.
func (t *table) play(ctx context.Context, r *referee.Rules, how ending) (id referee.ID, games int, err error) {
	if err := t.create(ctx, r); err != nil {
		return id, 0, err
	}
	for !t.state.Status.Over() && games < longest {
		if how == byAbandoning && games == 1 {
			break
		}
		games++
		if err = t.game(how); err == nil {
			err = t.commit(ctx, nil)
		}
		if err != nil {
			return id, games, fmt.Errorf("game %d ending by %s: %w", games, how, err)
		}
		if how == running {
			return t.state.ID, games, nil
		}
	}
	if !t.state.Status.Over() {
		err = t.leave(ctx)
	}
	return t.state.ID, games, err
}

// leave ends the match between games: a player is out of points.
func (t *table) leave(ctx context.Context) error {
	t.at += second
	err := t.do(&referee.AbandonMatch{Header: t.header(rules.NoSeat), Note: "out of points", Balances: []int64{100_000, 0}})
	if err != nil {
		return err
	}
	return t.commit(ctx, nil)
}

// id makes a UUID of the table's time.
func (t *table) id() (id referee.ID) {
	_, _ = t.dice.Read(id[:])
	binary.BigEndian.PutUint64(id[:8], uint64(t.at/1000)<<16|0x7000|uint64(id[7]))
	id[8] = id[8]&0x3f | 0x80
	return id
}

func (t *table) env() referee.Env {
	env := referee.Env{Arrival: t.at, Now: t.at, Keys: t.keys, Deal: referee.Deal}
	_, _ = t.dice.Read(env.Dice.Seed[:])
	_, _ = t.dice.Read(env.Dice.Nonce[:])
	return env
}

func (t *table) create(ctx context.Context, r *referee.Rules) error {
	c := &referee.CreateMatch{
		Caller: referee.Caller{Platform: modelPlatform, Principal: 1}, RequestID: t.id(), TableRef: modelTable,
		Players: modelPlayers, Rules: r, Stake: modelStake, Charges: series.Charges{Fee: 5, SceneFee: 2},
		Balances: []int64{100_000, 100_000}, FirstSeat: rules.NoSeat,
	}
	if r.FirstMover == referee.FirstMoverNamed {
		c.FirstSeat = 0
	}
	decision, err := referee.Create(c, t.id(), t.env())
	if err != nil {
		return err
	}
	if decision.Refusal != nil {
		return decision.Refusal
	}
	t.took(decision)
	return t.commit(ctx, c)
}

func (t *table) took(d referee.Decision) {
	t.state = d.State
	t.events = append(t.events, d.Events...)
}

// commit stores what has happened since the last commit.
func (t *table) commit(ctx context.Context, create *referee.CreateMatch) error {
	err := t.store.Commit(ctx, referee.Change{State: t.state, Events: t.events, Create: create})
	t.events = nil
	return err
}

func (t *table) header(seat rules.Seat) referee.Header {
	game, _, seq := t.state.Present()
	return referee.Header{Caller: referee.Caller{Platform: modelPlatform, Principal: 1}, Match: t.state.ID, Game: game,
		RequestID: t.id(), Expected: seq, Seat: seat}
}

func (t *table) do(c referee.Command) error {
	decision, err := referee.Decide(t.state, c, t.env())
	if err != nil {
		return err
	}
	if decision.Refusal != nil {
		return decision.Refusal
	}
	t.took(decision)
	return nil
}

// game plays the next game to its end, or to the middle of a running one.
func (t *table) game(how ending) error {
	err := t.do(&referee.StartGame{Header: t.header(rules.NoSeat), Balances: []int64{100_000, 100_000},
		HoldIDs: []string{"hold-0", "hold-1"}, PlayerSeeds: [][]byte{{1}, {2}}})
	if err != nil {
		return err
	}
	plies := 20 + t.rand.IntN(120)
	for n := 0; err == nil && t.state.Game.Status != referee.GameEnded; n++ {
		switch {
		case t.state.Game.Status == referee.GameAwaitingRuling:
			err = t.do(&referee.RuleFoul{Header: t.header(rules.NoSeat), Confirm: true, Note: "seen"})
		case n < plies || how == byRules || how == byAbandoning:
			err = t.ply()
		case how == running:
			return nil
		default:
			return t.end(how)
		}
	}
	return err
}

// ply plays a random legal action after some thought: mostly a few seconds, at
// times many.
func (t *table) ply() error {
	t.at += second/2 + clock.Time(t.rand.ExpFloat64()*float64(4*second))%(25*second)
	actions := t.state.LegalActions()
	if len(actions) == 0 {
		return fmt.Errorf("no legal action at ply %d", t.state.Game.NextPly())
	}
	header := t.header(t.state.Game.Position.Turn())
	_, header.Expected, _ = t.state.Present() // a ply names the ply
	return t.do(&referee.PlayAction{Header: header, Action: actions[t.rand.IntN(len(actions))]})
}

// end ends the running game in a way of the players', of time or of an operator.
func (t *table) end(how ending) error {
	t.at += second
	mover := t.state.Game.Position.Turn()
	switch how {
	case byResignation:
		return t.do(&referee.Resign{Header: t.header(mover)})
	case byDisconnection, byAllGone:
		gone := rules.SeatsOf(mover)
		if how == byAllGone {
			gone = rules.SeatsOf(0, 1)
		}
		return t.do(&referee.ReportDisconnect{Header: t.header(rules.NoSeat), Gone: gone})
	case byVoid:
		return t.do(&referee.VoidMatch{Header: t.header(rules.NoSeat), Note: "power cut"})
	case byAgreement:
		if err := t.do(&referee.OfferDraw{Header: t.header(mover)}); err != nil {
			return err
		}
		return t.do(&referee.AnswerDraw{Header: t.header(1 - mover), Accept: true})
	case byTime:
		t.at += 600 * second
		decision, err := referee.Settle(t.state, t.env())
		t.took(decision)
		return err
	default:
		return fmt.Errorf("nothing ends a game %s", how)
	}
}
