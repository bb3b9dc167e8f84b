package referee

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"referee.example/internal/clock"
	"referee.example/internal/rules"
)

// eventDomain separates the hash of an event from every other hash.
const eventDomain = "referee.v1 event\x00"

// MaxEventBytes is the longest canonical form of an event that DecodeEvent reads.
const MaxEventBytes = 64 << 10

// maxTime is the last instant that the clocks know (year 9999).
const maxTime = clock.Time(253_402_300_799_999_999)

// ErrEvent is wrapped by every refusal of DecodeEvent.
var ErrEvent = errors.New("referee: not the canonical form of an event")

// ChainHash returns the hash of an event over the head before it (zero for the
// first of a log): SHA-256 over the domain, that head and the event's canonical
// bytes.
func ChainHash(previous [32]byte, canonical []byte) [32]byte {
	b := make([]byte, 0, 512)
	b = append(b, eventDomain...)
	b = append(b, previous[:]...)
	return sha256.Sum256(append(b, canonical...))
}

// chain is ChainHash of the event itself.
func (e *Event) chain(previous [32]byte) [32]byte {
	b := make([]byte, 0, 512)
	b = append(b, eventDomain...)
	b = append(b, previous[:]...)
	return sha256.Sum256(e.appendCanonical(b))
}

// EncodeEvent returns the event's canonical form: each stored column in order,
// integers big-endian, byte strings with a 4-byte length. The hash is not in it.
func EncodeEvent(e *Event) []byte { return e.appendCanonical(make([]byte, 0, 256)) }

func (e *Event) appendCanonical(b []byte) []byte {
	b = append(b, e.Match[:]...)
	b = binary.BigEndian.AppendUint16(b, uint16(e.Game))
	b = binary.BigEndian.AppendUint32(b, uint32(e.Seq))
	b = binary.BigEndian.AppendUint32(b, uint32(e.Ply))
	b = append(b, byte(e.Seat), byte(e.Kind))
	b = append(b, byte(e.Action.Kind), byte(e.Action.From), byte(e.Action.To))
	b = append(b, byte(e.Turned), byte(e.Captured))
	b = binary.BigEndian.AppendUint64(b, uint64(e.Time))
	b = append(b, e.RequestID[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(e.Principal))
	for _, part := range [][]byte{e.Clocks, e.ClientHash, e.Detail} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	return b
}

// canonicalHead is the length of the parts of a fixed size.
const canonicalHead = 16 + 2 + 4 + 4 + 2 + 3 + 2 + 8 + 16 + 4

// DecodeEvent reads the canonical form of an event. What it accepts EncodeEvent
// writes again, byte for byte. The event keeps parts of b. It refuses, with an
// error that wraps ErrEvent, bytes that are not of that form, and numbers that
// no event can have: an unknown kind, a seat beyond the largest table, a time
// outside of 1970 to 9999.
func DecodeEvent(b []byte) (Event, error) {
	e := Event{}
	if len(b) < canonicalHead || len(b) > MaxEventBytes {
		return e, fmt.Errorf("%w: %d bytes", ErrEvent, len(b))
	}
	copy(e.Match[:], b)
	e.Game = int(binary.BigEndian.Uint16(b[16:]))
	e.Seq = int(binary.BigEndian.Uint32(b[18:]))
	e.Ply = int(binary.BigEndian.Uint32(b[22:]))
	e.Seat, e.Kind = rules.Seat(b[26]), EventKind(b[27])
	e.Action = rules.Action{Kind: rules.ActionKind(b[28]), From: rules.Square(b[29]), To: rules.Square(b[30])}
	e.Turned, e.Captured = rules.Piece(b[31]), rules.Piece(b[32])
	e.Time = clock.Time(binary.BigEndian.Uint64(b[33:]))
	copy(e.RequestID[:], b[41:])
	e.Principal = int32(binary.BigEndian.Uint32(b[57:]))
	rest := b[canonicalHead:]
	for _, part := range []*[]byte{&e.Clocks, &e.ClientHash, &e.Detail} {
		var whole bool
		if *part, rest, whole = cutPart(rest); !whole {
			return Event{}, fmt.Errorf("%w: a part is cut off", ErrEvent)
		}
	}
	if len(rest) != 0 {
		return Event{}, fmt.Errorf("%w: %d bytes are left over", ErrEvent, len(rest))
	}
	return e, e.checkRanges()
}

// cutPart reads a byte string after its length; nil for an empty one.
func cutPart(b []byte) (part, rest []byte, whole bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := binary.BigEndian.Uint32(b)
	if b = b[4:]; uint64(n) > uint64(len(b)) {
		return nil, nil, false
	}
	if n > 0 {
		part = b[:n:n]
	}
	return part, b[n:], true
}

func (e *Event) checkRanges() error {
	switch {
	case e.Kind < EventMatchCreated || e.Kind > EventIllegalAttempt:
		return fmt.Errorf("%w: kind %d", ErrEvent, e.Kind)
	case e.Seat < rules.NoSeat || e.Seat >= rules.MaxSeats:
		return fmt.Errorf("%w: seat %d", ErrEvent, e.Seat)
	case e.Time < 0 || e.Time > maxTime:
		return fmt.Errorf("%w: time %d", ErrEvent, e.Time)
	}
	return nil
}

// eventNames are the kinds in the contract's words, by number.
var eventNames = [...]string{
	"none", "match_created", "game_started", "ply", "server_ply", "draw_offered", "draw_withdrawn", "draw_accepted",
	"draw_declined", "count_requested", "resigned", "bank_called", "opening_ended", "expired", "clock_paused",
	"disconnected", "foul_ruled", "game_ended", "match_ended", "compensation", "match_voided", "match_abandoned",
	"placement_submitted", "play_began", "placement_expired", "turn_passed", "seat_out", "seat_left", "illegal_attempt",
}

// String returns the kind's name, such as "game_started".
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// bySeat reports whether it is always a seat that makes an event of the kind.
func bySeat(k EventKind) bool {
	switch k {
	case EventPly, EventServerPly, EventDrawOffered, EventDrawWithdrawn, EventDrawAccepted, EventDrawDeclined,
		EventCountRequested, EventResigned, EventBankCalled, EventExpired,
		EventPlacementSubmitted, EventTurnPassed, EventSeatOut, EventSeatLeft, EventIllegalAttempt:
		return true
	}
	return false
}
