package series_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"referee.example/internal/rules"
	"referee.example/internal/series"
)

var reasons = map[string]rules.EndReason{
	"":              rules.EndAllCaptured,
	"resignation":   rules.EndResignation,
	"time":          rules.EndTime,
	"disconnection": rules.EndDisconnection,
	"idle":          rules.EndIdle,
	"all_gone":      rules.EndAllGone,
}

// spell writes a line as the cases do.
func spell(line series.Line) string {
	account := func(a series.Account) string {
		if a == series.House {
			return "house"
		}
		return fmt.Sprint(a)
	}
	return fmt.Sprintf("%s>%s %d %s", account(line.Payer), account(line.Payee), line.Amount, line.Why)
}

func TestSettle(t *testing.T) {
	for _, c := range load[struct {
		ID, Name      string
		Stakes        *series.Stakes
		Stake         int64
		Charges       series.Charges
		Teams         bool
		Winner        string
		Reason        string
		Captures      []int
		Disconnected  []rules.Seat
		Multiple      int64
		LoserCaptures int `json:"loser_captures"`
		Lines         []string
		Error         string
	}](t, "settle.json") {
		t.Run(c.Name, func(t *testing.T) {
			s := sevenClub
			if c.Stakes != nil {
				s = *c.Stakes
			}
			reason, known := reasons[c.Reason]
			if !known {
				t.Fatalf("unknown reason %q", c.Reason)
			}
			parties := sides(c.Teams)
			var captures [rules.MaxSeats]int
			copy(captures[:], c.Captures)
			got, err := series.Settle(s, c.Stake, c.Charges, parties,
				outcomeOf(t, c.Winner, reason, parties), captures, rules.SeatsOf(c.Disconnected...))
			if refusal(err) != c.Error {
				t.Fatalf("refused %v, want %q", err, c.Error)
			}
			if err != nil && got.Lines != nil {
				t.Errorf("refused, yet settled %+v", got)
			}
			lines := []string{}
			for _, line := range got.Lines {
				lines = append(lines, spell(line))
			}
			if got.Multiple != c.Multiple || got.LoserCaptures != c.LoserCaptures || !slices.Equal(lines, c.Lines) {
				t.Errorf("got %d x, %d captures, %q; want %d x, %d captures, %q",
					got.Multiple, got.LoserCaptures, lines, c.Multiple, c.LoserCaptures, c.Lines)
			}
		})
	}
}

func TestNetRefusesLinesNobodySettled(t *testing.T) {
	good := series.Line{Payer: 0, Payee: 1, Amount: 5, Why: series.WhyStake}
	for _, c := range []struct {
		name  string
		lines []series.Line
	}{
		{"nothing moved", []series.Line{good, {Payer: 0, Payee: 1, Amount: 0, Why: series.WhyStake}}},
		{"negative", []series.Line{good, {Payer: 0, Payee: 1, Amount: -5, Why: series.WhyStake}}},
		{"most negative", []series.Line{{Payer: 0, Payee: 1, Amount: math.MinInt64, Why: series.WhyStake}}},
		{"to oneself", []series.Line{{Payer: 1, Payee: 1, Amount: 5, Why: series.WhyStake}}},
		{"house to house", []series.Line{{Payer: series.House, Payee: series.House, Amount: 5, Why: series.WhyFee}}},
		{"unknown payer", []series.Line{{Payer: -2, Payee: 1, Amount: 5, Why: series.WhyStake}}},
		{"unknown payee", []series.Line{{Payer: 0, Payee: rules.MaxSeats, Amount: 5, Why: series.WhyStake}}},
		{"no purpose", []series.Line{{Payer: 0, Payee: 1, Amount: 5}}},
		{"unknown purpose", []series.Line{{Payer: 0, Payee: 1, Amount: 5, Why: "gift"}}},
		{"payee overflows", []series.Line{good, {Payer: 2, Payee: 1, Amount: math.MaxInt64, Why: series.WhyStake}}},
		{"payer overflows", []series.Line{good, {Payer: 0, Payee: 2, Amount: math.MaxInt64 - 3, Why: series.WhyStake}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			net, err := series.Settlement{Lines: c.lines}.Net()
			if refusal(err) != "line" || net != (series.Net{}) {
				t.Errorf("got %+v, %v; want a refused line", net, err)
			}
		})
	}
	edge := []series.Line{
		{Payer: 0, Payee: 1, Amount: math.MaxInt64, Why: series.WhyStake},
		{Payer: 0, Payee: 2, Amount: 1, Why: series.WhyStake},
	}
	want := series.Net{Seats: [rules.MaxSeats]int64{math.MinInt64, math.MaxInt64, 1, 0}}
	if net, err := (series.Settlement{Lines: edge}).Net(); err != nil || net != want {
		t.Errorf("at the edge of 64 bits: got %+v, %v; want %+v", net, err, want)
	}
}

