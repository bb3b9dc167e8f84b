package referee

import (
	"errors"

	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
)

// ArmyJudgement is the verdict on a change of a game of army chess outside any match.
type ArmyJudgement struct {
	Illegal     rules.Illegal
	Description string // of the refusal
	// Lost reports that the illegal action has cost its seat the game; what follows
	// is then what that did.
	Lost      bool
	What      string // "flip", "move" or "attack"; empty for what is no action
	Effect    junqi.Effect
	Notation  string
	Next      string   // the state after it, as text, with the ranks that were known
	NextWords []string // who is to move and what is legal, or how the game ended
	NextSeat  rules.Seat
	Sides     []junqi.Side // by seat
}

// JudgeArmyChess judges a change in a position given as text, with the ranks that
// the caller knows; seat is who acts, NoSeat for whoever is to move. A state, a
// turned piece or a change that can't be, and a rank that decides and is missing,
// are InvalidField refusals.
func JudgeArmyChess(g *junqi.Game, text string, seat rules.Seat, c junqi.Change, turned rules.Piece) (ArmyJudgement, error) {
	s, ids, err := g.ParsePosition(text)
	if err != nil {
		return ArmyJudgement{}, InvalidField("state", "%s", err)
	}
	if err := tellTurned(ids, c, turned); err != nil {
		return ArmyJudgement{}, err
	}
	j := ArmyJudgement{Notation: g.FormatChange(c, turnedBy(ids, c)), What: whatOf(&s, c)}
	if c.Kind == junqi.ChangePly && seat != rules.NoSeat && seat != s.Turn() {
		if int(seat) >= g.Seats() {
			return ArmyJudgement{}, InvalidField("seat", "must be from 0 to %d", g.Seats()-1)
		}
		j.Illegal = g.Check(&s, ids, seat, c.Action)
	} else if err := j.play(g, &s, ids, c); err != nil {
		return ArmyJudgement{}, err
	}
	if !j.Illegal.OK() {
		j.Description = g.Describe(j.Illegal)
	}
	if j.Illegal.OK() || j.Lost {
		j.Next, j.NextWords, j.NextSeat = g.FullText(&s, ids), g.Words(&s, ids), s.Turn()
		for seat := range rules.Seat(g.Seats()) {
			j.Sides = append(j.Sides, g.Side(&s, seat))
		}
	}
	return j, nil
}

// play makes the change, or what follows from its refusal.
func (j *ArmyJudgement) play(g *junqi.Game, s *junqi.State, ids *junqi.Identities, c junqi.Change) (err error) {
	var illegal *junqi.IllegalError
	j.Effect, err = g.Play(s, ids, c)
	switch {
	case errors.As(err, &illegal):
		j.Illegal = illegal.Illegal
		if c.Kind == junqi.ChangePly && g.IllegalLoses(j.Illegal) {
			j.Lost = true
			j.Effect, err = g.Play(s, ids, junqi.PutOut(s.Turn(), rules.EndIllegalAction))
			return err
		}
		return nil
	case errors.Is(err, junqi.ErrIdentityMissing) && c.Action.Kind == rules.ActionFlip && turnedBy(ids, c) == rules.NoPiece:
		return InvalidField("turned", "is required: the state does not tell what lies there")
	case errors.Is(err, junqi.ErrIdentityMissing):
		return InvalidField("state", "lacks the rank of a piece that decides")
	case errors.Is(err, junqi.ErrIdentityImpossible):
		return InvalidField("turned", "%s", err)
	case errors.Is(err, junqi.ErrChange):
		return InvalidField("change", "%s", err)
	}
	return err
}

// tellTurned adds what a flip turns to what is known.
func tellTurned(ids *junqi.Identities, c junqi.Change, turned rules.Piece) error {
	switch known := turnedBy(ids, c); {
	case turned == rules.NoPiece, turned == known:
	case c.Kind != junqi.ChangePly || c.Action.Kind != rules.ActionFlip:
		return InvalidField("turned", "must be empty: nothing is turned")
	case known != rules.NoPiece:
		return InvalidField("turned", "is not what the state tells")
	default:
		ids[c.Action.From] = turned
	}
	return nil
}

// turnedBy returns what a flip turns, NoPiece where that is not known or nothing
// is turned.
func turnedBy(ids *junqi.Identities, c junqi.Change) rules.Piece {
	if c.Kind != junqi.ChangePly || c.Action.Kind != rules.ActionFlip || int(c.Action.From) >= len(ids) {
		return rules.NoPiece
	}
	return ids[c.Action.From]
}

// whatOf names what an action would be in a position, by what everybody sees.
func whatOf(s *junqi.State, c junqi.Change) string {
	switch {
	case c.Kind != junqi.ChangePly:
		return ""
	case c.Action.Kind == rules.ActionFlip:
		return "flip"
	case s.At(c.Action.To) != rules.NoPiece:
		return "attack"
	}
	return "move"
}

// JudgePlacement returns the first rule that a seat's placement breaks and its
// words, or the zero Illegal. Text that is no placement and a seat that the game
// has not are InvalidField refusals; so is a game that nobody places.
func JudgePlacement(r *Rules, seat rules.Seat, text string) (rules.Illegal, string, error) {
	g := r.ArmyChessGame()
	if g == nil || !g.Places() {
		return rules.Illegal{}, "", refuse(ReasonNoPlacementPhase, "these games deal their pieces: there is nothing to place")
	}
	if seat < 0 || int(seat) >= g.Seats() {
		return rules.Illegal{}, "", InvalidField("seat", "must be from 0 to %d", g.Seats()-1)
	}
	placement, err := junqi.ParsePlacement(text)
	if err != nil {
		return rules.Illegal{}, "", InvalidField("placement", "%s", err)
	}
	illegal := g.CheckPlacement(seat, &placement)
	return illegal, g.Describe(illegal), nil
}
