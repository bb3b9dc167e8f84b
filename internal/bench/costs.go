package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"referee.example/internal/capacity"
	"referee.example/internal/referee"
	"referee.example/internal/store"
	"referee.example/internal/tlog"
	refereev1 "referee.example/proto/referee/v1"
)

// costHistory is how many events the history has from which settlements and games
// are queued again for the sequencers.
const costHistory = 300_000

// queuedAgain is how many settlements and how many games each sequencer is given.
const queuedAgain = 5_000

// costMatches is the number of matches that moves are played on, that are looked at
// by the sweep and that are asked about by watchers.
const costMatches = 256

// costs measures what internal/capacity computes with, and writes it as JSON.
func (b *bench) costs(ctx context.Context, out io.Writer) error {
	_, old, err := b.grown(ctx, costHistory)
	if err != nil {
		return err
	}
	defer old.close()
	c := capacity.Costs{}
	one := *b
	one.sharded = true
	streamed := ways()[1]
	for way, on := range map[*capacity.Move]*bench{&c.Move: b, &c.ShardedMove: &one} {
		r, err := on.measure(ctx, streamed, costMatches)
		if err != nil {
			return err
		}
		way.ReplicaUS, way.PostgresUS = float64(r.cpu.ours)/1e3, float64(r.cpu.postgres)/1e3
		way.WALBytes, way.Commits, way.PerSecond = r.walBytes, r.commitsPerSecond/r.perSecond, r.perSecond
	}
	if c.Game, err = b.gameCost(ctx); err != nil {
		return err
	}
	s, err := store.Open(ctx, store.Config{URL: old.url, MaxConns: 4})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := old.standing(ctx, s, &c); err != nil {
		return err
	}
	if err := old.sequencers(ctx, s, &c); err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "\t")
	return encoder.Encode(c)
}

// timed measures something that is done n times.
func (b *bench) timed(n int, do func() error) (each capacity.Cost, err error) {
	before, err := b.used()
	if err != nil {
		return each, err
	}
	since := time.Now()
	for range n {
		if err := do(); err != nil {
			return each, err
		}
	}
	elapsed := time.Since(since)
	used, err := b.since(before)
	per := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(n) }
	return capacity.Cost{ElapsedUS: per(elapsed), ReplicaUS: per(used.ours), PostgresUS: per(used.postgres)}, err
}

// standing measures what each replica does all the time: its beat, its sweep's look
// where nothing is due, and its question after what is watched.
func (b *bench) standing(ctx context.Context, s *store.Store, c *capacity.Costs) (err error) {
	const times = 300
	if c.Beat, err = b.timed(times, func() error { _, err := s.Beat(ctx); return err }); err != nil {
		return err
	}
	if c.Sweep, err = b.timed(times, func() error {
		err := s.PutOff(ctx, 0)
		if err == nil {
			_, _, err = s.Due(ctx, 0, 1024)
		}
		return err
	}); err != nil {
		return err
	}
	ids, err := b.someMatches(ctx)
	if err != nil {
		return err
	}
	c.Watch, err = b.timed(times, func() error { _, err := s.Versions(ctx, ids); return err })
	c.Watch = c.Watch.Of(len(ids))
	return err
}

func (b *bench) someMatches(ctx context.Context) (ids []referee.ID, err error) {
	rows, err := b.pool.Query(ctx, `SELECT match_id FROM match_states LIMIT $1`, costMatches)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id [16]byte
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// sequencers measures how fast settlements get their positions and games enter the
// log, by one sequencer at a time.
func (b *bench) sequencers(ctx context.Context, s *store.Store, c *capacity.Costs) (err error) {
	if _, err := b.pool.Exec(ctx, `INSERT INTO settlement_queue (match_id, game, compensates)
		SELECT match_id, game, compensates FROM settlements ORDER BY match_id DESC, game DESC LIMIT $1`, queuedAgain); err != nil {
		return err
	}
	const batch = 1000
	c.Feed, err = b.timed(queuedAgain/batch, func() error {
		queued, platforms, err := s.SequenceSettlements(ctx, batch)
		if err == nil && (queued != batch || len(platforms) == 0) {
			err = fmt.Errorf("%d settlements of %d platforms were sequenced", queued, len(platforms))
		}
		return err
	})
	if err != nil {
		return err
	}
	c.Feed = c.Feed.Of(batch)
	if _, err := b.pool.Exec(ctx, `INSERT INTO finished_games (match_id, game)
		SELECT match_id, game FROM games WHERE status = 4 ORDER BY match_id DESC, game DESC LIMIT $1`, queuedAgain); err != nil {
		return err
	}
	key, err := tlog.ParseKey(b.logKey)
	if err != nil {
		return err
	}
	sequencer := tlog.NewSequencer(s, key)
	c.Log, err = b.timed(1, func() error {
		err := sequencer.Step(ctx)
		var late *tlog.QueueError // they ended long ago
		if errors.As(err, &late) {
			err = nil
		}
		return err
	})
	if err != nil {
		return err
	}
	var logged int
	if err := b.pool.QueryRow(ctx, `SELECT count(*) FROM log_entries`).Scan(&logged); err != nil {
		return err
	}
	if logged < queuedAgain/2 {
		return fmt.Errorf("%d games were logged", logged)
	}
	c.Log = c.Log.Of(logged)
	return nil
}

// gameCost measures games that are given up before their first ply: what a game
// costs besides its moves, with the match that it is the first game of.
func (b *bench) gameCost(ctx context.Context) (each capacity.Cost, err error) {
	r, err := b.serve(ctx)
	defer r.stop()
	if err != nil {
		return each, err
	}
	ctx = r.authorized(ctx)
	const players = 32
	before, err := b.used()
	if err != nil {
		return each, err
	}
	since := time.Now()
	var games atomic.Int64
	errs := make([]error, players)
	var all sync.WaitGroup
	for i := range players {
		all.Go(func() {
			t := &soakTable{client: r.clients[i%len(r.clients)]}
			for time.Since(since) < b.length && errs[i] == nil {
				t.latest = nil
				if errs[i] = t.begin(ctx); errs[i] == nil {
					errs[i] = t.giveUp(ctx)
					games.Add(1)
				}
			}
		})
	}
	all.Wait()
	elapsed := time.Since(since)
	used, err := b.since(before)
	if err = errors.Join(slices.Concat(errs, []error{err})...); err != nil {
		return each, err
	}
	return capacity.Cost{ElapsedUS: float64(elapsed.Microseconds()), ReplicaUS: float64(used.ours.Microseconds()),
		PostgresUS: float64(used.postgres.Microseconds())}.Of(int(games.Load())), nil
}

func (t *soakTable) giveUp(ctx context.Context) error {
	_, err := t.client.ReportDisconnect(ctx, &refereev1.ReportDisconnectRequest{MatchId: t.latest.GetMatchId(), Game: t.latest.GetGame(),
		RequestId: newRequestID(), ExpectedSeq: t.latest.GetNextSeq(), Seats: []uint32{0}})
	return err
}
