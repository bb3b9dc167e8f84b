package junqi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"referee.example/internal/rules"
)

// Record is a whole game: who began, how the sides were placed (none in the flip
// form) and what happened. It replays by itself.
type Record struct {
	First      rules.Seat
	Placements []Placement // by seat
	Entries    []RecordEntry
}

// RecordEntry is one change, with the piece that it turned.
type RecordEntry struct {
	Change Change
	Turned rules.Piece
}

// The limits of a record's text.
const (
	MaxRecordBytes   = 1 << 20
	MaxRecordEntries = 1 << 16
)

// RecordError says where a record can't be read, or where the rules contradict it.
type RecordError struct {
	Line   int // from 1
	Text   string
	Reason string
}

// Error names the line and the reason.
func (e *RecordError) Error() string {
	return fmt.Sprintf("record line %d, %q: %s", e.Line, e.Text, e.Reason)
}

// FormatRecord writes a record, a line each: "first=0", a "place=..." for each
// seat, then each change as FormatChange writes it.
func (g *Game) FormatRecord(r *Record) string {
	lines := []string{"first=" + strconv.Itoa(int(r.First))}
	for i := range r.Placements {
		lines = append(lines, "place="+r.Placements[i].String())
	}
	for _, e := range r.Entries {
		lines = append(lines, g.FormatChange(e.Change, e.Turned))
	}
	return strings.Join(lines, "\n") + "\n"
}

// ParseRecord reads what FormatRecord writes; whether the rules allow it is for
// Replay to say. The error is a *RecordError.
func (g *Game) ParseRecord(text string) (*Record, error) {
	if len(text) > MaxRecordBytes {
		return nil, &RecordError{Reason: fmt.Sprintf("longer than %d bytes", MaxRecordBytes)}
	}
	lines := strings.Split(text, "\n")
	if len(lines) > MaxRecordEntries || lines[len(lines)-1] != "" {
		return nil, &RecordError{Line: len(lines), Reason: fmt.Sprintf("must be at most %d lines, the last one ended", MaxRecordEntries)}
	}
	r := &Record{First: rules.NoSeat}
	places := 0
	if g.Places() {
		places = g.Seats()
	}
	for i, line := range lines[:len(lines)-1] {
		var err error
		switch {
		case i == 0:
			r.First, err = g.parseFirst(line)
		case i <= places:
			var p Placement
			place, ok := strings.CutPrefix(line, "place=")
			if p, err = ParsePlacement(place); err == nil && !ok {
				err = ErrPlacement
			}
			r.Placements = append(r.Placements, p)
		default:
			var e RecordEntry
			e.Change, e.Turned, err = g.ParseChange(line)
			r.Entries = append(r.Entries, e)
		}
		if err != nil {
			return nil, &RecordError{i + 1, line, err.Error()}
		}
	}
	if r.First == rules.NoSeat || len(r.Placements) != places {
		return nil, &RecordError{Line: len(lines), Reason: "the first seat or a placement is missing"}
	}
	return r, nil
}

func (g *Game) parseFirst(line string) (rules.Seat, error) {
	for seat := range rules.Seat(g.Seats()) {
		if line == "first="+strconv.Itoa(int(seat)) {
			return seat, nil
		}
	}
	return rules.NoSeat, errors.New("must be first= and a seat")
}

// recordIdentities returns what the record's game kept secret, as far as it tells.
func (g *Game) recordIdentities(r *Record) *Identities {
	ids := g.Identities(r.Placements)
	for _, e := range r.Entries {
		if e.Turned != rules.NoPiece && e.Change.Action.From < maxStops {
			ids[e.Change.Action.From] = e.Turned
		}
	}
	return ids
}

// Replay plays a record from its start and returns where it leads to, with what
// the game kept secret and what each change did. The error is a *RecordError for
// the first placement or change that the rules refuse.
func (g *Game) Replay(r *Record) (State, *Identities, []Effect, error) {
	for i := range r.Placements {
		if refused := g.CheckPlacement(rules.Seat(i), &r.Placements[i]); !refused.OK() {
			return State{}, nil, nil, &RecordError{i + 2, r.Placements[i].String(), g.Describe(refused)}
		}
	}
	ids := g.recordIdentities(r)
	s := g.Start(r.First, ids)
	var effects []Effect
	for i, entry := range r.Entries {
		e, err := g.Play(&s, ids, entry.Change)
		if err != nil {
			refused := &RecordError{i + 2 + len(r.Placements), g.FormatChange(entry.Change, entry.Turned), err.Error()}
			var illegal *IllegalError
			if errors.As(err, &illegal) {
				refused.Reason = g.Describe(illegal.Illegal)
			}
			return s, ids, effects, refused
		}
		effects = append(effects, e)
	}
	return s, ids, effects, nil
}
