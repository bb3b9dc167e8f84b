package banqi

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"referee.example/internal/rules"
)

// TestBinaryIsStable compares binary states with testdata/binary.txt: lines of a
// ruleset, a state's text and its bytes. They stand in stored games, so that a
// line may be added but never changed.
func TestBinaryIsStable(t *testing.T) {
	content, err := os.ReadFile("testdata/binary.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(content)), "\n") {
		parts := strings.Split(line, "\t")
		g := compiled(t, parts[0])
		s := position(t, g, parts[1])
		b := g.AppendBinary(nil, &s)
		if got := hex.EncodeToString(b); got != parts[2] {
			t.Errorf("%s is\n%s, was\n%s", parts[1], got, parts[2])
		}
		stored, err := hex.DecodeString(parts[2])
		if err != nil {
			t.Fatal(err)
		}
		read, err := g.DecodeBinary(stored)
		if err != nil || g.Text(&read) != parts[1] {
			t.Errorf("%s is read as\n%s, %v, want\n%s", parts[2], g.Text(&read), err, parts[1])
		}
	}
}

// TestBinaryRefusals: each change of a sound state makes bytes that are refused
// as no binary state at all, before the rules are asked.
func TestBinaryRefusals(t *testing.T) {
	const text = "P---/----/----/----/-r--/--G-/----/---p red seat=0 ply=200 turns=100,100 captured=KGMRRNNCCPPkggmmrnnccppp"
	for name, change := range map[string]func(*State){
		"seat of red":         func(s *State) { s.red = 2 },
		"seat of the request": func(s *State) { s.requester = 2 },
		"captured nothing":    func(s *State) { s.captured[rules.NoPiece] = 1 },
		"captured face down":  func(s *State) { s.captured[FaceDown] = 1 },
		"plies":               func(s *State) { s.ply = maxNumber + 1 },
		"chain":               func(s *State) { s.chain = squares },
		"chaser":              func(s *State) { s.chases[0] = chase{by: squares, on: 13, targets: 1 << 13, length: 1} },
		"no chaser":           func(s *State) { s.chases[0] = chase{by: rules.NoSquare, on: 13, targets: 1 << 13, length: 1} },
		"chased":              func(s *State) { s.chases[0] = chase{by: 10, on: squares, targets: 1 << 13, length: 1} },
		"resting":             func(s *State) { s.rests[1] = rest{rules.NoSquare, 10} },
		"rested":              func(s *State) { s.rests[1] = rest{13, squares} },
		"ending":              func(s *State) { s.outcome.Reason = rules.EndResignation },
		"winners":             func(s *State) { s.outcome = rules.Outcome{Reason: rules.EndAllCaptured, Winners: 3} },
	} {
		g := compiled(t, "7club-standard")
		s := position(t, g, text)
		change(&s)
		if _, err := g.DecodeBinary(g.AppendBinary(nil, &s)); !errors.Is(err, ErrBinary) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBinaryOfUnsoundState: bytes that are well formed are judged as a text is.
func TestBinaryOfUnsoundState(t *testing.T) {
	g := compiled(t, "baidu")
	s := position(t, g, "P---/----/----/----/-r--/--G-/----/---p red seat=0 ply=20")
	s.chases[0] = chase{by: 10, on: rules.NoSquare, length: 1}
	var wrong *TextError
	if _, err := g.DecodeBinary(g.AppendBinary(nil, &s)); !errors.As(err, &wrong) || wrong.Part != "chase0" {
		t.Errorf("a chase of nothing: %v", err)
	}
}

// TestBinaryNumbers: the largest numbers are read, and a count of plies that are
// not there costs no memory.
func TestBinaryNumbers(t *testing.T) {
	g := compiled(t, "icga")
	s := position(t, g, "P---/----/----/----/-r--/--G-/----/---p red ply=1073741824")
	b := g.AppendBinary(nil, &s)
	if read, err := g.DecodeBinary(b); err != nil || read.Ply() != maxNumber {
		t.Errorf("%d plies: %v", read.Ply(), err)
	}
	b[2] |= flagHistory
	b = binary.AppendUvarint(b, maxNumber)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := g.DecodeBinary(b)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrBinary) || took > 1<<20 {
		t.Errorf("a history of nothing: %v, and it took %d bytes", err, took)
	}
	for _, short := range [][]byte{nil, {}, {binaryVersion}, {binaryVersion, 0, 0}} {
		if _, err := g.DecodeBinary(short); !errors.Is(err, ErrBinary) {
			t.Errorf("%x: %v", short, err)
		}
	}
	for _, other := range [][]byte{{0}, {binaryVersion + 1}, append([]byte{binaryVersion + 1}, slices.Clone(b[1:])...)} {
		if _, err := g.DecodeBinary(other); !errors.Is(err, ErrVersion) {
			t.Errorf("%x: %v", other, err)
		}
	}
}