// game is a decided game on terms that Check has accepted.
type game struct {
	stakes       series.Stakes
	stake        int64
	charges      series.Charges
	sides        series.Sides
	outcome      rules.Outcome
	captures     [rules.MaxSeats]int
	disconnected rules.SeatSet
	series       series.Rules
}

func (g game) settle(t *rapid.T) series.Settlement {
	settlement, err := series.Settle(g.stakes, g.stake, g.charges, g.sides, g.outcome, g.captures, g.disconnected)
	if err != nil {
		t.Fatalf("accepted terms do not settle: %v", err)
	}
	return settlement
}

// anyGame draws terms up to the largest that can be accepted, by bounding each
// part by what the ones before leave.
func anyGame() *rapid.Generator[game] {
	return rapid.Custom(func(t *rapid.T) game {
		g := game{
			stakes: anyStakes().Draw(t, "stakes"),
			sides:  rapid.SampledFrom([]series.Sides{duel, teams, {duel[1], duel[0]}}).Draw(t, "sides"),
			series: series.Rules{ValidGames: rapid.IntRange(1, 9).Draw(t, "games")},
		}
		s := g.stakes
		left := math.MaxInt64 / int64(g.series.ValidGames*g.sides.Seats()/2)
		upTo := func(most int64, label string) int64 {
			return rapid.OneOf(rapid.Int64Range(0, most), rapid.Int64Range(0, min(most, 50)), rapid.Just(most)).Draw(t, label)
		}
		g.stake = max(1, upTo(min(left/s.LossMultiple, math.MaxInt64/max(s.EntryMultiple, s.NextMultiple)), "stake"))
		left -= g.stake * s.LossMultiple
		// A fee within half of the least win is within every win, doubled or not.
		least := g.stake * s.LossMultiple
		if s.ReducedFromCaptures > 0 {
			least = g.stake * s.ReducedMultiple
		}
		g.charges.Fee = upTo(min(left/2, least/2), "fee")
		left -= 2 * g.charges.Fee
		g.charges.SceneFee = upTo(min(left, least-2*g.charges.Fee), "scene fee")
		left -= g.charges.SceneFee
		g.charges.DisconnectionPenalty = upTo(left, "penalty")

		side := rapid.IntRange(0, 1).Draw(t, "winner")
		g.outcome = rules.Outcome{Reason: rules.EndAllCaptured, Winners: g.sides[side]}
		for seat := range g.sides.Seats() {
			g.captures[seat] = rapid.IntRange(0, 25).Draw(t, "captures")
		}
		if rapid.Bool().Draw(t, "by disconnection") {
			g.outcome.Reason = rules.EndDisconnection
			g.disconnected = g.sides[1-side]
		}
		if err := s.Check(g.stake, g.charges, g.sides.Seats(), g.series); err != nil {
			t.Fatalf("terms within all bounds refused: %v", err)
		}
		return g
	})
}

// Points are neither made nor lost, every line moves some, and no account comes
// near 64 bits even when the same game is lost as often as a match allows.
func TestSettlementSumsToZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := anyGame().Draw(t, "game")
		settlement := g.settle(t)
		balances := map[series.Account]*big.Int{}
		for _, line := range settlement.Lines {
			if line.Amount < 1 || line.Payer == line.Payee {
				t.Fatalf("line moves nothing: %+v", line)
			}
			for _, account := range []series.Account{line.Payer, line.Payee} {
				if balances[account] == nil {
					balances[account] = new(big.Int)
				}
			}
			balances[line.Payer].Sub(balances[line.Payer], big.NewInt(line.Amount))
			balances[line.Payee].Add(balances[line.Payee], big.NewInt(line.Amount))
		}
		net, err := settlement.Net()
		if err != nil {
			t.Fatal(err)
		}
		sum := new(big.Int)
		for account, balance := range balances {
			sum.Add(sum, balance)
			got := net.House
			if account != series.House {
				got = net.Seats[account]
			}
			if balance.Cmp(big.NewInt(got)) != 0 {
				t.Fatalf("account %d: net %d, lines say %v", account, got, balance)
			}
			if !fits(balance.Mul(balance, big.NewInt(int64(g.series.ValidGames)))) {
				t.Fatalf("account %d overflows over a match: %v", account, balance)
			}
		}
		if sum.Sign() != 0 {
			t.Fatalf("lines sum to %v", sum)
		}
	})
}

