package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"referee.example/internal/referee"
	refereev1 "referee.example/proto/referee/v1"
)

// bareServer plays moves without any rules: it is what the referee's own work is
// measured against. It answers by the same contract.
type bareServer struct {
	refereev1.UnimplementedMatchServiceServer
	play func(ctx context.Context, match pgtype.UUID, version int64) error
}

// PlayAction takes the ply for the version.
func (s *bareServer) PlayAction(ctx context.Context, r *refereev1.PlayActionRequest) (*refereev1.PlayActionResponse, error) {
	var match pgtype.UUID
	if err := match.Scan(r.GetMatchId()); err != nil {
		return nil, err
	}
	if err := s.play(ctx, match, int64(r.GetExpectedPly())); err != nil {
		return nil, err
	}
	return &refereev1.PlayActionResponse{Change: &refereev1.Change{
		Game: &refereev1.Game{MatchId: r.GetMatchId(), Game: 1, NextPly: r.GetExpectedPly() + 1},
	}}, nil
}

// textbook plays by BEGIN, SELECT FOR UPDATE, INSERT, UPDATE, COMMIT.
func (b *bench) textbook(ctx context.Context, matches int) (played, error) {
	const (
		lock   = `SELECT version, state FROM bare.match_states WHERE match_id = $1 FOR UPDATE`
		insert = `INSERT INTO bare.events (` + bareColumns + `) SELECT $1, ` + bareEvent
		update = `UPDATE bare.match_states SET version = version + 1, state = $2, deadline = now() WHERE match_id = $1`
	)
	return b.bare(ctx, matches, func(ctx context.Context, match pgtype.UUID, version int64) error {
		return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
			var found int64
			var state []byte
			if err := tx.QueryRow(ctx, lock, match).Scan(&found, &state); err != nil {
				return err
			}
			if found != version {
				return fmt.Errorf("version %d, not %d", found, version)
			}
			if _, err := tx.Exec(ctx, insert, match, version); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, update, match, state)
			return err
		})
	})
}

// statement plays by the one guarded statement.
func (b *bench) statement(ctx context.Context, matches int) (played, error) {
	return b.bare(ctx, matches, func(ctx context.Context, match pgtype.UUID, version int64) error {
		tag, err := b.pool.Exec(ctx, bareStatement, match, version)
		if err == nil && tag.RowsAffected() != 1 {
			err = fmt.Errorf("the version was not %d", version)
		}
		return err
	})
}

func (b *bench) bare(ctx context.Context, matches int, play func(context.Context, pgtype.UUID, int64) error) (played, error) {
	if _, err := b.pool.Exec(ctx, bareRows); err != nil {
		return played{}, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return played{}, err
	}
	server := grpc.NewServer()
	refereev1.RegisterMatchServiceServer(server, &bareServer{play: play})
	go func() { _ = server.Serve(listener) }() // until Stop
	defer server.Stop()
	tables := make([]table, matches)
	for i := range tables {
		tables[i] = &bareTable{id: bareMatch(i), version: 1}
	}
	return b.playAll(ctx, listener.Addr().String(), false, tables)
}

// bareTable is a row of the bare tables and its version.
type bareTable struct {
	id      string
	version uint32
	move    refereev1.PlayActionRequest
}

func (t *bareTable) match() string { return t.id }

func (t *bareTable) request(b []byte) ([]byte, error) {
	seat := t.version % 2
	t.move.MatchId, t.move.Game, t.move.RequestId, t.move.ExpectedPly, t.move.Seat = t.id, 1, newRequestID(), t.version, &seat
	if t.move.Action == nil {
		t.move.Action = &refereev1.Action{Kind: refereev1.ActionKind_ACTION_KIND_FLIP, From: "a1"}
	}
	return proto.MarshalOptions{}.MarshalAppend(b, &t.move)
}

func (t *bareTable) take(change []byte) (goesOn bool, err error) {
	game, _ := field(change, 1)
	_, next := field(game, 6)
	if t.version++; next != uint64(t.version) {
		return false, fmt.Errorf("version %d, not %d", next, t.version)
	}
	return true, nil
}

func (t *bareTable) begin(context.Context) error { return nil }

// bareMatch is the id of the bare tables' match n, as bareRows writes it.
func bareMatch(n int) string {
	digits := fmt.Sprintf("%032d", n)
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}

func newRequestID() string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], dice())
	binary.BigEndian.PutUint64(id[8:], dice())
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return referee.ID(id).String()
}
