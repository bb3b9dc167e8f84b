package referee

import (
	"referee.example/internal/deal"
	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
)

// What a replica shows of a match whose seats have secrets of their own: it opens
// the seals, and the family tells what of it a viewer may see.

// ArmyChessGame returns the compiled board of army chess; nil for another family.
func (r *Rules) ArmyChessGame() *junqi.Game {
	if f, ok := r.family.(*armyChess); ok {
		return f.Game
	}
	return nil
}

// Places reports whether games begin with seats placing their pieces.
func (r *Rules) Places() bool { return r.family.places() }

// openHidden opens what the present game of a match hides.
func (r *Referee) openHidden(s *State) (hidden, error) {
	family := s.Rules.family
	if family.places() {
		placements, err := s.openPlacements(r.keys)
		if err != nil {
			return hidden{}, err
		}
		return family.reveal(nil, placements)
	}
	seed := deal.Seed(s.Game.ServerSeed)
	if s.Game.Status != GameEnded {
		var err error
		if seed, err = OpenSeed(r.keys, s.Context(), s.Game.Sealed); err != nil {
			return hidden{}, err
		}
	}
	return family.reveal(r.deal(s.material(seed), family.deck()), nil)
}

// ArmyChess returns the board of a game of army chess as a viewer may see it,
// NoSeat for a spectator: everybody sees all of it once the game has ended. ok is
// false for another family, and for a game in which play has not begun.
func (r *Referee) ArmyChess(s *State, viewer rules.Seat) (view junqi.View, ok bool, err error) {
	game, position := s.Rules.ArmyChessGame(), s.Game.Position.army
	if game == nil || position == nil {
		return view, false, nil
	}
	ended := s.Game.Status == GameEnded
	if !ended && !s.Rules.family.conceals() {
		return game.View(position, nil, viewer), true, nil
	}
	opened, err := r.openHidden(s)
	if err != nil {
		return view, false, err
	}
	if ended {
		return game.ViewEnded(position, opened.ids, s.Game.Outcome), true, nil
	}
	return game.View(position, opened.ids, viewer), true, nil
}

// Placement returns the text of the placement of a seat that stands in the present
// game; empty if there is none. Until the game has ended it is for that seat alone
// to see, for its partner as far as the ruleset shows partners each other's
// pieces, and for everybody in open play once that has begun.
func (r *Referee) Placement(s *State, seat rules.Seat) (string, error) {
	if !s.Rules.family.places() || seat < 0 || int(seat) >= len(s.Players) {
		return "", nil
	}
	placements, err := s.openPlacements(r.keys)
	if err != nil {
		return "", err
	}
	return placements[seat], nil
}

// LegalActions lists what the seat to move may do, for that seat to see; none
// outside play. Unlike State.LegalActions it serves boards whose seats have secrets.
func (r *Referee) LegalActions(s *State) ([]rules.Action, error) {
	if s.Game.Status != GamePlaying || !s.Rules.family.conceals() {
		return s.LegalActions(), nil
	}
	opened, err := r.openHidden(s)
	if err != nil {
		return nil, err
	}
	return s.Rules.family.list(&s.Game.Position, opened), nil
}

// CheckPlacement returns the first rule that a placement of a seat breaks, in words
// and with its parts, or nil.
func (r *Rules) CheckPlacement(seat rules.Seat, text string) *Refusal {
	s := &State{Rules: r, Game: Game{Number: 1, Status: GamePlacing}}
	return (&SubmitPlacement{Header: Header{Seat: seat}, Placement: text}).refused(s)
}
