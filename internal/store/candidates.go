package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// The candidates of a list: match ids, newest first and numbered by n, from one
// index that begins with what the filter says and ends in the match id. There are
// at most maxExamined, between @lowest and @highest. Their game is 0 where they
// are whole matches.

// maxExamined is how many candidates one call looks at; examined says it in SQL.
const (
	maxExamined = 2000
	examined    = `2000`
)

// The compiler refuses this unless the two are the same.
// Two equal keys, which the compiler refuses, unless both say the same.
var _ = map[bool]struct{}{false: {}, examined == "2000" && maxExamined == 2000: {}}

const (
	newest = `
		SELECT d.match_id, 0::smallint AS game, row_number() OVER (ORDER BY d.match_id DESC) AS n FROM `
	inRange = `d.match_id >= @lowest AND d.match_id <= @highest ORDER BY d.match_id DESC LIMIT ` + examined + `
	`

	amongAll      = newest + `matches d WHERE ` + inRange
	amongPlatform = newest + `matches d WHERE d.platform = @platform AND ` + inRange
	amongPlayer   = newest + `participants d WHERE d.platform = @platform AND d.player_id = @player_id AND ` + inRange
	amongPair     = newest + `pairs d WHERE d.platform = @platform AND d.low_player_id = @low_player_id
			AND d.high_player_id = @high_player_id AND ` + inRange
	amongTable = newest + `matches d WHERE d.platform = @platform AND d.table_ref = @table_ref
			AND d.table_ref <> '' AND ` + inRange
	amongRuleset = newest + `matches d WHERE d.platform = @platform AND d.ruleset_id = @ruleset_id AND ` + inRange
	amongLive    = newest + `matches d WHERE d.status < 4 AND ` + inRange
	amongEndedAs = newest + `matches d WHERE d.platform = @platform AND d.status = @status::smallint
			AND d.status >= 4 AND ` + inRange
)

// Candidates that are games, after the one before the page.
const (
	newestGames = `
		SELECT d.match_id, d.game, row_number() OVER (ORDER BY d.match_id DESC, d.game DESC) AS n
		FROM ended_games d WHERE d.platform = @platform AND `
	inRangeOfGames = `d.match_id >= @lowest AND d.match_id <= @highest
			AND (d.match_id, d.game) < (@before_match, @before_game::smallint)
		ORDER BY d.match_id DESC, d.game DESC LIMIT ` + examined + `
	`

	amongEndedBy   = newestGames + `d.end_reason = @end_reason::smallint AND ` + inRangeOfGames
	amongUndecided = newestGames + `d.result = @result::smallint AND d.result > 1 AND ` + inRangeOfGames
)

// sqlPlanByKey holds for one transaction. Statistics, which lag behind or are
// none at all, may tell the planner to collect and sort where following an index
// stops at the page's end; these queries are only ever right by key.
const sqlPlanByKey = `
SELECT set_config(name, 'off', true) FROM unnest(ARRAY['enable_seqscan', 'enable_bitmapscan', 'enable_sort',
	'enable_hashjoin', 'enable_mergejoin', 'enable_memoize', 'jit']) name`

// list reads all rows of a list at once: those that the page has, and one.
func list[T any](ctx context.Context, s *Store, query string, arguments pgx.NamedArgs, scan pgx.RowToFunc[T]) (listed []T, err error) {
	batch := &pgx.Batch{} // a transaction, in one round trip
	batch.Queue(sqlPlanByKey)
	batch.Queue(query, arguments).Query(func(rows pgx.Rows) error {
		listed, err = pgx.CollectRows(rows, scan)
		return err
	})
	err = s.send(ctx, "list", batch)
	return listed, err
}

// driver chooses the candidates by a filter's own fields, nothing if it has none
// but the platform. Platforms own their players, tables and endings, so that a
// list over all platforms has only the rulesets and those that are live to go by.
func driver(f referee.HistoryFilter, pair, player, table string) string {
	switch {
	case f.Platform == "*":
		return ""
	case f.Opponent != "":
		return pair
	case f.Player != "":
		return player
	case f.Table != "":
		return table
	}
	return ""
}

// matchesDriver chooses the query of a list of matches: the one with the fewest
// candidates, as far as the filter tells.
func matchesDriver(f referee.HistoryFilter, status referee.MatchStatus) string {
	if own := driver(f, sqlListMatchesOfPair, sqlListMatchesOfPlayer, sqlListMatchesOfTable); own != "" {
		return own
	}
	usual := status == referee.MatchComplete || status == referee.MatchDecided
	switch {
	case status != 0 && !status.Over():
		return sqlListMatchesLive
	case f.Platform == "*":
		return sqlListMatches
	case status != 0 && !usual:
		return sqlListMatchesEndedAs
	case f.RulesetID != "":
		return sqlListMatchesOfRuleset
	case usual:
		return sqlListMatchesEndedAs
	}
	return sqlListMatchesOfPlatform
}

// gamesDriver chooses the query of a list of games in the same way.
func gamesDriver(f referee.HistoryFilter, endedBy rules.EndReason, result referee.GameResultFilter) string {
	if own := driver(f, sqlListGamesOfPair, sqlListGamesOfPlayer, sqlListGamesOfTable); own != "" {
		return own
	}
	usual := endedBy == rules.EndAllCaptured || endedBy == rules.EndNoLegalAction ||
		endedBy == rules.EndResignation || endedBy == rules.EndTime
	undecided := result == referee.ResultDrawn || result == referee.ResultVoid
	switch {
	case result == referee.ResultRunning:
		return sqlListGamesLive
	case f.Platform == "*":
		return sqlListGames
	case endedBy != 0 && !usual:
		return sqlListGamesEndedBy
	case result == referee.ResultVoid:
		return sqlListGamesUndecided
	case f.RulesetID != "":
		return sqlListGamesOfRuleset
	case usual:
		return sqlListGamesEndedBy
	case undecided:
		return sqlListGamesUndecided
	}
	return sqlListGamesOfPlatform
}
