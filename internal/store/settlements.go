package store

import (
	"errors"

	"referee.example/internal/referee"
	"referee.example/internal/series"
)

const (
	sqlAddSettlement = `
INSERT INTO settlements (match_id, game, compensates, settlement_id, multiple, loser_captures, settled_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)`
	sqlAddSettlementLine = `
INSERT INTO settlement_lines (match_id, game, compensates, line, payer, payee, amount, why)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
)

var errCompensation = errors.New("it compensates a game that has not ended")

// settle queues the rows of a settlement; none for a game that moves nothing.
func (f *further) settle(e *referee.Event, game int, compensates bool, s series.Settlement, lines []series.Line) {
	if len(lines) == 0 {
		return
	}
	id := referee.SettlementID(f.state.ID, game, compensates)
	f.queue(sqlAddSettlement, game, compensates, uuid(id), s.Multiple, s.LoserCaptures, timestamp(e.Time))
	for i, line := range lines {
		f.queue(sqlAddSettlementLine, game, compensates, i+1,
			f.account(line.Payer), f.account(line.Payee), line.Amount, string(line.Why))
	}
}

// account is the player's id, or empty for the house.
func (f *further) account(a series.Account) string {
	if a == series.House {
		return ""
	}
	return f.state.Players[a]
}

// compensation queues the settlement that reverses another, once the second
// operator has made it.
func (f *further) compensation(e *referee.Event) error {
	d, err := e.Compensation()
	if err != nil || !d.Made {
		return err
	}
	if d.Game < 1 || d.Game > len(f.state.Past) {
		return errCompensation
	}
	s, err := f.state.Settlement(d.Game)
	if err != nil {
		return err
	}
	f.settle(e, d.Game, true, s, s.Reverse())
	return nil
}
