package console

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	refereev1 "referee.example/proto/referee/v1"
)

// What templates say of the contract's messages, in the page's language.

// Outcome is a result in a sentence.
func (w words) Outcome(result *refereev1.GameResult, match *refereev1.Match) string {
	reason := w.T(enumKey(result.GetReason()))
	switch {
	case result.GetVoid():
		return w.T("result.void", reason)
	case len(result.GetWinnerSeats()) == 0:
		return w.T("result.draw", reason)
	}
	if len(result.GetWinnerSeats()) > 1 {
		return w.T("result.team_won", w.Players(match, result.GetWinnerSeats()), reason)
	}
	return w.T("result.won", w.Player(match, result.GetWinnerSeats()[0]), reason)
}

// Ending is a result in two words, beside the winner's mark.
func (w words) Ending(result *refereev1.GameResult) string {
	reason := w.T(enumKey(result.GetReason()))
	switch {
	case result.GetVoid():
		return w.T("result.void", reason)
	case len(result.GetWinnerSeats()) == 0:
		return w.T("result.draw", reason)
	}
	return reason
}

// Player is the player of a seat.
func (words) Player(match *refereev1.Match, seat uint32) string {
	if int(seat) < len(match.GetSeats()) {
		return match.GetSeats()[seat].GetPlayerId()
	}
	return "?"
}

// Players are the players of seats, in one list.
func (w words) Players(match *refereev1.Match, seats []uint32) string {
	var names []string
	for _, seat := range seats {
		names = append(names, w.Player(match, seat))
	}
	return strings.Join(names, " & ")
}

// Seat is Player for a number that a template counts.
func (w words) Seat(match *refereev1.Match, seat int) string { return w.Player(match, uint32(seat)) }

// Won reports whether a seat won a game.
func (words) Won(seat int, result *refereev1.GameResult) bool {
	return slices.Contains(result.GetWinnerSeats(), uint32(seat))
}

// Parties are the two parties of a match.
func (words) Parties(match *refereev1.Match) []party { return partiesOf(match) }

// seated is a player on a seat.
type seated struct {
	Seat   int
	Player string
}

// Sides are players by seat as the two sides that they play on: with four seats
// every second is a partner.
func (words) Sides(players []string) [2][]seated {
	var sides [2][]seated
	for seat, player := range players {
		sides[seat%2] = append(sides[seat%2], seated{seat, player})
	}
	return sides
}

// PlayerIDs are the players of a match by seat.
func (words) PlayerIDs(match *refereev1.Match) (players []string) {
	for _, seat := range match.GetSeats() {
		players = append(players, seat.GetPlayerId())
	}
	return players
}

// Lasted is the time between two instants, empty while the second is to come.
func (words) Lasted(start, end *timestamppb.Timestamp) string {
	if start == nil || end == nil {
		return ""
	}
	return clockTime(end.AsTime().Sub(start.AsTime()).Microseconds())
}

// Clock is a store of time.
func (words) Clock(us int64) string { return clockTime(us) }

// Millis is an instant as the script counts it, empty for none.
func (words) Millis(t *timestamppb.Timestamp) any {
	if t == nil {
		return ""
	}
	return t.AsTime().UnixMilli()
}

// sentence is a text with what goes into its places.
type sentence struct {
	Key    string
	Values []any
}

// textKey is a text among the values of a sentence.
type textKey string

// Say returns a sentence.
func (w words) Say(s *sentence) string {
	values := make([]any, len(s.Values))
	for i, value := range s.Values {
		if key, ok := value.(textKey); ok {
			value = w.T(string(key))
		}
		values[i] = value
	}
	return w.T(s.Key, values...)
}
