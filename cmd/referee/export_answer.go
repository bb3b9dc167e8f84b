package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	refereev1 "referee.example/proto/referee/v1"
)

// answers judges what a server streams before it is written: a file must hold what
// was asked for, a game a line, whoever answered.
type answers struct {
	match string // the only one that was asked for; empty for any
	text  bool   // records as text were asked for
	// of the match that is under way
	current string
	seen    map[uint32]bool
}

// check refuses an answer that can't be one to the question.
func (a *answers) check(r *refereev1.ExportGamesResponse) error {
	if a.match != "" && !strings.EqualFold(r.GetMatchId(), a.match) {
		return wrongAnswer("a game of match %q, asked for was %s", r.GetMatchId(), a.match)
	}
	if r.GetGame() > math.MaxUint16 {
		return wrongAnswer("game %d, not a number from 0 to %d", r.GetGame(), math.MaxUint16)
	}
	if a.seen == nil || a.current != r.GetMatchId() {
		a.current, a.seen = r.GetMatchId(), map[uint32]bool{}
	}
	if a.seen[r.GetGame()] {
		return wrongAnswer("game %d of match %q twice", r.GetGame(), r.GetMatchId())
	}
	a.seen[r.GetGame()] = true
	if a.text != (len(r.GetJson()) == 0) || a.text != (r.GetText() != "") {
		return wrongAnswer("game %d of match %q in another form than was asked for", r.GetGame(), r.GetMatchId())
	}
	if a.text {
		return nil
	}
	return checkLine(r)
}

// checkLine refuses JSON that is more than a line, or of another game than the
// answer says.
func checkLine(r *refereev1.ExportGamesResponse) error {
	if bytes.ContainsAny(r.GetJson(), "\r\n") {
		return wrongAnswer("a line's end within game %d of match %q", r.GetGame(), r.GetMatchId())
	}
	var line struct {
		MatchID string `json:"match_id"`
		Game    int64  `json:"game"`
	}
	if err := json.Unmarshal(r.GetJson(), &line); err != nil {
		return wrongAnswer("game %d of match %q as no JSON: %s", r.GetGame(), r.GetMatchId(), err)
	}
	if line.MatchID != r.GetMatchId() || line.Game != int64(r.GetGame()) {
		return wrongAnswer("game %d of match %q in the place of game %d of match %q", line.Game, line.MatchID, r.GetGame(), r.GetMatchId())
	}
	return nil
}

func wrongAnswer(format string, args ...any) error {
	return fmt.Errorf("the server answered with "+format, args...)
}
