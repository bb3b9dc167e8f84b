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

// A list begins with the newest match and pages by key. What it is driven by
// decides what a page costs: a player's own matches, a platform's, or all. The
// other filters only drop rows on the way.

// matchFilter is the filter of a list, over matches m, from parameters $1 to
// $12: platform, player, opponent, external_ref, table_ref, ruleset_id, the
// smallest and largest stake, the time of creation from and until, and the
// lowest and highest match id.
const matchFilter = `($1 = '*' OR m.platform = $1)
	AND ($2 = '' OR $2 = ANY (m.player_ids)) AND ($3 = '' OR $3 = ANY (m.player_ids))
	AND ($4 = '' OR m.external_ref = $4) AND ($5 = '' OR m.table_ref = $5) AND ($6 = '' OR m.ruleset_id = $6)
	AND m.stake >= $7 AND ($8::bigint = 0 OR m.stake <= $8)
	AND m.created_at >= $9 AND m.created_at < $10
	AND m.match_id >= $11 AND m.match_id <= $12`

const (
	fromMatches = ` FROM matches m`
	fromPlayer  = ` FROM participants p JOIN matches m ON m.match_id = p.match_id`

	ofAll      = ` WHERE `
	ofPlatform = ` WHERE m.platform = $1 AND `
	ofPlayer   = ` WHERE p.platform = $1 AND p.player_id = $2 AND p.match_id >= $11 AND p.match_id <= $12 AND `
)

const (
	listedMatch = `SELECT m.match_id, s.version, s.state`
	withState   = ` JOIN match_states s ON s.match_id = m.match_id`
	matchPage   = ` AND ($13::smallint = 0 OR m.status = $13) ORDER BY m.match_id DESC LIMIT $14`

	sqlListMatches           = listedMatch + fromMatches + withState + ofAll + matchFilter + matchPage
	sqlListMatchesOfPlatform = listedMatch + fromMatches + withState + ofPlatform + matchFilter + matchPage
	sqlListMatchesOfPlayer   = listedMatch + fromPlayer + withState + ofPlayer + matchFilter + matchPage
)

// The numbers of the results are referee.GameResultFilter's.
const (
	listedGame = `SELECT g.match_id, g.game, m.platform, m.player_ids, m.ruleset_id, m.stake, g.status,
	coalesce(g.end_reason, 0), coalesce(g.winners, 0), coalesce(g.void, false), coalesce(g.first_ply, 0),
	coalesce(g.last_ply, 0), coalesce(g.plies, 0), g.started_at, g.ended_at`
	withGames = ` JOIN games g ON g.match_id = m.match_id`
	gamePage  = ` AND (m.match_id, g.game) < ($13, $14::smallint) AND g.started_at IS NOT NULL
	AND ($15::smallint = 0 OR g.end_reason = $15)
	AND CASE $16::smallint
		WHEN 0 THEN true
		WHEN 1 THEN g.winners <> 0
		WHEN 2 THEN g.winners = 0 AND NOT g.void
		WHEN 3 THEN g.void
		WHEN 4 THEN g.status <> 4
		ELSE false
	END
ORDER BY m.match_id DESC, g.game DESC LIMIT $17`

	sqlListGames           = listedGame + fromMatches + withGames + ofAll + matchFilter + gamePage
	sqlListGamesOfPlatform = listedGame + fromMatches + withGames + ofPlatform + matchFilter + gamePage
	sqlListGamesOfPlayer   = listedGame + fromPlayer + withGames + ofPlayer + matchFilter + gamePage
)

// highestID is above every UUIDv7.
var highestID = referee.ID{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// idSlack is how far the time in a match's id may be from that of its creation:
// an id is minted between the call's arrival and its commit.
const idSlack = clock.Time(time.Hour / time.Microsecond)

// endOfTime is the last instant that the referee knows (year 9999).
const endOfTime = clock.Time(253_402_300_799_999_999)

// ListMatches returns a page of matches as they were committed last, newest
// first, from the one after before on.
func (s *Store) ListMatches(ctx context.Context, f referee.HistoryFilter, status referee.MatchStatus,
	before referee.ID, limit int) ([]*referee.State, error) {
	query := driver(f, sqlListMatches, sqlListMatchesOfPlatform, sqlListMatchesOfPlayer)
	highest := highestID
	if before != (referee.ID{}) {
		highest = previousID(before)
	}
	arguments, err := s.filter(ctx, f, highest)
	if err != nil || arguments == nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, query, append(arguments, int16(status), limit)...)
	if err != nil {
		return nil, wrap("list matches", err)
	}
	type row struct {
		ID       [16]byte
		Version  int64
		Snapshot []byte
	}
	// All rows first: a ruleset may have to be read on the way.
	listed, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	if err != nil {
		return nil, wrap("list matches", err)
	}
	matches := make([]*referee.State, len(listed))
	for i, row := range listed {
		if matches[i], err = s.decode(ctx, row.ID, row.Version, row.Snapshot); err != nil {
			return nil, err
		}
	}
	return matches, nil
}

// ListGames returns a page of started games, those of the newest match first
// and in it the last game first, from the one after before on.
func (s *Store) ListGames(ctx context.Context, f referee.HistoryFilter, endedBy rules.EndReason,
	result referee.GameResultFilter, before referee.GameKey, limit int) ([]referee.GameRow, error) {
	query := driver(f, sqlListGames, sqlListGamesOfPlatform, sqlListGamesOfPlayer)
	if before == (referee.GameKey{}) {
		before.Match = highestID
	}
	arguments, err := s.filter(ctx, f, before.Match)
	if err != nil || arguments == nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, query, append(arguments, uuid(before.Match), before.Game, int16(endedBy), int16(result), limit)...)
	if err != nil {
		return nil, wrap("list games", err)
	}
	games, err := pgx.CollectRows(rows, scanGameRow)
	return games, wrap("list games", err)
}

func scanGameRow(row pgx.CollectableRow) (g referee.GameRow, err error) {
	var id [16]byte
	var started time.Time
	var ended *time.Time
	err = row.Scan(&id, &g.Game, &g.Platform, &g.Players, &g.RulesetID, &g.Stake, &g.Status,
		&g.Outcome.Reason, &g.Outcome.Winners, &g.Outcome.Void, &g.Outcome.FirstPly,
		&g.Outcome.LastPly, &g.Plies, &started, &ended)
	g.Match, g.Started = id, instant(started)
	if ended != nil {
		g.Ended = instant(*ended)
	}
	return g, err
}

// driver chooses the list that reads the fewest rows. A player belongs to a
// platform, so a player of any platform is only a filter.
func driver(f referee.HistoryFilter, all, platform, player string) string {
	switch {
	case f.Platform == "*":
		return all
	case f.Player != "":
		return player
	}
	return platform
}

// filter returns the parameters of matchFilter, nil if nothing can match. The
// ids of the matches bound the time of creation too, which spares walking to it.
func (s *Store) filter(ctx context.Context, f referee.HistoryFilter, highest referee.ID) ([]any, error) {
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
	return []any{f.Platform, f.Player, f.Opponent, f.ExternalRef, f.Table, f.RulesetID, f.MinStake, f.MaxStake,
		timestamp(f.From), timestamp(until), uuid(lowest), uuid(highest)}, nil
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
