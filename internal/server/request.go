package server

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"time"

	refereev1 "referee.example/proto/referee/v1"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// Limits of requests that no lower layer states; the contract has them too.
const (
	maxPlayerIDBytes  = 128
	maxPlacementBytes = 256
	maxStateBytes     = 16 << 10
	maxGame           = math.MaxInt16
	maxNumber         = math.MaxInt32 // of a ply or an event
)

// check reads the fields of a request and gathers what is malformed in them,
// so that a caller hears of all its faults at once. What a field means in the
// match is the referee's to judge, not asked here.
type check struct{ faults []referee.FieldError }

func (c *check) refuse(field, format string, args ...any) {
	c.faults = append(c.faults, referee.FieldError{Field: field, Reason: fmt.Sprintf(format, args...)})
}

// err returns the refusal, nil for a well-formed request.
func (c *check) err() error {
	if len(c.faults) == 0 {
		return nil
	}
	return fieldRefusal(referee.ReasonInvalidField, c.faults)
}

// fieldRefusal refuses for faults of fields, of which there is at least one.
func fieldRefusal(reason referee.Reason, faults []referee.FieldError) *referee.Refusal {
	return &referee.Refusal{
		Reason: reason, Message: faults[0].Error(), Fields: faults,
		Meta: map[string]string{"field": faults[0].Field},
	}
}

// id reads a UUID in its one canonical form, so that equal ids are equal bytes
// wherever they are kept. The zero UUID stands for none and is refused.
func (c *check) id(field, value string) (id referee.ID) {
	id, ok := parseID(value)
	if !ok {
		c.refuse(field, "must be a UUID in lower case, such as 0190b3f4-6c1e-7d2a-9b8c-0123456789ab")
	}
	return id
}

// parseID reads an id in the form in which String writes it, of which each move has two.
func parseID(value string) (id referee.ID, ok bool) {
	var text [36]byte
	if copy(text[:], value) != len(value) || len(value) != len(text) {
		return referee.ID{}, false
	}
	digits := text[:0]
	for i, c := range text {
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return referee.ID{}, false
			}
		case 'A' <= c && c <= 'F':
			return referee.ID{}, false
		default:
			digits = append(digits, c)
		}
	}
	_, err := hex.Decode(id[:], digits)
	return id, err == nil && id != referee.ID{}
}

// text reads a string of so many bytes. Postgres stores no NUL, so none is taken.
func (c *check) text(field, value string, least, most int) string {
	switch {
	case len(value) < least || len(value) > most:
		c.refuse(field, "must have from %d to %d bytes", least, most)
	case strings.ContainsRune(value, 0):
		c.refuse(field, "must not contain NUL")
	}
	return value
}

// bytes reads at most so many bytes.
func (c *check) bytes(field string, value []byte, most int) []byte {
	if len(value) > most {
		c.refuse(field, "must not have more than %d bytes", most)
	}
	return value
}

// perSeat refuses a list that is longer than any table. Whether it fits this
// match's table is the referee's to say.
func (c *check) perSeat(field string, length int) {
	if length > rules.MaxSeats {
		c.refuse(field, "must not be more than %d", rules.MaxSeats)
	}
}

// number reads a number from 1 up.
func (c *check) number(field string, value uint32, most int) int {
	if value < 1 || int64(value) > int64(most) {
		c.refuse(field, "must be from 1 to %d", most)
	}
	return int(value)
}

// gameOrPresent reads a game number where 0 means the present game.
func (c *check) gameOrPresent(value uint32) int {
	if value == 0 {
		return 0
	}
	return c.number("game", value, maxGame)
}

// seat reads a required seat.
func (c *check) seat(value *uint32) rules.Seat {
	if value == nil {
		c.refuse("seat", "is required")
		return rules.NoSeat
	}
	return c.optionalSeat("seat", value)
}

// optionalSeat reads a seat that may be absent.
func (c *check) optionalSeat(field string, value *uint32) rules.Seat {
	switch {
	case value == nil:
		return rules.NoSeat
	case *value >= rules.MaxSeats:
		c.refuse(field, "must be from 0 to %d", rules.MaxSeats-1)
		return rules.NoSeat
	}
	return rules.Seat(*value)
}

