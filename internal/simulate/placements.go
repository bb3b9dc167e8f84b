package simulate

import (
	"math/rand/v2"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	refereev1 "referee.example/proto/referee/v1"
)

// An army's pieces and its camps, which are left empty, by the rules of army chess: a
// placement is six rows of five, front to back.
const (
	ranked   = "9877665544333222111"
	rowWidth = 5
	stops    = 30
)

// camps stay empty; the flag stands in one of the headquarters.
var camps, headquarters = []int{6, 8, 12, 16, 18}, []int{26, 28}

// randomPlacement places an army as the rules allow.
func randomPlacement(dice *rand.Rand) string {
	at := []byte(strings.Repeat("-", stops))
	for _, camp := range camps {
		at[camp] = '.'
	}
	put := func(piece byte, from int) {
		var free []int
		for i := from; i < stops; i++ {
			if at[i] == '-' {
				free = append(free, i)
			}
		}
		at[free[dice.IntN(len(free))]] = piece
	}
	at[headquarters[dice.IntN(2)]] = 'F'
	for range 3 {
		put('M', 4*rowWidth)
	}
	for range 2 {
		put('B', rowWidth)
	}
	for _, rank := range []byte(ranked) {
		put(rank, 0)
	}
	return rows(at)
}

// rows joins the rows of a placement.
func rows(at []byte) string {
	var texts []string
	for row := range slices.Chunk(at, rowWidth) {
		texts = append(texts, string(row))
	}
	return strings.Join(texts, "/")
}

// spoiled is a placement that the rules refuse, or no placement at all.
func spoiled(placement string, dice *rand.Rand) string {
	switch dice.IntN(5) {
	case 0:
		return placement[1:]
	case 1:
		return strings.ReplaceAll(placement, "9", "0")
	case 2:
		return strings.Replace(placement, "3", "4", 1)
	case 3:
		return strings.Replace(placement, ".", "3", 1)
	}
	at := []byte(strings.ReplaceAll(placement, "/", ""))
	flag, front := slices.Index(at, 'F'), dice.IntN(rowWidth)
	at[flag], at[front] = at[front], 'F'
	return rows(at)
}

// placing is what seats do until all have placed their pieces: they place them, some
// anew, some at once with another, and now and then as is not allowed, or they do what
// is not yet to be done.
func (t *table) placing() []proto.Message {
	g, h, dice := t.game, t.habits, t.dice
	switch {
	case now(dice, h.Early):
		return one(t.early())
	case now(dice, h.Void):
		return one(t.void())
	}
	seat := t.anySeat()
	for placed := g.GetPlacements(); !now(dice, h.Again) && int(seat) < len(placed) && placed[seat].GetAttempt() > 0; {
		seat = t.anySeat()
	}
	first := t.placement(seat)
	if now(dice, h.Spoil) {
		first.Placement = spoiled(first.GetPlacement(), dice)
	}
	if now(dice, h.Again) {
		return []proto.Message{first, t.placement(t.anySeat())}
	}
	return one(first)
}

// placement is a request to place a seat's pieces, whether or not it is time to.
func (t *table) placement(seat uint32) *refereev1.SubmitPlacementRequest {
	return &refereev1.SubmitPlacementRequest{
		MatchId: t.game.GetMatchId(), Game: t.game.GetGame(), RequestId: newID(t.dice), ExpectedSeq: t.game.GetNextSeq(),
		Seat: &seat, Placement: randomPlacement(t.dice),
	}
}

// early is a request that has to wait until play has begun.
func (t *table) early() proto.Message {
	g, seat := t.game, t.anySeat()
	switch t.dice.IntN(3) {
	case 0:
		return t.resignation(seat)
	case 1:
		return &refereev1.ReportDisconnectRequest{
			MatchId: g.GetMatchId(), Game: g.GetGame(), RequestId: newID(t.dice), ExpectedSeq: g.GetNextSeq(), Seats: []uint32{seat},
		}
	}
	from := squares(t.rules)
	return &refereev1.PlayActionRequest{
		MatchId: g.GetMatchId(), Game: g.GetGame(), RequestId: newID(t.dice), ExpectedPly: g.GetNextPly(), Seat: &seat,
		Action: &refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_MOVE, From: from[0], To: from[1]},
	}
}
