package banqi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"referee.example/internal/rules"
)

// Record is a game as text, in the shape of the computer tournaments' records
// (dark-chess rules, section 7): header lines, numbered rounds of two plies, a
// result line.
//
//	Ruleset: sinica-2019
//	Date: 2026-07-01
//
//	1. b3(n) c4(K)
//	2. b3-b4 c4-c5
//	3. b4-c4
//
//	Result: second wins by resignation
//
// What the tournaments' platform writes in its header was not at hand: no
// header line is required, and a line that means nothing here is kept and
// written back as it was. A round holds two plies, whoever played them: in a
// chain one side plays several in a row. What else moves a game stands, as a
// word, before the ply that follows it: "request" (a count of quiet plies, by
// the side to move), "confirm" and "waive" (a ruling on a foul).
type Record struct {
	Header  []string // lines before the first round, without blank ones
	Entries []RecordEntry
	Result  RecordResult
}

// RecordEntry is one ply of a record, or one word between plies.
type RecordEntry struct {
	Word   string       // "request", "confirm" or "waive"; empty for a ply
	Action rules.Action // of a ply
	Turned rules.Piece  // what the ply turned, NoPiece for nothing
}

// RecordResult is how a record says that its game ended.
type RecordResult struct {
	// Words are "first wins", "second wins" (in order of the first ply), "red
	// wins", "black wins", "draw", "void" or "unfinished"; empty where the
	// record has no result line.
	Words  string
	Reason rules.EndReason // EndNone where the record names none
}

// Limits of a record.
const (
	MaxRecordLength     = 1 << 18 // bytes
	MaxRecordHeader     = 100     // lines
	MaxRecordHeaderLine = 512     // bytes
)

// The words of a record's entries that are no plies.
const (
	WordRequest = "request"
	WordConfirm = "confirm"
	WordWaive   = "waive"
)

const unfinished = "unfinished"

// recordReasons are the words for endings in a record, the rules' own first.
var recordReasons = func() map[string]rules.EndReason {
	all := map[string]rules.EndReason{
		"resignation": rules.EndResignation, "time": rules.EndTime, "disconnection": rules.EndDisconnection,
		"agreement": rules.EndAgreement, "all_disconnected": rules.EndAllGone,
		"match_voided": rules.EndMatchVoided, "match_abandoned": rules.EndMatchAbandoned,
	}
	for name, reason := range endingNames {
		all[name] = reason
	}
	return all
}()

// EndingName returns the word for an ending in records, such as "all_captured"
// or "resignation"; empty for none.
func EndingName(reason rules.EndReason) string {
	for name, r := range recordReasons {
		if r == reason {
			return name
		}
	}
	return ""
}

// RecordTextError says which line of a record can't be read.
type RecordTextError struct {
	Line   int // from 1; 0 for the record as a whole
	Reason string
}

// Error names the line and the reason.
func (e *RecordTextError) Error() string {
	if e.Line == 0 {
		return "record: " + e.Reason
	}
	return fmt.Sprintf("record: line %d: %s", e.Line, e.Reason)
}

// ParseRecord reads a record. It looks at no rules: CheckRecord does. The error
// is a *RecordTextError.
func ParseRecord(text string) (Record, error) {
	if len(text) > MaxRecordLength {
		return Record{}, &RecordTextError{0, fmt.Sprintf("longer than %d bytes", MaxRecordLength)}
	}
	p := recordParser{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimFunc(line, unicode.IsSpace)
		if line == "" {
			continue
		}
		if err := p.line(line); err != nil {
			return Record{}, &RecordTextError{i + 1, err.Error()}
		}
	}
	return p.record, nil
}

type recordParser struct {
	record Record
	rounds int
	short  bool // the last round has fewer than two plies
	result bool
	ended  bool // the result stood after the rounds
}

func (p *recordParser) line(line string) error {
	number, plies, isRound := cutRound(line)
	switch {
	case isRound && p.ended:
		return errors.New("a round follows the result")
	case isRound:
		return p.round(number, plies)
	case isResult(line):
		return p.takeResult(line)
	case p.rounds > 0:
		return errors.New("neither a round nor a result")
	}
	return p.header(line)
}

// cutRound takes the number off a round's line.
func cutRound(line string) (number, plies string, ok bool) {
	number, plies, ok = strings.Cut(line, ".")
	if !ok || number == "" || strings.Trim(number, "0123456789") != "" {
		return "", "", false
	}
	return number, plies, true
}

