package banqi

import (
	"fmt"
	"slices"
	"testing"

	"referee.example/internal/rules"
)

// TestRareEventsReached lets players who want a rare event play 300 games and
// sees that it comes about often: random play meets a stuck loss in one game of
// a thousand, so the properties would hold for want of trying.
func TestRareEventsReached(t *testing.T) {
	for _, c := range []struct {
		rules  string
		player func(dice) player
		start  func(dice, *Game) State
		events map[string]int // and how many are wanted
	}{
		{"standard-idle-50", dice.hemming, dice.cornered, map[string]int{"no_legal_action": 100}},
		{"7club-standard", dice.hemming, dice.cornered, map[string]int{"no_legal_action": 100}},
		{"ntu-platform", dice.pacing, dice.sparse, map[string]int{"cycle of 4": 20, "cycle of 8": 20, "cycle of 12": 20}},
		{"daily", dice.pacing, dice.sparse, map[string]int{"cycle of 4": 20, "cycle of 8": 20, "cycle of 12": 20}},
		{"icga", dice.pacing, dice.sparse, map[string]int{"repetition": 100}},
		{"7club-standard", dice.pursuing, dice.duel, map[string]int{"pause": 100}},
		{"side-pause-2", dice.pursuing, dice.duel, map[string]int{"pause": 100, "lifted": 20}},
		{"chase-exempt-positions", dice.pursuing, dice.duel, map[string]int{"refusal": 100, "exempt": 100}},
		{"baidu", dice.pursuing, dice.duel, map[string]int{"refusal": 100}},
		{"side-refuse-2", dice.pursuing, dice.duel, map[string]int{"refusal": 100}},
		{"side-refuse-2", dice.pursuing, dice.alone, map[string]int{"lifted": 5}},
		{"mingjian-2026", dice.pursuing, dice.duel, map[string]int{"foul": 100, "fouls": 50}},
		{"mingjian-2026", dice.pursuing, dice.doomed, map[string]int{"disputable": 50, "awaiting": 50}},
		{"foul-chain", dice.pursuing, dice.doomed, map[string]int{"disputable": 100, "awaiting": 50}},
		{"mingjian-2026", dice.pacing, dice.sparse, map[string]int{"request": 100, "idle": 100}},
		{"gametower-dark-chain-rush", dice.daring, dice.dim, map[string]int{"chain": 100, "stop": 20, "failed": 100, "rush": 20, "jump": 20}},
		{"dark-chain-lost", dice.daring, dice.dim, map[string]int{"failed": 100, "lost": 100, "jump": 20}},
		{"chain-lost-rush", dice.daring, dice.dim, map[string]int{"failed": 100, "lost": 100, "rush": 20}},
		{"gametower-standard", dice.daring, dice.lastSoldier, map[string]int{"merit": 100}},
	} {
		t.Run(fmt.Sprint(c.rules, c.events), func(t *testing.T) {
			t.Parallel()
			g, d, seen := compiled(t, c.rules), newDice(3), make(map[string]int)
			for range 300 {
				s, play := c.start(d, g), c.player(d)
				deal := d.dealUnder(&s)
				for s.ply < 150 && !s.outcome.Over() {
					d.watch(g, &s, &deal, play, seen)
				}
				seen[outcomeNames[s.outcome.Reason]]++
				if o := s.outcome; o.Reason == rules.EndRepetition {
					seen[fmt.Sprintf("cycle of %d", (o.LastPly-o.FirstPly+1)/3)]++
				}
			}
			for event, wanted := range c.events {
				if seen[event] < wanted {
					t.Errorf("%s came about %d times in 300 games, want %d: %v", event, seen[event], wanted, seen)
				}
			}
		})
	}
}

