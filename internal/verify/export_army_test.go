package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
)

// armyVectors is an exported match of each form of army chess, a game each.
const armyVectors = "testdata/army.jsonl"

// armyPresets are the houses' rulesets of army chess, the three forms first.
var armyPresets = []string{"junqi-dark", "junqi-flip", "siguo", "junqi-dark-contest-2012", "junqi-flip-simple"}

// armySample plays the vectors of a form: some plies, an expiry, a resignation.
func armySample(t *testing.T, ruleset string, seed uint64) *table {
	t.Helper()
	tb := newTableIn(t, preset(t, ruleset), seed, clock.Time(1_767_225_600_000_000), nil)
	tb.start()
	for range 24 {
		tb.now += second
		tb.play()
	}
	tb.wait()
	for seat := tb.turn(); tb.playing(); seat = (seat + 2) % rules.Seat(len(tb.state.Players)) {
		tb.must(&referee.Resign{Header: tb.header(seat, false)})
	}
	return tb
}

func TestArmyVectors(t *testing.T) {
	t.Parallel()
	var got []byte
	for i, ruleset := range armyPresets[:3] {
		got = append(got, exportedFile(armySample(t, ruleset, uint64(70+i)))...)
	}
	if *update {
		if err := os.WriteFile(armyVectors, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(armyVectors)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the same matches are exported otherwise than in " + armyVectors)
	}
	if findings, games, err := verified(want); err != nil || games != 3 || len(findings) != 0 {
		t.Errorf("%d games, findings %v, %v", games, findings, err)
	}
	if out, sound := python(t, armyVectors); !sound || !strings.HasPrefix(out, "3 games, 0 faults") {
		t.Errorf("the second implementation: %s", out)
	}
}

// TestArmyMatchesAreExported plays whole matches of every preset: what is exported
// is sound for both implementations, and as text replays to the result that it states.
func TestArmyMatchesAreExported(t *testing.T) {
	t.Parallel()
	proven := 0
	for seed := range uint64(10) {
		r := preset(t, armyPresets[seed%5])
		tb := newTable(t, r, seed)
		for !tb.state.Status.Over() {
			tb.start()
			tb.playOut()
		}
		file := exportedFile(tb)
		if findings, games, err := verified(file); err != nil || games != len(tb.logs)-1 || len(findings) != 0 {
			t.Errorf("%s: %d games, findings %v, %v", r.ID, games, findings, err)
		}
		if out, sound := python(t, write(t, file)); !sound {
			t.Errorf("%s: the second implementation: %s", r.ID, out)
		}
		for game := 1; game < len(tb.logs); game++ {
			proven += checkArmyText(t, tb, game)
		}
	}
	if proven == 0 {
		t.Error("no game ended on the board")
	}
}

// checkArmyText imports what is exported of a game as text, and returns 1 if its
// moves show the result.
func checkArmyText(t *testing.T, tb *table, game int) int {
	t.Helper()
	record := tb.record()
	record.Match.Players, record.Match.RulesetID = tb.state.Players, tb.state.Rules.ID
	text, err := TextRecord(record, game)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := junqi.ParseTextRecord(text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	v, err := tb.state.Rules.ArmyChessGame().CheckTextRecord(parsed)
	if err != nil || parsed.String() != text || v.State.Ply() != tb.state.Game.Position.Ply() && game == tb.state.Game.Number {
		t.Errorf("%v, %d plies: %s", err, v.State.Ply(), text)
	}
	for seat, player := range tb.state.Players {
		if line := fmt.Sprintf("Seat %d: %s\n", seat, player); !strings.Contains(text, line) {
			t.Errorf("the record lacks %q", line)
		}
	}
	if v.Proven {
		return 1
	}
	return 0
}

// A record of a game that still runs tells nothing of what was placed.
func TestARunningArmyTextRecord(t *testing.T) {
	tb := newTable(t, preset(t, "junqi-dark"), 3)
	tb.start()
	tb.play()
	record := tb.record()
	record.Match.Players = tb.state.Players
	text, err := TextRecord(record, 1)
	if err != nil || !strings.HasSuffix(text, "\nResult: unfinished\n") || strings.Contains(text, "place=") || strings.Contains(text, "/") {
		t.Errorf("%q, %v", text, err)
	}
}

// armyChanges are what is done to the vectors, by line, and what must be found
// there; second where the second implementation finds it too.
var armyChanges = map[string]struct {
	line   int
	change fileChange
}{
	"verdict": {0, fileChange{changedEvent(referee.EventPly, flipVerdict), Finding{Game: 1, What: "verdict"}, false}},
	"commitment to a placement": {0, fileChange{changedEvent(referee.EventPlacementSubmitted, func(e *referee.Event) bool { e.Detail[5] ^= 1; return true }),
		Finding{Game: 1, What: "commitment"}, true}},
	"revealed placement": {2, fileChange{changedEvent(referee.EventGameEnded, swapRows), Finding{Game: 1}, true}},
	"salt of a placement": {0, fileChange{changedEvent(referee.EventGameEnded, func(e *referee.Event) bool {
		at := bytes.LastIndex(e.Detail, []byte("/")) // in the last seat's placement
		e.Detail[at-60] ^= 1
		return true
	}), Finding{Game: 1}, true}},
	"turned piece":           {1, fileChange{changedEvent(referee.EventPly, func(e *referee.Event) bool { e.Turned ^= 16; return true }), Finding{Game: 1, What: "turned"}, true}},
	"salt of a turned piece": {1, fileChange{func(g *exportedGame) { g.Openings[2].Salt[0] ^= 1 }, Finding{Game: 1, What: "opening"}, true}},
	"proof of another stop":  {1, fileChange{func(g *exportedGame) { g.Openings[0].Square ^= 1 }, Finding{Game: 1, What: "opening"}, true}},
	"action to be read":      {2, fileChange{func(g *exportedGame) { g.Readable.Actions[3] = "S11-N11" }, Finding{Game: 1, What: "readable.actions[3]"}, false}},
}

// changedEvent changes the first event of a kind that change says it has changed.
func changedEvent(kind referee.EventKind, change func(*referee.Event) bool) func(*exportedGame) {
	return func(g *exportedGame) {
		for seq := 1; seq <= len(g.Events); seq++ {
			e, err := referee.DecodeEvent(g.Events[seq-1])
			if err != nil {
				panic(err)
			}
			if e.Kind == kind && change(&e) {
				g.Events[seq-1] = referee.EncodeEvent(&e)
				rehash(g)
				return
			}
		}
		panic("no such event")
	}
}

// flipVerdict makes the attacker lose where it won, and the other way round.
func flipVerdict(e *referee.Event) bool {
	d, err := e.Disclosed()
	if err != nil || len(e.Detail) == 0 || d.Verdict != junqi.AttackerWon && d.Verdict != junqi.DefenderWon {
		return false
	}
	e.Detail[2] = byte(junqi.AttackerWon + junqi.DefenderWon - d.Verdict)
	return true
}

// swapRows exchanges two pieces in the last placement that is revealed.
func swapRows(e *referee.Event) bool {
	for at := len(e.Detail) - 2; at > len(e.Detail)-20; at-- {
		if before, after := e.Detail[at-1], e.Detail[at+1]; e.Detail[at] == '/' && before != after {
			e.Detail[at-1], e.Detail[at+1] = after, before
			return true
		}
	}
	return false
}

func TestArmyTamperingIsFound(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(armyVectors)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range armyChanges {
		lines := bytes.SplitAfter(bytes.Clone(file), []byte("\n"))
		g := &exportedGame{}
		if err := json.Unmarshal(lines[c.line], g); err != nil {
			t.Fatal(err)
		}
		c.change.do(g)
		lines[c.line] = append(encode(g), '\n')
		tampered := bytes.Join(lines, nil)
		findings, _, err := verified(tampered)
		if err != nil || len(findings) == 0 {
			t.Errorf("%s: findings %v, %v", name, findings, err)
			continue
		}
		named := false
		for _, f := range findings {
			named = named || strings.Contains(f.What, c.change.want.What)
		}
		if !named {
			t.Errorf("%s: want %q in %v", name, c.change.want.What, findings)
		}
		if out, sound := python(t, write(t, tampered)); sound == c.change.second {
			t.Errorf("%s: the second implementation says: %s", name, out)
		}
	}
}
