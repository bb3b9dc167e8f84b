package referee

import (
	"slices"
	"testing"

	"referee.example/internal/clock"
	"referee.example/internal/rules"

	"pgregory.net/rapid"
)

func TestThinking(t *testing.T) {
	const second = clock.Time(1_000_000)
	pause := func(from, until clock.Time) []byte { return Paused{From: from, Until: until}.encode() }
	var think Thinking
	for _, e := range []struct {
		kind   EventKind
		seat   rules.Seat
		at     clock.Time
		detail []byte
	}{
		{EventMatchCreated, rules.NoSeat, 1 * second, nil},
		{EventGameStarted, rules.NoSeat, 10 * second, nil},
		{EventPly, 0, 13 * second, nil},                                              // 3 s
		{EventDrawOffered, 0, 14 * second, nil},                                      // of the other's turn, which runs on
		{EventDrawDeclined, 1, 15 * second, nil},                                     //
		{EventPly, 1, 20 * second, nil},                                              // 7 s
		{EventClockPaused, rules.NoSeat, 30 * second, pause(22*second, 30*second)},   // 8 s do not count
		{EventPly, 0, 31 * second, nil},                                              // 3 s
		{EventPly, 0, 32 * second, nil},                                              // a chain: 1 s
		{EventExpired, 1, 62 * second, nil},                                          //
		{EventServerPly, 1, 62 * second, nil},                                        // not the player's
		{EventPly, 0, 64 * second, nil},                                              // 2 s
		{EventFoulRuled, rules.NoSeat, 100 * second, nil},                            // clocks stood
		{EventPly, 1, 105 * second, nil},                                             // 5 s
		{EventClockPaused, rules.NoSeat, 120 * second, pause(90*second, 120*second)}, // of which 15 s are this turn's
		{EventPly, 0, 121 * second, nil},                                             // 1 s
	} {
		if err := think.Add(e.kind, e.seat, e.at, e.detail); err != nil {
			t.Fatal(err)
		}
	}
	want := [2][]int64{{3e6, 3e6, 1e6, 2e6, 1e6}, {7e6, 5e6}}
	if !slices.Equal(think.Times[0], want[0]) || !slices.Equal(think.Times[1], want[1]) {
		t.Errorf("think times %v, want %v", think.Times[:2], want)
	}
	if err := think.Add(EventClockPaused, rules.NoSeat, 1, []byte{1}); err == nil {
		t.Error("a pause that can't be read was taken")
	}
	if err := think.Add(EventPly, rules.MaxSeats, 1, nil); err == nil {
		t.Error("a ply of no seat was taken")
	}
}

// TestSumUp holds the quantiles against their definition: the smallest time that
// at least so many of the times are not above.
func TestSumUp(t *testing.T) {
	if got := SumUp(nil); got != (ThinkTimes{}) {
		t.Errorf("nothing sums up to %+v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Int64Range(0, 50), 1, 40).Draw(t, "times")
		got := SumUp(slices.Clone(times))
		for _, q := range []struct {
			value int64
			tenth int
		}{{got.P50, 5}, {got.P90, 9}} {
			notAbove := func(limit int64) (n int) {
				for _, time := range times {
					if time <= limit {
						n++
					}
				}
				return n
			}
			if 10*notAbove(q.value) < q.tenth*len(times) || 10*notAbove(q.value-1) >= q.tenth*len(times) {
				t.Fatalf("%d is not the quantile of %d tenths of %v", q.value, q.tenth, times)
			}
		}
		var sum int64
		for _, time := range times {
			sum += time
		}
		if got.Plies != len(times) || got.Mean != sum/int64(len(times)) {
			t.Fatalf("%+v of %v", got, times)
		}
	})
}
