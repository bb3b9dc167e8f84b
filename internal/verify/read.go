package verify

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"referee.example/internal/referee"
)

// Limits of an exported file.
const (
	// MaxLineBytes is the longest line that Read takes.
	MaxLineBytes = 32 << 20
	// maxMatchBytes is how long the lines of one match are together.
	maxMatchBytes = 512 << 20
	// maxGames is how many lines of one match Read takes, more than any series has games.
	maxGames = 10_000
)

// FormatError says which line of a file is no exported game, and why.
type FormatError struct {
	Line    int    // from 1
	Key     string // the keys that lead to the fault, such as "readable.stake"; empty for the line as a whole
	Problem string
}

func (e *FormatError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("line %d: %s", e.Line, Shown(e.Problem))
	}
	return fmt.Sprintf("line %d: key %s: %s", e.Line, quoted(e.Key), Shown(e.Problem))
}

// formatError puts a line to what is wrong in it.
func formatError(line int, err error) *FormatError {
	var at *keyError
	if errors.As(err, &at) {
		return &FormatError{line, at.key, at.problem}
	}
	return &FormatError{Line: line, Problem: err.Error()}
}

// Read reads exported games and hands them over match by match; only one match
// is held at a time. It returns a *FormatError for a line that is no exported
// game, the error of each, or that of r.
func Read(r io.Reader, each func(*Match) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), MaxLineBytes)
	lines.Split(untilNewline)
	var m *Match
	number := 0
	for lines.Scan() {
		number++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			return &FormatError{Line: number, Problem: "blank"}
		}
		x, id, err := parseLine(lines.Bytes())
		if err != nil {
			return formatError(number, err)
		}
		if m != nil && m.ID != id {
			if err := each(m); err != nil {
				return err
			}
			m = nil
		}
		if m == nil {
			m = &Match{ID: id, Ruleset: []byte(x.Ruleset), Exported: true}
		}
		if err := m.add(x, number, len(lines.Bytes())); err != nil {
			return formatError(number, err)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return &FormatError{Line: number + 1, Problem: fmt.Sprintf("longer than %d bytes", MaxLineBytes)}
	} else if err != nil {
		return err
	}
	if m == nil {
		return nil
	}
	return each(m)
}

// untilNewline is bufio.ScanLines without its taking carriage returns away.
func untilNewline(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if n := bytes.IndexByte(data, '\n'); n >= 0 {
		return n + 1, data[:n], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

func parseLine(line []byte) (*exportedGame, referee.ID, error) {
	if err := strict(line); err != nil {
		return nil, referee.ID{}, err
	}
	x := &exportedGame{}
	if err := json.Unmarshal(line, x); err != nil {
		return nil, referee.ID{}, decodeError(err)
	}
	if x.Format != Format {
		return nil, referee.ID{}, &keyError{"format", fmt.Sprintf("%s, not %q", quoted(x.Format), Format)}
	}
	id, err := parseID(x.MatchID)
	if err != nil {
		return nil, id, &keyError{"match_id", err.Error()}
	}
	return x, id, x.form()
}

// decodeError finds the key in an error of package encoding/json.
func decodeError(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return &keyError{wrong.Field, "a " + wrong.Value + " can't stand here"}
	}
	return err
}

// form refuses a line whose parts can't stand together.
func (x *exportedGame) form() error {
	beside := x.Openings != nil || x.Settlement != nil || x.Readable != nil || x.Compensations != 0
	switch {
	case x.Game < 0 || x.Game > math.MaxUint16:
		return &keyError{"game", fmt.Sprintf("%d, not a number from 0 to %d", x.Game, math.MaxUint16)}
	case x.Compensations < 0:
		return &keyError{"compensations", fmt.Sprintf("%d, less than none", x.Compensations)}
	case len(x.Events) == 0:
		return &keyError{"events", "none"}
	case len(x.Events) != len(x.Hashes):
		return &keyError{"hashes", fmt.Sprintf("%d of %d events", len(x.Hashes), len(x.Events))}
	case x.Game == 0 && beside:
		return &keyError{"game", "0, the log of compensations, which has events, hashes and inclusion alone"}
	}
	return nil
}

// add puts a line to the match that it belongs to.
func (m *Match) add(x *exportedGame, line, length int) error {
	if x.Ruleset != string(m.Ruleset) {
		return &keyError{"ruleset", "another than that of the match's line before"}
	}
	if m.bytes += length; m.bytes > maxMatchBytes {
		return fmt.Errorf("the lines of the match have more than %d bytes together", maxMatchBytes)
	}
	if m.lines++; m.lines > maxGames {
		return fmt.Errorf("more than %d lines of one match", maxGames)
	}
	g, err := x.game()
	if err != nil {
		return err
	}
	g.Line = line
	m.Compensated = max(m.Compensated, x.Compensations)
	at := slices.IndexFunc(m.Games, func(other Game) bool { return other.Number == g.Number })
	switch {
	case g.Number == 0 && m.Compensations == nil:
		m.Compensations, m.CompensationsInclusion, m.compensationsLine = g.Log, g.Inclusion, line
	case g.Number == 0:
		m.repeated = append(m.repeated, g)
	case at >= 0:
		m.Games[at].repeated = append(m.Games[at].repeated, g)
	case m.Compensations != nil:
		return &keyError{"game", fmt.Sprintf("%d, after the match's log of compensations", g.Number)}
	default:
		m.Games = append(m.Games, g)
	}
	return nil
}

// parseID reads a UUID in its usual form.
func parseID(text string) (id referee.ID, err error) {
	digits, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil || len(digits) != len(id) || referee.ID(digits).String() != text {
		return id, fmt.Errorf("%s is not a UUID in lower case", quoted(text))
	}
	return referee.ID(digits), nil
}
