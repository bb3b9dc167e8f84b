package banqi

import "referee.example/internal/rules"

// View is what a viewer may see of a game. In dark chess both seats and
// spectators see the same: nobody knows what lies face down.
type View struct {
	Board     string // eight groups of four letters from rank 8 down, joined by slashes
	ToMove    rules.Seat
	Colours   [2]Colour // by seat
	Ply       int
	Turns     [2]int           // turns made, by seat
	Captured  [2][]rules.Piece // what each seat has captured, generals first
	FaceDown  int              // pieces face down
	Idle      int              // quiet plies counted
	IdleLimit int              // quiet plies that draw; 0 where no count is running
	Requester rules.Seat       // whose count is running; NoSeat for none
	Chain     rules.Square     // the piece in mid-chain; NoSquare for none
	Chases    []ChaseView      // at most one a seat
	Pauses    []PauseView      // at most one a seat
	Fouls     [2]int           // technical fouls by seat, disputable ones included
	Disputed  [2]int           // those in dispute
	Awaiting  bool             // a loss by fouls waits for a ruling
	Outcome   rules.Outcome
}

// ChaseView is a standing chase.
type ChaseView struct {
	Chaser  rules.Seat
	Piece   rules.Square // the piece that made the last step
	Targets []ChaseTarget
	Allowed int // steps allowed; 0 where the rules set no limit
}

// ChaseTarget is one chased piece and how many steps it was chased for.
type ChaseTarget struct {
	Square rules.Square
	Length int
}

// PauseView is a chaser that may not move on its seat's next turn.
type PauseView struct {
	Chaser rules.Seat
	Piece  rules.Square
	Target rules.Square // what it chased; NoSquare if that is gone
}

// View returns what a viewer may see of s, the same for both seats and for
// spectators: nobody knows what is face down.
func (g *Game) View(s *State, _ rules.Seat) View {
	v := View{
		Board: s.board.text(), ToMove: s.turn, Ply: s.Ply(), FaceDown: s.FaceDownCount(),
		Idle: s.Idle(), Requester: s.requester, Chain: s.chain, Awaiting: s.awaiting, Outcome: s.outcome,
	}
	if !g.onRequest || s.requester != rules.NoSeat {
		v.IdleLimit = g.idle.Limit
	}
	for seat := range rules.Seat(2) {
		v.Colours[seat] = s.Colour(seat)
		v.Turns[seat] = s.Turns(seat)
		v.Captured[seat] = s.CapturedPieces(seat)
		v.Fouls[seat], v.Disputed[seat] = s.Fouls(seat), s.Disputed(seat)
		if c := &s.chases[seat]; c.targets != 0 && g.chase.Chaser != "" {
			v.Chases = append(v.Chases, g.chaseView(c, seat))
		}
		if r := s.rests[seat]; r != noRest {
			v.Pauses = append(v.Pauses, PauseView{seat, r.piece, r.target})
		}
	}
	return v
}

func (g *Game) chaseView(c *chase, seat rules.Seat) ChaseView {
	v := ChaseView{Chaser: seat, Piece: c.by, Allowed: g.chase.Length}
	for _, target := range c.chased() {
		v.Targets = append(v.Targets, ChaseTarget{target, int(c.steps(target))})
	}
	return v
}
