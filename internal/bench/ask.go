package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
)

// question is what is asked of the bench instead of the referee beside what does
// less; nothing of it means that.
type question struct {
	pools       string
	sharded     bool
	events      int
	soakMoves   int64
	soakMatches int
	costs       bool
}

func askFlags() *question {
	q := &question{}
	flag.StringVar(&q.pools, "pools", "", "compare these sizes of a replica's pool with the first, such as 16,4,8,32")
	flag.BoolVar(&q.sharded, "sharded", false, "compare the sharded mode with the ordinary one")
	flag.IntVar(&q.events, "history-events", 0, "compare a database with so many events of ended games with one without")
	flag.Int64Var(&q.soakMoves, "soak-moves", 0, "play so many moves and watch the table of states")
	flag.IntVar(&q.soakMatches, "soak-matches", 1000, "at how many matches at a time")
	flag.BoolVar(&q.costs, "costs", false, "measure what docs/capacity.md is computed from, and write it as JSON")
	return q
}

// answer measures what is asked for and reports.
func (b *bench) answer(ctx context.Context, q *question, only string, sizes []int, rounds int) (err error) {
	c := whole
	switch {
	case q.soakMoves > 0:
		all, err := b.soak(ctx, q.soakMatches, b.soakPhases(q.soakMoves))
		soakReport(os.Stdout, q.soakMatches, all)
		return errors.Join(err, steady(all))
	case q.costs:
		return b.costs(ctx, os.Stdout)
	case q.pools != "":
		conns, err := numbers(q.pools)
		if err != nil {
			return err
		}
		c = b.pools(conns)
	case q.sharded:
		c = b.modes()
	case q.events > 0:
		var old *bench
		if c, old, err = b.grown(ctx, q.events); err != nil {
			return err
		}
		defer old.close()
	}
	return b.compare(ctx, c.only(only), sizes, rounds)
}

// compare measures all kinds in turns and reports.
func (b *bench) compare(ctx context.Context, c comparison, sizes []int, rounds int) error {
	all := results{}
	for round := range rounds {
		for _, kind := range c.kinds {
			for _, matches := range sizes {
				fmt.Fprintf(os.Stderr, "round %d of %d: %s, %d matches\n", round+1, rounds, kind.name, matches)
				r, err := measured(ctx, c.of(kind, b), kind, matches)
				if err != nil {
					// Hours may have led here: what there is is told.
					return errors.Join(fmt.Errorf("%s with %d matches: %w", kind.name, matches, err),
						b.report(ctx, os.Stdout, c, all, sizes, round))
				}
				all.add(kind.name, matches, r)
			}
		}
	}
	return b.report(ctx, os.Stdout, c, all, sizes, rounds)
}
