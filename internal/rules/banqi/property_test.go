package banqi

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
	"referee.example/internal/rules"
)

// played is one step of a game's log.
type played struct {
	action rules.Action
	turned rules.Piece
	kind   string // "act", "request" or "rule"
}

// player chooses an action of the seat to move.
type player func(*Game, *State) rules.Action

// step plays one step of a random game that likes chases, and returns it.
func (d dice) step(g *Game, s *State, deal *[squares]rules.Piece) played {
	return d.stepBy(g, s, deal, d.choose)
}

// stepBy plays one step of a game by a player's choice of actions.
func (d dice) stepBy(g *Game, s *State, deal *[squares]rules.Piece, choose player) played {
	switch {
	case s.awaiting:
		if _, err := g.RuleFoul(s, false); err != nil {
			panic(err)
		}
		return played{kind: "rule"}
	case d.IntN(20) == 0 && g.CheckCount(s, s.turn).OK():
		g.RequestCount(s, s.turn)
		return played{kind: "request"}
	}
	a := choose(g, s)
	turned := turnedBy(g, s, a, deal)
	if _, err := g.Apply(s, a, turned); err != nil {
		panic(g.Text(s) + ": " + FormatAction(a, turned) + ": " + err.Error())
	}
	return played{a, turned, "act"}
}

// choose prefers, half of the time, to go on with a chase, to run from one, or
// else to take.
func (d dice) choose(g *Game, s *State) rules.Action {
	actions := g.List(s, nil)
	if d.IntN(2) == 0 {
		d.Shuffle(len(actions), func(i, j int) { actions[i], actions[j] = actions[j], actions[i] })
		for _, a := range actions {
			if a.Kind != rules.ActionMove {
				continue
			}
			running := has(s.chases[(1-s.turn)&1].targets, a.From)
			if running || g.prolongs(s, s.turn, a) {
				return a
			}
		}
	}
	return actions[d.IntN(len(actions))]
}

// chasers is an open position where chases start at once.
const chasers = "P---/-n--/----/--c-/-r--/--G-/-M--/---p red"

// randomState plays a random number of steps from the start, or from an open
// position, and returns the log.
func randomState(t *rapid.T, g *Game) (start, s State, deal [squares]rules.Piece, log []played) {
	dice := newDice(rapid.Uint64().Draw(t, "seed"))
	deal = dice.deal()
	start = g.Start(rules.Seat(rapid.IntRange(0, 1).Draw(t, "first")))
	if rapid.Bool().Draw(t, "open") {
		var err error
		if start, err = g.ParseState(chasers); err != nil {
			t.Fatal(err)
		}
	}
	s = start
	steps := rapid.IntRange(0, 300).Draw(t, "steps")
	for range steps {
		if s.outcome.Over() {
			break
		}
		log = append(log, dice.step(g, &s, &deal))
	}
	return start, s, deal, log
}

// varied are rulesets that differ in more than a limit: every house, and what
// no house combines.
var varied = []string{
	"7club-standard", "7club-chariot-horse-cannon", "gametower-standard", "gametower-open-chain", "gametower-dark-chain-rush",
	"baidu", "baidu-literal", "daily", "sinica-2019", "icga", "mingjian-2026", "rush-and-diagonal-horse", "hong-kong-ladder",
	"chase-exempt-positions", "chain-lost-rush", "dark-capture-lost", "slide-positions", "open-chain-positions", "side-pause-2", "foul-chain",
	"chain-pause",
}

// everyRuleset runs a property under all varied rulesets.
func everyRuleset(t *testing.T, property func(t *rapid.T, g *Game)) {
	for _, name := range varied {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := compiled(t, name)
			rapid.Check(t, func(t *rapid.T) { property(t, g) })
		})
	}
}

