package store

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// parameters are those of one statement, encoded. pgx begins with a small buffer each
// time: for a group, whose parameters take tens of kilobytes, to grow it cost more than
// to encode.
type parameters struct {
	encoded []byte
	ends    []int    // of each in encoded; -1 for null
	values  [][]byte // slices of encoded
}

var parameterBuffers = sync.Pool{New: func() any { return &parameters{encoded: []byte{}} }} // nil would be null

// mostKept is how many bytes a buffer may have that is kept for the next statement.
const mostKept = 1 << 20

// binaryFormat is the one format of all parameters and results.
var binaryFormat = []int16{pgx.BinaryFormatCode}

func (p *parameters) giveBack() {
	if cap(p.encoded) <= mostKept {
		parameterBuffers.Put(p)
	}
}

// encode encodes the arguments of a statement.
func (p *parameters) encode(conn *pgx.Conn, statement *pgconn.StatementDescription, arguments []any) error {
	p.encoded, p.ends, p.values = p.encoded[:0], p.ends[:0], p.values[:0]
	types := conn.TypeMap()
	for i, argument := range arguments {
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
	return nil
}

// execute sends one statement, which is a transaction of its own, and has each row of
// its answer read, in binary. The values of a row are valid while it is read.
func execute(ctx context.Context, pool *pgxpool.Pool, query string, arguments []any, read func(values [][]byte)) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	statement, err := conn.Conn().Prepare(ctx, query, query) // once for each connection
	if err != nil {
		return err
	}
	p := parameterBuffers.Get().(*parameters)
	defer p.giveBack()
	if err := p.encode(conn.Conn(), statement, arguments); err != nil {
		return err
	}
	results := conn.Conn().PgConn().ExecStatement(ctx, statement, p.values, binaryFormat, binaryFormat)
	for results.NextRow() {
		read(results.Values())
	}
	_, err = results.Close()
	return err
}
