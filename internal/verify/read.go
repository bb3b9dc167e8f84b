package verify

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"referee.example/internal/referee"
)

// Limits of an exported file.
const (
	// MaxLineBytes is the longest line that Read takes.
	MaxLineBytes = 32 << 20
	// maxGames is how many games of one match Read takes, more than any series has.
	maxGames = 10_000
)

// FormatError says which line of a file is no exported game, and why.
type FormatError struct {
	Line    int // from 1
	Problem string
}

func (e *FormatError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Problem) }

// Read reads exported games and hands them over match by match; only one match
// is held at a time. It returns a *FormatError for a line that is no exported
// game, the error of each, or that of r.
func Read(r io.Reader, each func(*Match) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), MaxLineBytes)
	var m *Match
	number := 0
	for lines.Scan() {
		number++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		x, id, err := parseLine(lines.Bytes())
		if err != nil {
			return &FormatError{number, err.Error()}
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
		if err := m.add(x); err != nil {
			return &FormatError{number, err.Error()}
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return &FormatError{number + 1, fmt.Sprintf("longer than %d bytes", MaxLineBytes)}
	} else if err != nil {
		return err
	}
	if m == nil {
		return nil
	}
	return each(m)
}

func parseLine(line []byte) (*exportedGame, referee.ID, error) {
	x := &exportedGame{}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(x); err != nil {
		return nil, referee.ID{}, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, referee.ID{}, errors.New("more than one JSON value")
	}
	if x.Format != Format {
		return nil, referee.ID{}, fmt.Errorf("the format is %q, not %q", x.Format, Format)
	}
	id, err := parseID(x.MatchID)
	return x, id, err
}

func (m *Match) add(x *exportedGame) error {
	if x.Ruleset != string(m.Ruleset) {
		return errors.New("the ruleset is another than that of the match's line before")
	}
	g, err := x.game()
	switch {
	case err != nil:
		return err
	case x.Game < 0:
		return fmt.Errorf("game %d: numbers begin with 0", x.Game)
	case m.Compensations != nil || len(m.Games) >= maxGames:
		return errors.New("more games than a match has, or one after the compensations")
	case x.Game == 0:
		m.Compensations, m.CompensationsInclusion = g.Log, g.Inclusion
	default:
		m.Games = append(m.Games, g)
	}
	return nil
}

// parseID reads a UUID in its usual form.
func parseID(text string) (id referee.ID, err error) {
	digits, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil || len(digits) != len(id) || referee.ID(digits).String() != text {
		return id, fmt.Errorf("%q is not a UUID in lower case", text)
	}
	return referee.ID(digits), nil
}
