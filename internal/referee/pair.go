package referee

import (
	"slices"

	"referee.example/internal/clock"
	"referee.example/internal/rules"
)

// PairStatistics is what two players did to each other.
type PairStatistics struct {
	Matches, Games       int // games that were started
	Running, Drawn, Void int // of the games
	Endings              map[rules.EndReason]int
	First, Last          clock.Time // when games were started; 0 without any
	Oldest               clock.Time // when the oldest match was created; 0 without any
	More                 bool       // whether there are older matches, not counted
	Players              [2]PairPlayer
}

// PairPlayer is one player's part in the games of a pair.
type PairPlayer struct {
	Player         string
	Wins, Captures int
	Net, FromOther int64 // points
	Think          ThinkTimes
}

// ThinkTimes sums up how long a player took for a ply, in microseconds.
type ThinkTimes struct {
	Plies          int
	Mean, P50, P90 int64
}

// Thinking gathers the think times of one game's players from its log. Events
// come in order; those that neither give a turn nor take one are ignored.
type Thinking struct {
	Times [rules.MaxSeats][]int64 // by seat, in microseconds
	since clock.Time              // when the running turn began
	pause int64                   // of the running turn
}

// Add takes the game's next event. detail is read of a pause only.
func (t *Thinking) Add(kind EventKind, seat rules.Seat, at clock.Time, detail []byte) error {
	switch kind {
	case EventClockPaused:
		e := Event{Detail: detail}
		pause, err := e.Paused()
		if err != nil {
			return err
		}
		t.pause += int64(pause.Until - max(pause.From, t.since))
		return nil
	case EventPly:
		if seat < 0 || int(seat) >= len(t.Times) {
			return errCorrupt
		}
		t.Times[seat] = append(t.Times[seat], max(int64(at-t.since)-t.pause, 0))
	case EventGameStarted, EventServerPly, EventFoulRuled:
	default:
		return nil
	}
	t.since, t.pause = at, 0
	return nil
}

// SumUp returns the mean of the times and those that half and nine in ten of
// them are not above. It sorts them.
func SumUp(times []int64) (t ThinkTimes) {
	if len(times) == 0 {
		return t
	}
	slices.Sort(times)
	var sum int64
	for _, n := range times {
		sum += n
	}
	t.Plies, t.Mean = len(times), sum/int64(len(times))
	t.P50, t.P90 = times[(len(times)+1)/2-1], times[(9*len(times)+9)/10-1]
	return t
}
