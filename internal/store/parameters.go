package store

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// parameters are those of one statement, encoded. pgx begins with a small buffer each
// time: for a group, whose parameters take tens of kilobytes, to grow it cost more than
// to encode.
type parameters struct {
	encoded []byte
	ends    []int    // of each in encoded; -1 for null
	values  [][]byte // slices of encoded
	message []byte   // to Postgres
}

var parameterBuffers = sync.Pool{New: func() any { return &parameters{encoded: []byte{}} }} // nil would be null

// mostKept is how many bytes a buffer may have that is kept for the next statement.
const mostKept = 1 << 20

// binaryFormat is the one format of all parameters and results.
var binaryFormat = []int16{pgx.BinaryFormatCode}

func (p *parameters) giveBack() {
	if cap(p.encoded) <= mostKept && cap(p.message) <= mostKept {
		parameterBuffers.Put(p)
	}
}

// encode encodes a statement with its arguments.
func (p *parameters) encode(conn *pgx.Conn, statement *pgconn.StatementDescription, arguments []any) error {
	p.encoded, p.ends, p.values = p.encoded[:0], p.ends[:0], p.values[:0]
	types := conn.TypeMap()
	for i, argument := range arguments {
		if encoded, ok := appendColumn(p.encoded, argument); ok {
			p.encoded = encoded
			p.ends = append(p.ends, len(encoded))
			continue
		}
		encoded, err := types.Encode(statement.ParamOIDs[i], pgx.BinaryFormatCode, argument, p.encoded)
		if err != nil {
			return err
		}
		if encoded == nil {
			p.ends = append(p.ends, -1)
			continue
		}
		p.encoded = encoded
		p.ends = append(p.ends, len(encoded))
	}
	begin := 0
	for _, end := range p.ends {
		if end < 0 {
			p.values = append(p.values, nil)
			continue
		}
		p.values = append(p.values, p.encoded[begin:end])
		begin = end
	}
	message, err := (&pgproto3.Bind{PreparedStatement: statement.Name, ParameterFormatCodes: binaryFormat,
		Parameters: p.values, ResultFormatCodes: binaryFormat}).Encode(p.message[:0])
	if err != nil {
		return err
	}
	message, _ = (&pgproto3.Execute{}).Encode(message) // has nothing that could be wrong
	p.message, _ = (&pgproto3.Sync{}).Encode(message)
	return nil
}

// execute sends one statement, which is a transaction of its own, and has each row of
// its answer read, in binary. The values of a row are valid while it is read. It ends at
// the deadline of ctx, and not if ctx is cancelled before.
func execute(ctx context.Context, pool *pgxpool.Pool, query string, arguments []any, read func(values [][]byte)) error {
	pooled, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer pooled.Release()
	conn := pooled.Conn()
	statement, err := conn.Prepare(ctx, query, query) // once for each connection
	if err != nil {
		return err
	}
	p := parameterBuffers.Get().(*parameters)
	defer p.giveBack()
	if err := p.encode(conn, statement, arguments); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// The connection has the deadline itself: pgx would start a goroutine for each
	// statement that watches its context.
	network := conn.PgConn().Conn()
	deadline, _ := ctx.Deadline() // none is the zero time, for connections too
	_ = network.SetDeadline(deadline)
	refused, err := exchange(conn.PgConn(), p.message, read)
	if err != nil { // what the connection would answer next is unknown
		_ = conn.Close(ctx)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return context.DeadlineExceeded
		}
		return err
	}
	_ = network.SetDeadline(time.Time{})
	return refused
}

