package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"referee.example/internal/simulate/check"
	refereev1 "referee.example/proto/referee/v1"
)

// What the tables know of army chess, beside what any board has.

// seatsOf is how many seats a game of a ruleset has.
func seatsOf(r *refereev1.Ruleset) int {
	if r.GetArmyChess().GetForm() == "four_player" {
		return 4
	}
	return 2
}

// places reports whether a ruleset's games begin with seats placing their pieces, so
// that what they are is secret until the end.
func places(r *refereev1.Ruleset) bool {
	return r.GetArmyChess() != nil && r.GetArmyChess().GetForm() != "flip"
}

// squares are two of a ruleset's board, for requests that name any.
func squares(r *refereev1.Ruleset) [2]string {
	switch {
	case r.GetArmyChess() == nil:
		return [2]string{"a1", "b1"}
	case seatsOf(r) == 4:
		return [2]string{"S11", "S12"}
	}
	return [2]string{"G0", "G1"}
}

// anySeat is one of the table's, and another one another seat than a given one.
func (t *table) anySeat() uint32 { return uint32(t.dice.IntN(seatsOf(t.rules))) }

func (t *table) another(seat uint32) uint32 {
	n := uint32(seatsOf(t.rules))
	return (seat + 1 + t.dice.Uint32N(n-1)) % n
}

// someSeats are one or more of so many seats.
func someSeats(dice *rand.Rand, n int) (some []uint32) {
	drawn := 1 + dice.IntN(1<<n-1)
	for seat := range n {
		if drawn>>seat&1 == 1 {
			some = append(some, uint32(seat))
		}
	}
	return some
}

// viewer is whose view is asked for: in army chess any seat's, or a spectator's.
func (t *table) viewer() *uint32 {
	if t.rules.GetArmyChess() == nil {
		return nil
	}
	seat := uint32(t.dice.IntN(seatsOf(t.rules) + 1))
	if seat == uint32(seatsOf(t.rules)) {
		return nil
	}
	return &seat
}

// lister is whose actions are asked for: they tell the pieces of the seat to move,
// where these are secret.
func (t *table) lister() *uint32 {
	if !places(t.rules) {
		return nil
	}
	seat := t.game.GetToMove()
	return &seat
}

// illegal makes an action that was listed one that no rules allow: from its square to
// the same.
func illegal(a *refereev1.Action) *refereev1.Action {
	return &refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_MOVE, From: a.GetFrom(), To: a.GetFrom()}
}

// whole is the position with every rank, which the seats know between them. It is
// empty where the game has gone on meanwhile.
func (t *table) whole(ctx context.Context) (string, error) {
	state := ""
	for seat := range uint32(seatsOf(t.rules)) {
		game, err := t.lookAs(ctx, &seat)
		if err != nil {
			return "", err
		}
		if !t.listed(game) || game.GetArmyChess() == nil {
			return "", nil
		}
		if state = merged(state, game.GetArmyChess().GetState()); state == "" {
			return "", nil
		}
	}
	return state, nil
}

// merged puts the ranks that two seats know of one position together; empty where
// it is not one position.
func merged(a, b string) string {
	if a == "" {
		return b
	}
	board, rest, _ := strings.Cut(a, " ")
	other, same, _ := strings.Cut(b, " ")
	cells, others := strings.Split(board, ","), strings.Split(other, ",")
	if rest != same || len(cells) != len(others) {
		return ""
	}
	for i, cell := range cells {
		if secret(cell) {
			cells[i] = others[i]
		}
	}
	return strings.Join(cells, ",") + " " + rest
}

// secret reports whether a piece on a board's text has a rank that its reader does
// not know: F2=t? has, F2=t5? has not.
func secret(cell string) bool {
	_, piece, _ := strings.Cut(cell, "=")
	return len(piece) > 1 && piece[1] == '?'
}

// boardOf writes the pieces of a view as its board has them.
func boardOf(v *refereev1.ArmyChessView) string {
	var cells []string
	for _, p := range v.GetPieces() {
		cell := p.GetSquare() + "=" + p.GetPiece()
		if !p.GetShown() && !secret(cell) {
			cell += "?"
		}
		if origin := p.GetOrigin(); origin != p.GetSquare() {
			cell += origin
		}
		cells = append(cells, cell)
	}
	if len(cells) == 0 {
		return "-"
	}
	return strings.Join(cells, ",")
}

// armyTold is what an event tells of army chess, in the words in which the checker
// writes what is stored of it.
func armyTold(e *refereev1.Event) string {
	var words []string
	add := func(format string, arguments ...any) { words = append(words, fmt.Sprintf(format, arguments...)) }
	if p := e.GetPlacementSubmitted(); p != nil {
		add("attempt %d committed to by %x", p.GetAttempt(), p.GetCommitment())
	}
	if p := e.GetPlayBegan(); p != nil && len(p.GetPlacements()) > 0 {
		add("placed %s", strings.Join(p.GetPlacements(), " "))
	}
	for _, p := range e.GetGameEnded().GetPlacements() {
		add("attempt %d of seat %d is %s with %x", p.GetAttempt(), p.GetSeat(), p.GetPlacement(), p.GetSalt())
	}
	if o := e.GetSeatOut(); o != nil {
		add("out for %d", o.GetReason())
	}
	if d := e.GetDisclosure(); d != nil {
		add("verdict %d, shown %q, flag %t", d.GetVerdict(), d.GetShown(), d.GetFlag())
		for _, flag := range d.GetFlags() {
			add("flag of seat %d on %s", flag.GetSeat(), flag.GetSquare())
		}
		if stuck := d.GetStuckSeats(); len(stuck) > 0 {
			add("stuck %v", slices.Sorted(slices.Values(stuck)))
		}
	}
	return strings.Join(words, "; ")
}

// seatNamed is the seat that a request names.
func seatNamed(request proto.Message) int {
	m := request.ProtoReflect()
	field := m.Descriptor().Fields().ByName("seat")
	if field == nil || !m.Has(field) {
		return check.Spectator
	}
	return int(m.Get(field).Uint())
}
