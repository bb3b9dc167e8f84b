package banqi

import (
	"math/bits"

	"referee.example/internal/rules"
)

// The rules that refuse. Each refusal names the squares and pieces that its
// sentence in Describe speaks of, in the same order.
const (
	RuleGameOver      rules.Rule = "game_over"
	RuleAwaiting      rules.Rule = "awaiting_ruling"
	RuleTurn          rules.Rule = "not_your_turn"
	RuleAction        rules.Rule = "unknown_action"
	RuleNothingToFlip rules.Rule = "nothing_to_flip"
	RuleFaceUp        rules.Rule = "already_face_up"
	RuleNoPiece       rules.Rule = "no_piece"
	RuleMoverFaceDown rules.Rule = "face_down_mover"
	RuleNotYours      rules.Rule = "not_your_piece"
	RuleOwnTarget     rules.Rule = "own_target"
	RuleFaceDown      rules.Rule = "face_down_target"
	RuleRank          rules.Rule = "rank"
	RuleAdjacent      rules.Rule = "not_adjacent"
	RuleLine          rules.Rule = "not_in_line"
	RuleBlocked       rules.Rule = "line_blocked"
	RuleDiagonal      rules.Rule = "only_diagonal"
	RuleScreen        rules.Rule = "cannon_screen"
	RuleCannonNear    rules.Rule = "cannon_adjacent"
	RuleChainPiece    rules.Rule = "chain_piece"
	RuleChainCapture  rules.Rule = "chain_capture"
	RuleNoChain       rules.Rule = "no_chain"
	RulePause         rules.Rule = "chase_pause"
	RuleChase         rules.Rule = "perpetual_chase"
	RuleNoCount       rules.Rule = "no_count"
	RuleCountRunning  rules.Rule = "count_running"
	RuleCountHidden   rules.Rule = "count_face_down"
)

// illegal returns a refusal about up to two squares and what they show.
func (s *State) illegal(rule rules.Rule, at ...rules.Square) rules.Illegal {
	i := rules.Illegal{Rule: rule, Squares: [2]rules.Square{rules.NoSquare, rules.NoSquare}}
	for n, square := range at {
		if square < squares {
			i.Squares[n] = square
			i.Pieces[n] = s.board.at[square]
		}
	}
	return i
}

// Check returns why seat may not do a now, or the zero Illegal. It changes
// nothing and allocates nothing.
func (g *Game) Check(s *State, seat rules.Seat, a rules.Action) rules.Illegal {
	switch {
	case s.outcome.Over():
		return s.illegal(RuleGameOver)
	case s.awaiting:
		return s.illegal(RuleAwaiting)
	case seat != s.turn:
		return s.illegal(RuleTurn)
	}
	switch a.Kind {
	case rules.ActionFlip:
		return checkFlip(s, a)
	case rules.ActionMove:
		return g.checkMove(s, seat, a)
	case rules.ActionStop:
		return checkStop(s, a)
	}
	return s.illegal(RuleAction)
}

func checkFlip(s *State, a rules.Action) rules.Illegal {
	switch {
	case a.From >= squares || a.To != rules.NoSquare:
		return s.illegal(RuleAction)
	case s.chain != rules.NoSquare:
		return s.illegal(RuleChainPiece, s.chain)
	case s.board.at[a.From] == FaceDown:
		return rules.Illegal{}
	case s.board.at[a.From] == rules.NoPiece:
		return s.illegal(RuleNothingToFlip, a.From)
	}
	return s.illegal(RuleFaceUp, a.From)
}

func checkStop(s *State, a rules.Action) rules.Illegal {
	switch {
	case a != rules.Stop():
		return s.illegal(RuleAction)
	case s.chain == rules.NoSquare:
		return s.illegal(RuleNoChain)
	}
	return rules.Illegal{}
}

