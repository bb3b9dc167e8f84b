package server

import (
	"slices"
	"testing"

	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
	refereev1 "referee.example/proto/referee/v1"

	"google.golang.org/protobuf/proto"
)

// TestPresetsToSettlement plays a match of every preset, and of the table
// options of those that have one, from its creation to the last settlement: the
// first game to its end on the board, the others until one may resign.
func TestPresetsToSettlement(t *testing.T) {
	r := newRoom(t, options{})
	list, err := r.rules.ListRulesets(r.as("east"), &refereev1.ListRulesetsRequest{})
	must(t, err)
	for _, preset := range list.GetRulesets() {
		if preset.GetDarkChess() == nil {
			continue // TestArmyChessGames of package proof plays them
		}
		t.Run(preset.GetId(), func(t *testing.T) { r.playMatch(t, preset, nil) })
	}
	// One deal, so that what the players come to is the same in each run.
	r = newRoom(t, options{deal: tidy})
	for _, id := range []string{"gametower-standard", "gametower-open-chain", "gametower-dark-chain"} {
		got, err := r.rules.GetRuleset(r.as("east"), &refereev1.GetRulesetRequest{RulesetId: id})
		must(t, err)
		got.GetRuleset().GetDarkChess().ChariotRush = "any_rank"
		t.Run(id+" with rush", func(t *testing.T) {
			if rushes := r.playMatch(t, got.GetRuleset(), proto.Bool(true)); rushes == 0 {
				t.Error("no chariot rushed")
			}
		})
		got.GetRuleset().GetDarkChess().ChariotRush = ""
		t.Run(id+" without rush", func(t *testing.T) {
			if rushes := r.playMatch(t, got.GetRuleset(), proto.Bool(false)); rushes != 0 {
				t.Errorf("%d rushes", rushes)
			}
		})
	}
}

// playMatch returns how many rushes its match had.
func (r *room) playMatch(t *testing.T, preset *refereev1.Ruleset, rush *bool) (rushes int) {
	engine := board(t, preset)
	staked := preset.GetStakes().GetLossMultiple() > 0
	tb := r.create(func(c *refereev1.CreateMatchRequest) {
		c.Rules, c.ChariotRush = &refereev1.CreateMatchRequest_RulesetId{RulesetId: preset.GetId()}, rush
		if preset.GetFirstMover() == "comparison" {
			c.FirstSeat = nil
		}
		if !staked {
			c.Stake, c.Charges = 0, nil
		}
	})
	for tb.last.GetMatch().GetStatus() == refereev1.MatchStatus_MATCH_STATUS_AWAITING_START {
		tb.start()
		if tb.game.GetClock().GetOpening() {
			must(t, tb.callTime(nil, 0))
		}
		onBoard := tb.game.GetGame() == 1
		for tb.game.GetStatus() == refereev1.GameStatus_GAME_STATUS_PLAYING {
			s := tb.position(engine)
			if !onBoard && s.Turns(0) >= 5 && s.Turns(1) >= 5 {
				tb.resign(uint32(s.Turn()))
				break
			}
			a := capturing(engine, &s)
			if engine.Manner(&s, a) == banqi.MannerRush {
				rushes++
			}
			tb.play(protoAction(a, squareName))
		}
		if tb.game.GetStatus() == refereev1.GameStatus_GAME_STATUS_AWAITING_RULING {
			tb.ruleFoul(true)
		}
	}
	match := tb.last.GetMatch()
	if match.GetStatus() != refereev1.MatchStatus_MATCH_STATUS_COMPLETE && match.GetStatus() != refereev1.MatchStatus_MATCH_STATUS_DECIDED {
		t.Fatalf("the match ended as %v", match.GetStatus())
	}
	for _, game := range match.GetGames() {
		settled := len(game.GetSettlement().GetLines()) > 0
		if decided := len(game.GetResult().GetWinnerSeats()) > 0; settled != (decided && staked) {
			t.Errorf("game %d: result %v, settlement %v", game.GetGame(), game.GetResult(), game.GetSettlement())
		}
	}
	return rushes
}

// capturing picks a capture where there is one, a rush before others, so that
// games are decided, else an action that depends on the ply.
func capturing(g *banqi.Game, s *banqi.State) rules.Action {
	actions := g.List(s, nil)
	if i := slices.IndexFunc(actions, func(a rules.Action) bool { return g.Manner(s, a) == banqi.MannerRush }); i >= 0 {
		return actions[i]
	}
	for _, a := range actions {
		if m := g.Manner(s, a); m != banqi.MannerFlip && m != banqi.MannerStep && m != banqi.MannerSlide && m != banqi.MannerStop {
			return a
		}
	}
	return actions[uint32(s.Ply())*2654435769>>8%uint32(len(actions))]
}
