package verify

import (
	"fmt"
	"slices"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// Readable is what a game came to, for people and for programs that do not read
// events. Each word of it follows from the log, and is compared with it.
type Readable struct {
	Platform     string            `json:"platform"`
	ExternalRef  string            `json:"external_ref,omitempty"`
	TableRef     string            `json:"table_ref,omitempty"`
	Players      []string          `json:"players"` // by seat
	Stake        int64             `json:"stake,string"`
	FirstSeat    int               `json:"first_seat"` // -1 if it was never started
	Started      string            `json:"started,omitempty"`
	Ended        string            `json:"ended"`
	Actions      []string          `json:"actions"` // of each ply, from 1
	Captures     []int             `json:"captures"`
	EndReason    uint8             `json:"end_reason"` // as numbered in the contract
	Winners      []int             `json:"winners"`    // seats; none for a draw or a void game
	Void         bool              `json:"void"`
	SubmittedBy  map[string]string `json:"submitted_by,omitempty"` // names of principals; the log has those of compensations only
	MatchStatus  uint8             `json:"match_status"`           // after the game
	MatchWinners []int             `json:"match_winners"`
}

// readableOf is what the game that s has just come through says.
func readableOf(s *referee.State, g *played) *Readable {
	r := &Readable{
		Platform: s.Platform, ExternalRef: s.ExternalRef, TableRef: s.TableRef, Players: s.Players, Stake: s.Stake,
		FirstSeat: int(rules.NoSeat), Actions: []string{}, MatchStatus: uint8(s.Status), MatchWinners: seatsOf(s.Winners),
		EndReason: uint8(s.Game.Outcome.Reason), Winners: seatsOf(s.Game.Outcome.Winners), Void: s.Game.Outcome.Void,
		Captures: []int{},
	}
	for i := range g.events {
		e := &g.events[i]
		if e.Kind == referee.EventPly || e.Kind == referee.EventServerPly {
			r.Actions = append(r.Actions, s.Rules.FormatAction(e.Action, e.Turned))
		}
		if e.Kind == referee.EventGameEnded || e.Kind == referee.EventMatchEnded {
			r.Ended = at(e.Time)
		}
	}
	if g.started != nil {
		r.FirstSeat, r.Started = int(g.started.First), at(s.Game.Started)
		for seat := range s.Players {
			r.Captures = append(r.Captures, s.Game.Position.Captures(rules.Seat(seat)))
		}
	}
	return r
}

func at(t clock.Time) string { return instant(int64(t)) }

func seatsOf(set rules.SeatSet) []int {
	seats := []int{}
	for seat := range rules.MaxSeats {
		if set.Has(rules.Seat(seat)) {
			seats = append(seats, seat)
		}
	}
	return seats
}

// readable compares what people read with the log.
func (c *checker) readable(g *played) {
	if g.Readable == nil || g.seed == nil {
		return
	}
	want, got := readableOf(c.state, g), g.Readable
	differ := func(what string, expected, found any) {
		if a, b := fmt.Sprint(expected), fmt.Sprint(found); a != b {
			c.find(g.Number, 0, "readable."+what, a, b)
		}
	}
	differ("platform", want.Platform, got.Platform)
	differ("external_ref", want.ExternalRef, got.ExternalRef)
	differ("table_ref", want.TableRef, got.TableRef)
	differ("players", fmt.Sprintf("%q", want.Players), fmt.Sprintf("%q", got.Players))
	differ("stake", want.Stake, got.Stake)
	differ("first_seat", want.FirstSeat, got.FirstSeat)
	differ("started", want.Started, got.Started)
	differ("ended", want.Ended, got.Ended)
	differ("captures", want.Captures, got.Captures)
	differ("end_reason", want.EndReason, got.EndReason)
	differ("winners", want.Winners, got.Winners)
	differ("void", want.Void, got.Void)
	differ("match_status", want.MatchStatus, got.MatchStatus)
	differ("match_winners", want.MatchWinners, got.MatchWinners)
	if !slices.Equal(want.Actions, got.Actions) {
		c.readableActions(g, want.Actions, got.Actions)
	}
}

func (c *checker) readableActions(g *played, want, got []string) {
	for i := range max(len(want), len(got)) {
		a, b := "none", "none"
		if i < len(want) {
			a = want[i]
		}
		if i < len(got) {
			b = got[i]
		}
		if a != b {
			c.find(g.Number, 0, fmt.Sprintf("readable.actions[%d]", i), a, b)
			return
		}
	}
}