func (p *recordParser) header(line string) error {
	switch {
	case len(p.record.Header) == MaxRecordHeader:
		return fmt.Errorf("more than %d header lines", MaxRecordHeader)
	case len(line) > MaxRecordHeaderLine:
		return fmt.Errorf("a header line of more than %d bytes", MaxRecordHeaderLine)
	case !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl):
		return errors.New("not plain text in UTF-8")
	}
	p.record.Header = append(p.record.Header, line)
	return nil
}

func (p *recordParser) round(number, plies string) error {
	if p.rounds++; number != strconv.Itoa(p.rounds) {
		return fmt.Errorf("round %d is expected here", p.rounds)
	}
	if p.short {
		return fmt.Errorf("round %d has fewer than two plies and is not the last", p.rounds-1)
	}
	count := 0
	for _, word := range strings.Fields(plies) {
		entry, err := parseEntry(word)
		if err != nil {
			return fmt.Errorf("%q is %w", word, err)
		}
		if entry.Word == "" {
			count++
		}
		p.record.Entries = append(p.record.Entries, entry)
	}
	if count > 2 {
		return fmt.Errorf("round %d has more than two plies", p.rounds)
	}
	p.short = count < 2
	return nil
}

func parseEntry(word string) (RecordEntry, error) {
	switch word {
	case WordRequest, WordConfirm, WordWaive:
		return RecordEntry{Word: word}, nil
	}
	action, turned, err := ParseAction(word)
	return RecordEntry{Action: action, Turned: turned}, err
}

const resultKey = "result:"

func isResult(line string) bool {
	return len(line) >= len(resultKey) && strings.EqualFold(line[:len(resultKey)], resultKey)
}

// takeResult reads the result line. It may also stand in the header, as it does
// in other notations; it is written back as the last line.
func (p *recordParser) takeResult(line string) error {
	if p.result {
		return errors.New("a second result")
	}
	p.result, p.ended = true, p.rounds > 0
	words, reason, named := strings.Cut(strings.Join(strings.Fields(line[len(resultKey):]), " "), " by ")
	switch words {
	case "first wins", "second wins", "red wins", "black wins", "draw", "void", unfinished:
	default:
		return fmt.Errorf("%q is no result", words)
	}
	p.record.Result.Words = words
	if !named {
		return nil
	}
	found, ok := recordReasons[reason]
	if !ok || words == unfinished {
		return fmt.Errorf("%q is no way for a game to end so", reason)
	}
	p.record.Result.Reason = found
	return nil
}

// String writes a record as ParseRecord reads it.
func (r *Record) String() string {
	var b strings.Builder
	for _, line := range r.Header {
		b.WriteString(line + "\n")
	}
	if len(r.Header) > 0 && len(r.Entries) > 0 {
		b.WriteString("\n")
	}
	plies, open := 0, false
	for _, e := range r.Entries {
		if plies%2 == 0 && !open {
			if plies > 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "%d.", plies/2+1)
			open = true
		}
		if e.Word != "" {
			b.WriteString(" " + e.Word)
			continue
		}
		b.WriteString(" " + FormatAction(e.Action, e.Turned))
		plies++
		open = plies%2 == 1
	}
	if len(r.Entries) > 0 {
		b.WriteString("\n")
	}
	if r.Result.Words != "" {
		if len(r.Header)+len(r.Entries) > 0 {
			b.WriteString("\n")
		}
		b.WriteString("Result: " + r.Result.String() + "\n")
	}
	return b.String()
}

// String writes a result as the result line has it, such as "draw by idle".
func (r RecordResult) String() string {
	if r.Reason == rules.EndNone {
		return r.Words
	}
	return r.Words + " by " + EndingName(r.Reason)
}

// HeaderValue returns the value of the first header line "key: value" with that
// key, in whatever case; empty where there is none.
func (r *Record) HeaderValue(key string) string {
	for _, line := range r.Header {
		if k, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(strings.TrimSpace(k), key) {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// ResultOf returns the result of a game in a record's words; first is the seat
// that played first.
func ResultOf(o rules.Outcome, first rules.Seat) RecordResult {
	switch {
	case !o.Over():
		return RecordResult{Words: unfinished}
	case o.Void:
		return RecordResult{"void", o.Reason}
	case o.Winners.Has(first):
		return RecordResult{"first wins", o.Reason}
	case o.Decided():
		return RecordResult{"second wins", o.Reason}
	}
	return RecordResult{"draw", o.Reason}
}
