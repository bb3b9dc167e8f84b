package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	refereev1 "referee.example/proto/referee/v1"
)

// connections is how many a platform's backend has open to a replica.
const connections = 4

func dice() uint64 { return rand.Uint64() } //nolint:gosec // which action a load generator plays is no secret

func dial(address string) (clients []refereev1.MatchServiceClient, hangUp func(), err error) {
	var open []*grpc.ClientConn
	hangUp = func() {
		for _, conn := range open {
			_ = conn.Close()
		}
	}
	for range connections {
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			hangUp()
			return nil, nil, err
		}
		open = append(open, conn)
		clients = append(clients, refereev1.NewMatchServiceClient(conn))
	}
	return clients, hangUp, nil
}

// player plays the next move of its match and returns how long the answer took.
// What it does besides, to begin a game, is not in that; 0 is no move.
type player func(ctx context.Context) (time.Duration, error)

// playAll has every player play one move after the other for the bench's length.
func (b *bench) playAll(ctx context.Context, players []player) (played, error) {
	perPlayer, errs := make([][]time.Duration, len(players)), make([]error, len(players))
	before, err := b.used()
	if err != nil {
		return played{}, err
	}
	allocatedBefore := allocated()
	start := time.Now()
	end := start.Add(b.length)
	var all sync.WaitGroup
	for i, play := range players {
		all.Go(func() {
			for time.Now().Before(end) {
				latency, err := play(ctx)
				if err != nil {
					errs[i] = err
					return
				}
				if latency > 0 {
					perPlayer[i] = append(perPlayer[i], latency)
				}
			}
		})
	}
	all.Wait()
	p := played{elapsed: time.Since(start), allocated: allocated() - allocatedBefore}
	if p.used, err = b.since(before); err != nil {
		return p, err
	}
	for _, own := range perPlayer {
		p.latencies = append(p.latencies, own...)
	}
	return p, errors.Join(errs...)
}
