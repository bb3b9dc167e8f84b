// Package history generates a long match history: some matches are played, by
// the referee's own rules and store, and copied many times under other ids,
// players, platforms, tables, stakes and times, all their rows with them. It is
// for measuring queries: the copies' hashes, seals and the times inside their
// snapshots are still those of the matches that were played, so they would not
// verify.
package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/store"
)

// Options say how much is generated.
type Options struct {
	// Games is about how many games there are to be, that were started.
	Games int
	// Events is about how many events there are to be: those of the newest matches,
	// as far as there are so many.
	Events int
	// Each is how many matches are played of each model; 0 for 2.
	Each int
}

// Size is what was generated.
type Size struct{ Matches, Games, Events int64 }

// Who and what a generated history has most and least of.
const (
	// Platform has four matches of five, SmallPlatform one of a thousand.
	Platform      = "north"
	SmallPlatform = "cedar"
	// HeavyPlayer sits in three matches of five, at every platform; SecondPlayer
	// is the opponent in a tenth of those.
	HeavyPlayer  = "p0000000"
	SecondPlayer = "p0000001"
	// Ruleset is that of most matches, RareRuleset that of two in a thousand.
	Ruleset     = "7club-standard"
	RareRuleset = "gametower-dark-chain"
	// Table has one match in ten thousand of a platform.
	Table = "table 0001"
	// RareStake is the stake of one match in two thousand.
	RareStake = 50_000
)

// span is the time that a history covers, up to the present.
const (
	span   = 700 * 24 * time.Hour
	months = 26
)

// model is a kind of match that is played and copied.
type model struct {
	ruleset string
	how     ending
	weight  int // of slots
}

// slots is the sum of the models' weights; how a match is played is drawn from them.
const slots = 10_000

var models = []model{
	{Ruleset, byRules, 3260}, {Ruleset, byResignation, 2500}, {Ruleset, byTime, 1200}, {Ruleset, byDisconnection, 700},
	{Ruleset, byAgreement, 200}, {Ruleset, byAllGone, 20}, {Ruleset, byVoid, 20}, {Ruleset, byAbandoning, 20}, {Ruleset, running, 20},
	{"gametower-standard", byRules, 800}, {"gametower-standard", byResignation, 740},
	{"baidu", byRules, 300}, {"baidu", byResignation, 200},
	{RareRuleset, byRules, 20},
}

// played is a match that will be copied into some of the slots.
type played struct {
	id    referee.ID
	games int
	from  int // slot
	until int
}

// Generate fills a migrated database, which url names as its superuser, with a
// history up to the present. What is there already stays.
func Generate(ctx context.Context, url string, o Options) (size Size, err error) {
	if o.Each == 0 {
		o.Each = 2
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return size, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	var now time.Time
	if err := conn.QueryRow(ctx, `SELECT now()`).Scan(&now); err != nil {
		return size, err
	}
	begin := now.Add(-span)
	if _, err := conn.Exec(ctx, `SELECT ensure_events_partitions($1, $2)`, begin, months); err != nil {
		return size, err
	}
	matches, perSlot, err := playModels(ctx, url, o, clock.Time(begin.UnixMicro()))
	if err != nil {
		return size, fmt.Errorf("playing the models: %w", err)
	}
	c := &copier{ctx: ctx, conn: conn, begin: begin, matches: int(float64(o.Games) / perSlot), events: o.Events}
	if err := c.copies(matches); err != nil {
		return size, err
	}
	return c.count()
}

// playModels plays the matches that are copied and returns them with the mean
// number of their games.
func playModels(ctx context.Context, url string, o Options, begin clock.Time) (matches []played, mean float64, err error) {
	s, err := store.Open(ctx, store.Config{URL: url, MaxConns: 4})
	if err != nil {
		return nil, 0, err
	}
	defer s.Close()
	presets, err := referee.LoadPresets()
	if err != nil {
		return nil, 0, err
	}
	from, games := 0, 0
	for i, m := range models {
		each := min(o.Each, m.weight)
		for n := range each {
			at := begin + clock.Time(i*o.Each+n)*600*second
			t, err := newTable(s, uint64(i*1000+n), at)
			if err != nil {
				return nil, 0, err
			}
			p := played{from: from, until: from + m.weight*(n+1)/each - m.weight*n/each}
			if p.id, p.games, err = t.play(ctx, presets.Get(m.ruleset), m.how); err != nil {
				return nil, 0, fmt.Errorf("%s under %s: %w", m.how, m.ruleset, err)
			}
			from = p.until
			games += p.games * (p.until - p.from)
			matches = append(matches, p)
		}
	}
	return matches, float64(games) / slots, nil
}
