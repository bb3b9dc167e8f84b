package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"referee.example/internal/app"
	"referee.example/internal/demo"
	"referee.example/internal/pgtest"
	"referee.example/internal/tlog"
	refereev1 "referee.example/proto/referee/v1"
)

const vectors = "../../internal/verify/testdata/match.jsonl"

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
		{"sound", []string{vectors}, exitDone, "3 games, 20 events: sound\n1 matches, 3 games, 20 events: 0 findings", ""},
		{"quiet", []string{"--quiet", vectors}, exitDone, "1 matches, 3 games, 20 events: 0 findings", ""},
		{"changed", []string{"--quiet", file(t, changed)}, exitFailed,
			"game 1, event 14: settlement.lines[0].amount: expected 100, found 101\n", "not every game is what it claims to be"},
		{"no such file", []string{"/nonexistent/games"}, exitFailed, "", "no such file"},
		{"no games", []string{file(t, nil)}, exitFailed, "", "hold no game"},
		{"not JSON", []string{file(t, []byte("x\n"))}, exitFailed, "", "line 1"},
		{"not in the log", []string{"--quiet", "--log-key", someLogKey(t), vectors}, exitFailed, "event 14: inclusion: expected a proof", ""},
		{"no such key", []string{"--log-key", "x", vectors}, exitUsage, "", "--log-key"},
		{"no files", nil, exitUsage, "", "name the files"},
		{"wrong flag", []string{"--x"}, exitUsage, "", "-x"},
	} {
		got := call(t.Context(), nil, append([]string{"verify"}, c.arguments...)...)
		if got.code != c.code || !strings.Contains(got.out, c.out) || !strings.Contains(got.err, c.errs) {
			t.Errorf("%s: exit code %d\n%s%s", c.name, got.code, got.out, got.err)
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
	secret, err := tlog.NewKey("referee.example/log")
	if err != nil {
		t.Fatal(err)
	}
	key, err := tlog.ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	log, err := tlog.ParsePublic(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	// The test's database is a copy of another, which may sign nothing unasked.
	if _, err := app.ConfirmLog(t.Context(), database.URL, log, nil); err != nil {
		t.Fatal(err)
	}
	token, tokens := app.NewDevToken()
	auditor, tokens := withAuditor(t, tokens)
	a, err := app.Start(t.Context(), app.Config{Listen: "127.0.0.1:0", DatabaseURL: database.URL, MaxConns: 8,
		Keys: app.NewKey("test"), LogKeyFile: file(t, []byte(secret)), TokenFile: file(t, tokens), DrainTimeout: 10 * time.Second}, slog.New(slog.DiscardHandler))
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
	last := match.GetGames()[len(match.GetGames())-1].GetGame()
	awaitLogged(t, refereev1.NewAuditServiceClient(conn), match.GetMatchId(), last)
	common := []string{"--addr", a.Addr(), "--token", token}
	for _, which := range [][]string{nil, {"--match", match.GetMatchId()}, {"--player", "player-1", "--platform", match.GetPlatform()}} {
		exported := call(t.Context(), nil, append(append([]string{"export"}, common...), which...)...)
		if exported.code != exitDone || strings.Count(exported.out, "\n") != len(match.GetGames()) {
			t.Fatalf("%q: exit code %d, %d lines\n%s", which, exported.code, strings.Count(exported.out, "\n"), exported.err)
		}
		got := call(t.Context(), nil, "verify", "--log-key", key.Public(), file(t, []byte(exported.out)))
		if got.code != exitDone || !strings.Contains(got.out, "match "+match.GetMatchId()) || !strings.Contains(got.out, ": sound") {
			t.Errorf("%q: exit code %d\n%s%s", which, got.code, got.out, got.err)
		}
	}
	auditTheLog(t, database.URL, key.Public(), []string{"--addr", a.Addr(), "--token", auditor}, len(match.GetGames()))
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
		got := call(t.Context(), nil, append([]string{"export"}, c.arguments...)...)
		if got.code != c.code || !strings.Contains(got.err, c.errs) {
			t.Errorf("%s: exit code %d, %s", name, got.code, got.err)
		}
	}
}

// withAuditor adds an auditor of every platform to a token file.
func withAuditor(t *testing.T, tokens []byte) (token string, more []byte) {
	t.Helper()
	token = "an auditor's token, long enough to be one"
	var list []any
	if err := json.Unmarshal(tokens, &list); err != nil {
		t.Fatal(err)
	}
	list = append(list, map[string]any{"name": "auditor of all", "platform": "*", "scopes": []string{"audit"},
		"sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(token)))})
	more, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return token, more
}

// auditTheLog has the log witnessed, audits it with what the witness keeps, and
// once more after somebody who owns the tables has moved an entry.
func auditTheLog(t *testing.T, database, logKey string, server []string, games int) {
	t.Helper()
	dir := t.TempDir()
	witnessKey, held := filepath.Join(dir, "witness.key"), filepath.Join(dir, "log.witnessed")
	if made := call(t.Context(), nil, "log", "key", "--witness", "--name", "regulator.example/w1", witnessKey); made.code != exitDone {
		t.Fatalf("log key: %+v", made)
	}
	witnessed := append([]string{"witness", "--log-key", logKey, "--key-file", witnessKey, held}, server...)
	got := call(t.Context(), nil, witnessed...)
	if got.code != exitDone || !strings.Contains(got.out, "hashes only") {
		t.Errorf("witness: %+v", got)
	}
	witnessed = append(witnessed, "--games", filepath.Join(dir, "log.games"))
	got = call(t.Context(), nil, witnessed...)
	if got.code != exitDone || !strings.Contains(got.out, "no game is among them twice") {
		t.Errorf("witness with games: %+v", got)
	}
	audit := []string{"log", "audit", "--database-url", database, "--log-key", someLogKey(t), "--log-key", logKey, held}
	got = call(t.Context(), nil, audit...)
	if want := fmt.Sprintf("%d entries, %d ended games, 0 of them waiting, 0 outages: 0 findings\n", games, games); got.code != exitDone || got.out != want {
		t.Errorf("audit: %+v, want %q", got, want)
	}
	owner, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = owner.Close(t.Context()) }()
	_, err = owner.Exec(t.Context(), `SET session_replication_role = replica; UPDATE log_entries SET match_id = gen_random_uuid() WHERE position = 0;
		INSERT INTO outages SELECT min(event_time) - interval '4 seconds', max(event_time) + interval '1 second' FROM events WHERE kind = 3`)
	if err != nil {
		t.Fatal(err)
	}
	got = call(t.Context(), nil, audit...)
	if got.code != exitFailed || !strings.Contains(got.out, "position 0: log_entries: expected a game that has ended") ||
		!strings.Contains(got.out, "log: outages: expected no move from") || !strings.Contains(got.err, errBrokenLog.Error()) {
		t.Errorf("audit of a log with an entry moved: %+v", got)
	}
	for want, arguments := range map[string][]string{
		"there is no database": {"log", "audit", "--log-key", logKey},
		"--log-key is needed":  {"log", "audit", "--database-url", database},
		"base64":               {"log", "audit", "--database-url", database, "--log-key", "x"},
	} {
		if got := call(t.Context(), nil, arguments...); got.code != exitUsage || !strings.Contains(got.err, want) {
			t.Errorf("%q: %+v", arguments, got)
		}
	}
}

// someLogKey is the public key of a log that holds nothing.
func someLogKey(t *testing.T) string {
	t.Helper()
	secret, err := tlog.NewKey("referee.example/log")
	if err != nil {
		t.Fatal(err)
	}
	key, err := tlog.ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return key.Public()
}

// awaitLogged waits until a game has entered the log of finished games.
func awaitLogged(t *testing.T, audit refereev1.AuditServiceClient, match string, game uint32) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for {
		_, err := audit.ProveGame(t.Context(), &refereev1.ProveGameRequest{MatchId: match, Game: game})
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("game %d has not entered the log: %v", game, err)
		}
	}
}
