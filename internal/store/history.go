package store

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// A list begins with the newest match and pages by key. Its candidates come in
// order from the one index that suits its filter best (candidates.go); what else
// the filter says drops candidates on the way. A call examines a bounded number
// of them and then returns what it has, so that no filter can cost more than
// that, whatever it asks for and however much there is.
//
// The subqueries end in OFFSET 0 so that they are looked up candidate by
// candidate: a plan that first collects all of them would not stop where the
// page does.

// matchFilter is what a filter says of a match m.
const matchFilter = `(@platform = '*' OR m.platform = @platform)
		AND (@external_ref = '' OR m.external_ref = @external_ref) AND (@table_ref = '' OR m.table_ref = @table_ref)
		AND (@ruleset_id = '' OR m.ruleset_id = @ruleset_id)
		AND m.stake >= @min_stake AND (@max_stake::bigint = 0 OR m.stake <= @max_stake)
		AND m.created_at >= @from_time AND m.created_at < @until_time`

// A list of matches is the candidates c that the filter keeps, and the last one
// that may be examined, kept or not.
const (
	matchesAmong = `
SELECT h.match_id, h.n, s.version, s.state FROM (
	SELECT c.match_id, c.n, f.kept FROM (`
	matchesKept = `) c
	LEFT JOIN LATERAL (
		SELECT true AS kept FROM matches m
		WHERE m.match_id = c.match_id AND ` + matchFilter + `
		AND (@status::smallint = 0 OR m.status = @status) OFFSET 0
	) f ON true
	WHERE f.kept OR c.n = ` + examined + `
	ORDER BY c.match_id DESC LIMIT @rows::integer
) h
LEFT JOIN LATERAL (
	SELECT s.version, s.state FROM match_states s WHERE h.kept AND s.match_id = h.match_id OFFSET 0
) s ON true
ORDER BY h.match_id DESC`

	sqlListMatches           = matchesAmong + amongAll + matchesKept
	sqlListMatchesOfPlatform = matchesAmong + amongPlatform + matchesKept
	sqlListMatchesOfPlayer   = matchesAmong + amongPlayer + matchesKept
	sqlListMatchesOfPair     = matchesAmong + amongPair + matchesKept
	sqlListMatchesOfTable    = matchesAmong + amongTable + matchesKept
	sqlListMatchesOfRuleset  = matchesAmong + amongRuleset + matchesKept
	sqlListMatchesLive       = matchesAmong + amongLive + matchesKept
	sqlListMatchesEndedAs    = matchesAmong + amongEndedAs + matchesKept
)