// exchange sends an encoded statement and takes its answer, which may be a refusal. It
// writes the message itself: to grow pgx's buffer was a sixth of what a move allocated,
// while the next group waited.
func exchange(conn *pgconn.PgConn, message []byte, read func(values [][]byte)) (refused, err error) {
	if _, err := conn.Conn().Write(message); err != nil {
		return nil, err
	}
	for {
		message, err := conn.ReceiveMessage(context.Background())
		if err != nil {
			return nil, err
		}
		switch message := message.(type) {
		case *pgproto3.DataRow:
			read(message.Values)
		case *pgproto3.ErrorResponse:
			refused = pgconn.ErrorResponseToPgError(message)
		case *pgproto3.ReadyForQuery:
			return refused, nil
		}
	}
}

// appendColumn appends a column of a group as an array in Postgres's binary form, if it
// is one of the types that moves have. pgx would ask for each element by an interface.
func appendColumn(b []byte, column any) (encoded []byte, ok bool) {
	switch values := column.(type) {
	case pgtype.FlatArray[int16]:
		b = appendArrayHead(b, pgtype.Int2OID, len(values))
		for _, v := range values {
			b = binary.BigEndian.AppendUint16(appendLength(b, 2), uint16(v))
		}
	case pgtype.FlatArray[int32]:
		b = appendArrayHead(b, pgtype.Int4OID, len(values))
		for _, v := range values {
			b = binary.BigEndian.AppendUint32(appendLength(b, 4), uint32(v))
		}
	case pgtype.FlatArray[int64]:
		b = appendArrayHead(b, pgtype.Int8OID, len(values))
		for _, v := range values {
			b = binary.BigEndian.AppendUint64(appendLength(b, 8), uint64(v))
		}
	case pgtype.FlatArray[bool]:
		b = appendArrayHead(b, pgtype.BoolOID, len(values))
		for _, v := range values {
			b = append(appendLength(b, 1), 0)
			if v {
				b[len(b)-1] = 1
			}
		}
	case pgtype.FlatArray[[]byte]:
		b = appendArrayHead(b, pgtype.ByteaOID, len(values))
		for _, v := range values {
			b = appendBytes(b, v)
		}
	case pgtype.FlatArray[pgtype.UUID]:
		b = appendArrayHead(b, pgtype.UUIDOID, len(values))
		for _, v := range values {
			var id []byte
			if v.Valid {
				id = v.Bytes[:]
			}
			b = appendBytes(b, id)
		}
	case pgtype.FlatArray[time.Time]:
		b = appendArrayHead(b, pgtype.TimestamptzOID, len(values))
		for _, v := range values {
			b = appendTimestamp(b, v)
		}
	case pgtype.FlatArray[*time.Time]:
		b = appendArrayHead(b, pgtype.TimestamptzOID, len(values))
		for _, v := range values {
			if v == nil {
				b = appendLength(b, nullLength)
				continue
			}
			b = appendTimestamp(b, *v)
		}
	default:
		return nil, false
	}
	return b, true
}

// nullLength is the length of an element that is null.
const nullLength = -1

// appendArrayHead begins an array of one dimension, numbered from 1; the elements
// follow, each after its length.
func appendArrayHead(b []byte, element uint32, length int) []byte {
	const mayHoldNulls = 1 // Postgres counts them itself
	dimensions := uint32(min(length, 1))
	for _, word := range [...]uint32{dimensions, mayHoldNulls, element} {
		b = binary.BigEndian.AppendUint32(b, word)
	}
	if dimensions == 1 {
		b = binary.BigEndian.AppendUint32(appendLength(b, length), 1)
	}
	return b
}

func appendLength(b []byte, length int) []byte {
	return binary.BigEndian.AppendUint32(b, uint32(int32(length)))
}

// appendBytes appends an element; nil is null.
func appendBytes(b, element []byte) []byte {
	if element == nil {
		return appendLength(b, nullLength)
	}
	return append(appendLength(b, len(element)), element...)
}

// appendTimestamp appends an instant: microseconds since the year 2000.
func appendTimestamp(b []byte, t time.Time) []byte {
	const year2000 = 946_684_800_000_000
	return binary.BigEndian.AppendUint64(appendLength(b, 8), uint64(t.UnixMicro()-year2000))
}
