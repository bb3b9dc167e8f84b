package junqi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"referee.example/internal/rules"
)

// TextRecord is a game as text for people and programs: header lines, the game as
// FormatRecord writes it, a result line. Blank lines part the three.
//
//	Ruleset: junqi-dark
//	Date: 2026-07-01
//
//	first=0
//	place=98776/6.5.5/44.33/3.2.2/2MM11/MF1BB
//	place=98776/6.5.5/44.33/3.2.2/2MM11/MF1BB
//	G2-F2
//	out=1:resignation
//
//	Result: seat 0 wins by resignation
//
// No header line is required, and one that means nothing here is kept as it was. The
// middle part is missing for a game that ended before play began.
type TextRecord struct {
	Header []string
	Game   string // of ParseRecord; empty if play never began
	Result RecordResult

	before int // lines before the game, where it was read
}

// RecordResult is how a record says that its game ended.
type RecordResult struct {
	Reason  rules.EndReason // EndNone for a game that goes on, or where the record names none
	Winners rules.SeatSet   // none for a draw or a void game
	Void    bool
}

// The limits of a record's header.
const (
	MaxRecordHeader     = 100 // lines
	MaxRecordHeaderLine = 512 // bytes
)

const (
	resultKey  = "Result: "
	unfinished = "unfinished"
)

// recordEndings are the words for endings that no state of this game has.
var recordEndings = map[string]rules.EndReason{
	"agreement": rules.EndAgreement, "all_disconnected": rules.EndAllGone,
	"match_voided": rules.EndMatchVoided, "match_abandoned": rules.EndMatchAbandoned,
}

// String writes a record as ParseTextRecord reads it.
func (r *TextRecord) String() string {
	var b strings.Builder
	for _, line := range r.Header {
		b.WriteString(line + "\n")
	}
	if r.Game != "" {
		b.WriteString("\n" + r.Game)
	}
	b.WriteString("\n" + resultKey + r.Result.String() + "\n")
	return b.String()
}

// String writes a result as the result line has it, such as "seats 0 and 2 win by
// flag", "draw by idle", "void by match_voided" or "unfinished".
func (r RecordResult) String() string {
	if r.Reason == rules.EndNone {
		return unfinished
	}
	words := "draw"
	var seats []string
	for seat := range rules.Seat(rules.MaxSeats) {
		if r.Winners.Has(seat) {
			seats = append(seats, strconv.Itoa(int(seat)))
		}
	}
	switch {
	case r.Void:
		words = "void"
	case len(seats) == 1:
		words = "seat " + seats[0] + " wins"
	case len(seats) > 1:
		words = "seats " + strings.Join(seats, " and ") + " win"
	}
	name := EndingName(r.Reason)
	for word, reason := range recordEndings {
		if reason == r.Reason {
			name = word
		}
	}
	return words + " by " + name
}

// ResultOf returns the result of a game for a record.
func ResultOf(o rules.Outcome) RecordResult { return RecordResult{o.Reason, o.Winners, o.Void} }

// ParseTextRecord reads what String writes; the game in it is for ParseRecord, under
// the rules that the header may name. The error is a *RecordError.
func ParseTextRecord(text string) (*TextRecord, error) {
	if len(text) > MaxRecordBytes {
		return nil, &RecordError{Reason: fmt.Sprintf("longer than %d bytes", MaxRecordBytes)}
	}
	r := &TextRecord{}
	ended := false
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, "\r")
		var err error
		switch result, isResult := strings.CutPrefix(line, resultKey); {
		case line == "":
		case ended:
			err = errors.New("something follows the result")
		case isResult:
			r.Result, err = parseResult(result)
			ended = true
		case r.Game != "" || strings.HasPrefix(line, "first="):
			if r.Game == "" {
				r.before = i
			}
			r.Game += line + "\n"
		default:
			err = r.addHeader(line)
		}
		if err != nil {
			return nil, &RecordError{i + 1, line, err.Error()}
		}
	}
	if !ended {
		return nil, &RecordError{Reason: "the result is missing"}
	}
	return r, nil
}

func (r *TextRecord) addHeader(line string) error {
	switch {
	case len(r.Header) == MaxRecordHeader:
		return fmt.Errorf("more than %d header lines", MaxRecordHeader)
	case len(line) > MaxRecordHeaderLine:
		return fmt.Errorf("a header line of more than %d bytes", MaxRecordHeaderLine)
	case !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl):
		return errors.New("not plain text in UTF-8")
	}
	r.Header = append(r.Header, line)
	return nil
}

// parseResult reads a result: one of the few that String writes.
func parseResult(text string) (RecordResult, error) {
	if text == unfinished {
		return RecordResult{}, nil
	}
	_, name, _ := strings.Cut(text, " by ")
	reason, known := recordEndings[name]
	for r := rules.EndNone + 1; !known && r < rules.EndMatchAbandoned; r++ {
		if EndingName(r) == name && name != "" {
			reason, known = r, true
		}
	}
	for _, result := range []RecordResult{
		{reason, 0, false}, {reason, 0, true}, {reason, rules.SeatsOf(0), false}, {reason, rules.SeatsOf(1), false},
		{reason, rules.SeatsOf(0, 2), false}, {reason, rules.SeatsOf(1, 3), false},
	} {
		if known && result.String() == text {
			return result, nil
		}
	}
	return RecordResult{}, errors.New("no result of a game")
}

// RecordVerdict is what a record's game came to under rules.
type RecordVerdict struct {
	State State // after the last change; the zero State if play never began
	// Proven tells that the board's rules ended the game as the record says. Else
	// nothing in the record contradicts its result, and nothing shows it.
	Proven bool
}

// CheckTextRecord replays a record and judges the result that it claims. The error
// is a *RecordError.
func (g *Game) CheckTextRecord(r *TextRecord) (v RecordVerdict, err error) {
	if r.Game == "" {
		if EndingName(r.Result.Reason) != "" && r.Result.Reason < rules.EndResignation {
			return v, &RecordError{Text: r.Result.String(), Reason: "no game that was not played ends so"}
		}
		return v, nil
	}
	game, err := g.ParseRecord(r.Game)
	if err == nil {
		v.State, _, _, err = g.Replay(game)
	}
	var refused *RecordError
	if errors.As(err, &refused) {
		refused.Line += r.before
	}
	if err != nil {
		return v, err
	}
	came := ResultOf(v.State.Outcome())
	v.Proven = came.Reason != rules.EndNone
	switch onBoard := r.Result.Reason != rules.EndNone && r.Result.Reason < rules.EndResignation; {
	case v.Proven && came != r.Result:
		return v, &RecordError{Text: r.Result.String(), Reason: "the game ended otherwise: " + came.String()}
	case !v.Proven && onBoard:
		return v, &RecordError{Text: r.Result.String(), Reason: "the game does not end so by what the record shows"}
	}
	return v, nil
}