// gamesOf are a match's games that the filter keeps. The numbers of the results
// are referee.GameResultFilter's.
const (
	gamesOf = `SELECT g.game, m.platform, m.player_ids, m.ruleset_id, m.stake, g.status,
			coalesce(g.end_reason, 0) AS end_reason, coalesce(g.winners, 0) AS winners, coalesce(g.void, false) AS void,
			coalesce(g.first_ply, 0) AS first_ply, coalesce(g.last_ply, 0) AS last_ply, coalesce(g.plies, 0) AS plies,
			g.started_at, g.ended_at
		FROM matches m JOIN games g ON g.match_id = m.match_id
		WHERE m.match_id = c.match_id AND ` + matchFilter + `
		AND g.started_at IS NOT NULL AND (@end_reason::smallint = 0 OR g.end_reason = @end_reason)
		AND CASE @result::smallint
			WHEN 0 THEN true
			WHEN 1 THEN g.winners <> 0
			WHEN 2 THEN g.winners = 0 AND NOT g.void
			WHEN 3 THEN g.void
			WHEN 4 THEN g.status <> 4
			ELSE false
		END`
	gamesAmong = `
SELECT c.match_id, c.n, c.game AS candidate, g.game, g.platform, g.player_ids, g.ruleset_id, g.stake, g.status, g.end_reason, g.winners, g.void,
	g.first_ply, g.last_ply, g.plies, g.started_at, g.ended_at
FROM (`

	// The candidates are matches: before is the game before the page.
	gamesKept = `) c
LEFT JOIN LATERAL (
	` + gamesOf + `
		AND (m.match_id, g.game) < (@before_match, @before_game::smallint) OFFSET 0
) g ON true
WHERE g.game IS NOT NULL OR c.n = ` + examined + `
ORDER BY c.match_id DESC, g.game DESC LIMIT @rows::integer`
	// The candidates are games, those after before already.
	gameKept = `) c
LEFT JOIN LATERAL (
	` + gamesOf + `
		AND g.game = c.game OFFSET 0
) g ON true
WHERE g.game IS NOT NULL OR c.n = ` + examined + `
ORDER BY c.match_id DESC, c.game DESC LIMIT @rows::integer`

	sqlListGames           = gamesAmong + amongAll + gamesKept
	sqlListGamesOfPlatform = gamesAmong + amongPlatform + gamesKept
	sqlListGamesOfPlayer   = gamesAmong + amongPlayer + gamesKept
	sqlListGamesOfPair     = gamesAmong + amongPair + gamesKept
	sqlListGamesOfTable    = gamesAmong + amongTable + gamesKept
	sqlListGamesOfRuleset  = gamesAmong + amongRuleset + gamesKept
	sqlListGamesLive       = gamesAmong + amongLive + gamesKept
	sqlListGamesEndedBy    = gamesAmong + amongEndedBy + gameKept
	sqlListGamesUndecided  = gamesAmong + amongUndecided + gameKept
)

