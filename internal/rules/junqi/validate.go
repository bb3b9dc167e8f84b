package junqi

import "referee.example/internal/rules"

// maxNumber bounds the counters of a state that comes from outside.
const maxNumber = 1 << 20

// validate refuses a state that no game under these rules can be in: a caller's
// text or a stored state is not trusted. The error is a *TextError. A position may
// be bare: pieces that it does not have count as lost.
func (g *Game) validate(s *State) error {
	for _, check := range []func(*State) (part, reason string){
		g.validateBoard, g.validateOrigins, g.validateCounts, g.validateColours, g.validateOut, g.validateCarried, g.validateOutcome, g.validateGoing,
	} {
		if part, reason := check(s); reason != "" {
			return &TextError{part, reason}
		}
	}
	return nil
}

func (g *Game) validateBoard(s *State) (part, reason string) {
	for stop := range s.occupied().all {
		p := s.at[stop]
		name := g.SquareName(stop)
		switch {
		case int(stop) >= g.board.stops:
			return name, "no such stop"
		case p == FaceDown && (!g.flip || g.board.camps.has(stop)):
			return name, "nothing is face down there"
		case isHidden(p) && g.shown:
			return name, "these rules show every rank"
		case p != FaceDown && (int(SideOf(p)) >= len(g.board.sides) || !isHidden(p) && !known(p)):
			return name, "no such piece"
		}
	}
	if g.overdealt(s) {
		return "board", "more of a rank than a side has"
	}
	total := s.down.len()
	for side := range g.board.sides {
		n := s.own[side].len()
		for _, lost := range s.captured[side&1] {
			n += int(lost)
		}
		if n > perSide {
			return "board", "more pieces than a side has"
		}
		total += n
	}
	if total > perSide*len(g.board.sides) {
		return "board", "more pieces than the game has"
	}
	return "", ""
}

// overdealt reports whether more pieces of a rank are shown, on the board or lost,
// than a side begins with.
func (g *Game) overdealt(s *State) bool {
	var count [codes]uint8
	for stop := range s.occupied().all {
		if p := s.at[stop]; known(p) {
			count[p]++
		}
	}
	for side := range g.board.sides {
		for rank := Engineer; rank <= Flag; rank++ {
			if count[PieceOf(Side(side), rank)]+s.captured[side&1][rank] > deckCount[rank] {
				return true
			}
		}
	}
	return false
}

func (g *Game) validateOrigins(s *State) (part, reason string) {
	var seen set
	for stop := range s.occupied().all {
		if !isHidden(s.at[stop]) {
			if s.origin[stop] != 0 {
				return g.SquareName(stop), "a shown piece has no origin"
			}
			continue
		}
		origin := s.origin[stop]
		if int(origin) >= g.board.stops || seen.has(origin) {
			return g.SquareName(stop), "two pieces began on one stop"
		}
		seen.add(origin)
	}
	return "", ""
}

func (g *Game) validateCounts(s *State) (part, reason string) {
	for seat := range s.turns {
		switch {
		case s.turns[seat] > s.ply || seat >= g.Seats() && s.turns[seat] != 0:
			return "turns", "more than the plies played"
		case int32(s.captures[seat]) > s.ply || seat >= g.Seats() && s.captures[seat] != 0:
			return "captures", "more than the plies played"
		}
	}
	switch {
	case int(s.turn) >= g.Seats():
		return "seat", "no such seat"
	case s.idle > s.ply:
		return "idle", "more than the plies played"
	case !g.flip && s.captured != [2][ranks]uint8{}:
		return "captured", "the dark forms don't show what was lost"
	}
	return "", ""
}

func (g *Game) validateColours(s *State) (part, reason string) {
	up := !s.own[0].empty() || !s.own[1].empty()
	unsettled := g.flip && s.bottom == rules.NoSeat
	noted := s.latest != [2]Side{NoSide, NoSide}
	switch {
	case !g.flip && s.bottom != rules.NoSeat:
		return "colours", "only the flip form settles them"
	case noted && !unsettled:
		return "latest", "nothing is to be settled"
	case noted && (!up || s.ply == 0):
		return "latest", "nothing was turned"
	case unsettled && s.ply > 0 && !noted:
		return "latest", "the latest turns are missing"
	case noted && g.rules.Colours == "first_piece":
		return "latest", "the first turn settles the colours"
	case unsettled && s.down.empty():
		return "colours", "the last turn settles the colours"
	case unsettled && s.captured != [2][ranks]uint8{}:
		return "captured", "no piece moves until the colours are settled"
	}
	return "", ""
}

