package verify

import (
	"fmt"
	"strconv"
	"time"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/rules/banqi"
)

// TextRecord writes a game of a stored match as a text record, in the form of its
// family. Offers, calls for time and expiries leave no trace in it: they move
// nothing on the board. It is empty for a game that was never started.
func TextRecord(r *referee.Record, game int) (string, error) {
	if game < 1 || game >= len(r.Logs) {
		return "", nil
	}
	ruleset, err := referee.ParseRules(r.Ruleset)
	if err != nil {
		return "", fmt.Errorf("ruleset: %w", err)
	}
	if ruleset.ArmyChess != nil {
		return armyTextRecord(r, ruleset, game)
	}
	record, err := darkTextRecord(r, game)
	if err != nil || record == nil {
		return "", err
	}
	return record.String(), nil
}

// darkTextRecord is TextRecord for dark chess; nil for a game that was never started.
func darkTextRecord(r *referee.Record, game int) (*banqi.Record, error) {
	record := &banqi.Record{}
	first, outcome := rules.NoSeat, rules.Outcome{}
	for i := range r.Logs[game] {
		e := &r.Logs[game][i]
		var err error
		switch e.Kind {
		case referee.EventGameStarted:
			var d referee.Started
			d, err = e.Started()
			first = d.First
			record.Header = recordHeader(r, e, first)
		case referee.EventPly, referee.EventServerPly:
			record.Entries = append(record.Entries, banqi.RecordEntry{Action: e.Action, Turned: e.Turned})
		case referee.EventCountRequested:
			record.Entries = append(record.Entries, banqi.RecordEntry{Word: banqi.WordRequest})
		case referee.EventFoulRuled:
			var d referee.Small
			d, err = e.Small()
			word := banqi.WordWaive
			if d.Number == 1 {
				word = banqi.WordConfirm
			}
			record.Entries = append(record.Entries, banqi.RecordEntry{Word: word})
		case referee.EventGameEnded:
			var d referee.Ended
			d, err = e.GameEnded()
			outcome = d.Outcome
		}
		if err != nil {
			return nil, fmt.Errorf("event %d of game %d: %w", e.Seq, game, err)
		}
	}
	if first == rules.NoSeat {
		return nil, nil
	}
	record.Result = banqi.ResultOf(outcome, first)
	return record, nil
}

func recordHeader(r *referee.Record, started *referee.Event, first rules.Seat) []string {
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
	if players := r.Match.Players; len(players) == 2 && (first == 0 || first == 1) {
		header = append(header, "First: "+headerText(players[first]), "Second: "+headerText(players[1-first]))
	}
	return header
}

// headerText quotes what would not stand as it is in one line.
func headerText(text string) string {
	if quoted := strconv.Quote(text); quoted != `"`+text+`"` {
		return quoted
	}
	return text
}
