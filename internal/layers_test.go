// Package internal has no code, only the test that its layers import one way.
package internal

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "referee.example/"

// bottom are the packages that judge by their arguments alone.
var bottom = []string{"internal/rules", "internal/rules/banqi", "internal/rules/junqi", "internal/clock", "internal/series", "internal/deal"}

// arrows are the packages of this module that each package may import itself.
// A new package has to find its place here first.
var arrows = map[string][]string{
	"internal/rules":         {},
	"internal/rules/banqi":   {"internal/rules"},
	"internal/rules/junqi":   {"internal/rules"},
	"internal/clock":         {"internal/rules"},
	"internal/series":        {"internal/rules"},
	"internal/deal":          {},
	"internal/referee":       bottom,
	"internal/tlog":          {},
	"internal/verify":        append([]string{"internal/referee", "internal/tlog"}, bottom...),
	"internal/store":         append([]string{"internal/referee", "internal/tlog", "migrations"}, bottom...),
	"internal/server":        append([]string{"internal/referee", "internal/tlog", "internal/verify", "proto/referee/v1"}, bottom...),
	"internal/console":       {"internal/deal", "internal/rules", "internal/rules/junqi", "proto/referee/v1"},
	"internal/app":           {"internal/server", "internal/console", "internal/store", "internal/referee", "internal/tlog", "internal/deal", "internal/clock", "migrations"},
	"internal/telemetry":     {},
	"internal/witness":       {"internal/tlog", "proto/referee/v1"},
	"internal/proof":         {},
	"internal/demo":          {"proto/referee/v1"},
	"internal/capacity":      {},
	"internal/bench":         {"internal/app", "internal/capacity", "internal/devpg", "internal/history", "internal/referee", "internal/rules", "internal/rules/banqi", "internal/rules/junqi", "internal/store", "internal/telemetry", "internal/tlog", "proto/referee/v1"},
	"internal/history":       append([]string{"internal/referee", "internal/store"}, bottom...),
	"internal/history/bench": {"internal/clock", "internal/devpg", "internal/history", "internal/referee", "internal/rules", "internal/store", "migrations"},
	"internal/devpg":         {},
	"internal/apptest":       {"internal/app", "internal/deal", "internal/pgtest", "internal/referee", "internal/server", "internal/store", "internal/tlog"},
	"internal/pgtest":        {"internal/clock", "internal/devpg", "migrations"},
	"internal/pgtest/withpg": {"internal/devpg", "internal/pgtest"},
	"cmd/referee":            {"internal/app", "internal/demo", "internal/devpg", "internal/referee", "internal/rules", "internal/rules/banqi", "internal/rules/junqi", "internal/simulate", "internal/telemetry", "internal/tlog", "internal/verify", "internal/witness", "migrations", "proto/referee/v1"},
	"migrations":             {},
	"proto/referee/v1":       {},

	"internal/simulate": {"internal/devpg", "internal/simulate/check", "proto/referee/v1"},
	// It must not be able to share a mistake with what it checks.
	"internal/simulate/check":   {},
	"internal/simulate/shifted": {},
}

// outside are the packages that may import what begins so.
var outside = map[string][]string{
	"github.com/jackc/":          {"internal/store", "internal/pgtest", "internal/bench", "internal/history", "internal/history/bench", "internal/simulate", "internal/simulate/check", "migrations"},
	"github.com/golang-migrate/": {"migrations"},
	"google.golang.org/":         {"internal/server", "internal/demo", "internal/bench", "internal/simulate", "internal/witness", "internal/console", "cmd/referee", "proto/referee/v1"},
	"connectrpc.com/":            {"internal/server"},
	"go.opentelemetry.io/":       {"internal/telemetry", "internal/app", "internal/server", "internal/store"},
	"github.com/prometheus/":     {"internal/telemetry"},
	"github.com/go-jose/":        {"internal/server"},
	"golang.org/x/time/":         {"internal/server"},
	"github.com/anishathalye/":   {"internal/simulate/check"},
	"golang.org/x/net/":          {"internal/bench"},
	"golang.org/x/sync/":         {"internal/store"},
	"golang.org/x/mod/sumdb/":    {"internal/tlog", "internal/verify", "internal/witness", "internal/server", "internal/app", "cmd/referee"},
}

