package series

// Quote is what a match on given terms asks and can cost, in points.
type Quote struct {
	EntryMinimum int64 // to hold before the first game
	NextMinimum  int64 // to hold before each further game
	// WorstGameLoss and WorstMatchLoss are the most a seat can lose in a game
	// and in a match: every valid game lost in full, each by disconnection.
	// Winning costs nothing: the fees never exceed what is won.
	WorstGameLoss  int64
	WorstMatchLoss int64
	// Payouts are what a decided game can pay, the highest first; none where
	// stakes are off. A draw pays nothing.
	Payouts []Payout
}

// Payout is what one result pays between a loser and the winner he pays.
type Payout struct {
	Multiple int64 // of the stake
	// FromCaptures and ToCaptures bound the losing side's captures that give
	// this result, both inclusive.
	FromCaptures, ToCaptures int
	LoserPays                int64 // to the winner
	Fee, SceneFee            int64 // from the winner to the house
	WinnerNet                int64 // LoserPays less Fee and SceneFee, never below 0
	// DisconnectionPenalty is due from the loser to the house, besides
	// LoserPays, if his disconnection lost the game.
	DisconnectionPenalty int64
}

// Quote states what a match on these terms asks and can cost. It refuses what
// Check refuses, with the same FieldError.
func (s Stakes) Quote(stake int64, c Charges, seats int, r Rules) (Quote, error) {
	if err := s.Check(stake, c, seats, r); err != nil {
		return Quote{}, err
	}
	// No product here overflows: Check bounds them all.
	worst := s.LossMultiple*stake + c.DisconnectionPenalty
	quote := Quote{
		EntryMinimum:   s.EntryMultiple * stake,
		NextMinimum:    s.NextMultiple * stake,
		WorstGameLoss:  worst,
		WorstMatchLoss: int64(r.ValidGames) * worst,
	}
	for _, multiple := range s.multiples() {
		payout := Payout{
			Multiple:             multiple,
			ToCaptures:           MaxCaptures,
			LoserPays:            multiple * stake,
			Fee:                  s.feeTimes(multiple) * c.Fee,
			SceneFee:             c.SceneFee,
			DisconnectionPenalty: c.DisconnectionPenalty,
		}
		payout.WinnerNet = payout.LoserPays - payout.Fee - payout.SceneFee
		quote.Payouts = append(quote.Payouts, payout)
	}
	if len(quote.Payouts) == 2 {
		quote.Payouts[0].ToCaptures = s.ReducedFromCaptures - 1
		quote.Payouts[1].FromCaptures = s.ReducedFromCaptures
	}
	return quote, nil
}