// A quote states what the settlement then books, seat by seat.
func TestQuoteAgreesWithSettle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := anyGame().Draw(t, "game")
		settlement := g.settle(t)
		quote, err := g.stakes.Quote(g.stake, g.charges, g.sides.Seats(), g.series)
		if err != nil {
			t.Fatal(err)
		}
		matching := 0
		for _, payout := range quote.Payouts {
			if settlement.LoserCaptures < payout.FromCaptures || settlement.LoserCaptures > payout.ToCaptures {
				continue
			}
			matching++
			net, err := settlement.Net()
			if err != nil {
				t.Fatal(err)
			}
			for seat := range g.sides.Seats() {
				want := -payout.LoserPays
				if g.outcome.Winners.Has(rules.Seat(seat)) {
					want = payout.WinnerNet
				} else if g.outcome.Reason == rules.EndDisconnection {
					want -= payout.DisconnectionPenalty
				}
				if net.Seats[seat] != want || payout.Multiple != settlement.Multiple {
					t.Fatalf("seat %d: settled %d at %d x, quoted %d at %d x", seat, net.Seats[seat], settlement.Multiple, want, payout.Multiple)
				}
				if -net.Seats[seat] > quote.WorstGameLoss || quote.WorstMatchLoss/int64(g.series.ValidGames) != quote.WorstGameLoss {
					t.Fatalf("seat %d lost %d, worst quoted %d a game, %d a match", seat, -net.Seats[seat], quote.WorstGameLoss, quote.WorstMatchLoss)
				}
			}
		}
		if matching != 1 {
			t.Fatalf("%d payouts for %d captures: %+v", matching, settlement.LoserCaptures, quote.Payouts)
		}
	})
}

func TestQuote(t *testing.T) {
	charges := series.Charges{Fee: 10, SceneFee: 5, DisconnectionPenalty: 50}
	got, err := sevenClub.Quote(100, charges, 2, series.Rules{ValidGames: 3})
	if err != nil {
		t.Fatal(err)
	}
	want := series.Quote{
		EntryMinimum: 900, NextMinimum: 400, WorstGameLoss: 250, WorstMatchLoss: 750,
		Payouts: []series.Payout{
			{Multiple: 2, FromCaptures: 0, ToCaptures: 8, LoserPays: 200, Fee: 20, SceneFee: 5, WinnerNet: 175, DisconnectionPenalty: 50},
			{Multiple: 1, FromCaptures: 9, ToCaptures: 100, LoserPays: 100, Fee: 10, SceneFee: 5, WinnerNet: 85, DisconnectionPenalty: 50},
		},
	}
	if !slices.Equal(got.Payouts, want.Payouts) {
		t.Errorf("got payouts %+v, want %+v", got.Payouts, want.Payouts)
	}
	got.Payouts, want.Payouts = nil, nil
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	nothing, err := series.Stakes{}.Quote(0, series.Charges{}, 2, series.Rules{ValidGames: 1})
	if err != nil || fmt.Sprint(nothing) != fmt.Sprint(series.Quote{}) {
		t.Errorf("played for nothing: got %+v, %v", nothing, err)
	}
}

// Booking a settlement and its reverse leaves everybody where he was.
func TestReverseCancels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		settlement := anyGame().Draw(t, "game").settle(t)
		before := slices.Clone(settlement.Lines)
		reversed := settlement.Reverse()
		if !slices.Equal(settlement.Lines, before) {
			t.Fatal("reversing edited the settlement")
		}
		if len(reversed) != len(before) {
			t.Fatalf("%d lines reverse %d", len(reversed), len(before))
		}
		net, err := series.Settlement{Lines: append(before, reversed...)}.Net()
		if err != nil || net != (series.Net{}) {
			t.Fatalf("left over: %+v, %v", net, err)
		}
		if twice := (series.Settlement{Lines: reversed}).Reverse(); !slices.Equal(twice, settlement.Lines) {
			t.Fatalf("reversed twice: %+v, want %+v", twice, settlement.Lines)
		}
	})
}