// unclean are packages of the standard library that the bottom row does without:
// by them it would know the time, roll dice, or have effects.
var unclean = []string{"context", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand", "os", "net", "net/http", "database/sql"}

type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	Standard   bool
}

// packages returns every package of the module, its tests left out.
func packages(t *testing.T) []pkg {
	t.Helper()
	output, err := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports,Standard", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	decoder := json.NewDecoder(strings.NewReader(string(output)))
	for {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			all = append(all, p)
		}
	}
}

// fault says what is wrong with an import, nothing if it is allowed.
func fault(from, to string) string {
	if inside, ok := strings.CutPrefix(to, module); ok {
		if allowed, known := arrows[from]; !known {
			return "the package has no place in arrows"
		} else if !slices.Contains(allowed, inside) {
			return "imports run one way, and not this one"
		}
		return ""
	}
	if first, _, _ := strings.Cut(to, "/"); !strings.Contains(first, ".") {
		if slices.Contains(bottom, from) && slices.Contains(unclean, to) {
			return "the bottom row knows no time, dice or effects"
		}
		return ""
	}
	for prefix, allowed := range outside {
		if strings.HasPrefix(to, prefix) && slices.Contains(allowed, from) {
			return ""
		}
	}
	return "no package but those in outside may import this"
}

func TestImportsRunOneWay(t *testing.T) {
	all := packages(t)
	if len(all) < len(bottom) {
		t.Fatalf("go list found %d packages", len(all))
	}
	for _, p := range all {
		from := strings.TrimPrefix(p.ImportPath, module)
		if _, known := arrows[from]; !known {
			t.Errorf("%s has no place in arrows", from)
		}
		for _, to := range p.Imports {
			if wrong := fault(from, to); wrong != "" {
				t.Errorf("%s imports %s: %s", from, to, wrong)
			}
		}
	}
}

// TestWrongArrowsAreFound proves that the test above can fail.
func TestWrongArrowsAreFound(t *testing.T) {
	for from, to := range map[string]string{
		"internal/server":  module + "internal/store",
		"internal/store":   module + "internal/server",
		"internal/referee": "google.golang.org/grpc",
		"internal/rules":   module + "internal/referee",
		"internal/deal":    "crypto/rand",
		"internal/clock":   "context",
		"internal/app":     "github.com/jackc/pgx/v5",
		"internal/demo":    "example.org/anything",
		"internal/new":     module + "internal/rules",
	} {
		if fault(from, to) == "" {
			t.Errorf("%s may import %s", from, to)
		}
	}
}

// TestBottomRowReadsNoClock looks for calls that ask what time it is, which the
// import of package time for its units would allow.
func TestBottomRowReadsNoClock(t *testing.T) {
	for _, p := range packages(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		if !slices.Contains(bottom, from) && from != "internal/referee" {
			continue
		}
		for _, name := range p.GoFiles {
			source, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range clockReads(t, name, source) {
				t.Errorf("%s/%s reads the clock: time.%s", from, name, call)
			}
		}
	}
	if got := clockReads(t, "x.go", []byte("package x\nimport \"time\"\nvar t = time.Now().Add(time.Second)")); !slices.Equal(got, []string{"Now"}) {
		t.Errorf("the scan finds %v: it proves nothing", got)
	}
}

func clockReads(t *testing.T, name string, source []byte) (calls []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if of, ok := selector.X.(*ast.Ident); ok && of.Name == "time" &&
			slices.Contains([]string{"Now", "Since", "Until", "After", "Tick", "NewTimer", "NewTicker", "Sleep"}, selector.Sel.Name) {
			calls = append(calls, selector.Sel.Name)
		}
		return true
	})
	return calls
}
