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

// Conceals reports whether seats have secrets of their own while they play, so that
// what a seat may do tells something of them.
func (r *Rules) Conceals() bool { return r.family.conceals() }

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

// ArmyChessView is a game of army chess as a viewer may see it.
type ArmyChessView struct {
	junqi.View
	State string // the whole state as text, with the ranks that the viewer knows
}

// ArmyChess returns the board of a game of army chess as a viewer may see it,
// NoSeat for a spectator: everybody sees all of it once the game has ended. ok is
// false for another family, and for a game in which play has not begun.
func (r *Referee) ArmyChess(s *State, viewer rules.Seat) (view ArmyChessView, ok bool, err error) {
	game, position := s.Rules.ArmyChessGame(), s.Game.Position.army
	if game == nil || position == nil {
		return view, false, nil
	}
	ended := s.Game.Status == GameEnded
	opened := hidden{}
	if ended || s.Rules.family.conceals() {
		if opened, err = r.openHidden(s); err != nil {
			return view, false, err
		}
	}
	view.State = game.FullText(position, game.Known(position, opened.ids, viewer))
	if ended {
		view.State = game.FullText(position, opened.ids)
		position = position.Ended(s.Game.Outcome)
	}
	view.View = game.View(position, opened.ids, viewer)
	return view, true, nil
}

// Met returns the pieces that met in the attacks of an ended game of army chess,
// attacker first, by the number of their event. The events are the game's from the
// first on; s is the match after the game's end.
func (r *Referee) Met(s *State, events []Event) (map[int][2]rules.Piece, error) {
	family, ok := s.Rules.family.(*armyChess)
	if !ok || s.Game.Status != GameEnded || s.Game.Started == 0 {
		return nil, nil
	}
	opened, err := r.openHidden(s)
	if err != nil {
		return nil, err
	}
	met := map[int][2]rules.Piece{}
	position := family.start(s.Game.First, opened)
	for i := range events {
		e := &events[i]
		if !onBoard(e.Kind) {
			continue
		}
		attacker, defender := family.Met(position.army, opened.ids, e.Action)
		if attacker != rules.NoPiece {
			met[e.Seq] = [2]rules.Piece{attacker, defender}
		}
		if _, err := family.apply(&position, e.change(), e.Turned, e.Detail); err != nil {
			return nil, err
		}
	}
	return met, nil
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
