package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/clock"
	"referee.example/internal/history"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
	"referee.example/internal/store"
)

// pageSize is that of the contract's default.
const pageSize = 50

// sample is what queries are asked about.
type sample struct {
	*store.Store
	facts
	conn *pgx.Conn
	rand *rand.Rand
}

// facts are what there is to ask about.
type facts struct {
	from, till      clock.Time // of the history
	platform, heavy int        // matches of the platform, and of its heaviest player
	matches         []referee.ID
	players         []string
}

// query is a documented question to the history, at a random place of it.
type query struct {
	name string
	ask  func(ctx context.Context, s *sample) error
}

func (s *sample) id(at clock.Time) (id referee.ID) {
	for i := range 6 {
		id[i] = byte(at / 1000 >> (40 - 8*i))
	}
	return id
}

// place is a random instant of the history.
func (s *sample) place() clock.Time { return s.from + clock.Time(s.rand.Int64N(int64(s.till-s.from))) }

func (s *sample) match() referee.ID { return s.matches[s.rand.IntN(len(s.matches))] }

func (s *sample) player() string { return s.players[s.rand.IntN(len(s.players))] }

// matchesOf lists matches from a random place on.
func matchesOf(f referee.HistoryFilter, status referee.MatchStatus) func(context.Context, *sample) error {
	return func(ctx context.Context, s *sample) error {
		_, _, err := s.ListMatches(ctx, f, status, s.id(s.place()), pageSize)
		return err
	}
}

// gamesOf lists games from a random place on.
func gamesOf(f referee.HistoryFilter, by rules.EndReason, result referee.GameResultFilter) func(context.Context, *sample) error {
	return func(ctx context.Context, s *sample) error {
		_, _, err := s.ListGames(ctx, f, by, result, referee.GameKey{Match: s.id(s.place())}, pageSize)
		return err
	}
}

func north(change func(*referee.HistoryFilter)) referee.HistoryFilter {
	f := referee.HistoryFilter{Platform: history.Platform}
	if change != nil {
		change(&f)
	}
	return f
}

var heavyPair = north(func(f *referee.HistoryFilter) { f.Player, f.Opponent = history.HeavyPlayer, history.SecondPlayer })

var queries = []query{
	{"matches of all platforms", matchesOf(referee.HistoryFilter{Platform: "*"}, 0)},
	{"matches of a platform", matchesOf(north(nil), 0)},
	{"matches of the heaviest player", matchesOf(north(func(f *referee.HistoryFilter) { f.Player = history.HeavyPlayer }), 0)},
	{"matches of some player", func(ctx context.Context, s *sample) error {
		_, _, err := s.ListMatches(ctx, north(func(f *referee.HistoryFilter) { f.Player = s.player() }), 0, referee.ID{}, pageSize)
		return err
	}},
	{"matches of a pair", matchesOf(heavyPair, 0)},
	{"matches of a table", matchesOf(north(func(f *referee.HistoryFilter) { f.Table = history.Table }), 0)},
	{"matches under a rare ruleset", matchesOf(north(func(f *referee.HistoryFilter) { f.RulesetID = history.RareRuleset }), 0)},
	{"void matches", matchesOf(north(nil), referee.MatchVoid)},
	{"matches being played", matchesOf(north(nil), referee.MatchPlaying)},
	{"matches of a stake that few have", matchesOf(north(func(f *referee.HistoryFilter) { f.MinStake = history.RareStake }), 0)},
	{"a player's matches of such a stake", matchesOf(north(func(f *referee.HistoryFilter) {
		f.Player, f.MinStake = history.HeavyPlayer, history.RareStake
	}), 0)},
	{"matches of a day", func(ctx context.Context, s *sample) error {
		day := s.place()
		f := north(func(f *referee.HistoryFilter) { f.From, f.Until = day, day+86_400_000_000 })
		_, _, err := s.ListMatches(ctx, f, 0, referee.ID{}, pageSize)
		return err
	}},
	{"the match of an external_ref", func(ctx context.Context, s *sample) error {
		f := north(func(f *referee.HistoryFilter) { f.ExternalRef = fmt.Sprint("order ", 50*(1+s.rand.IntN(1000))) })
		_, _, err := s.ListMatches(ctx, f, 0, referee.ID{}, pageSize)
		return err
	}},
	{"games of the heaviest player", gamesOf(north(func(f *referee.HistoryFilter) { f.Player = history.HeavyPlayer }), 0, 0)},
	{"games ended by a rare reason", gamesOf(north(nil), rules.EndAllGone, 0)},
	{"drawn games", gamesOf(north(nil), 0, referee.ResultDrawn)},
	{"running games", gamesOf(north(nil), 0, referee.ResultRunning)},
	{"statistics of the heaviest pair", func(ctx context.Context, s *sample) error {
		_, err := s.PairStatistics(ctx, heavyPair)
		return err
	}},
	{"record of a match", func(ctx context.Context, s *sample) error {
		_, err := s.Record(ctx, s.match())
		return err
	}},
	{"last ten games of a player, complete", recall},
}

// recall reads what RecallPlayer does.
func recall(ctx context.Context, s *sample) error {
	f := north(func(f *referee.HistoryFilter) { f.Player = s.player() })
	games, _, err := s.ListGames(ctx, f, 0, 0, referee.GameKey{}, 10)
	for _, game := range games {
		if err != nil {
			return err
		}
		if _, err = s.Load(ctx, game.Match); err == nil {
			_, err = s.Events(ctx, game.Match, game.Game, 1, 500)
		}
	}
	return err
}

// offsets are the same lists by OFFSET, at a random depth.
var offsets = []query{
	{"matches of a platform, by OFFSET", func(ctx context.Context, s *sample) error {
		return s.offset(ctx, `SELECT m.match_id, s.state FROM matches m JOIN match_states s ON s.match_id = m.match_id
			WHERE m.platform = $1 ORDER BY m.match_id DESC OFFSET $2 LIMIT $3`, history.Platform, s.rand.IntN(s.platform), pageSize)
	}},
	{"matches of the heaviest player, by OFFSET", func(ctx context.Context, s *sample) error {
		return s.offset(ctx, `SELECT m.match_id, s.state FROM participants p JOIN matches m ON m.match_id = p.match_id
			JOIN match_states s ON s.match_id = m.match_id
			WHERE p.platform = $1 AND p.player_id = $4 ORDER BY p.match_id DESC OFFSET $2 LIMIT $3`,
			history.Platform, s.rand.IntN(s.heavy), pageSize, history.HeavyPlayer)
	}},
}

func (s *sample) offset(ctx context.Context, query string, arguments ...any) error {
	rows, err := s.conn.Query(ctx, query, arguments...)
	if err != nil {
		return err
	}
	_, err = pgx.CollectRows(rows, func(pgx.CollectableRow) (struct{}, error) { return struct{}{}, nil })
	return err
}
