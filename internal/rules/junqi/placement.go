package junqi

import (
	"errors"

	"referee.example/internal/rules"
)

const (
	placementRows    = 6
	placementColumns = 5
	placementStops   = placementRows * placementColumns
	placementText    = placementStops + placementRows - 1 // bytes
)

// Placement is how a side places its pieces: six rows from the front to the back,
// each from the owner's left, NoRank where nothing stands.
type Placement [placementStops]Rank

// The rules of a placement, in the order in which they are looked at.
const (
	RuleCampFilled rules.Rule = "camp_not_empty"
	RuleCounts     rules.Rule = "wrong_counts"
	RuleFlagPlace  rules.Rule = "flag_not_in_headquarters"
	RuleMinePlace  rules.Rule = "mine_outside_back_two_rows"
	RuleBombPlace  rules.Rule = "bomb_in_front_row"
)

// ErrPlacement is what ParsePlacement answers for text of another form.
var ErrPlacement = errors.New("not a placement: six rows of five letters of 123456789BMF or a dot, front to back, joined by slashes")

// String writes a placement as six rows front to back, a dot for an empty stop,
// such as "98776/6.5.5/44.33/3.2.2/2MM11/MF1BB". This text is what a commitment
// binds: equal placements have no other.
func (p *Placement) String() string {
	text := make([]byte, 0, placementText)
	for i, rank := range p {
		if i > 0 && i%placementColumns == 0 {
			text = append(text, '/')
		}
		if rank == NoRank {
			text = append(text, '.')
		} else {
			text = append(text, rank.Letter())
		}
	}
	return string(text)
}

// ParsePlacement reads what String writes, whether or not the rules allow it. The
// error is ErrPlacement.
func ParsePlacement(text string) (Placement, error) {
	var p Placement
	if len(text) != placementText {
		return p, ErrPlacement
	}
	for i := range p {
		row := i / placementColumns
		if row > 0 && text[row*(placementColumns+1)-1] != '/' {
			return Placement{}, ErrPlacement
		}
		if letter := text[i+row]; letter != '.' {
			if p[i] = parseRank(letter); p[i] == NoRank {
				return Placement{}, ErrPlacement
			}
		}
	}
	return p, nil
}

// CheckPlacement returns the first rule that a seat's placement breaks, with the
// stop that breaks it where one does, or the zero Illegal.
func (g *Game) CheckPlacement(seat rules.Seat, p *Placement) rules.Illegal {
	if !g.Places() || seat < 0 || int(seat) >= g.Seats() {
		return rules.Illegal{Rule: RuleAction, Squares: noSquares}
	}
	home := &g.board.sides[seat].home
	find := func(rule rules.Rule, broken func(i int, rank Rank) bool) rules.Illegal {
		for i, rank := range p {
			if broken(i, rank) {
				return rules.Illegal{
					Rule: rule, Squares: [2]rules.Square{home[i], rules.NoSquare},
					Pieces: [2]rules.Piece{PieceOf(Side(seat), rank), rules.NoPiece},
				}
			}
		}
		return rules.Illegal{}
	}
	var counts [ranks]uint8
	filled := find(RuleCampFilled, func(i int, rank Rank) bool {
		counts[rank&rankMask]++
		return rank != NoRank && g.board.camps.has(home[i])
	})
	counts[NoRank] = 0
	switch {
	case !filled.OK():
		return filled
	case counts != deckCount:
		return rules.Illegal{Rule: RuleCounts, Squares: noSquares}
	}
	for _, i := range []rules.Illegal{
		find(RuleFlagPlace, func(i int, rank Rank) bool { return rank == Flag && !g.board.hqs.has(home[i]) }),
		find(RuleMinePlace, func(i int, rank Rank) bool { return rank == Mine && i < (placementRows-2)*placementColumns }),
		find(RuleBombPlace, func(i int, rank Rank) bool { return rank == Bomb && i < placementColumns }),
	} {
		if !i.OK() {
			return i
		}
	}
	return rules.Illegal{}
}

// Identities returns what a game's placements, one a seat, make secret.
func (g *Game) Identities(placements []Placement) *Identities {
	ids := new(Identities)
	for side, placement := range placements[:min(len(placements), len(g.board.sides))] {
		for i, stop := range g.board.sides[side].home {
			if placement[i] != NoRank {
				ids[stop] = PieceOf(Side(side), placement[i])
			}
		}
	}
	return ids
}

// Placement returns a side's placement from a game's identities.
func (g *Game) Placement(ids *Identities, side Side) (p Placement) {
	for i, stop := range g.board.sides[side].home {
		p[i] = RankOf(ids[stop])
	}
	return p
}

// Dealt returns what the deal of a flip game makes secret: the pieces in the order
// of the stops, camps left out, as Deck was shuffled.
func (g *Game) Dealt(deal []rules.Piece) *Identities {
	ids := new(Identities)
	var stops set
	for side := range g.board.sides {
		stops = stops.or(g.board.sides[side].homes)
	}
	i := 0
	for stop := range stops.all {
		if i < len(deal) {
			ids[stop] = deal[i]
		}
		i++
	}
	return ids
}

// DealIndex returns the place in the deal of the piece that is dealt to a stop, as
// Dealt reads it; -1 for a camp and for what is no stop of the board.
func (g *Game) DealIndex(stop rules.Square) int {
	i := 0
	for s := range rules.Square(g.board.stops) {
		switch {
		case g.board.camps.has(s):
		case s == stop:
			return i
		default:
			i++
		}
	}
	return -1
}
