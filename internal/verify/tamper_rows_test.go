package verify

import (
	"bytes"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// cell is a tampering with a row beside the log.
func cell(name, statement, what string, game int) tampering {
	return tampering{name, func(a *archive) (*table, int, int, string) {
		a.exec(statement, pgID(a.whole.state.ID))
		return a.whole, game, 0, what
	}}
}

// settled is a tampering with the settlement of a decided game.
func settled(name, statement, what string) tampering {
	return tampering{name, func(a *archive) (*table, int, int, string) {
		game := a.decided(a.whole)
		a.exec(statement, pgID(a.whole.state.ID), game)
		return a.whole, game, a.seq(a.whole, game, referee.EventGameEnded, 1), what
	}}
}

const (
	ofLine       = ` WHERE match_id = $1 AND game = $2 AND NOT compensates AND line = 1`
	ofSettlement = ` WHERE match_id = $1 AND game = $2 AND NOT compensates`
	ofMatch      = ` WHERE match_id = $1`
	ofGame1      = ` WHERE match_id = $1 AND game = 1`
)

// rows are changes of everything that is stored beside the log.
var rows = []tampering{
	cell("intervention removed", `DELETE FROM interventions WHERE match_id = $1 AND seq = 2`, "interventions", 0),
	cell("intervention of another kind", `UPDATE interventions SET kind = 20 WHERE match_id = $1 AND seq = 2`, "interventions", 0),
	cell("intervention of another platform", `UPDATE interventions SET platform = 'q'`+ofMatch, "interventions", 0),
	cell("intervention at another time", `UPDATE interventions SET event_time = event_time + interval '1 microsecond'`+ofMatch, "interventions", 0),
	cell("intervention that nobody made", `INSERT INTO interventions (match_id, event_time, seq, game, kind, platform)
		VALUES ($1, now(), 3, 1, 16, 'p')`, "interventions", 0),
	cell("pair removed", `DELETE FROM pairs`+ofMatch, "pairs", 0),
	cell("pair of others", `UPDATE pairs SET high_player_id = 'eve'`+ofMatch, "pairs", 0),
	cell("ended game removed", `DELETE FROM ended_games`+ofGame1, "ended_games", 0),
	cell("reason of an ended game", `UPDATE ended_games SET end_reason = 24`+ofGame1, "ended_games", 0),
	cell("result of an ended game", `UPDATE ended_games SET result = 1 + result % 3`+ofGame1, "ended_games", 0),
	cell("ended game added", `INSERT INTO ended_games (match_id, game, end_reason, result, platform) VALUES ($1, 99, 1, 1, 'p')`, "ended_games", 0),
	cell("request removed", `DELETE FROM create_requests`+ofMatch, "create_requests", 0),
	cell("request that made another match", `UPDATE create_requests SET match_id = gen_random_uuid()`+ofMatch, "create_requests", 0),
	cell("content of the request", `UPDATE create_requests SET fingerprint = sha256(fingerprint)`+ofMatch, "create_requests", 0),
	cell("reference removed", `DELETE FROM external_refs`+ofMatch, "external_refs", 0),
	cell("reference to another match", `UPDATE external_refs SET match_id = gen_random_uuid()`+ofMatch, "external_refs", 0),
	cell("settlement out of the feed", `DELETE FROM settlement_feed WHERE match_id = $1 AND NOT compensates`, "settlement_feed", 0),
	cell("settlement in another's feed", `UPDATE settlement_feed SET platform = 'q'`+ofMatch, "settlement_feed", 0),
	cell("settlement in the feed that nobody made", `INSERT INTO settlement_feed VALUES ('p', 999, $1, 99, false)`, "settlement_feed", 0),
	cell("settlement queued again", `INSERT INTO settlement_queue SELECT match_id, game, compensates FROM settlements`+ofMatch, "settlement_feed", 0),
	{"settlement out of the queue", func(a *archive) (*table, int, int, string) {
		a.exec(`DELETE FROM settlement_queue`+ofMatch, pgID(a.other.state.ID))
		return a.other, 0, 0, "settlement_feed"
	}},
	{"settlement in the queue that nobody made", func(a *archive) (*table, int, int, string) {
		a.exec(`INSERT INTO settlement_queue VALUES ($1, 99, false)`, pgID(a.other.state.ID))
		return a.other, 0, 0, "settlement_queue"
	}},
	{"principal renamed", func(a *archive) (*table, int, int, string) {
		a.exec(`UPDATE principals SET name = 'somebody else' WHERE principal_id = 2`)
		return a.whole, 0, 2, "principals"
	}},
	{"principals exchanged", func(a *archive) (*table, int, int, string) {
		a.exec(`DELETE FROM principals`)
		a.exec(`INSERT INTO principals OVERRIDING SYSTEM VALUE VALUES (2, 'arcade'), (1, 'operator')`)
		return a.whole, 0, 1, "principals"
	}},
	{"principal removed", func(a *archive) (*table, int, int, string) {
		a.exec(`DELETE FROM principals WHERE principal_id = 1`)
		return a.running, 1, 1, "principals"
	}},
	{"operator renamed in the log, rehashed", func(a *archive) (*table, int, int, string) {
		a.edit(a.whole, 0, 2, func(e *referee.Event) {
			e.Detail = bytes.Replace(e.Detail, []byte("operator"), []byte("operatoR"), 1)
		})
		return a.whole, 0, 2, "principals"
	}},
	{"one operator by two numbers, rehashed", func(a *archive) (*table, int, int, string) {
		a.edit(a.whole, 0, 2, func(e *referee.Event) {
			e.Detail = bytes.Replace(e.Detail, append([]byte{8}, "operator"...), append([]byte{6}, "arcade"...), 1)
		})
		return a.whole, 0, 2, "event"
	}},
	settled("amount of a line", `UPDATE settlement_lines SET amount = amount + 1`+ofLine, "settlement.lines[0].amount"),
	settled("payer and payee of a line", `UPDATE settlement_lines SET payer = payee, payee = payer`+ofLine, "settlement.lines[0].payee"),
	settled("payee of a line", `UPDATE settlement_lines SET payee = 'eve'`+ofLine, "settlement.lines[0].payee"),
	settled("purpose of a line", `UPDATE settlement_lines SET why = 'fee'`+ofLine, "settlement.lines[0].why"),
	settled("line removed", `DELETE FROM settlement_lines`+ofSettlement+` AND line = 2`, "settlement.lines[1]"),
	settled("line added", `INSERT INTO settlement_lines VALUES ($1, $2, false, 9, 'ann', 'eve', 1, 'fee')`, "settlement.lines[2]"),
	settled("multiple", `UPDATE settlements SET multiple = 3 - multiple`+ofSettlement, "settlement.multiple"),
	settled("captures of the loser", `UPDATE settlements SET loser_captures = loser_captures + 1`+ofSettlement, "settlement.loser_captures"),
	settled("id of a settlement", `UPDATE settlements SET settlement_id = gen_random_uuid()`+ofSettlement, "settlement.settlement_id"),
	settled("time of a settlement", `UPDATE settlements SET settled_at = settled_at + interval '1 second'`+ofSettlement, "settlement.settled_at"),
	settled("settlement removed", `WITH l AS (DELETE FROM settlement_lines`+ofSettlement+`) DELETE FROM settlements`+ofSettlement, "settlement"),
	cell("compensation that nobody made", `
		WITH s AS (INSERT INTO settlements SELECT match_id, game, true, gen_random_uuid(), multiple, loser_captures, settled_at
			FROM settlements WHERE match_id = $1 AND game = 3 AND NOT compensates RETURNING 1)
		INSERT INTO settlement_lines SELECT match_id, game, true, line, payee, payer, amount, why
			FROM settlement_lines WHERE match_id = $1 AND game = 3 AND NOT compensates`, "compensation", 3),
	{"compensation removed", func(a *archive) (*table, int, int, string) {
		a.exec(`DELETE FROM settlements WHERE match_id = $1 AND compensates`, pgID(a.whole.state.ID))
		a.exec(`DELETE FROM settlement_lines WHERE match_id = $1 AND compensates`, pgID(a.whole.state.ID))
		return a.whole, a.decided(a.whole), 0, "compensation"
	}},
	cell("winner in the games", `UPDATE games SET winners = 3 - winners`+ofGame1, "games.winners", 1),
	cell("reason in the games", `UPDATE games SET end_reason = 22`+ofGame1, "games.end_reason", 1),
	cell("void in the games", `UPDATE games SET void = true, winners = 0`+ofGame1, "games.void", 1),
	cell("plies in the games", `UPDATE games SET plies = plies + 1`+ofGame1, "games.plies", 1),
	cell("captures in the games", `UPDATE games SET captures[1] = captures[1] + 1`+ofGame1, "games.captures", 1),
	cell("end of a game in the games", `UPDATE games SET ended_at = ended_at - interval '1 second'`+ofGame1, "games.ended_at", 1),
	cell("seed in the games", `UPDATE games SET server_seed = sha256(server_seed)`+ofGame1, "games.server_seed", 1),
	cell("root in the games", `UPDATE games SET root = sha256(root)`+ofGame1, "games.root", 1),
	cell("commitment in the games", `UPDATE games SET commitment = sha256(commitment)`+ofGame1, "games.commitment", 1),
	cell("commitment of game 2 in the games", `UPDATE games SET commitment = sha256(commitment) WHERE match_id = $1 AND game = 2`, "games.commitment", 2),
	cell("player's seed in the games", `UPDATE games SET player_seeds[1] = '\x00'`+ofGame1, "games.player_seeds", 1),
	cell("balances in the games", `UPDATE games SET balances[1] = 1`+ofGame1, "games.balances", 1),
	cell("holds in the games", `UPDATE games SET hold_ids = '{}'`+ofGame1, "games.hold_ids", 1),
	cell("first seat in the games", `UPDATE games SET first_seat = 1 - first_seat`+ofGame1, "games.first_seat", 1),
	cell("head in the games", `UPDATE games SET head_hash = sha256(head_hash)`+ofGame1, "games.head_hash", 1),
	cell("row of a game removed", `DELETE FROM games WHERE match_id = $1 AND game = 2`, "games", 2),
	cell("row of a game added", `INSERT INTO games (match_id, game, status, commitment, sealed_seed)
		SELECT match_id, 9, 1, commitment, sealed_seed FROM games`+ofGame1, "games.status", 9),
	cell("winner of the match", `UPDATE matches SET winners = 3 - winners`+ofMatch, "matches.winners", 0),
	cell("status of the match", `UPDATE matches SET status = 5`+ofMatch, "matches.status", 0),
	cell("stake of the match", `UPDATE matches SET stake = 1`+ofMatch, "matches.stake", 0),
	cell("fee of the match", `UPDATE matches SET fee = 0`+ofMatch, "matches.fee", 0),
	cell("players of the match", `UPDATE matches SET player_ids = '{ben,ann}'`+ofMatch, "matches.player_ids", 0),
	cell("platform of the match", `UPDATE matches SET platform = 'q'`+ofMatch, "matches.platform", 0),
	cell("engine of the match", `UPDATE matches SET engine_version = 9`+ofMatch, "matches.engine_version", 0),
	cell("note of the match", `UPDATE matches SET end_note = 'fine'`+ofMatch, "matches.end_note", 0),
	cell("ruleset of the match", `UPDATE matches SET ruleset_hash = (SELECT ruleset_hash FROM rulesets WHERE ruleset_id = 'baidu-of-three')`+ofMatch,
		"matches.ruleset_hash", 0),
	{"content of the ruleset", func(a *archive) (*table, int, int, string) {
		a.exec(`ALTER TABLE rulesets DROP CONSTRAINT IF EXISTS rulesets_hash`)
		a.exec(`UPDATE rulesets SET content = replace(content, '"resign_after_turns":5', '"resign_after_turns":4') WHERE ruleset_id = '7club-standard'`)
		return a.whole, 1, 1, "ruleset_hash"
	}},
	{"ruleset exchanged under its hash", func(a *archive) (*table, int, int, string) {
		a.exec(`UPDATE rulesets SET content = (SELECT content FROM rulesets WHERE ruleset_id = 'baidu-of-three') WHERE ruleset_id = '7club-standard'`)
		return a.whole, 1, 1, "ruleset_hash"
	}},
	cell("participant removed", `DELETE FROM participants WHERE match_id = $1 AND seat = 1`, "participants.seat 1", 0),
	cell("version of the match", `UPDATE match_states SET version = version + 5`+ofMatch, "match_states.version", 0),
	cell("deadline of a match that is over", `UPDATE match_states SET deadline = now(), wake_at = now(), outages_after = now()`+ofMatch,
		"match_states.deadline", 0),
	{"deadline of a running turn", func(a *archive) (*table, int, int, string) {
		a.exec(`UPDATE match_states SET deadline = deadline + interval '1 hour'`+ofMatch, pgID(a.running.state.ID))
		return a.running, 0, 0, "match_states.deadline"
	}},
	{"sweep put off", func(a *archive) (*table, int, int, string) {
		a.exec(`ALTER TABLE match_states DROP CONSTRAINT IF EXISTS match_states_wake`)
		a.exec(`UPDATE match_states SET wake_at = deadline + interval '1 hour'`+ofMatch, pgID(a.running.state.ID))
		return a.running, 0, 0, "match_states.wake_at"
	}},
	{"score in the snapshot", func(a *archive) (*table, int, int, string) {
		state := *a.whole.state
		state.Past = append([]referee.PastGame{}, state.Past...)
		state.Past[0].Outcome.Winners ^= rules.SeatsOf(0, 1)
		a.exec(`UPDATE match_states SET state = $2`+ofMatch, pgID(state.ID), state.Snapshot())
		return a.whole, 0, 0, "match_states.state: past games"
	}},
	{"snapshot of another match", func(a *archive) (*table, int, int, string) {
		a.exec(`UPDATE match_states SET state = $2`+ofMatch, pgID(a.whole.state.ID), a.other.state.Snapshot())
		return a.whole, 0, 0, "match_states.state: head"
	}},
	{"snapshot that can't be read", func(a *archive) (*table, int, int, string) {
		a.exec(`UPDATE match_states SET state = '\x00'`+ofMatch, pgID(a.whole.state.ID))
		return a.whole, 0, 0, "match_states.state"
	}},
	{"sealed seed of a running game", func(a *archive) (*table, int, int, string) {
		a.exec(`UPDATE games SET sealed_seed = sealed_seed || '\x00' WHERE match_id = $1 AND game = 2`, pgID(a.running.state.ID))
		return a.running, 0, 0, "match_states.state: sealed seed"
	}},
	{"outage removed", func(a *archive) (*table, int, int, string) {
		a.exec(`DELETE FROM outages`)
		return a.whole, 2, a.seq(a.whole, 2, referee.EventClockPaused, 1), "outage"
	}},
	{"outage added", func(a *archive) (*table, int, int, string) {
		expired := a.whole.logs[2][a.seq(a.whole, 2, referee.EventExpired, 1)-1]
		a.exec(`INSERT INTO outages VALUES ($1, $2)`, at2(expired.Time-5*second), at2(expired.Time-second))
		return a.whole, 2, expired.Seq, "event"
	}},
}
