package console_test

import (
	"fmt"

	refereev1 "referee.example/proto/referee/v1"
)

// armyPlacements are by seat how the tests' players place their pieces.
var armyPlacements = []string{
	"98776/6.5.5/44.33/3.2.2/2MM11/MF1BB", "89767/5.6.5/34.43/2.3.1/M2MB1/1MBF2",
	"77689/5.5.6/33.44/2.2.3/11MM2/BB1FM", "96857/4.7.6/53.32/B.1.3/2MMM4/BF121",
}

// armyPlayers are who plays army chess, as many as a form has seats.
func armyPlayers(ruleset string) []string {
	if ruleset == "siguo" {
		return []string{"player-1", "player-2", "player-3", "player-4"}
	}
	return []string{"player-1", "player-2"}
}

// army creates a match of army chess and starts its first game, which then waits
// for placements where it has them. change may alter its rules.
func (h *house) army(ruleset string, change ...func(*refereev1.Ruleset)) *table {
	h.t.Helper()
	t := &table{house: h, as: h.as("arcade")}
	got, err := h.rules.GetRuleset(t.as, &refereev1.GetRulesetRequest{RulesetId: ruleset})
	must(h.t, err)
	rules := &refereev1.CreateMatchRequest_Ruleset{Ruleset: got.GetRuleset()}
	rules.Ruleset.Id = ""
	for _, f := range change {
		f(rules.Ruleset)
	}
	players, first := armyPlayers(ruleset), uint32(0)
	request := &refereev1.CreateMatchRequest{
		RequestId: requestID(), PlayerIds: players, Stake: 100, Rules: rules, FirstSeat: &first, TableRef: "table 5", Charges: &refereev1.Charges{Fee: 5},
	}
	if len(change) == 0 {
		request.Rules = &refereev1.CreateMatchRequest_RulesetId{RulesetId: ruleset}
	}
	for range players {
		request.Balances = append(request.Balances, 50_000)
		t.seeds = append(t.seeds, fmt.Appendf(nil, "seed %d", len(t.seeds)))
	}
	created, err := h.match.CreateMatch(t.as, request)
	must(h.t, err)
	t.game = created.GetChange().GetGame()
	t.id = t.game.GetMatchId()
	t.start()
	return t
}

// place submits the placement of a seat.
func (t *table) place(seat uint32) {
	t.t.Helper()
	placed, err := t.match.SubmitPlacement(t.as, &refereev1.SubmitPlacementRequest{
		MatchId: t.id, Game: t.game.GetGame(), RequestId: requestID(), ExpectedSeq: t.game.GetNextSeq(), Seat: &seat,
		Placement: armyPlacements[seat],
	})
	must(t.t, err)
	t.game = placed.GetChange().GetGame()
}

// placed lets all seats place; nothing is to be done where pieces are dealt.
func (t *table) placed() *table {
	t.t.Helper()
	for seat := uint32(0); t.game.GetStatus() == refereev1.GameStatus_GAME_STATUS_PLACING; seat++ {
		t.place(seat)
	}
	return t
}

// fight plays so many plies, attacks first, and returns whether the game goes on.
func (t *table) fight(plies int, pause func()) bool {
	t.t.Helper()
	for range plies {
		if t.game.GetStatus() != refereev1.GameStatus_GAME_STATUS_PLAYING {
			return false
		}
		legal, err := t.match.ListLegalActions(t.as, &refereev1.ListLegalActionsRequest{
			MatchId: t.id, Game: t.game.GetGame(), ViewerSeat: t.game.ToMove, //nolint:protogetter // absent is not 0
		})
		must(t.t, err)
		action := legal.GetActions()[t.dice.IntN(len(legal.GetActions()))]
		for _, a := range legal.GetActions() {
			if a.GetWhat() == "attack" && t.dice.IntN(2) == 0 {
				action = a
				break
			}
		}
		if pause != nil {
			pause()
		}
		t.act(action.GetAction())
	}
	return t.game.GetStatus() == refereev1.GameStatus_GAME_STATUS_PLAYING
}

// met reports whether a piece was lost in an encounter, or the game is over.
func (t *table) met() bool {
	lost := uint32(0)
	for _, n := range t.game.GetArmyChess().GetCaptures() {
		lost += n
	}
	return lost > 0 || t.game.GetStatus() != refereev1.GameStatus_GAME_STATUS_PLAYING
}
