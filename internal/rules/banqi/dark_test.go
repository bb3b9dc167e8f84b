package banqi

import (
	"fmt"
	"testing"

	"referee.example/internal/rules"
)

// darkAttack is a way of taking that may hit a face-down piece, as a position in
// which the piece on a1 can: once with and once without something to go on with.
type darkAttack struct {
	manner        Manner
	onward, alone string // positions
	to            string // the face-down piece attacked
	strong        rules.Piece
}

var darkAttacks = []darkAttack{
	{MannerCapture, "---g/----/----/----/----/----/-X--/RX-P", "---g/----/----/----/----/----/----/RX-P", "b1", BlackGeneral},
	{MannerJump, "---g/----/----/----/----/XXXX/P---/C--P", "---g/----/----/----/----/X---/P---/C--P", "a3", BlackGeneral},
	{MannerRush, "---g/----/----/----/X--X/----/----/R--P", "---g/----/----/----/X---/----/----/R--P", "a4", BlackGeneral},
	// The diagonal takes every rank: nothing is too strong.
	{MannerDiagonal, "---g/----/----/----/----/--X-/-X--/N--P", "---g/----/----/----/----/----/-X--/N--P", "b2", rules.NoPiece},
}

// TestDarkAttacks attacks face-down pieces in every manner, with and without
// chains, as the first step and in mid-chain, for both fates of the attacker: a
// piece it may take, one too strong for it, an own one.
func TestDarkAttacks(t *testing.T) {
	r := allRules(t)["standard"]
	r.CannonTargets, r.ChariotRush, r.RushDark, r.Horse, r.DarkCapture = "GMRNCP", "matrix", true, "diagonal_captures", true
	r.Idle = Idle{Limit: 50}
	for _, r.FailedAttacker = range []string{"stays", "lost"} {
		for _, r.Chain = range []bool{false, true} {
			g, err := Compile(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, attack := range darkAttacks {
				for _, onward := range []bool{false, true} {
					attack.judge(t, g, onward, false)
					if r.Chain {
						attack.judge(t, g, onward, true)
					}
				}
			}
		}
	}
}

func (d darkAttack) judge(t *testing.T, g *Game, onward, midChain bool) {
	to, err := ParseSquare(d.to)
	if err != nil {
		t.Fatal(err)
	}
	board := d.alone
	if onward {
		board = d.onward
	}
	for seat := range rules.Seat(2) {
		text := fmt.Sprintf("%s red seat=%d ply=9 turns=5,5", board, seat)
		if midChain {
			text += " captured=p chain=a1"
		} else {
			text += " idle=7"
		}
		for _, turned := range []rules.Piece{BlackSoldier, d.strong, RedElephant} {
			if turned == rules.NoPiece {
				continue
			}
			s := position(t, g, text)
			before := s
			e, err := g.Apply(&s, rules.Move(0, to), turned)
			if err != nil {
				t.Fatalf("%s, %s turns %c: %v", text, d.to, letters[turned], err)
			}
			if wrong := d.wrong(g, &before, &s, e, turned, onward); wrong != "" {
				t.Errorf("chain %v, attacker lost %v: %s, %s turns %c: %s\n%+v\n%s",
					g.chain, g.attackerLost, text, d.to, letters[turned], wrong, e, g.Text(&s))
			}
		}
	}
}

// wrong says what is not as the rules have it, or nothing.
func (d darkAttack) wrong(g *Game, before, s *State, e Effect, turned rules.Piece, onward bool) string {
	to, _ := ParseSquare(d.to)
	attacker, seat := before.At(0), before.Turn()
	takes := colourOf(turned) == Black && turned != d.strong
	lost := turned == d.strong && g.attackerLost
	goesOn := takes && g.chain && onward

	captured, by := rules.NoPiece, rules.NoSeat
	left, stands := attacker, turned // what a1 and the target show afterwards
	switch {
	case takes:
		captured, by, left, stands = turned, seat, rules.NoPiece, attacker
	case lost:
		captured, by, left = attacker, 1-seat, rules.NoPiece
	}
	taken := [2]int{before.Captures(0), before.Captures(1)}
	if by != rules.NoSeat {
		taken[by]++
	}
	switch {
	case e.Manner != d.manner || e.Seat != seat || e.Mover != attacker || e.Turned != turned:
		return "not that attack"
	case e.Failed == takes:
		return "failed or not"
	case e.Captured != captured || e.CapturedBy != by || [2]int{s.Captures(0), s.Captures(1)} != taken:
		return "another capture"
	case s.At(0) != left || s.At(to) != stands:
		return "the pieces stand elsewhere"
	case e.TurnEnded == goesOn || (s.Turn() == seat) != goesOn || (s.Chain() == to) != goesOn:
		return "the turn ends or not"
	case s.Idle() != 0 || s.Ply() != before.Ply()+1 || e.Outcome.Over():
		return "not counted as a flip or a capture"
	case s.FaceDownCount() != before.FaceDownCount()-1:
		return "more is turned than the target"
	}
	return ""
}
