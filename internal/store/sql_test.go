package store

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// constants evaluates every constant of this package whose name begins with sql.
func constants(t *testing.T) map[string]string {
	t.Helper()
	set := token.NewFileSet()
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, source, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	// Imports are not resolved: constants of text need none.
	config := types.Config{Error: func(error) {}}
	checked, _ := config.Check("store", set, files, nil)
	found := map[string]string{}
	for _, name := range checked.Scope().Names() {
		if c, ok := checked.Scope().Lookup(name).(*types.Const); ok && strings.HasPrefix(name, "sql") {
			if c.Val().Kind() != constant.String {
				t.Fatalf("%s does not evaluate to text", name)
			}
			found[name] = constant.StringVal(c.Val())
		}
	}
	return found
}

func TestEverySQLConstantPrepares(t *testing.T) {
	d := newDesk(t)
	conn, err := pgx.Connect(t.Context(), d.db.URL)
	d.must(err)
	defer func() { d.must(conn.Close(t.Context())) }()
	queries := constants(t)
	if len(queries) < 30 {
		t.Errorf("only %d constants found", len(queries))
	}
	for name, query := range queries {
		query := positional(t, query)
		if _, err := conn.Prepare(t.Context(), name, query); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// positional is a query as pgx sends it: with $1 for the first of its named
// parameters.
func positional(t *testing.T, query string) string {
	t.Helper()
	if !strings.Contains(query, "@") {
		return query
	}
	query, _, err := pgx.NamedArgs{}.RewriteQuery(t.Context(), nil, query, nil)
	if err != nil {
		t.Fatal(err)
	}
	return query
}
