package junqi

import "referee.example/internal/rules"

// Verdict is what everybody is told of an encounter. The numbers are stored and
// are those of the contract: never renumber.
type Verdict uint8

// The verdicts.
const (
	NoContact   Verdict = iota // nobody was attacked
	AttackerWon                // the attacker stands where the defender stood
	DefenderWon                // the attacker is gone
	BothGone
	NeitherGone // both stay where they were
)

// String returns the verdict's name, such as "attacker_won".
func (v Verdict) String() string {
	return [...]string{"none", "attacker_won", "defender_won", "both_gone", "neither_gone"}[min(v, NeitherGone)]
}

// encounter is the result of an attack: what everybody is told, whether the
// defender was a flag that is lost by it, and, where the target's rank is shown,
// the rule that refuses the attack instead.
type encounter struct {
	verdict Verdict
	flag    bool
	refused rules.Rule
}

// encounter judges an attack by the pieces' ranks.
func (g *Game) encounter(s *State, ids *Identities, from, to rules.Square) encounter {
	attacker, defender := s.identity(ids, from), s.identity(ids, to)
	a, d := RankOf(attacker), RankOf(defender)
	e := g.meets[a][d]
	switch d {
	case Flag:
		if rule := g.flagProtected(s, ids, attacker, SideOf(defender)); rule != "" {
			return encounter{verdict: DefenderWon, refused: rule}
		}
	case Mine:
		if g.rules.LowestClearsMines && a.ranked() && a != Engineer && g.isLowest(s, ids, attacker) {
			return encounter{verdict: BothGone}
		}
	}
	return e
}

// flagProtected returns the rule by which a flag withstands an attacker that
// would take it otherwise.
func (g *Game) flagProtected(s *State, ids *Identities, attacker rules.Piece, owner Side) rules.Rule {
	rank := RankOf(attacker)
	switch {
	case g.rules.FlagAfterMines && g.left(s, ids, owner, Mine) > 0:
		return RuleFlagMines
	case rank == Bomb:
		return "" // BombVsFlag decides
	case g.rules.FlagTaker == "engineer" && rank != Engineer:
		return RuleFlagTaker
	case g.rules.FlagTaker == "lowest" && !g.isLowest(s, ids, attacker):
		return RuleFlagTaker
	}
	return ""
}

// isLowest reports whether no ranked piece of p's side that is left is lower.
func (g *Game) isLowest(s *State, ids *Identities, p rules.Piece) bool {
	for rank := Engineer; rank < RankOf(p); rank++ {
		if g.left(s, ids, SideOf(p), rank) > 0 {
			return false
		}
	}
	return true
}

// left returns how many pieces of a rank a side has left. In the flip form those
// that may be face down count; in a game played from the start that is exact.
func (g *Game) left(s *State, ids *Identities, side Side, rank Rank) int {
	n := 0
	for stop := range s.own[side&3].all {
		if s.rank(ids, stop) == rank {
			n++
		}
	}
	if g.flip {
		n += min(s.down.len(), int(deckCount[rank])-n-int(s.captured[side&1][rank]))
	}
	return n
}

// flagStop returns where a side's flag stands, NoSquare if it is not on the board.
func (g *Game) flagStop(s *State, ids *Identities, side Side) rules.Square {
	for stop := range s.own[side&3].all {
		if s.rank(ids, stop) == Flag {
			return stop
		}
	}
	return rules.NoSquare
}
