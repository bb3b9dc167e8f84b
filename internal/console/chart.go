package console

import (
	"fmt"
	"strings"
	"time"

	refereev1 "referee.example/proto/referee/v1"
)

// Charts are drawn in units of one ply across and chartHeight down, and stretched
// to the page's width.
const (
	chartHeight = 100
	barGap      = 0.15 // of a ply, on both sides
)

// thinkChart shows how long each ply took: seat 0 and its partner upwards, the
// others downwards.
type thinkChart struct {
	Plies   int
	Bars    []bar
	Longest string
	At      float64 // where the ply that is shown is; below 0 for none
}

type bar struct {
	X, Y, Width, Height string
	Seat                int
	URL                 string
	Ply                 int
	Think               string
}

// clockChart shows the stores of time left after each ply.
type clockChart struct {
	Plies int
	Lines []clockLine // by seat
	Most  string
	At    float64
}

type clockLine struct {
	Seat   int
	Points string
}

// thinkTimes is how long each ply took, by ply: from the event that began its turn,
// less what clocks stood still meanwhile.
func thinkTimes(seats int, events []*refereev1.Event) map[int]time.Duration {
	times := map[int]time.Duration{}
	turn := turnOrder{seats: seats}
	var began time.Time
	var paused time.Duration
	for _, e := range events {
		at := e.GetEventTime().AsTime()
		if e.GetKind() == refereev1.EventKind_EVENT_KIND_CLOCK_PAUSED {
			pause := e.GetClockPaused()
			paused += pause.GetUntilTime().AsTime().Sub(pause.GetFromTime().AsTime())
		}
		if isPly(e) {
			times[int(e.GetPly())] = max(0, at.Sub(began)-paused)
		}
		if turn.begins(e) {
			began, paused = at, 0
		}
	}
	return times
}

// turnOrder follows whose turn it is, as far as turns pass without a ply.
type turnOrder struct {
	seats, turn int
	out         [8]bool // by seat
}

// begins reports whether an event begins a turn.
func (o *turnOrder) begins(e *refereev1.Event) bool {
	seat := int(e.GetSeat()) % len(o.out)
	switch e.GetKind() {
	case refereev1.EventKind_EVENT_KIND_GAME_STARTED:
		o.turn = int(e.GetGameStarted().GetFirstSeat())
		return true
	case refereev1.EventKind_EVENT_KIND_OPENING_ENDED, refereev1.EventKind_EVENT_KIND_PLAY_BEGAN:
		return true
	case refereev1.EventKind_EVENT_KIND_PLY, refereev1.EventKind_EVENT_KIND_SERVER_PLY, refereev1.EventKind_EVENT_KIND_TURN_PASSED:
		o.turn = seat
		o.next()
		return true
	case refereev1.EventKind_EVENT_KIND_SEAT_OUT, refereev1.EventKind_EVENT_KIND_SEAT_LEFT:
		o.out[seat] = true
		if seat == o.turn {
			o.next()
			return true
		}
	}
	return false
}

func (o *turnOrder) next() {
	for range o.seats {
		o.turn = (o.turn + 1) % o.seats
		if !o.out[o.turn%len(o.out)] {
			return
		}
	}
}

func newThinkChart(wanted gameRequest, events []*refereev1.Event, thinking map[int]time.Duration, shown int) thinkChart {
	chart := thinkChart{Plies: len(thinking), At: float64(shown) - 0.5}
	longest := time.Millisecond
	for _, t := range thinking {
		longest = max(longest, t)
	}
	chart.Longest = clockTime(longest.Microseconds())
	for _, e := range events {
		if !isPly(e) {
			continue
		}
		ply := int(e.GetPly())
		height := float64(thinking[ply]) / float64(longest) * (chartHeight/2 - 1)
		top := chartHeight/2 - height
		if e.GetSeat()%2 != 0 {
			top = chartHeight / 2
		}
		chart.Bars = append(chart.Bars, bar{
			X: unit(float64(ply-1) + barGap), Y: unit(top), Width: unit(1 - 2*barGap), Height: unit(max(height, 1)),
			Seat: int(e.GetSeat()), URL: wanted.url(ply), Ply: ply, Think: clockTime(thinking[ply].Microseconds()),
		})
	}
	return chart
}

func unit(f float64) string { return fmt.Sprintf("%.2f", f) }

// storeOf is all the time that a seat has beside its turn's.
func storeOf(c *refereev1.SeatClock, rules *refereev1.ClockRules) int64 {
	return c.GetMainUs() + c.GetBankUs() + int64(c.GetExtensionsLeft())*int64(rules.GetExtensionMs())*1000
}

func newClockChart(record *refereev1.GameRecord, shown int) clockChart {
	chart := clockChart{Plies: pliesOf(record.GetEvents()), At: float64(shown) - 0.5}
	rules := record.GetRuleset().GetClock()
	seats := len(record.GetMatch().GetSeats())
	lines := make([][]int64, seats) // left after each ply, from ply 0
	most := int64(0)
	for _, e := range record.GetEvents() {
		for seat, c := range e.GetClocks() {
			left := storeOf(c, rules)
			most = max(most, left)
			for seat < seats && len(lines[seat]) <= int(e.GetPly()) {
				lines[seat] = append(lines[seat], left)
			}
			lines[seat][e.GetPly()] = left // the last event of a ply counts
		}
	}
	if most == 0 {
		return clockChart{}
	}
	chart.Most = clockTime(most)
	for seat, left := range lines {
		var points strings.Builder
		for ply, store := range left {
			y := unit(2 + (chartHeight-4)*(1-float64(store)/float64(most)))
			fmt.Fprintf(&points, "%d,%s ", ply, y)
		}
		chart.Lines = append(chart.Lines, clockLine{seat, strings.TrimSpace(points.String())})
	}
	return chart
}

// clockTime writes a time as a clock shows it, such as 0:07.4 or 1:02:03.
func clockTime(us int64) string {
	tenths := (us + 50_000) / 100_000
	seconds := tenths / 10
	if seconds >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	}
	return fmt.Sprintf("%d:%02d.%d", seconds/60, seconds%60, tenths%10)
}
