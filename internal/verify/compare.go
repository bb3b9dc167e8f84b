package verify

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// compare compares the event that had to be with the one on record.
func (c *checker) compare(game int, want, got *referee.Event) {
	differ := func(what string, expected, found any) {
		c.find(game, got.Seq, what, words(expected), words(found))
	}
	if want.Time != got.Time {
		differ("time", want.Time, got.Time)
	}
	if want.Seat != got.Seat {
		differ("seat", want.Seat, got.Seat)
	}
	if want.Action != got.Action {
		differ("action", c.rules.FormatAction(want.Action, rules.NoPiece), c.rules.FormatAction(got.Action, rules.NoPiece))
	}
	if want.Turned != got.Turned {
		differ("turned", c.pieceName(want.Turned), c.pieceName(got.Turned))
	}
	if want.Captured != got.Captured {
		differ("captured", c.pieceName(want.Captured), c.pieceName(got.Captured))
	}
	if want.Ply != got.Ply {
		differ("ply", want.Ply, got.Ply)
	}
	if !bytes.Equal(want.Clocks, got.Clocks) {
		differ("clocks", storesText(want.Clocks), storesText(got.Clocks))
	}
	if want.RequestID != got.RequestID {
		differ("request_id", want.RequestID, got.RequestID)
	}
	if want.Principal != got.Principal {
		differ("principal", want.Principal, got.Principal)
	}
	if !bytes.Equal(want.ClientHash, got.ClientHash) {
		differ("client_hash", want.ClientHash, got.ClientHash)
	}
	if !bytes.Equal(want.Detail, got.Detail) {
		c.compareDetail(game, want, got)
	}
}

// compareDetail names the fields of the detail that differ.
func (c *checker) compareDetail(game int, want, got *referee.Event) {
	a, errA := detailOf(want)
	b, errB := detailOf(got)
	if errA != nil || errB != nil || a == nil || b == nil {
		c.find(game, got.Seq, "detail", words(want.Detail), words(got.Detail))
		return
	}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	same := true
	for i := range x.NumField() {
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			c.find(game, got.Seq, snake(x.Type().Field(i).Name), words(x.Field(i).Interface()), words(y.Field(i).Interface()))
			same = false
		}
	}
	if same {
		c.find(game, got.Seq, "detail", words(want.Detail), words(got.Detail))
	}
}

// detailOf decodes the detail of an event's kind; nil for kinds without one.
func detailOf(e *referee.Event) (detail any, err error) {
	switch e.Kind {
	case referee.EventMatchCreated:
		detail, err = e.Created()
	case referee.EventGameStarted:
		detail, err = e.Started()
	case referee.EventGameEnded:
		detail, err = e.GameEnded()
	case referee.EventMatchEnded:
		detail, err = e.MatchEnd()
	case referee.EventMatchVoided, referee.EventMatchAbandoned:
		detail, err = e.Leave()
	case referee.EventClockPaused:
		detail, err = e.Paused()
	case referee.EventDisconnected, referee.EventFoulRuled, referee.EventBankCalled, referee.EventExpired:
		detail, err = e.Small()
	case referee.EventCompensation:
		detail, err = e.Compensation()
	case referee.EventPlacementSubmitted:
		detail, err = e.Placed()
	case referee.EventPlayBegan:
		detail, err = e.Began()
	case referee.EventPly, referee.EventServerPly, referee.EventTurnPassed, referee.EventSeatLeft:
		var d referee.Disclosed
		d, err = e.Disclosed()
		detail = d.Disclosure
	case referee.EventSeatOut:
		detail, err = e.Disclosed()
	case referee.EventIllegalAttempt:
		detail, err = e.Small()
	}
	return detail, err
}

// snake turns a Go field's name into that of the contract.
func snake(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte('_')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// pieceName writes a piece for a person.
func (c *checker) pieceName(piece rules.Piece) string {
	if piece == rules.NoPiece {
		return "none"
	}
	return c.rules.PieceName(piece)
}

// words writes a value for a person.
func words(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case clock.Time:
		return instant(int64(v))
	case [32]byte:
		return hexOf(v)
	case []byte:
		return fmt.Sprintf("%x", v)
	case []string:
		return fmt.Sprintf("%q", v)
	case [][]byte:
		return fmt.Sprintf("%x", v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprint(value)
}

// instant writes microseconds since 1970 as a time.
func instant(us int64) string { return time.UnixMicro(us).UTC().Format("2006-01-02T15:04:05.000000Z") }

// storesText writes the clocks of an event.
func storesText(clocks []byte) string {
	if len(clocks) == 0 {
		return "none"
	}
	stores, seats, rest, err := clock.DecodeStores(clocks)
	if err != nil || len(rest) != 0 {
		return fmt.Sprintf("%x", clocks)
	}
	return fmt.Sprintf("%+v", stores[:seats])
}
