package server

import (
	"context"
	"errors"

	"referee.example/internal/referee"
	"referee.example/internal/series"
	refereev1 "referee.example/proto/referee/v1"
)

// QuoteStake tells what a stake requires and what results would pay.
func (s *rulesService) QuoteStake(_ context.Context, r *refereev1.QuoteStakeRequest) (*refereev1.QuoteStakeResponse, error) {
	rules, err := s.rulesOf(r.GetRulesetId(), r.GetRuleset())
	if err != nil {
		return nil, err
	}
	quote, err := rules.Stakes.Quote(r.GetStake(), charges(r.GetCharges()), rules.Seats(), rules.Series)
	var fault series.FieldError
	if errors.As(err, &fault) {
		return nil, fieldRefusal(referee.ReasonStakeOutOfRange,
			[]referee.FieldError{{Field: fault.Field, Reason: fault.Reason}})
	}
	if err != nil {
		return nil, err
	}
	out := &refereev1.QuoteStakeResponse{
		EntryMinimum: quote.EntryMinimum, NextMinimum: quote.NextMinimum,
		WorstLoss: quote.WorstGameLoss, WorstMatchLoss: quote.WorstMatchLoss,
	}
	if len(quote.Payouts) > 0 {
		out.FullLoss, out.FullWin = quote.Payouts[0].LoserPays, quote.Payouts[0].WinnerNet
	}
	if len(quote.Payouts) > 1 {
		out.ReducedLoss, out.ReducedWin = quote.Payouts[1].LoserPays, quote.Payouts[1].WinnerNet
	}
	return out, nil
}
