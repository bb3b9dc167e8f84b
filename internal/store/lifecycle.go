package store

import (
	"fmt"

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

// further gathers what a change writes beside the match's state and log. It
// reads the events rather than the state, since one change may end a game and
// start the next.
type further struct {
	batch  pgx.Batch
	state  *referee.State
	events []referee.Event
}

// furtherWrites returns a change's writes beside state and log; nil for an
// ordinary one, which has none.
func furtherWrites(c referee.Change) (*pgx.Batch, error) {
	f := &further{state: c.State, events: c.Events}
	setMatch := false
	for i := range f.events {
		sets, err := f.event(&f.events[i])
		if err != nil {
			e := &f.events[i]
			return nil, fmt.Errorf("event %d of game %d: %w", e.Seq, e.Game, err)
		}
		setMatch = setMatch || sets
	}
	s := f.state
	if s.Game.Status == referee.GameAwaitingRuling {
		setMatch = true
		f.queue(sqlSetGameStatus, s.Game.Number, int16(s.Game.Status))
	}
	if setMatch {
		f.queue(sqlSetMatch, int16(s.Status), seatSet(s.Winners), s.EndNote, timestampOrNull(s.Ended))
	}
	if f.batch.Len() == 0 {
		return nil, nil
	}
	return &f.batch, nil
}

// queue adds a statement whose first parameter is the match.
func (f *further) queue(query string, arguments ...any) {
	f.batch.Queue(query, append([]any{uuid(f.state.ID)}, arguments...)...)
}

// event queues what an event writes, and reports whether it changes what is
// stored of the match as a whole.
func (f *further) event(e *referee.Event) (setMatch bool, err error) {
	switch e.Kind {
	case referee.EventGameStarted:
		return true, f.gameStarted(e)
	case referee.EventPlayBegan:
		f.queue(sqlSetGameStatus, e.Game, int16(referee.GamePlaying))
		return false, nil
	case referee.EventFoulRuled:
		f.queue(sqlSetGameStatus, e.Game, int16(referee.GamePlaying))
		return true, nil
	case referee.EventGameEnded:
		return true, f.gameEnded(e)
	case referee.EventMatchEnded:
		return true, f.matchEnded(e)
	case referee.EventCompensation:
		return false, f.compensation(e)
	}
	return false, nil
}

func (f *further) gameStarted(e *referee.Event) error {
	d, err := e.Started()
	if err != nil {
		return err
	}
	seeds := make([][]byte, len(d.PlayerSeeds))
	for i, seed := range d.PlayerSeeds {
		seeds[i] = notNull(seed)
	}
	status := referee.GamePlaying
	if f.state.Rules.Places() {
		status = referee.GamePlacing
	}
	f.queue(sqlStartGame, e.Game, timestamp(e.Time), int16(d.First), d.Balances,
		append([]string{}, d.HoldIDs...), seeds, d.Root[:], int16(status))
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
		f.queue(sqlAddGame, e.Game+1, d.NextCommitment[:], f.sealed(e.Game+1))
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
	f.queue(sqlEndGame, e.Game, timestamp(e.Time), int16(o.Reason), seatSet(o.Winners), o.Void, o.FirstPly, o.LastPly,
		e.Ply, captures, seatSet(disconnected), seed[:], f.head(e.Game))
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
