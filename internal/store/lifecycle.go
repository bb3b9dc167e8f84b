package store

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// The rows of matches, games and settlements are written when a game or the
// match begins, ends or waits for a ruling, in the transaction that saves the
// match.

const (
	sqlStartGame = `
UPDATE games SET status = $9, started_at = $3, first_seat = $4, balances = $5, hold_ids = $6, player_seeds = $7, root = $8
WHERE match_id = $1 AND game = $2`
	sqlEndGame = `
UPDATE games SET status = 4, ended_at = $3, end_reason = $4, winners = $5, void = $6, first_ply = $7, last_ply = $8,
	plies = $9, captures = $10, disconnected = $11, server_seed = $12, head_hash = $13
WHERE match_id = $1 AND game = $2`
	sqlAddGame       = `INSERT INTO games (match_id, game, status, commitment, sealed_seed) VALUES ($1, $2, 1, $3, $4)`
	sqlSetGameStatus = `UPDATE games SET status = $3 WHERE match_id = $1 AND game = $2`
	sqlSetMatch      = `UPDATE matches SET status = $2, winners = $3, end_note = $4, ended_at = $5 WHERE match_id = $1`
)

// further is what a change writes beside the match's state and log. It is read
// from the events rather than the state, since one change may end a game and
// start the next.
type further struct {
	state     *referee.State
	events    []referee.Event
	rows      []furtherRow // in the order of the events
	setsMatch bool
}

// furtherRow is a row of a game, or a settlement, that a change writes.
type furtherRow interface {
	// queue adds the statements that write it; each has the match before the arguments.
	queue(f *further, add func(query string, arguments ...any))
}

type gameStatus struct{ game, status int }

func (g gameStatus) queue(_ *further, add func(string, ...any)) {
	add(sqlSetGameStatus, g.game, g.status)
}

type gameStarted struct {
	game    int
	status  referee.GameStatus
	at      time.Time
	details referee.Started
}

func (g gameStarted) queue(_ *further, add func(string, ...any)) {
	seeds := make([][]byte, len(g.details.PlayerSeeds))
	for i, seed := range g.details.PlayerSeeds {
		seeds[i] = notNull(seed)
	}
	add(sqlStartGame, g.game, g.at, int16(g.details.First), g.details.Balances,
		append([]string{}, g.details.HoldIDs...), seeds, g.details.Root[:], int16(g.status))
}

type gameEnd struct {
	game         int
	at           time.Time
	outcome      rules.Outcome
	plies        int
	captures     []int16 // nil if it was never started
	disconnected rules.SeatSet
	seed         [32]byte
	head         []byte
}

func (g gameEnd) queue(_ *further, add func(string, ...any)) {
	add(sqlEndGame, g.game, g.at, int16(g.outcome.Reason), seatSet(g.outcome.Winners), g.outcome.Void, g.outcome.FirstPly,
		g.outcome.LastPly, g.plies, g.captures, seatSet(g.disconnected), g.seed[:], g.head)
}

type gameAdded struct {
	game               int
	commitment, sealed []byte
}

func (g gameAdded) queue(_ *further, add func(string, ...any)) {
	add(sqlAddGame, g.game, g.commitment, g.sealed)
}

// furtherWrites returns a change's writes beside state and log; nil for an
// ordinary one, which has none.
func furtherWrites(c referee.Change) (*further, error) {
	f := &further{state: c.State, events: c.Events}
	for i := range f.events {
		if err := f.event(&f.events[i]); err != nil {
			e := &f.events[i]
			return nil, fmt.Errorf("event %d of game %d: %w", e.Seq, e.Game, err)
		}
	}
	if game := &f.state.Game; game.Status == referee.GameAwaitingRuling {
		f.setsMatch = true
		f.rows = append(f.rows, gameStatus{game.Number, int(game.Status)})
	}
	if !f.setsMatch && len(f.rows) == 0 {
		return nil, nil
	}
	return f, nil
}

// event notes what an event writes.
func (f *further) event(e *referee.Event) error {
	switch e.Kind {
	case referee.EventGameStarted:
		f.setsMatch = true
		d, err := e.Started()
		status := referee.GamePlaying
		if f.state.Rules.Places() {
			status = referee.GamePlacing
		}
		f.rows = append(f.rows, gameStarted{e.Game, status, timestamp(e.Time), d})
		return err
	case referee.EventPlayBegan:
		f.rows = append(f.rows, gameStatus{e.Game, int(referee.GamePlaying)})
	case referee.EventFoulRuled:
		f.setsMatch = true
		f.rows = append(f.rows, gameStatus{e.Game, int(referee.GamePlaying)})
	case referee.EventGameEnded:
		f.setsMatch = true
		return f.gameEnded(e)
	case referee.EventMatchEnded:
		f.setsMatch = true
		return f.matchEnded(e)
	case referee.EventCompensation:
		return f.compensation(e)
	}
	return nil
}

func (f *further) gameEnded(e *referee.Event) error {
	d, err := e.GameEnded()
	if err != nil {
		return err
	}
	captures := make([]int16, len(d.Captures))
	for i, n := range d.Captures {
		captures[i] = int16(n)
	}
	f.endGame(e, d.Outcome, captures, d.Disconnected, d.ServerSeed)
	if d.NextCommitment != ([32]byte{}) {
		f.rows = append(f.rows, gameAdded{e.Game + 1, d.NextCommitment[:], f.sealed(e.Game + 1)})
	}
	settlement, err := f.state.Settlement(e.Game)
	if err != nil {
		return err
	}
	f.settle(e, e.Game, false, settlement, settlement.Lines)
	return nil
}

// matchEnded ends the game that was committed to and never started, if the
// match ended between games.
func (f *further) matchEnded(e *referee.Event) error {
	d, err := e.MatchEnd()
	if err != nil || d.ServerSeed == ([32]byte{}) {
		return err
	}
	f.endGame(e, f.state.Game.Outcome, nil, 0, d.ServerSeed)
	return nil
}

func (f *further) endGame(e *referee.Event, o rules.Outcome, captures []int16, disconnected rules.SeatSet, seed [32]byte) {
	f.rows = append(f.rows, gameEnd{e.Game, timestamp(e.Time), o, e.Ply, captures, disconnected, seed, f.head(e.Game)})
}

// head returns the hash of the last event of a game that this change ends.
func (f *further) head(game int) []byte {
	var head []byte
	for i := range f.events {
		if f.events[i].Game == game {
			head = f.events[i].Hash[:]
		}
	}
	return head
}

// sealed returns the sealed seed of the game that this change committed to.
func (f *further) sealed(game int) []byte {
	if f.state.Game.Number == game {
		return f.state.Game.Sealed
	}
	return f.state.Next.Sealed
}

// statements write what is further written, in the order of the events.
func (f *further) statements() []*pgx.QueuedQuery {
	var batch pgx.Batch
	add := func(query string, arguments ...any) {
		batch.Queue(query, append([]any{uuid(f.state.ID)}, arguments...)...)
	}
	for _, row := range f.rows {
		row.queue(f, add)
	}
	if s := f.state; f.setsMatch {
		add(sqlSetMatch, int16(s.Status), seatSet(s.Winners), s.EndNote, timestampOrNull(s.Ended))
	}
	return batch.QueuedQueries
}
