package verify

import (
	"fmt"

	"referee.example/internal/referee"
	"referee.example/internal/series"
)

// settlement compares a game's settlement on record with the one that follows
// from its result.
func (c *checker) settlement(g *played) {
	if g.Number > len(c.state.Past) {
		if g.Settlement != nil {
			c.find(g.Number, g.endSeq(), "settlement", "none: the game was not played to an end", g.Settlement.ID.String())
		}
		return
	}
	if !g.Settles && g.Settlement == nil {
		return
	}
	due, err := c.due(g.Number, false)
	if err != nil {
		c.find(g.Number, g.endSeq(), "settlement", "a result that can be settled", err.Error())
		return
	}
	c.compareSettlement(g.endSeq(), due, g.Settlement)
}

// due returns the settlement that an ended game must have, or the one that
// compensates it; nil if it moves nothing.
func (c *checker) due(game int, compensates bool) (*referee.RecordedSettlement, error) {
	s, err := c.state.Settlement(game)
	if err != nil || len(s.Lines) == 0 {
		return nil, err
	}
	lines := s.Lines
	if compensates {
		lines = s.Reverse()
	}
	due := &referee.RecordedSettlement{
		Game: game, Compensates: compensates, ID: referee.SettlementID(c.match.ID, game, compensates),
		Multiple: s.Multiple, LoserCaptures: s.LoserCaptures, Settled: c.state.Past[game-1].Ended,
	}
	for _, line := range lines {
		due.Lines = append(due.Lines, referee.RecordedLine{
			Payer: c.account(line.Payer), Payee: c.account(line.Payee), Amount: line.Amount, Why: string(line.Why)})
	}
	return due, nil
}

func (c *checker) account(a series.Account) string {
	if a == series.House {
		return ""
	}
	return c.state.Players[a]
}

// compareSettlement compares a settlement; either may be nil.
func (c *checker) compareSettlement(seq int, want, got *referee.RecordedSettlement) {
	switch {
	case want == nil && got == nil:
		return
	case want == nil:
		c.find(got.Game, seq, settlementName(got), "none", got.ID.String())
		return
	case got == nil:
		c.find(want.Game, seq, settlementName(want), want.ID.String(), "none")
		return
	}
	name := settlementName(want)
	differ := func(what string, expected, found any) {
		if expected != found {
			c.find(want.Game, seq, name+"."+what, words(expected), words(found))
		}
	}
	differ("settlement_id", want.ID, got.ID)
	differ("multiple", want.Multiple, got.Multiple)
	differ("loser_captures", want.LoserCaptures, got.LoserCaptures)
	differ("settled_at", want.Settled, got.Settled)
	for i := range max(len(want.Lines), len(got.Lines)) {
		line := fmt.Sprintf("lines[%d]", i)
		switch {
		case i >= len(got.Lines):
			differ(line, lineText(&want.Lines[i]), "none")
		case i >= len(want.Lines):
			differ(line, "none", lineText(&got.Lines[i]))
		default:
			differ(line+".payer", want.Lines[i].Payer, got.Lines[i].Payer)
			differ(line+".payee", want.Lines[i].Payee, got.Lines[i].Payee)
			differ(line+".amount", want.Lines[i].Amount, got.Lines[i].Amount)
			differ(line+".why", want.Lines[i].Why, got.Lines[i].Why)
		}
	}
}

func settlementName(s *referee.RecordedSettlement) string {
	if s.Compensates {
		return "compensation"
	}
	return "settlement"
}

func lineText(l *referee.RecordedLine) string {
	return fmt.Sprintf("%d from %q to %q for %s", l.Amount, l.Payer, l.Payee, l.Why)
}
