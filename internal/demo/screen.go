package demo

import (
	"fmt"
	"io"
	"strings"

	refereev1 "referee.example/proto/referee/v1"
)

// How plies are listed where nothing can be redrawn.
const (
	pliesPerLine  = 8
	pliesPerBoard = 32
)

// screen shows a match as it goes.
type screen struct {
	out     io.Writer
	style   Style
	live    bool
	players []string
	// validGames are the decided games that make a match.
	validGames uint32
	drawn      int      // lines of the frame that the next one replaces
	listed     []string // plies that wait for a full line
}

func (s *screen) matchCreated(match *refereev1.Match) error {
	games := fmt.Sprintf("%d decided games make", s.validGames)
	switch s.validGames {
	case 1:
		games = "one decided game makes"
	case 3:
		games = "three decided games make"
	}
	return s.print("Match %s, %s, stake %d, fee %d.\n%s; %s a match.\n",
		match.GetMatchId(), match.GetRulesetId(), match.GetStake(), match.GetCharges().GetFee(), parties(s.players), games)
}

func (s *screen) gameStarted(change *refereev1.Change) error {
	game := change.GetGame()
	first := change.GetEvents()[0].GetGameStarted().GetFirstSeat()
	committed := "The deal"
	if game.GetStatus() == refereev1.GameStatus_GAME_STATUS_PLACING {
		committed = "What the referee draws in it" // nothing is dealt
	}
	err := s.print("\nGame %d: %s moves first. %s was committed to before it began:\n  %x\n",
		game.GetGame(), s.players[first], committed, game.GetDeal().GetCommitment())
	if err != nil || !s.live || game.GetStatus() != refereev1.GameStatus_GAME_STATUS_PLAYING {
		return err
	}
	return s.frame(change, "")
}

// placed shows that a seat has placed its pieces, and nothing of how.
func (s *screen) placed(seat uint32, change *refereev1.Change) error {
	return s.print("  %s has placed, sealed as\n  %x\n", s.players[seat], change.GetEvents()[0].GetPlacementSubmitted().GetCommitment())
}

// acted shows a ply or a resignation.
func (s *screen) acted(change *refereev1.Change) error {
	said := s.describe(change)
	if s.live {
		return s.frame(change, said)
	}
	ply := plies(change)
	if lastPly(change) != nil {
		said = fmt.Sprintf("%3d %-9s", ply, said)
	}
	s.listed = append(s.listed, said)
	over := change.GetGame().GetResult() != nil
	if len(s.listed) == pliesPerLine || over || ply%pliesPerBoard == 0 {
		err := s.print("%s\n", strings.TrimRight("  "+strings.Join(s.listed, " "), " "))
		s.listed = nil
		if err != nil {
			return err
		}
	}
	if over || ply%pliesPerBoard == 0 {
		return s.board(change, "\n")
	}
	return nil
}

// parties says who plays whom; partners sit opposite.
func parties(players []string) string {
	if len(players) == 4 {
		return fmt.Sprintf("%s and %s against %s and %s", players[0], players[2], players[1], players[3])
	}
	return strings.Join(players, " against ")
}

// frame draws the board over the one before it.
func (s *screen) frame(change *refereev1.Change, said string) error {
	title := fmt.Sprintf("\nGame %d, ply %d  %s\n", change.GetGame().GetGame(), plies(change), said)
	if s.drawn > 0 {
		title = fmt.Sprintf("\x1b[%dA\x1b[J", s.drawn) + title
	}
	return s.board(change, title)
}

func (s *screen) board(change *refereev1.Change, before string) error {
	drawing, err := Draw(change.GetGame(), s.players, lastPly(change), change.GetServerTime().AsTime(), s.style)
	if err != nil {
		return err
	}
	if game := change.GetGame(); len(game.GetPlacements()) > 0 && game.ViewerSeat != nil && game.GetResult() == nil {
		before += fmt.Sprintf("  as %s sees it\n", s.players[game.GetViewerSeat()])
	}
	if s.live {
		s.drawn = strings.Count(before, "\n") + strings.Count(drawing, "\n")
	}
	return s.print("%s%s", before, drawing)
}

// encounters are the signs of what became of an attack in army chess.
var encounters = map[refereev1.EncounterVerdict]string{
	refereev1.EncounterVerdict_ENCOUNTER_VERDICT_ATTACKER_WON: "+",
	refereev1.EncounterVerdict_ENCOUNTER_VERDICT_DEFENDER_WON: "-",
	refereev1.EncounterVerdict_ENCOUNTER_VERDICT_BOTH_GONE:    "=",
	refereev1.EncounterVerdict_ENCOUNTER_VERDICT_NEITHER_GONE: "~",
}

// describe says in a word or two what a change was.
func (s *screen) describe(change *refereev1.Change) string {
	if ply := lastPly(change); ply != nil {
		return ply.GetNotation() + encounters[ply.GetDisclosure().GetVerdict()]
	}
	for _, event := range change.GetEvents() {
		if event.GetKind() == refereev1.EventKind_EVENT_KIND_RESIGNED {
			return s.players[event.GetSeat()] + " resigns"
		}
	}
	return ""
}

func lastPly(change *refereev1.Change) *refereev1.Event {
	for _, event := range change.GetEvents() {
		if event.GetKind() == refereev1.EventKind_EVENT_KIND_PLY {
			return event
		}
	}
	return nil
}

// plies returns how many plies the game has after a change.
func plies(change *refereev1.Change) (count uint32) {
	for _, event := range change.GetEvents() {
		if event.GetGame() == change.GetGame().GetGame() {
			count = event.GetPly()
		}
	}
	return count
}

func (s *screen) gameEnded(change *refereev1.Change) error {
	s.drawn = 0
	game := change.GetGame()
	return s.print("\nGame %d: %s, after %d plies.\n%s", game.GetGame(),
		resultOf(game.GetResult(), s.players), plies(change), settlementOf(game.GetSettlement()))
}

func (s *screen) print(format string, arguments ...any) error {
	_, err := fmt.Fprintf(s.out, format, arguments...)
	return err
}
