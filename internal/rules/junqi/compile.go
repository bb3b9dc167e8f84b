package junqi

import "referee.example/internal/rules"

// Game is a compiled Rules value: the board of its form and tables that the rules
// below read. It never changes and may be used concurrently.
type Game struct {
	board *board
	rules Rules

	flip       bool // pieces begin face down
	teams      bool // four players; partners sit opposite
	shown      bool // refusals may speak of the target's rank
	hqLocks    bool // a piece in a headquarters never leaves it
	reveals    bool // a lost marshal reveals the flag's stop
	carries    bool // a flag has to be carried home
	protecting set  // stops whose occupant can't be attacked

	// meets is the verdict of an attack by rank of attacker and of defender, where
	// neither side's other pieces have a say in it.
	meets [ranks][ranks]encounter
}

// Compile makes the tables for r. The error is a *rules.InvalidError where Validate
// refuses r.
func Compile(r Rules) (*Game, error) {
	if fields := r.Validate(); len(fields) > 0 {
		return nil, &rules.InvalidError{Fields: fields}
	}
	g := &Game{
		board: boardTwo, rules: r,
		flip: r.flips(), teams: r.Form == FormFourPlayer, shown: r.shown(),
		hqLocks: !r.flips(),
		reveals: !r.shown() && r.FlagReveal != "never",
		carries: r.FlagCarryHome,
	}
	if g.teams {
		g.board = boardFour
	}
	g.protecting = g.board.camps
	if r.HQProtects {
		g.protecting = g.protecting.or(g.board.hqs)
	}
	g.compileMeetings()
	return g, nil
}

// compileMeetings fills the table of encounters (army-chess rules, section 3).
func (g *Game) compileMeetings() {
	for attacker := Engineer; attacker <= Bomb; attacker++ {
		for defender := Engineer; defender <= Flag; defender++ {
			g.meets[attacker][defender] = g.compileMeeting(attacker, defender)
		}
	}
}

func (g *Game) compileMeeting(attacker, defender Rank) encounter {
	var e encounter
	switch {
	case defender == Flag && attacker == Bomb:
		e = g.bombOnFlag()
	case defender == Flag:
		e = encounter{verdict: AttackerWon, flag: true}
	case attacker == Bomb || defender == Bomb || attacker == defender:
		e.verdict = BothGone
	case defender == Mine:
		e = g.rankOnMine(attacker)
	case attacker > defender:
		e.verdict = AttackerWon
	default:
		e.verdict = DefenderWon
	}
	if e.refused == "" && e.verdict == DefenderWon && g.rules.WeakerAttacks == "refused" {
		e.refused = RuleWeaker
	}
	return e
}

func (g *Game) bombOnFlag() encounter {
	switch g.rules.BombVsFlag {
	case "refused":
		return encounter{verdict: DefenderWon, refused: RuleBombFlag}
	case "bomb_lost":
		return encounter{verdict: DefenderWon}
	}
	return encounter{verdict: BothGone, flag: true}
}

func (g *Game) rankOnMine(attacker Rank) encounter {
	switch {
	case attacker == Engineer:
		return encounter{verdict: AttackerWon}
	case g.rules.Mine == "both":
		return encounter{verdict: BothGone}
	case g.rules.Mine == "bounce":
		return encounter{verdict: NeitherGone}
	case g.rules.Mine == "refused":
		return encounter{verdict: DefenderWon, refused: RuleMine}
	}
	return encounter{verdict: DefenderWon}
}

// Rules returns what the game was compiled from.
func (g *Game) Rules() Rules { return g.rules }

// Seats returns how many seats the form has: 2 or 4.
func (g *Game) Seats() int { return len(g.board.sides) }

// Teams returns the two parties of a game: a seat each, or partners.
func (g *Game) Teams() [2]rules.SeatSet {
	if g.teams {
		return [2]rules.SeatSet{rules.SeatsOf(0, 2), rules.SeatsOf(1, 3)}
	}
	return [2]rules.SeatSet{rules.SeatsOf(0), rules.SeatsOf(1)}
}

// Places reports whether the form has a placement phase; the flip form has a deal.
func (g *Game) Places() bool { return !g.flip }

// ExpiredTurnPasses reports whether a turn that expires passes (four players)
// rather than being played by the server.
func (g *Game) ExpiredTurnPasses() bool { return g.teams }