// TestListedIsAccepted: each listed action is accepted and each other one is
// refused with a reason and changes nothing.
func TestListedIsAccepted(t *testing.T) {
	everyRuleset(t, func(t *rapid.T, g *Game) {
		_, s, deal, _ := randomState(t, g)
		listed := make(map[rules.Action]bool)
		for _, a := range g.List(&s, nil) {
			if listed[a] {
				t.Fatalf("%v is listed twice", a)
			}
			listed[a] = true
			next := s
			if _, err := g.Apply(&next, a, turnedBy(g, &s, a, &deal)); err != nil && !errors.Is(err, ErrTurnedImpossible) {
				t.Fatalf("listed %s: %v\n%s", FormatAction(a, 0), err, g.Text(&s))
			}
		}
		if len(listed) == 0 && !s.outcome.Over() && !s.awaiting {
			t.Fatalf("running without an action: %s", g.Text(&s))
		}
		before, words := g.AppendBinary(nil, &s), make(map[rules.Rule]bool)
		for _, a := range someActions(t) {
			i := g.Check(&s, s.turn, a)
			if i.OK() != listed[a] {
				t.Fatalf("%v: check says %q, listed %v\n%s", a, i.Rule, listed[a], g.Text(&s))
			}
			if i.OK() {
				continue
			}
			if words[i.Rule] = words[i.Rule] || g.Describe(i) != string(i.Rule); !words[i.Rule] {
				t.Fatalf("no words for %q", i.Rule)
			}
			if g.Check(&s, 1-s.turn, a).OK() {
				t.Fatalf("%v is legal for the other seat", a)
			}
			var illegal *IllegalError
			if _, err := g.Apply(&s, a, rules.NoPiece); !errors.As(err, &illegal) || illegal.Illegal != i {
				t.Fatalf("%v: applied, or refused otherwise: %v", a, err)
			}
		}
		if !bytes.Equal(before, g.AppendBinary(nil, &s)) {
			t.Fatal("a refusal changed the state")
		}
	})
}

// someActions returns every flip, every move from and to some squares, the
// stop, and actions that are none.
func someActions(t *rapid.T) []rules.Action {
	actions := []rules.Action{rules.Stop(), {}, {Kind: 9}, rules.Move(0, 32), rules.Move(99, 0), rules.Move(32, 0), rules.Flip(32),
		{Kind: rules.ActionFlip, From: 1, To: 2}, {Kind: rules.ActionStop, From: 0, To: rules.NoSquare}}
	start := rules.Square(rapid.IntRange(0, 7).Draw(t, "start"))
	for from := range rules.Square(squares) {
		actions = append(actions, rules.Flip(from))
		for to := start; to < squares; to += 8 {
			actions = append(actions, rules.Move(from, to), rules.Move(to, from))
		}
	}
	slices.SortFunc(actions, func(a, b rules.Action) int {
		return int(a.Kind)<<16 + int(a.From)<<8 + int(a.To) - int(b.Kind)<<16 - int(b.From)<<8 - int(b.To)
	})
	return slices.Compact(actions)
}

// TestPiecesConserved: of every kind, what is face up, captured and dealt face
// down makes up the deck, at every ply.
func TestPiecesConserved(t *testing.T) {
	everyRuleset(t, func(t *rapid.T, g *Game) {
		dice := newDice(rapid.Uint64().Draw(t, "seed"))
		deal := dice.deal()
		s := g.Start(0)
		for !s.outcome.Over() && s.ply < 400 {
			dice.step(g, &s, &deal)
			var seen [codes]int
			for square, p := range s.board.at {
				if p == FaceDown {
					p = deal[square]
				}
				seen[p]++
			}
			for p := rules.Piece(1); p < codes; p++ {
				if known(p) && seen[p]+int(s.captured[p]) != int(deckCount[p&rankMask]) {
					t.Fatalf("ply %d: %d of %c on the board, %d captured", s.ply, seen[p], letters[p], s.captured[p])
				}
			}
			if err := g.validate(&s); err != nil {
				t.Fatalf("%v\n%s", err, g.Text(&s))
			}
		}
	})
}