// watch plays one step and counts what happens.
func (d dice) watch(g *Game, s *State, deal *[squares]rules.Piece, play player, seen map[string]int) {
	if s.awaiting {
		seen["awaiting"]++
	}
	if g.restrains(s, s.turn) && !s.awaiting {
		if g.lifted(s, s.turn) {
			seen["lifted"]++
		} else if g.refuses(s, s.turn) {
			seen["refusal"]++
		} else {
			seen["pause"]++
		}
	}
	before := *s
	p := d.stepBy(g, s, deal, play)
	seen[p.kind]++
	if p.kind != "act" {
		return
	}
	if s.history.len() > 0 && s.history.exempt(s.history.len()) {
		seen["exempt"]++
	}
	e, err := g.Apply(&before, p.action, p.turned)
	if err != nil {
		panic(err)
	}
	seen[e.Manner.String()]++
	for event, happened := range map[string]bool{
		"chain": !e.TurnEnded && !e.Outcome.Over(), "failed": e.Failed, "merit": e.Merit, "foul": e.Foul.Number > 0,
		"disputable": e.Foul.Disputable, "lost": e.CapturedBy == 1-e.Seat,
	} {
		if happened {
			seen[event]++
		}
	}
}

// hemming chooses what leaves the opponent the fewest actions.
func (d dice) hemming() player {
	return func(g *Game, s *State) rules.Action {
		actions := g.List(s, nil)
		d.Shuffle(len(actions), func(i, j int) { actions[i], actions[j] = actions[j], actions[i] })
		return slices.MinFunc(actions, func(a, b rules.Action) int { return g.left(s, a) - g.left(s, b) })
	}
}

// left returns how many actions the opponent has after an action.
func (g *Game) left(s *State, a rules.Action) int {
	if g.TurnsFace(s, a) || a.Kind != rules.ActionMove {
		return MaxActions
	}
	b := s.board
	b.move(a.From, a.To)
	if s.board.at[a.To] != rules.NoPiece {
		return MaxActions // a capture frees whoever was hemmed in
	}
	return g.count(&b, s.side(1-s.turn))
}

// pacing walks one piece of each seat to and fro, one to three steps far.
func (d dice) pacing() player {
	var walks [2][]rules.Action
	var next [2]int
	steps := 1 + d.IntN(3)
	return func(g *Game, s *State) rules.Action {
		seat, actions := s.turn, g.List(s, nil)
		if len(walks[seat]) == 2*steps {
			if a := walks[seat][next[seat]%(2*steps)]; slices.Contains(actions, a) {
				next[seat]++
				return a
			}
		}
		walks[seat], next[seat] = d.walk(g, s, steps), 1
		if len(walks[seat]) == 0 {
			return actions[d.IntN(len(actions))]
		}
		return walks[seat][0]
	}
}

// walk returns a walk of so many quiet steps and back, or nil.
func (d dice) walk(g *Game, s *State, steps int) []rules.Action {
	for range 50 {
		b, mine := s.board, s.board.own[s.side(s.turn)&1]
		at := rules.Square(d.IntN(squares))
		var out []rules.Action
		for has(mine, at) && len(out) < steps {
			quiet, _ := g.targets(&b, at)
			to := rules.Square(d.IntN(squares))
			if quiet == 0 || !has(quiet, to) && d.IntN(32) > 0 {
				if quiet == 0 {
					break
				}
				continue
			}
			if !has(quiet, to) {
				to = first(quiet)
			}
			out = append(out, rules.Move(at, to))
			b.move(at, to)
			mine, at = mine&^bit(at)|bit(to), to
		}
		if len(out) == steps && slices.Contains(g.List(s, nil), out[0]) {
			for i := steps - 1; i >= 0; i-- {
				out = append(out, reverse(out[i]))
			}
			return out
		}
	}
	return nil
}

// pursuing goes on with a chase or runs from one, and else begins one.
func (d dice) pursuing() player {
	return func(g *Game, s *State) rules.Action {
		actions := g.List(s, nil)
		d.Shuffle(len(actions), func(i, j int) { actions[i], actions[j] = actions[j], actions[i] })
		wish := func(a rules.Action) int {
			switch {
			case a.Kind != rules.ActionMove || s.board.at[a.To] != rules.NoPiece:
				return 3
			case has(s.chases[(1-s.turn)&1].targets, a.From):
				return 0
			case g.prolongs(s, s.turn, a):
				return 1
			}
			return 2
		}
		if d.IntN(20) == 0 {
			return actions[0]
		}
		return slices.MinFunc(actions, func(a, b rules.Action) int { return wish(a) - wish(b) })
	}
}