// seats reads a list of different seats, at least one.
func (c *check) seats(field string, values []uint32) (set rules.SeatSet) {
	if len(values) == 0 {
		c.refuse(field, "must not be empty")
	}
	for _, value := range values {
		seat := c.optionalSeat(field, &value)
		if set.Has(seat) {
			c.refuse(field, "must be different")
		}
		set |= rules.SeatsOf(seat)
	}
	return set
}

// action reads a board action and tells on which board it is, referee.NoBoard
// where it names no square.
func (c *check) action(a *refereev1.Action) (rules.Action, referee.Board) {
	switch a.GetKind() {
	case refereev1.ActionKind_ACTION_KIND_FLIP:
		c.noSquare("action.to", a.GetTo())
		from, board := c.square("action.from", a.GetFrom())
		return rules.Flip(from), board
	case refereev1.ActionKind_ACTION_KIND_MOVE:
		from, board := c.square("action.from", a.GetFrom())
		to, other := c.square("action.to", a.GetTo())
		if other != board && other != referee.NoBoard && board != referee.NoBoard {
			c.refuse("action.to", "must be a square of the same board")
		}
		return rules.Move(from, to), board
	case refereev1.ActionKind_ACTION_KIND_STOP:
		c.noSquare("action.from", a.GetFrom())
		c.noSquare("action.to", a.GetTo())
		return rules.Stop(), referee.NoBoard
	}
	c.refuse("action.kind", "must be FLIP, MOVE or STOP")
	return rules.Action{}, referee.NoBoard
}

// actionOn reads an action on a board that is known.
func (c *check) actionOn(board referee.Board, a *refereev1.Action) rules.Action {
	action, on := c.action(a)
	if on != board && on != referee.NoBoard {
		c.refuse("action.from", "must be a square of the ruleset's board")
	}
	return action
}

func (c *check) square(field, name string) (rules.Square, referee.Board) {
	square, board := referee.FindSquare(name)
	if board == referee.NoBoard {
		c.refuse(field, "must be a square: a1 to d8 in dark chess, a stop such as G2 or C22 in army chess")
	}
	return square, board
}

func (c *check) noSquare(field, name string) {
	if name != "" {
		c.refuse(field, "must be empty for this kind of action")
	}
}

// piece reads the letter of a piece; empty is none.
func (c *check) piece(field, letter string) rules.Piece {
	if letter == "" {
		return rules.NoPiece
	}
	if len(letter) == 1 {
		if piece, err := banqi.ParsePiece(letter[0]); err == nil {
			return piece
		}
	}
	c.refuse(field, "must be one of KGMRNCPkgmrncp or empty")
	return rules.NoPiece
}

// time reads a bound on whole microseconds that may be absent: a fraction of one
// rounds it up, an instant before 1970 is as good as the first after.
func (c *check) time(field string, value *timestamppb.Timestamp) clock.Time {
	if value == nil {
		return 0
	}
	if value.CheckValid() != nil {
		c.refuse(field, "must be a time from year 1 to 9999")
		return 0
	}
	return clock.Time(max(1, value.AsTime().Add(time.Microsecond-1).UnixMicro()))
}

// latestTime is the last instant that the contract and the database both can tell,
// the end of the year 9999.
const latestTime = clock.Time(253_402_300_799_999_999)

// isTime reports whether a token's 8 bytes are an instant that there can be.
func isTime(b []byte) bool {
	at := clock.Time(binary.BigEndian.Uint64(b))
	return at > 0 && at <= latestTime
}

// numbered is a request that changes a game and expects an event's number.
type numbered interface {
	GetMatchId() string
	GetGame() uint32
	GetRequestId() string
	GetExpectedSeq() uint32
}

// header reads what every numbered request carries.
func (c *check) header(r numbered, seat rules.Seat) referee.Header {
	return referee.Header{
		Match:     c.id("match_id", r.GetMatchId()),
		Game:      c.number("game", r.GetGame(), maxGame),
		RequestID: c.id("request_id", r.GetRequestId()),
		Expected:  c.number("expected_seq", r.GetExpectedSeq(), maxNumber),
		Seat:      seat,
	}
}
