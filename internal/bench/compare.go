package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"referee.example/internal/app"
	"referee.example/internal/history"
)

// comparison is what is measured in turns, and the kinds that the others' moves a
// second are told as shares of.
type comparison struct {
	kinds []kind
	bases []string
	on    map[string]*bench // where a kind plays, by its name, if not on the first
}

// ways are the ways to play on a replica.
func ways() (both []kind) {
	for _, k := range kinds {
		if k.name == "referee, unary" || k.name == "referee, stream" {
			both = append(both, k)
		}
	}
	return both
}

// add lets a way to play be measured on another bench, under another name.
func (c *comparison) add(way kind, name string, on *bench) {
	if c.on == nil {
		c.on = map[string]*bench{}
	}
	way.name = name
	c.kinds = append(c.kinds, way)
	c.on[name] = on
}

// of is where a kind plays.
func (c comparison) of(k kind, first *bench) *bench {
	if on := c.on[k.name]; on != nil {
		return on
	}
	return first
}

// whole is the referee beside what does less.
var whole = comparison{kinds: kinds, bases: []string{kinds[0].name, kinds[1].name}}

// only keeps the kinds whose names contain a text.
func (c comparison) only(text string) comparison {
	kept := comparison{bases: c.bases, on: c.on}
	for _, k := range c.kinds {
		if strings.Contains(k.name, text) {
			kept.kinds = append(kept.kinds, k)
		}
	}
	return kept
}

// pools compares sizes of a replica's pool with the first that is named.
func (b *bench) pools(sizes []int) (c comparison) {
	for _, way := range ways() {
		for i, conns := range sizes {
			other := *b
			other.maxConns = conns
			name := fmt.Sprintf("%s, %d connections", way.name, conns)
			c.add(way, name, &other)
			if i == 0 {
				c.bases = append(c.bases, name)
			}
		}
	}
	return c
}

// modes compares the sharded mode with the ordinary one, on a database that is not
// sharded: what it costs, not what it gains.
func (b *bench) modes() (c comparison) {
	for _, way := range ways() {
		other := *b
		other.sharded = true
		c.add(way, way.name, b)
		c.add(way, way.name+", sharded", &other)
		c.bases = append(c.bases, way.name)
	}
	return c
}

// grown compares a database with a history of so many events with one without. The
// caller closes the bench of the former.
func (b *bench) grown(ctx context.Context, events int) (c comparison, old *bench, err error) {
	const name = "grown"
	if _, err := b.pool.Exec(ctx, `CREATE DATABASE `+name); err != nil {
		return c, nil, err
	}
	b.keys += "\n" + history.Key()
	other := *b
	old = &other
	old.url = b.urlOf(name)
	if err := old.connect(ctx); err != nil {
		return c, nil, err
	}
	if err := old.remember(ctx, events); err != nil {
		old.close()
		return c, nil, err
	}
	// What autovacuum has done by the end of a day, on both.
	for _, each := range []*bench{b, old} {
		if _, err := each.pool.Exec(ctx, `VACUUM (ANALYZE)`); err != nil {
			old.close()
			return c, nil, err
		}
	}
	_, err = b.pool.Exec(ctx, `CHECKPOINT`)
	for _, way := range ways() {
		c.add(way, way.name, b)
		c.add(way, way.name+", grown", old)
		c.bases = append(c.bases, way.name)
	}
	return c, old, err
}

// remember fills a new database with a history in which every game has ended.
func (b *bench) remember(ctx context.Context, events int) error {
	if err := app.Migrate(ctx, b.url); err != nil {
		return err
	}
	since := time.Now()
	size, err := history.Generate(ctx, b.url, history.Options{Games: events / eventsAGame, Events: events})
	if err != nil {
		return err
	}
	// A few of its matches run, and would all be overdue.
	if _, err := b.pool.Exec(ctx, `UPDATE match_states SET deadline = NULL, wake_at = NULL, outages_after = NULL
		WHERE deadline IS NOT NULL OR wake_at IS NOT NULL`); err != nil {
		return err
	}
	var bytes int64
	if err := b.pool.QueryRow(ctx, `SELECT pg_database_size(current_database())`).Scan(&bytes); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "history: %d matches, %d games, %d events, %d MB, generated in %v\n\n",
		size.Matches, size.Games, size.Events, bytes/1_000_000, time.Since(since).Round(time.Second))
	return nil
}

// eventsAGame is how many of the generated events there are for each game: fewer
// than are played, since only the newest matches keep theirs. So the tables of
// matches and games are those of ten times as long a history.
const eventsAGame = 10