// highestID is above every UUIDv7.
var highestID = referee.ID{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// idSlack is how far the time in a match's id may be from that of its creation:
// an id is minted between the call's arrival and its commit.
const idSlack = clock.Time(time.Hour / time.Microsecond)

// endOfTime is the last instant that the referee knows (year 9999).
const endOfTime = clock.Time(253_402_300_799_999_999)

// matchRow is a candidate; Version is nil where only its id is told.
type matchRow struct {
	ID       [16]byte
	N        int
	Version  *int64
	Snapshot []byte
}

// ListMatches returns a page of matches as they were committed last, newest
// first, from the one after before on. next is where the page after it begins,
// zero when there is none.
func (s *Store) ListMatches(ctx context.Context, f referee.HistoryFilter, status referee.MatchStatus,
	before referee.ID, limit int) (matches []*referee.State, next referee.ID, err error) {
	highest := highestID
	if before != (referee.ID{}) {
		highest = previousID(before)
	}
	arguments, err := s.filter(ctx, f, highest)
	if err != nil || arguments == nil {
		return nil, next, err
	}
	arguments["status"], arguments["rows"] = int16(status), limit+1
	// All rows first: a ruleset may have to be read on the way.
	listed, err := list(ctx, s, matchesDriver(f, status), arguments, pgx.RowToStructByPos[matchRow])
	if err != nil {
		return nil, next, err
	}
	for i, row := range listed {
		switch {
		case i == limit:
			return matches, matches[limit-1].ID, nil
		case row.Version != nil:
			match, err := s.decode(ctx, row.ID, *row.Version, row.Snapshot)
			if err != nil {
				return nil, next, err
			}
			matches = append(matches, match)
		}
		if row.N == maxExamined {
			next = row.ID
		}
	}
	return matches, next, nil
}

// ListGames returns a page of started games, those of the newest match first
// and in it the last game first, from the one after before on. next is where the
// page after it begins, zero when there is none.
func (s *Store) ListGames(ctx context.Context, f referee.HistoryFilter, endedBy rules.EndReason,
	result referee.GameResultFilter, before referee.GameKey, limit int) (games []referee.GameRow, next referee.GameKey, err error) {
	if before == (referee.GameKey{}) {
		before.Match = highestID
	}
	arguments, err := s.filter(ctx, f, before.Match)
	if err != nil || arguments == nil {
		return nil, next, err
	}
	arguments["before_match"], arguments["before_game"] = uuid(before.Match), before.Game
	arguments["end_reason"], arguments["result"], arguments["rows"] = int16(endedBy), int16(result), limit+1
	listed, err := list(ctx, s, gamesDriver(f, endedBy, result), arguments, scanGameRow)
	if err != nil {
		return nil, next, err
	}
	for i, game := range listed {
		if i == limit {
			return games, games[limit-1].GameKey, nil
		}
		if game.Started != 0 {
			games = append(games, game.GameRow)
		}
		if game.last {
			next = game.GameKey
		}
	}
	return games, next, nil
}

// listedGame is a game, or only the key of a candidate, which was not started
// then. last tells that this is the last that may be examined.
type listedGame struct {
	referee.GameRow
	last bool
}

func scanGameRow(row pgx.CollectableRow) (g listedGame, err error) {
	var id [16]byte
	var n int
	var platform, ruleset *string
	var stake *int64
	var game, status, firstPly, lastPly, plies *int
	var reason *rules.EndReason
	var winners *rules.SeatSet
	var void *bool
	var started, ended *time.Time
	err = row.Scan(&id, &n, &g.Game, &game, &platform, &g.Players, &ruleset, &stake, &status, &reason, &winners, &void,
		&firstPly, &lastPly, &plies, &started, &ended)
	g.Match, g.last = id, n == maxExamined
	if err != nil || game == nil {
		return g, err
	}
	g.Game, g.Platform, g.RulesetID, g.Stake, g.Status = *game, *platform, *ruleset, *stake, referee.GameStatus(*status)
	g.Outcome = rules.Outcome{Reason: *reason, Winners: *winners, Void: *void, FirstPly: *firstPly, LastPly: *lastPly}
	g.Plies, g.Started, g.Ended = *plies, instant(*started), instantOrZero(ended)
	return g, nil
}

// filter returns the parameters of the candidates and of matchFilter, nil if
// nothing can match. The ids of the matches bound the time of creation too, which
// spares walking to it.
func (s *Store) filter(ctx context.Context, f referee.HistoryFilter, highest referee.ID) (pgx.NamedArgs, error) {
	lowest, until := idAt(f.From-idSlack), f.Until
	if until == 0 {
		until = endOfTime
	} else if bound := idAt(until + idSlack); string(bound[:]) < string(highest[:]) {
		highest = bound
	}
	if f.ExternalRef != "" && f.Platform != "*" {
		id, err := s.FindExternalRef(ctx, f.Platform, f.ExternalRef)
		if errors.Is(err, referee.ErrNotFound) || err == nil && string(id[:]) > string(highest[:]) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		lowest, highest = id, id
	}
	return pgx.NamedArgs{
		"platform": f.Platform, "player_id": f.Player,
		"low_player_id": min(f.Player, f.Opponent), "high_player_id": max(f.Player, f.Opponent),
		"external_ref": f.ExternalRef, "table_ref": f.Table, "ruleset_id": f.RulesetID,
		"min_stake": f.MinStake, "max_stake": f.MaxStake, "from_time": timestamp(f.From), "until_time": timestamp(until),
		"lowest": uuid(lowest), "highest": uuid(highest),
	}, nil
}

// idAt returns the lowest UUIDv7 of an instant's millisecond.
func idAt(t clock.Time) (id referee.ID) {
	binary.BigEndian.PutUint64(id[:8], uint64(max(t, 0)/1000)<<16)
	return id
}

// timeOf returns the instant that a UUIDv7 tells, in whole milliseconds.
func timeOf(id referee.ID) clock.Time {
	return clock.Time(binary.BigEndian.Uint64(id[:8])>>16) * 1000
}

// previousID returns the greatest ID below id, which is not zero.
func previousID(id referee.ID) referee.ID {
	for i := len(id) - 1; i >= 0; i-- {
		id[i]--
		if id[i] != 0xff {
			break
		}
	}
	return id
}
