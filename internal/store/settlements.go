package store

import (
	"errors"
	"time"

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

// settlementRows are the rows of a settlement.
type settlementRows struct {
	game          int
	compensates   bool
	id            referee.ID
	multiple      int64
	loserCaptures int
	at            time.Time
	lines         []series.Line
}

func (s settlementRows) queue(f *further, add func(string, ...any)) {
	add(sqlAddSettlement, s.game, s.compensates, uuid(s.id), s.multiple, s.loserCaptures, s.at)
	for i, line := range s.lines {
		add(sqlAddSettlementLine, s.game, s.compensates, i+1, f.account(line.Payer), f.account(line.Payee),
			line.Amount, string(line.Why))
	}
}

// settle notes the rows of a settlement; none for a game that moves nothing.
func (f *further) settle(e *referee.Event, game int, compensates bool, s series.Settlement, lines []series.Line) {
	if len(lines) == 0 {
		return
	}
	f.rows = append(f.rows, settlementRows{game, compensates, referee.SettlementID(f.state.ID, game, compensates),
		s.Multiple, s.LoserCaptures, timestamp(e.Time), lines})
}

// account is the player's id, or empty for the house.
func (f *further) account(a series.Account) string {
	if a == series.House {
		return ""
	}
	return f.state.Players[a]
}

// compensation notes the settlement that reverses another, once the second
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
