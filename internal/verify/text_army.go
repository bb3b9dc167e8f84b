package verify

import (
	"fmt"
	"time"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/rules/junqi"
)

// armyTextRecord is TextRecord for army chess. What was placed comes from the
// game's ending, which opens it; a game that still runs has none.
func armyTextRecord(r *referee.Record, ruleset *referee.Rules, game int) (string, error) {
	g := ruleset.ArmyChessGame()
	text, record := &junqi.TextRecord{}, &junqi.Record{First: rules.NoSeat}
	began := !g.Places()
	for i := range r.Logs[game] {
		e := &r.Logs[game][i]
		var err error
		switch e.Kind {
		case referee.EventGameStarted:
			var d referee.Started
			d, err = e.Started()
			record.First, text.Header = d.First, armyHeader(r, e)
		case referee.EventPlayBegan:
			began = true
		case referee.EventPly, referee.EventServerPly, referee.EventTurnPassed, referee.EventSeatOut, referee.EventSeatLeft:
			var change junqi.Change
			change, err = referee.ArmyChange(e)
			record.Entries = append(record.Entries, junqi.RecordEntry{Change: change, Turned: e.Turned})
		case referee.EventGameEnded:
			var d referee.Ended
			d, err = e.GameEnded()
			text.Result = junqi.ResultOf(d.Outcome)
			if err == nil && began && g.Places() {
				record.Placements, err = placementsOf(d.Placements)
			}
		}
		if err != nil {
			return "", fmt.Errorf("event %d of game %d: %w", e.Seq, game, err)
		}
	}
	if record.First == rules.NoSeat {
		return "", nil
	}
	if began && (!g.Places() || len(record.Placements) == g.Seats()) {
		text.Game = g.FormatRecord(record)
	}
	return text.String(), nil
}

func placementsOf(revealed []referee.RevealedPlacement) (placements []junqi.Placement, err error) {
	for i := range revealed {
		p, err := junqi.ParsePlacement(revealed[i].Placement)
		if err != nil {
			return nil, fmt.Errorf("placement of seat %d: %w", i, err)
		}
		placements = append(placements, p)
	}
	return placements, nil
}

func armyHeader(r *referee.Record, started *referee.Event) []string {
	ruleset := r.Match.RulesetID
	if ruleset == "" {
		ruleset = "composed"
	}
	header := []string{
		"Match: " + r.Match.ID.String(),
		fmt.Sprintf("Game: %d", started.Game),
		"Ruleset: " + ruleset,
		"Date: " + time.UnixMicro(int64(started.Time)).UTC().Format(time.DateOnly),
	}
	for seat, player := range r.Match.Players {
		header = append(header, fmt.Sprintf("Seat %d: %s", seat, headerText(player)))
	}
	return header
}
