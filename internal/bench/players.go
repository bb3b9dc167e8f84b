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

// playAll has every table play one move after the other for the bench's length.
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
	before, err := b.used()
	if err != nil {
		return p, err
	}
	allocatedBefore := allocated()
	start := time.Now()
	errs := make([]error, len(lines))
	var all sync.WaitGroup
	for i, l := range lines {
		all.Go(func() { errs[i] = l.play(ctx, shares[i], start.Add(b.length)) })
	}
	all.Wait()
	p = played{elapsed: time.Since(start), allocated: allocated() - allocatedBefore}
	if p.used, err = b.since(before); err != nil {
		return p, err
	}
	for _, l := range lines {
		p.latencies = append(p.latencies, l.latencies...)
	}
	return p, errors.Join(errs...)
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
