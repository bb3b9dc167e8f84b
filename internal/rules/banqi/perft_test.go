package banqi

import "referee.example/internal/rules"

// maxPerft is the greatest depth of a perft.
const maxPerft = 8

// perft counts sequences of actions by the convention of the published counts:
// pure generation, no endings, flips show the deal, a side without pieces may
// still flip, the first flip assigns colours. The last ply is counted in bulk.
func (g *Game) perft(b *board, side Colour, depth int, deal *[squares]rules.Piece) int64 {
	p := perfter{game: g, deal: deal}
	p.boards[depth] = *b
	return p.count(side, depth)
}

// perfter holds the boards of the line being counted, by plies left.
type perfter struct {
	game   *Game
	deal   *[squares]rules.Piece
	boards [maxPerft + 1]board
}

func (p *perfter) count(side Colour, depth int) int64 {
	b := &p.boards[depth]
	if depth == 1 {
		return int64(p.game.count(b, side))
	}
	var room [MaxActions]rules.Action
	nodes := int64(0)
	for _, a := range p.game.list(b, side, room[:0]) {
		next, opponent := &p.boards[depth-1], 1-side
		*next = *b
		if a.Kind == rules.ActionFlip {
			shown := p.deal[a.From&31]
			next.set(a.From, shown)
			if side == NoColour {
				opponent = 1 - colourOf(shown)
			}
		} else {
			next.move(a.From, a.To)
		}
		nodes += p.count(opponent, depth-1)
	}
	return nodes
}
