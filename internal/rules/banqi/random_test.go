package banqi

import (
	"math/rand/v2"

	"referee.example/internal/rules"
)

// dice plays random games, the same ones for the same seed.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0))} }

// deal returns a random arrangement of the deck.
func (d dice) deal() [squares]rules.Piece {
	deal := Deck()
	d.Shuffle(squares, func(i, j int) { deal[i], deal[j] = deal[j], deal[i] })
	return deal
}

// turnedBy returns the identity that an action turns under a deal, or NoPiece.
func turnedBy(g *Game, s *State, a rules.Action, deal *[squares]rules.Piece) rules.Piece {
	switch {
	case !g.TurnsFace(s, a):
		return rules.NoPiece
	case a.Kind == rules.ActionFlip:
		return deal[a.From]
	}
	return deal[a.To]
}

// playOut plays random legal actions until the game ends.
func (d dice) playOut(g *Game, s *State, deal [squares]rules.Piece) {
	var room [MaxActions]rules.Action
	for !s.outcome.Over() && !s.awaiting {
		actions := g.List(s, room[:0])
		a := actions[d.IntN(len(actions))]
		if _, err := g.Apply(s, a, turnedBy(g, s, a, &deal)); err != nil {
			panic(g.Text(s) + ": " + err.Error())
		}
	}
}
