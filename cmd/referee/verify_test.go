package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"referee.example/internal/app"
	"referee.example/internal/demo"
	"referee.example/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

const vectors = "../../internal/verify/testdata/match.jsonl"

// call runs a command as the shell would.
func call(t *testing.T, arguments ...string) (code int, out, errs string) {
	t.Helper()
	var outBuffer, errBuffer bytes.Buffer
	code = run(t.Context(), invocation{arguments: arguments, getenv: func(string) string { return "" }, out: &outBuffer, err: &errBuffer})
	return code, outBuffer.String(), errBuffer.String()
}

func file(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "games.jsonl")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestVerify(t *testing.T) {
	content, err := os.ReadFile(vectors)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(content, []byte(`"amount":"100"`), []byte(`"amount":"101"`), 1)
	for _, c := range []struct {
		name      string
		arguments []string
		code      int
		out, errs string
	}{
		{"sound", []string{vectors}, exitDone, "3 games, 20 events: sound\n1 matches, 3 games, 25 events: 0 findings", ""},
		{"quiet", []string{"--quiet", vectors}, exitDone, "1 matches, 3 games, 20 events: 0 findings", ""},
		{"changed", []string{"--quiet", file(t, changed)}, exitFailed,
			"game 1, event 14: settlement.lines[0].amount: expected 100, found 101\n", "not every game is what it claims to be"},
		{"no such file", []string{"/nonexistent/games"}, exitFailed, "", "no such file"},
		{"no games", []string{file(t, nil)}, exitFailed, "", "hold no game"},
		{"not JSON", []string{file(t, []byte("x\n"))}, exitFailed, "", "line 1"},
		{"no files", nil, exitUsage, "", "name the files"},
		{"wrong flag", []string{"--x"}, exitUsage, "", "-x"},
	} {
		code, out, errs := call(t, append([]string{"verify"}, c.arguments...)...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) {
			t.Errorf("%s: exit code %d\n%s%s", c.name, code, out, errs)
		}
	}
}

// TestExportAndVerify plays a match on a server, exports it and verifies the
// file, as an auditor would.
func TestExportAndVerify(t *testing.T) {
	database := pgtest.New(t)
	if err := app.Migrate(t.Context(), database.URL); err != nil {
		t.Fatal(err)
	}
	token, tokens := app.NewDevToken()
	a, err := app.Start(t.Context(), app.Config{Listen: "127.0.0.1:0", DatabaseURL: database.URL, MaxConns: 8,
		Keys: app.NewKey("test"), TokenFile: file(t, tokens), DrainTimeout: 10 * time.Second}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Stop()
	conn, err := grpc.NewClient(a.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithPerRPCCredentials(bearer(token)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	match, err := demo.Play(t.Context(), conn, demo.Options{Out: &bytes.Buffer{}, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	common := []string{"--addr", a.Addr(), "--token", token}
	for _, which := range [][]string{nil, {"--match", match.GetMatchId()}, {"--player", "player-1", "--platform", match.GetPlatform()}} {
		code, exported, errs := call(t, append(append([]string{"export"}, common...), which...)...)
		if code != exitDone || strings.Count(exported, "\n") != len(match.GetGames()) {
			t.Fatalf("%q: exit code %d, %d lines\n%s", which, code, strings.Count(exported, "\n"), errs)
		}
		code, out, errs := call(t, "verify", file(t, []byte(exported)))
		if code != exitDone || !strings.Contains(out, "match "+match.GetMatchId()) || !strings.Contains(out, ": sound") {
			t.Errorf("%q: exit code %d\n%s%s", which, code, out, errs)
		}
	}
	for name, c := range map[string]struct {
		arguments []string
		code      int
		errs      string
	}{
		"no token":         {[]string{"--addr", a.Addr()}, exitUsage, "REFEREE_TOKEN"},
		"wrong token":      {[]string{"--addr", a.Addr(), "--token", "x"}, exitFailed, "Unauthenticated"},
		"unknown form":     {append(common, "--format", "xml"), exitUsage, "--format"},
		"match and player": {append(common, "--match", match.GetMatchId(), "--player", "x"), exitUsage, "excludes"},
		"no such match":    {append(common, "--match", "01900000-0000-7000-8000-000000000000"), exitFailed, "NotFound"},
	} {
		code, _, errs := call(t, append([]string{"export"}, c.arguments...)...)
		if code != c.code || !strings.Contains(errs, c.errs) {
			t.Errorf("%s: exit code %d, %s", name, code, errs)
		}
	}
}
