package series_test

import (
	"cmp"
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"referee.example/internal/series"
)

func TestValidate(t *testing.T) {
	for _, c := range load[struct {
		Name   string
		Rules  series.Rules
		Stakes series.Stakes
		Fields []string
	}](t, "validate.json") {
		t.Run(c.Name, func(t *testing.T) {
			got := []string{}
			for _, err := range append(c.Rules.Validate(), c.Stakes.Validate()...) {
				got = append(got, err.Field)
				if err.Reason == "" {
					t.Errorf("%s refused without a reason", err.Field)
				}
			}
			if !slices.Equal(got, c.Fields) {
				t.Errorf("refused %v, want %v", got, c.Fields)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	for _, c := range load[struct {
		Name    string
		Stakes  *series.Stakes
		Games   int
		Seats   int
		Stake   int64
		Charges series.Charges
		Error   string
	}](t, "check.json") {
		t.Run(c.Name, func(t *testing.T) {
			s := sevenClub
			if c.Stakes != nil {
				s = *c.Stakes
			}
			r := series.Rules{ValidGames: cmp.Or(c.Games, 3)}
			seats := cmp.Or(c.Seats, 2)
			if got := refusal(s.Check(c.Stake, c.Charges, seats, r)); got != c.Error {
				t.Errorf("refused %q, want %q", got, c.Error)
			}
			quote, err := s.Quote(c.Stake, c.Charges, seats, r)
			if got := refusal(err); got != c.Error {
				t.Errorf("quote refused %q, want %q", got, c.Error)
			}
			if err != nil && (quote.EntryMinimum != 0 || quote.Payouts != nil) {
				t.Errorf("refused, yet quoted %+v", quote)
			}
		})
	}
}

func TestCheckBalance(t *testing.T) {
	for _, c := range load[struct {
		ID, Name         string
		Stakes           *series.Stakes
		Stake            int64
		First            bool
		Balance          int64
		Minimum, Missing int64
		Error            string
	}](t, "balance.json") {
		t.Run(c.Name, func(t *testing.T) {
			s := sevenClub
			if c.Stakes != nil {
				s = *c.Stakes
			}
			err := s.CheckBalance(c.Stake, c.First, c.Balance)
			var short series.ShortfallError
			if errors.As(err, &short) {
				want := series.ShortfallError{Minimum: c.Minimum, Balance: c.Balance, Missing: c.Missing}
				if c.Missing == 0 || short != want {
					t.Fatalf("got %+v, want %+v", short, want)
				}
				return
			}
			if got := refusal(err); got != c.Error || c.Missing != 0 {
				t.Errorf("got %v, want error %q, missing %d", err, c.Error, c.Missing)
			}
		})
	}
}

func TestRefusalsInWords(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{sevenClub.CheckBalance(100, false, 399), "balance 399 is 1 short of the minimum 400"},
		{sevenClub.Check(0, series.Charges{}, 2, series.Rules{ValidGames: 3}), "stake must be at least 1"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("got %v, want %s", c.err, c.want)
		}
	}
}

// points draws amounts from all of int64, with weight on small ones and on the
// neighbourhood of the powers of two, where overflow begins.
func points() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64(),
		rapid.Int64Range(-2, 2000),
		rapid.Custom(func(t *rapid.T) int64 {
			edge := int64(math.MaxInt64) >> rapid.IntRange(0, 20).Draw(t, "shift")
			return edge/rapid.Int64Range(1, 12).Draw(t, "part") - rapid.Int64Range(-3, 3).Draw(t, "offset")
		}),
	)
}

// anyStakes draws valid stakes that are not off.
func anyStakes() *rapid.Generator[series.Stakes] {
	return rapid.Custom(func(t *rapid.T) series.Stakes {
		loss := rapid.Int64Range(1, 20).Draw(t, "loss")
		s := series.Stakes{
			LossMultiple:  loss,
			EntryMultiple: rapid.Int64Range(loss, 30).Draw(t, "entry"),
			NextMultiple:  rapid.Int64Range(loss, 30).Draw(t, "next"),
			FeeDoubles:    rapid.Bool().Draw(t, "fee doubles"),
		}
		if loss > 1 && rapid.Bool().Draw(t, "reduces") {
			s.ReducedMultiple = rapid.Int64Range(1, loss-1).Draw(t, "reduced")
			s.ReducedFromCaptures = rapid.IntRange(1, series.MaxCaptures).Draw(t, "from")
		}
		return s
	})
}

// Check refuses exactly the terms that unbounded arithmetic shows to overflow or
// to leave a winner poorer.
func TestCheckAgainstUnboundedArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyStakes().Draw(t, "stakes")
		if errs := s.Validate(); errs != nil {
			t.Fatalf("stakes refused: %v", errs)
		}
		stake := points().Draw(t, "stake")
		charge := rapid.OneOf(rapid.Just(int64(0)), points())
		c := series.Charges{Fee: charge.Draw(t, "fee"), SceneFee: charge.Draw(t, "scene fee"), DisconnectionPenalty: charge.Draw(t, "penalty")}
		r := series.Rules{ValidGames: rapid.IntRange(1, 9).Draw(t, "games")}
		seats := rapid.SampledFrom([]int{2, 4}).Draw(t, "seats")

		want := stake >= 1 && min(c.Fee, c.SceneFee, c.DisconnectionPenalty) >= 0 &&
			fits(times(s.EntryMultiple, stake)) && fits(times(s.NextMultiple, stake))
		for _, multiple := range []int64{s.LossMultiple, s.ReducedMultiple} {
			if multiple == 0 {
				continue
			}
			fees := times(1, c.Fee)
			if s.FeeDoubles && multiple == s.LossMultiple {
				fees = times(2, c.Fee)
			}
			fees.Add(fees, big.NewInt(c.SceneFee))
			win := times(multiple, stake)
			volume := new(big.Int).Add(win, fees)
			volume.Add(volume, big.NewInt(c.DisconnectionPenalty))
			volume.Mul(volume, big.NewInt(int64(r.ValidGames*seats/2)))
			want = want && fees.Cmp(win) <= 0 && fits(volume)
		}
		if err := s.Check(stake, c, seats, r); (err == nil) != want {
			t.Fatalf("got %v, want acceptance %v", err, want)
		}
	})
}

func times(a, b int64) *big.Int { return new(big.Int).Mul(big.NewInt(a), big.NewInt(b)) }

func fits(n *big.Int) bool { return n.IsInt64() }
