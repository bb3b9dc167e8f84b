package store

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Columns that are encoded here arrive in Postgres as those that pgx encodes do.
func TestColumnsArriveAsTheyWere(t *testing.T) {
	d := newDesk(t)
	at := time.Date(2026, 11, 30, 1, 2, 3, 456_789_000, time.UTC)
	early := time.Date(1969, 12, 31, 23, 59, 59, 1000, time.UTC)
	for _, column := range []struct {
		kind   string
		values any
	}{
		{"smallint", pgtype.FlatArray[int16]{0, -1, 255, -32768, 32767}},
		{"integer", pgtype.FlatArray[int32]{0, -1, 1 << 30, -1 << 31}},
		{"bigint", pgtype.FlatArray[int64]{0, -1, 1 << 62, -1 << 63}},
		{"boolean", pgtype.FlatArray[bool]{true, false, true}},
		{"bytea", pgtype.FlatArray[[]byte]{nil, {}, {0}, []byte("more than one")}},
		{"uuid", pgtype.FlatArray[pgtype.UUID]{{}, uuid(d.id(d.now())), {Valid: true}}},
		{"timestamptz", pgtype.FlatArray[time.Time]{at, early}},
		{"timestamptz", pgtype.FlatArray[*time.Time]{nil, &at, &early, nil}},
		{"smallint", pgtype.FlatArray[int16]{}},
		{"bytea", pgtype.FlatArray[[]byte]{}},
	} {
		if _, ok := appendColumn(nil, column.values); !ok {
			t.Errorf("%T is left to pgx", column.values)
		}
		query := `SELECT (SELECT array_agg(coalesce(e::text, 'null') ORDER BY i) FROM unnest($1::` + column.kind + `[])
			WITH ORDINALITY AS t (e, i))::text, array_dims($1)`
		want, err := d.pool.Query(t.Context(), query, column.values)
		d.must(err)
		wanted, err := pgx.CollectOneRow(want, pgx.RowToStructByPos[struct{ Values, Dimensions *string }])
		d.must(err)
		var got [][]byte
		d.must(execute(context.Background(), d.pool, query, []any{column.values}, func(values [][]byte) {
			for _, v := range values {
				got = append(got, append([]byte(nil), v...))
			}
		}))
		for i, field := range []*string{wanted.Values, wanted.Dimensions} {
			if field == nil && got[i] == nil || field != nil && *field == string(got[i]) {
				continue
			}
			t.Errorf("%T: got %q, pgx %v", column.values, got, reflect.ValueOf(field).Elem())
		}
	}
	if _, ok := appendColumn(nil, pgtype.FlatArray[string]{"a"}); ok {
		t.Error("texts are encoded here, and not tested")
	}
}
