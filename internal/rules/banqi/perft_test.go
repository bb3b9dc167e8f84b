package banqi

import "referee.example/internal/rules"

// perft counts sequences of actions by the convention of the published counts:
// pure generation, no endings, flips show the deal, a side without pieces may
// still flip, the first flip assigns colours. The last ply is counted in bulk.
func (g *Game) perft(b *board, side Colour, depth int, deal *[squares]rules.Piece) int64 {
	if depth == 1 {
		return int64(g.count(b, side))
	}
	var room [MaxActions]rules.Action
	nodes := int64(0)
	for _, a := range g.list(b, side, room[:0]) {
		next, opponent := *b, 1-side
		if a.Kind == rules.ActionFlip {
			next.set(a.From, deal[a.From&31])
			if side == NoColour {
				opponent = 1 - colourOf(deal[a.From&31])
			}
		} else {
			next.move(a.From, a.To)
		}
		nodes += g.perft(&next, opponent, depth-1, deal)
	}
	return nodes
}
