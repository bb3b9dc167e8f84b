package store

import (
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"referee.example/internal/clock"
	"referee.example/internal/referee"
	"referee.example/internal/rules"
)

// timestamp is the instant as a timestamptz, which holds whole microseconds.
func timestamp(t clock.Time) time.Time { return time.UnixMicro(int64(t)).UTC() }

// timestampOrNull is null for the instant 0, which stands for none.
func timestampOrNull(t clock.Time) *time.Time {
	if t == 0 {
		return nil
	}
	at := timestamp(t)
	return &at
}

func instant(t time.Time) clock.Time { return clock.Time(t.UnixMicro()) }

func uuid(id referee.ID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

// uuidOrNull is null for the zero ID, which stands for none.
func uuidOrNull(id referee.ID) pgtype.UUID {
	return pgtype.UUID{Bytes: id, Valid: id != referee.ID{}}
}

func uuids(ids []referee.ID) []pgtype.UUID {
	list := make([]pgtype.UUID, len(ids))
	for i, id := range ids {
		list[i] = uuid(id)
	}
	return list
}

// notNull is an empty byte string in place of nil, which pgx takes for null.
func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// orNil is nil for an empty byte string: the referee's way to say none.
func orNil(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// seatSet is the set as a smallint.
func seatSet(s rules.SeatSet) int16 { return int16(s) }