// daring takes, face-down pieces before others.
func (d dice) daring() player {
	return func(g *Game, s *State) rules.Action {
		actions := g.List(s, nil)
		d.Shuffle(len(actions), func(i, j int) { actions[i], actions[j] = actions[j], actions[i] })
		for _, a := range actions {
			if a.Kind == rules.ActionMove && d.IntN(3) > 0 && (g.TurnsFace(s, a) || s.board.at[a.To] != rules.NoPiece) {
				return a
			}
		}
		return actions[0]
	}
}

// spread puts pieces on empty squares of a set, each on one of its own.
func (d dice) spread(s *State, where uint32, pieces string) {
	for _, letter := range pieces {
		at := rules.Square(d.IntN(squares))
		for !has(where&s.board.of[rules.NoPiece], at) {
			at = (at + 1) % squares
		}
		p := FaceDown
		if letter != 'X' {
			p, _ = ParsePiece(byte(letter))
		}
		s.board.set(at, p)
	}
}

// position sets a position up until the side to move can act and has not lost.
func (d dice) position(g *Game, set func(*State)) State {
	for {
		s := newState()
		s.red = 0
		set(&s)
		if s.board.own[Red] != 0 && s.board.own[Black] != 0 && g.canAct(&s.board, Red) && g.canAct(&s.board, Black) {
			return s
		}
	}
}

// dealUnder deals the pieces that are not face up to the face-down squares.
func (d dice) dealUnder(s *State) (deal [squares]rules.Piece) {
	deck := Deck()
	left := deck[:]
	for _, p := range s.board.at {
		if i := slices.Index(left, p); i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
	}
	d.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	for square, p := range s.board.at {
		if p == FaceDown {
			deal[square], left = left[0], left[1:]
		}
	}
	return deal
}

const (
	everywhere uint32 = 1<<32 - 1
	lowerRanks uint32 = 1<<12 - 1 // ranks 1 to 3
)

// sparse has few pieces, all face up.
func (d dice) sparse(g *Game) State {
	return d.position(g, func(s *State) { d.spread(s, everywhere, "KGPkgp"[d.IntN(3):]) })
}

// cornered has a weak black piece in a corner and strong red ones near it.
func (d dice) cornered(g *Game) State {
	return d.position(g, func(s *State) {
		s.board.set(0, BlackSoldier)
		d.spread(s, lowerRanks, "GMR")
	})
}

// duel has a few pieces that can chase and be chased.
func (d dice) duel(g *Game) State {
	return d.position(g, func(s *State) {
		d.spread(s, lowerRanks, "GrMn")
		d.spread(s, everywhere, "Kk"+"XX"[d.IntN(3):])
	})
}

// alone has one piece a side, close to each other in a corner.
func (d dice) alone(g *Game) State {
	return d.position(g, func(s *State) { d.spread(s, 0x333, "Gr") })
}

// doomed is a position in which red can only chase: everything else loses its
// last piece. It is turned and mirrored.
func (d dice) doomed(g *Game) State {
	mirror := rules.Square(d.IntN(2)*3 + d.IntN(2)*28)
	return d.position(g, func(s *State) {
		for square, p := range map[string]rules.Piece{"a2": BlackChariot, "a3": BlackGeneral, "b3": BlackAdvisor, "c2": BlackAdvisor, "b1": RedAdvisor} {
			at, _ := ParseSquare(square)
			s.board.set(at^mirror, p)
		}
	})
}

// dim is half face down.
func (d dice) dim(g *Game) State {
	return d.position(g, func(s *State) {
		d.spread(s, everywhere, "KRRNCCPkrrnccpXXXXXXXX")
	})
}

// lastSoldier has a red soldier near the black general.
func (d dice) lastSoldier(g *Game) State {
	return d.position(g, func(s *State) { d.spread(s, lowerRanks, "PPkn"[d.IntN(2):]) })
}
