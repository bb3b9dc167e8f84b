package verify

import (
	"errors"

	"referee.example/internal/deal"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// Seals finds the games whose seed is still sealed and whose sealed bytes are
// not those of the seed that the log committed to; exchanged in the game's row
// and in the snapshot alike, nothing else would show them before the game ends,
// if it then can end at all. check opens them under the replica's keys, and says
// no more than whether they are the right ones: referee.CheckSeal.
//
// What it finds follows from ciphertext, key and commitment. Where any piece
// lies has no part in it, so that nobody learns of one by what he plants.
func (r *Report) Seals(record *referee.Record, check func(deal.Context, []byte, [32]byte) error) {
	committed := map[int][32]byte{}
	revealed := map[int]bool{}
	for number, events := range record.Logs {
		g := played{Game: &Game{Number: number}, events: events}
		g.read()
		if number == 1 && g.created != nil {
			committed[1] = g.created.Commitment
		}
		if g.ended != nil {
			committed[number+1] = g.next
		}
		revealed[number] = g.seed != nil
	}
	for i := range record.Games {
		g := &record.Games[i]
		commitment, known := committed[g.Game]
		if !known || revealed[g.Game] {
			continue
		}
		context := deal.Context{MatchID: record.Match.ID, Game: uint16(g.Game)}
		err := check(context, g.Sealed, commitment)
		switch {
		case errors.Is(err, referee.ErrOtherSeed):
			r.find(g.Game, 0, "games.sealed_seed", "the seed that "+hexOf(commitment)+" commits to", "another seed")
		case err != nil:
			r.find(g.Game, 0, "games.sealed_seed", "a seed that a key of this replica opens", "bytes that none does")
		}
	}
}

// Placements finds out whether the placements that a running game seals in its
// snapshot are those that the log committed to last, as Seals does for the seed.
// check is referee.CheckPlacements.
func (r *Report) Placements(record *referee.Record, check func(*referee.State, map[rules.Seat][32]byte) error) {
	compiled, err := referee.StoredRules(record.Ruleset)
	if err != nil || !compiled.Places() {
		return // what is wrong with the ruleset is found by Record
	}
	s, err := referee.DecodeSnapshot(record.State.Snapshot, record.Match.ID, record.State.Version, compiled)
	if err != nil || s.Game.Number >= len(record.Logs) {
		return
	}
	committed := map[rules.Seat][32]byte{}
	for i := range record.Logs[s.Game.Number] {
		e := &record.Logs[s.Game.Number][i]
		if d, err := e.Placed(); e.Kind == referee.EventPlacementSubmitted && err == nil {
			committed[e.Seat] = d.Commitment
		}
	}
	switch err := check(s, committed); {
	case errors.Is(err, referee.ErrOtherPlacement):
		r.find(s.Game.Number, 0, "match_states.state: sealed placements", "those that the log commits to", "others")
	case err != nil:
		r.find(s.Game.Number, 0, "match_states.state: sealed placements", "placements that a key of this replica opens", "bytes that none does")
	}
}
