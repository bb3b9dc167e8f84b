package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/encoding/protowire"
)

// connections is how many a platform's backend has open to a replica.
const connections = 4

func dice() uint64 { return rand.Uint64() } //nolint:gosec // which action a load generator plays is no secret

// warmUp is how long tables play before they are measured: sessions prepare their
// statements, and a new replica knows nothing yet.
const warmUp = time.Second

// playAll has every table play one move after the other for the bench's length, and
// before that for warmUp.
func (b *bench) playAll(ctx context.Context, address string, streamed bool, tables []table, headers ...hpack.HeaderField) (p played, err error) {
	lines := make([]*line, min(connections, len(tables)))
	shares := make([][]table, len(lines))
	for i := range lines {
		if lines[i], err = newLine(ctx, address, streamed, headers...); err != nil {
			return p, err
		}
		defer func() { _ = lines[i].conn.Close() }()
	}
	for i, t := range tables {
		shares[i%len(lines)] = append(shares[i%len(lines)], t)
	}
	warming := time.Now()
	if err := playUntil(ctx, lines, shares, warming.Add(warmUp)); err != nil {
		return p, err
	}
	for _, l := range lines {
		p.warmedUp += len(l.latencies)
		l.latencies = l.latencies[:0]
	}
	before, err := b.used()
	if err != nil {
		return p, err
	}
	allocatedBefore := allocated()
	start := time.Now()
	if err := playUntil(ctx, lines, shares, start.Add(b.length)); err != nil {
		return p, err
	}
	p.elapsed, p.whole, p.allocated = time.Since(start), time.Since(warming), allocated()-allocatedBefore
	if p.used, err = b.since(before); err != nil {
		return p, err
	}
	for _, l := range lines {
		p.latencies = append(p.latencies, l.latencies...)
	}
	return p, nil
}

// playUntil has the lines' tables play until an instant.
func playUntil(ctx context.Context, lines []*line, shares [][]table, until time.Time) error {
	errs := make([]error, len(lines))
	var all sync.WaitGroup
	for i, l := range lines {
		all.Go(func() { errs[i] = l.play(ctx, shares[i], until) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// field returns the first field of a number in a message: its bytes, or its value.
func field(message []byte, number protowire.Number) (content []byte, value uint64) {
	for len(message) > 0 {
		found, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, 0
		}
		message = message[n:]
		if found == number {
			if kind == protowire.BytesType {
				content, _ = protowire.ConsumeBytes(message)
			} else {
				value, _ = protowire.ConsumeVarint(message)
			}
			return content, value
		}
		if n = protowire.ConsumeFieldValue(found, kind, message); n < 0 {
			return nil, 0
		}
		message = message[n:]
	}
	return nil, 0
}
