package junqi

import "referee.example/internal/rules"

// The rules that refuse. Each refusal names the stops that its sentence in
// Describe speaks of, in the same order, with what they show to everybody.
const (
	RuleGameOver      rules.Rule = "game_over"
	RuleTurn          rules.Rule = "not_your_turn"
	RuleAction        rules.Rule = "unknown_action"
	RuleNothingToFlip rules.Rule = "nothing_to_flip"
	RuleFaceUp        rules.Rule = "already_face_up"
	RuleNoPiece       rules.Rule = "no_piece"
	RuleMoverFaceDown rules.Rule = "face_down_mover"
	RuleUnsettled     rules.Rule = "colours_unsettled"
	RuleNotYours      rules.Rule = "not_your_piece"
	RuleImmobile      rules.Rule = "immobile"
	RuleHQ            rules.Rule = "from_headquarters"
	RuleOwnTarget     rules.Rule = "own_target"
	RuleAllyTarget    rules.Rule = "ally_target"
	RuleNoPath        rules.Rule = "no_path"
	RuleBlocked       rules.Rule = "line_blocked"
	RuleFaceDown      rules.Rule = "face_down_target"
	RuleCamp          rules.Rule = "camp_occupied"
	RuleHQOccupied    rules.Rule = "headquarters_occupied"
	RuleWeaker        rules.Rule = "weaker_attacker"
	RuleMine          rules.Rule = "mine_target"
	RuleBombFlag      rules.Rule = "bomb_on_flag"
	RuleFlagMines     rules.Rule = "flag_protected_by_mines"
	RuleFlagTaker     rules.Rule = "flag_taker"
	RuleResign        rules.Rule = "resign_too_early"
	RuleOut           rules.Rule = "seat_out"
)

// noSquares are those of a refusal that is about none.
var noSquares = [2]rules.Square{rules.NoSquare, rules.NoSquare}

// illegal returns a refusal about up to two stops and what they show.
func (s *State) illegal(rule rules.Rule, at ...rules.Square) rules.Illegal {
	i := rules.Illegal{Rule: rule, Squares: noSquares}
	for n, stop := range at {
		i.Squares[n], i.Pieces[n] = stop, s.At(stop)
	}
	return i
}

// Check returns why seat may not do a now, or the zero Illegal. In the dark forms
// it needs the identities of the seat's own pieces and reads no other, unless they
// are public. It changes nothing and allocates nothing.
func (g *Game) Check(s *State, ids *Identities, seat rules.Seat, a rules.Action) rules.Illegal {
	switch {
	case s.outcome.Over():
		return s.illegal(RuleGameOver)
	case seat != s.turn:
		return s.illegal(RuleTurn)
	}
	switch a.Kind {
	case rules.ActionFlip:
		return g.checkFlip(s, a)
	case rules.ActionMove:
		return g.checkMove(s, ids, seat, a)
	}
	return s.illegal(RuleAction)
}

func (g *Game) checkFlip(s *State, a rules.Action) rules.Illegal {
	switch {
	case !g.flip || int(a.From) >= g.board.stops || a.To != rules.NoSquare:
		return s.illegal(RuleAction)
	case s.at[a.From] == FaceDown:
		return rules.Illegal{}
	case s.at[a.From] == rules.NoPiece:
		return s.illegal(RuleNothingToFlip, a.From)
	}
	return s.illegal(RuleFaceUp, a.From)
}

func (g *Game) checkMove(s *State, ids *Identities, seat rules.Seat, a rules.Action) rules.Illegal {
	if i := g.checkMover(s, seat, a); !i.OK() {
		return i
	}
	return g.checkMoveAs(s, ids, seat, a, s.rank(ids, a.From))
}

// checkMoveAs judges the move of an own piece that has a rank.
func (g *Game) checkMoveAs(s *State, ids *Identities, seat rules.Seat, a rules.Action, rank Rank) rules.Illegal {
	switch {
	case !rank.mobile():
		return s.illegal(RuleImmobile, a.From)
	case g.locked(s, a.From):
		return s.illegal(RuleHQ, a.From)
	}
	var w walk
	g.startWalk(s, g.Side(s, seat), &w)
	if goals := g.goals(s, &w, a.From, rank); !goals.has(a.To) {
		return g.explain(s, &w, a, rank)
	}
	if g.shown && s.at[a.To] != rules.NoPiece {
		if e := g.encounter(s, ids, a.From, a.To); e.refused != "" {
			return s.illegal(e.refused, a.From, a.To)
		}
	}
	return rules.Illegal{}
}

// checkMover judges what is public about who moves what.
func (g *Game) checkMover(s *State, seat rules.Seat, a rules.Action) rules.Illegal {
	if int(a.From) >= g.board.stops || int(a.To) >= g.board.stops {
		return s.illegal(RuleAction)
	}
	switch p := s.at[a.From]; {
	case p == rules.NoPiece:
		return s.illegal(RuleNoPiece, a.From)
	case p == FaceDown:
		return s.illegal(RuleMoverFaceDown, a.From)
	case g.Side(s, seat) == NoSide:
		return s.illegal(RuleUnsettled, a.From)
	case SideOf(p) != g.Side(s, seat):
		return s.illegal(RuleNotYours, a.From)
	}
	return rules.Illegal{}
}

// explain names the rule that keeps an own mobile piece from a stop that the
// generator says it does not reach.
func (g *Game) explain(s *State, w *walk, a rules.Action, rank Rank) rules.Illegal {
	unbarred := *w
	unbarred.barred = set{}
	if reached := g.goals(s, &unbarred, a.From, rank); !reached.has(a.To) {
		way := &g.board.line[a.From]
		if rank == Engineer {
			way = &g.board.net[a.From]
		}
		if way.has(a.To) && a.From != a.To {
			return s.illegal(RuleBlocked, a.From, a.To)
		}
		return s.illegal(RuleNoPath, a.From, a.To)
	}
	mover, target := SideOf(s.at[a.From]), s.at[a.To]
	friends := g.allies(s, mover)
	switch {
	case SideOf(target) == mover:
		return s.illegal(RuleOwnTarget, a.From, a.To)
	case friends.has(a.To):
		return s.illegal(RuleAllyTarget, a.From, a.To)
	case target == FaceDown:
		return s.illegal(RuleFaceDown, a.From, a.To)
	case g.board.camps.has(a.To):
		return s.illegal(RuleCamp, a.From, a.To)
	}
	return s.illegal(RuleHQOccupied, a.From, a.To)
}

// CheckResign returns why seat may not resign now, or the zero Illegal.
func (g *Game) CheckResign(s *State, seat rules.Seat) rules.Illegal {
	switch {
	case s.outcome.Over():
		return s.illegal(RuleGameOver)
	case !g.in(s).Has(seat):
		return s.illegal(RuleOut)
	case s.Ply()+1 < g.rules.ResignFromPly:
		i := s.illegal(RuleResign)
		i.Count = g.rules.ResignFromPly
		return i
	}
	return rules.Illegal{}
}

// IllegalLoses reports whether the refusal i of an action of the seat to move
// costs it the game (the contest rule): PutOut with rules.EndIllegalAction is then
// what follows. An action that is none, or comes out of turn, costs nothing.
func (g *Game) IllegalLoses(i rules.Illegal) bool {
	switch i.Rule {
	case "", RuleGameOver, RuleTurn, RuleAction:
		return false
	}
	return g.rules.IllegalMoves == "lose"
}

// TurnsFace reports whether the legal action a turns a face-down piece, so that
// Judge needs its identity.
func (g *Game) TurnsFace(_ *State, a rules.Action) bool { return a.Kind == rules.ActionFlip }