func (g *Game) checkMove(s *State, seat rules.Seat, a rules.Action) rules.Illegal {
	if a.From >= squares || a.To >= squares {
		return s.illegal(RuleAction)
	}
	p := s.board.at[a.From]
	switch {
	case s.chain != rules.NoSquare && a.From != s.chain:
		return s.illegal(RuleChainPiece, s.chain)
	case p == rules.NoPiece:
		return s.illegal(RuleNoPiece, a.From)
	case p == FaceDown:
		return s.illegal(RuleMoverFaceDown, a.From)
	case colourOf(p) != s.side(seat):
		return s.illegal(RuleNotYours, a.From)
	}
	quiet, take := g.targets(&s.board, a.From)
	goal := bit(a.To)
	switch {
	case (quiet|take)&goal == 0:
		return g.explain(s, a)
	case s.chain != rules.NoSquare && take&goal == 0:
		return s.illegal(RuleChainCapture, a.From, a.To)
	case g.restrains(s, seat):
		if i := g.restricted(s, seat, a); !i.OK() && !g.lifted(s, seat) {
			return i
		}
	}
	return rules.Illegal{}
}

// explain names the rule that keeps an own face-up piece from a square that
// the generator says it does not reach.
func (g *Game) explain(s *State, a rules.Action) rules.Illegal {
	p, q := s.board.at[a.From], s.board.at[a.To]
	r := &g.reach[p&rankMask]
	i := s.illegal(RuleAdjacent, a.From, a.To)
	switch {
	case a.From == a.To:
	case known(q) && colourOf(q) == colourOf(p):
		i.Rule = RuleOwnTarget
	case r.step == &diagonal && has(orthogonal[a.From], a.To):
		i.Rule = RuleDiagonal
	case q != rules.NoPiece && has(r.touch[a.From]|r.leap[a.From], a.To):
		i.Rule = explainNear(r, q)
	case q != rules.NoPiece && (r.jump || r.rush), q == rules.NoPiece && r.slide:
		i.Rule, i.Count = explainLine(r, a, q, ^s.board.of[rules.NoPiece])
	}
	return i
}

// explainNear is for a neighbour that may not be taken.
func explainNear(r *reach, q rules.Piece) rules.Rule {
	switch {
	case r.jump && r.touchTakes == 0:
		return RuleCannonNear
	case q == FaceDown:
		return RuleFaceDown
	}
	return RuleRank
}

// explainLine is for a square that is no neighbour, where the piece takes or
// slides along lines. The number is how many pieces stand between.
func explainLine(r *reach, a rules.Action, q rules.Piece, occupied uint32) (rules.Rule, int) {
	l := &lines[a.From]
	if !has(l.up|l.right|l.down|l.left, a.To) {
		return RuleLine, 0
	}
	screens := bits.OnesCount32(between(a.From, a.To) & occupied)
	switch {
	case r.jump && screens != 1:
		return RuleScreen, screens
	case !r.jump && screens != 0:
		return RuleBlocked, screens
	case q == FaceDown:
		return RuleFaceDown, 0
	}
	return RuleRank, 0
}

// between returns the squares strictly between two squares of one line; none
// for squares that share no line.
func between(from, to rules.Square) uint32 {
	f, t := &lines[from&31], &lines[to&31]
	return f.up&t.down | f.down&t.up | f.right&t.left | f.left&t.right
}

// List appends the legal actions of the seat to move to dst, none where the
// game is over or awaits a ruling. The order is fixed: flips, then each piece's
// moves and captures, generals first and soldiers last, squares ascending from
// a1, b1 to d8; in mid-chain the piece's captures, then the stop. It allocates
// only where dst has no room for MaxActions more.
func (g *Game) List(s *State, dst []rules.Action) []rules.Action {
	if s.outcome.Over() || s.awaiting {
		return dst
	}
	if s.chain != rules.NoSquare {
		_, take := g.targets(&s.board, s.chain)
		for ; take != 0; take &= take - 1 {
			dst = append(dst, rules.Move(s.chain, first(take)))
		}
		return append(dst, rules.Stop())
	}
	start := len(dst)
	dst = g.list(&s.board, s.side(s.turn), dst)
	if g.restrains(s, s.turn) {
		dst = dst[:start+len(g.restrain(s, s.turn, dst[start:]))]
	}
	return dst
}

// TurnsFace reports whether the legal action a turns a face-down piece, so that
// Apply needs its identity.
func (g *Game) TurnsFace(s *State, a rules.Action) bool {
	switch a.Kind {
	case rules.ActionFlip:
		return true
	case rules.ActionMove:
		return s.board.at[a.To&31] == FaceDown
	}
	return false
}