func (g *Game) validateOut(s *State) (part, reason string) {
	if s.out>>g.Seats() != 0 {
		return "out", "no such seat"
	}
	for seat := range rules.Seat(g.Seats()) {
		switch out := s.out.Has(seat); {
		case out && g.teams && !s.own[seat&3].empty():
			return "out", "pieces of a seat that is out are still there"
		case out && !s.outcome.Over() && g.team(seat)&^s.out == 0:
			return "out", "a team that is out has lost"
		case out && !s.outcome.Over() && seat == s.turn:
			return "seat", "is out"
		}
	}
	return "", ""
}

func (g *Game) validateCarried(s *State) (part, reason string) {
	for i, c := range s.carried {
		if c == notCarried {
			continue
		}
		switch {
		case !g.carries:
			return "carry", "these rules carry no flags"
		case !s.own[1-i].has(c.by) || int(c.from) >= g.board.stops:
			return "carry", "no piece of the other side carries it"
		case g.flagStop(s, nil, Side(i)) != rules.NoSquare || s.own[i].len() >= perSide:
			return "carry", "the flag is on the board"
		case g.board.sides[1-i].hqs.has(c.by) && !s.outcome.Over():
			return "carry", "the flag has arrived"
		}
	}
	return "", ""
}

func (g *Game) validateOutcome(s *State) (part, reason string) {
	o := s.outcome
	teams := g.Teams()
	loser := teams[0]
	if o.Winners == teams[0] {
		loser = teams[1]
	}
	idle := o.Reason == rules.EndIdle
	loss := idle && g.rules.Idle.Result == "loss"
	switch {
	case !o.Over():
		if o != (rules.Outcome{}) {
			return "outcome", "the game is not over"
		}
		return "", ""
	case endingNames[o.Reason] == "":
		return "outcome", "no such ending"
	case o.Void:
		if o != (rules.Outcome{Reason: rules.EndDisconnection, Void: true}) || g.rules.Leaver != "unscored" {
			return "outcome", "nothing leaves this game unscored"
		}
		return "", ""
	case o.Winners != 0 && o.Winners != teams[0] && o.Winners != teams[1]:
		return "outcome", "winners are a team"
	case idle && (g.rules.Idle.Limit == 0 || int(s.idle) != g.rules.Idle.Limit || o.FirstPly != int(s.ply-s.idle)+1 || o.LastPly != int(s.ply)):
		return "outcome", "idle plies don't prove it"
	case idle && (loss != o.Decided() || loss && o.Winners != g.team(s.turn^1)):
		return "outcome", "idleness ends otherwise"
	case !idle && (o.FirstPly != 0 || o.LastPly != 0):
		return "outcome", "the last ply proves it alone"
	case o.Reason == rules.EndMaxPlies && (o.Decided() || g.rules.MaxPlies == 0 || int(s.ply) != g.rules.MaxPlies):
		return "outcome", "the limit of plies ends otherwise"
	case !idle && o.Decided() && loser&^s.out != 0:
		return "outcome", "the losers are not out"
	case !o.Decided() && o.Reason != rules.EndNoLegalAction && o.Reason != rules.EndMaxPlies && !idle:
		return "outcome", "such an ending has a winner"
	case o.Reason == rules.EndIllegalAction && g.rules.IllegalMoves != "lose":
		return "outcome", "an illegal move is refused"
	}
	return "", ""
}

// validateGoing: a game that goes on has met no ending that is public.
func (g *Game) validateGoing(s *State) (part, reason string) {
	switch {
	case s.outcome.Over():
	case g.rules.Idle.Limit > 0 && int(s.idle) >= g.rules.Idle.Limit:
		return "idle", "at the limit, so the game is over"
	case g.rules.MaxPlies > 0 && int(s.ply) >= g.rules.MaxPlies:
		return "ply", "at the limit, so the game is over"
	case g.shown && !g.canAct(s, nil, s.turn):
		return "seat", "has no legal action, so the game is over"
	}
	return "", ""
}