// TestRoundTrips: text and binary give the state back, and games continued
// from the copies go the same way.
func TestRoundTrips(t *testing.T) {
	everyRuleset(t, func(t *rapid.T, g *Game) {
		_, s, deal, _ := randomState(t, g)
		text, binary := g.Text(&s), g.AppendBinary(nil, &s)
		fromText, err := g.ParseState(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		fromBinary, err := g.DecodeBinary(binary)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		seed := rapid.Uint64().Draw(t, "continuation")
		var ends []string
		for _, copied := range []State{s, fromText, fromBinary} {
			if again := g.Text(&copied); again != text {
				t.Fatalf("text %s\nagain %s", text, again)
			}
			if !bytes.Equal(g.AppendBinary(nil, &copied), binary) {
				t.Fatalf("binary differs: %s", text)
			}
			dice := newDice(seed)
			for range 100 {
				if !copied.outcome.Over() {
					dice.step(g, &copied, &deal)
				}
			}
			ends = append(ends, g.Text(&copied))
		}
		if ends[0] != ends[1] || ends[0] != ends[2] {
			t.Fatalf("continued differently:\n%s\n%s\n%s", ends[0], ends[1], ends[2])
		}
		if g.Text(&s) != text {
			t.Fatal("playing a copy changed the original")
		}
	})
}

// TestReplay: the log alone gives the state again.
func TestReplay(t *testing.T) {
	everyRuleset(t, func(t *rapid.T, g *Game) {
		again, s, _, log := randomState(t, g)
		for i, p := range log {
			switch p.kind {
			case "request":
				g.RequestCount(&again, again.turn)
			case "rule":
				if _, err := g.RuleFoul(&again, false); err != nil {
					t.Fatal(err)
				}
			default:
				a, turned, err := ParseAction(FormatAction(p.action, p.turned))
				if err != nil || a != p.action || turned != p.turned {
					t.Fatalf("notation %s: %v", FormatAction(p.action, p.turned), err)
				}
				if _, err := g.Apply(&again, a, turned); err != nil {
					t.Fatalf("ply %d: %v", i, err)
				}
			}
		}
		if g.Text(&again) != g.Text(&s) {
			t.Fatalf("replayed %s\n played %s", g.Text(&again), g.Text(&s))
		}
	})
}

// TestGamesEnd: a game with a length limit ends by it at the latest, and every
// ending is one that its rules have.
func TestGamesEnd(t *testing.T) {
	all := allRules(t)
	for _, name := range rulesetNames(t) {
		limit := all[name].MaxPlies
		if limit == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, r := compiled(t, name), all[name]
			rapid.Check(t, func(t *rapid.T) {
				dice := newDice(rapid.Uint64().Draw(t, "seed"))
				s, deal := g.Start(0), dice.deal()
				for !s.outcome.Over() {
					if s.Ply() > limit {
						t.Fatal("beyond the limit")
					}
					dice.step(g, &s, &deal)
				}
				o := s.outcome
				if o.Reason == rules.EndRepetition && r.Repetition.Kind == "" || o.Reason == rules.EndIdle && r.Idle.Limit == 0 ||
					o.Reason == rules.EndFouls && r.FoulsToLose == 0 || o.Reason == rules.EndMaxPlies && s.Ply() != limit {
					t.Fatalf("ended by %v", o.Reason)
				}
				if len(g.List(&s, nil)) != 0 || g.Check(&s, s.turn, rules.Flip(0)).Rule != RuleGameOver {
					t.Fatal("something is legal after the end")
				}
			})
		})
	}
}

// TestTurnedIdentity: an identity must come exactly when a piece is turned, and
// it must be one that can be face down; a refusal changes nothing.
func TestTurnedIdentity(t *testing.T) {
	g := compiled(t, "dark-capture")
	s := position(t, g, "---k/----/----/----/----/----/X---/R-XP red captured=P")
	text := g.Text(&s)
	for _, c := range []struct {
		action string
		turned rules.Piece
		want   error
	}{
		{"a1-b1", RedSoldier, ErrTurnedUnexpected},
		{"a2", rules.NoPiece, ErrTurnedMissing},
		{"a2", FaceDown, ErrTurnedMissing},
		{"a2", 16, ErrTurnedMissing},
		{"a2", 17, ErrTurnedMissing},
		{"a1-a2", rules.NoPiece, ErrTurnedMissing},
		{"a2", BlackGeneral, ErrTurnedImpossible},
		{"a1-a2", BlackGeneral, ErrTurnedImpossible},
		{"a2", RedSoldier, nil},
	} {
		a, _, _ := ParseAction(c.action)
		copied := s
		if _, err := g.Apply(&copied, a, c.turned); !errors.Is(err, c.want) {
			t.Errorf("%s with %d: %v, want %v", c.action, c.turned, err, c.want)
		}
		if c.want != nil && g.Text(&copied) != text {
			t.Errorf("%s with %d changed the state", c.action, c.turned)
		}
	}
}
