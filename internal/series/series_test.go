package series_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"referee.example/internal/rules"
	"referee.example/internal/series"
)

func TestStanding(t *testing.T) {
	for _, c := range load[struct {
		ID, Name string
		Rules    series.Rules
		Teams    bool
		Results  string
		Valid    int
		Draws    int
		Void     int
		Wins     [2]int
		End      string
		Winner   string
	}](t, "series.json") {
		t.Run(c.Name, func(t *testing.T) {
			if errs := c.Rules.Validate(); errs != nil {
				t.Fatalf("rules refused: %v", errs)
			}
			parties := sides(c.Teams)
			var results []rules.Outcome
			for _, word := range strings.Fields(c.Results) {
				results = append(results, outcomeOf(t, word, rules.EndAllCaptured, parties))
			}
			want := series.Standing{
				Valid: c.Valid, Draws: c.Draws, Void: c.Void, Wins: c.Wins,
				Over: c.End != "", Complete: c.End == "complete", Decided: c.End == "decided", Capped: c.End == "capped",
			}
			if c.Winner != "" {
				want.Winner = outcomeOf(t, c.Winner, rules.EndAllCaptured, parties).Winners
			}
			if got := c.Rules.Standing(results, parties); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestSidesValidate(t *testing.T) {
	for _, good := range []series.Sides{duel, teams, {rules.SeatsOf(1), rules.SeatsOf(0)}, {rules.SeatsOf(0, 1), rules.SeatsOf(2, 3)}} {
		if err := good.Validate(); err != nil {
			t.Errorf("%v refused: %v", good, err)
		}
	}
	for _, bad := range []series.Sides{
		{},
		{rules.SeatsOf(0), 0},
		{rules.SeatsOf(0), rules.SeatsOf(0)},
		{rules.SeatsOf(0), rules.SeatsOf(2)},
		{rules.SeatsOf(1), rules.SeatsOf(2)},
		{rules.SeatsOf(0, 2), rules.SeatsOf(1)},
		{rules.SeatsOf(0, 1, 2), rules.SeatsOf(3)},
		{rules.SeatsOf(0, 1), rules.SeatsOf(1, 2)},
		{rules.SeatsOf(0, 1, 2), rules.SeatsOf(3, 4, 5)},
		{rules.SeatsOf(0, 2), rules.SeatsOf(1, 4)},
	} {
		if got := refusal(bad.Validate()); got != "sides" {
			t.Errorf("%v: refusal %q, want sides", bad, got)
		}
		_, err := series.Settle(sevenClub, 1, series.Charges{}, bad, rules.Outcome{Reason: rules.EndIdle}, [rules.MaxSeats]int{}, 0)
		if got := refusal(err); got != "sides" {
			t.Errorf("settling %v: refusal %q, want sides", bad, got)
		}
	}
	if duel.Seats() != 2 || teams.Seats() != 4 {
		t.Errorf("seats %d and %d, want 2 and 4", duel.Seats(), teams.Seats())
	}
}

func TestFirstMover(t *testing.T) {
	for _, c := range []struct {
		first       rules.Seat
		game, seats int
		want        rules.Seat
	}{
		{0, 1, 2, 0},
		{0, 2, 2, 1},
		{0, 3, 2, 0},
		{1, 1, 2, 1},
		{1, 2, 2, 0},
		{3, 2, 4, 0},
		{3, 6, 4, 0},
		{1, 4, 4, 0},
		{0, 0, 2, rules.NoSeat},
		{1, 0, 2, rules.NoSeat},
		{0, -1, 2, rules.NoSeat},
		{2, 1, 2, rules.NoSeat},
		{rules.NoSeat, 1, 2, rules.NoSeat},
		{rules.NoSeat, 2, 2, rules.NoSeat},
		{0, 7, 1, 0},
		{0, 1, 0, rules.NoSeat},
		{0, 1, 5, rules.NoSeat},
	} {
		if got := series.FirstMover(c.first, c.game, c.seats); got != c.want {
			t.Errorf("FirstMover(%d, %d, %d) = %d, want %d", c.first, c.game, c.seats, got, c.want)
		}
	}
}

// The score is a fact about the set of results; what was counted before, or in
// which order, leaves no trace.
func TestStandingDependsOnResultsOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := series.Rules{
			ValidGames:      rapid.IntRange(1, 9).Draw(t, "valid games"),
			StopWhenDecided: rapid.Bool().Draw(t, "stop when decided"),
		}
		if rapid.Bool().Draw(t, "capped") {
			r.MaxGames = rapid.IntRange(r.ValidGames, 20).Draw(t, "max games")
		}
		results := rapid.SliceOfN(rapid.SampledFrom([]rules.Outcome{
			{},
			{Reason: rules.EndAllCaptured, Winners: duel[0]},
			{Reason: rules.EndTime, Winners: duel[1]},
			{Reason: rules.EndIdle},
			{Reason: rules.EndAllGone, Void: true},
		}), 0, 25).Draw(t, "results")

		st := r.Standing(results, duel)
		if again := r.Standing(slices.Clone(results), duel); again != st {
			t.Fatalf("counted twice: %+v, then %+v", st, again)
		}
		if shuffled := r.Standing(rapid.Permutation(results).Draw(t, "shuffled"), duel); shuffled != st {
			t.Fatalf("order mattered: %+v and %+v", st, shuffled)
		}
		if st.Wins[0]+st.Wins[1] != st.Valid || st.Valid+st.Draws+st.Void > len(results) {
			t.Fatalf("does not add up: %+v of %d results", st, len(results))
		}
		reasons := 0
		for _, reason := range []bool{st.Complete, st.Decided, st.Capped} {
			if reason {
				reasons++
			}
		}
		if st.Over != (reasons == 1) || reasons > 1 || !st.Over && st.Winner != 0 {
			t.Fatalf("over for other than one reason: %+v", st)
		}
		swapped := r.Standing(results, series.Sides{duel[1], duel[0]})
		if swapped.Over != st.Over || swapped.Winner != st.Winner || swapped.Wins != [2]int{st.Wins[1], st.Wins[0]} {
			t.Fatalf("naming the sides otherwise changed the result: %+v and %+v", st, swapped)
		}
		checkEnd(t, r, results, st)
	})
}

// checkEnd plays every continuation of the match out, as a slow proof of when
// it may stop: over exactly when no game is left to play, or, where the ruleset
// stops decided matches, when each continuation has the same winner.
func checkEnd(t *rapid.T, r series.Rules, results []rules.Outcome, st series.Standing) {
	full := series.Rules{ValidGames: r.ValidGames, MaxGames: r.MaxGames}
	played := st.Valid + st.Draws + st.Void
	exhausted := st.Valid >= r.ValidGames || r.MaxGames != 0 && played >= r.MaxGames
	if exhausted {
		if !st.Over || st.Decided {
			t.Fatalf("nothing left to play, yet %+v", st)
		}
		return
	}
	winners := map[rules.SeatSet]bool{}
	for _, side := range duel {
		continued := slices.Clone(results)
		for !full.Standing(continued, duel).Over {
			continued = append(continued, rules.Outcome{Reason: rules.EndAllCaptured, Winners: side})
		}
		winners[full.Standing(continued, duel).Winner] = true
	}
	// The trailing side winning all and the leading side winning all are the
	// two extremes: where they agree, everything between does.
	if certain := len(winners) == 1; st.Over != (r.StopWhenDecided && certain) {
		t.Fatalf("winners still possible %v, yet %+v under %+v", winners, st, r)
	}
}
