package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"referee.example/internal/app"
	"referee.example/internal/demo"
	"referee.example/internal/pgtest"
	"referee.example/internal/referee"
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
		{"twice", []string{vectors, vectors}, exitDone, "note: game 1 is seen twice, the same in line 1 of " + vectors, ""},
		{"two of one game", []string{"--quiet", vectors, file(t, otherLog(t, content))}, exitFailed, "game 1: log: expected the one in line 1 of " + vectors, "not every game"},
		{"a part", []string{file(t, content[:bytes.IndexByte(content, '\n')])}, exitDone,
			"note: this is a part of the match: it goes on after game 1\n1 matches, 1 games, 14 events: 0 findings; of 1 matches the files have only a part\n", ""},
		{"key twice", []string{file(t, bytes.Replace(content, []byte(`"game":2`), []byte(`"game":2,"game":3`), 1))}, exitFailed, "", `line 2: key "game": a key that comes twice`},
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

// otherLog is the file with another log of game 1, which nothing in it contradicts:
// another principal sent the start.
func otherLog(t *testing.T, content []byte) []byte {
	t.Helper()
	first, rest, _ := bytes.Cut(content, []byte("\n"))
	var line map[string]any
	var log struct{ Events, Hashes [][]byte }
	for _, into := range []any{&line, &log} {
		if err := json.Unmarshal(first, into); err != nil {
			t.Fatal(err)
		}
	}
	start, err := referee.DecodeEvent(log.Events[1])
	if err != nil {
		t.Fatal(err)
	}
	start.Principal++
	log.Events[1] = referee.EncodeEvent(&start)
	var head [32]byte
	for i := range log.Events {
		head = referee.ChainHash(head, log.Events[i])
		log.Hashes[i] = bytes.Clone(head[:])
	}
	line["events"], line["hashes"] = log.Events, log.Hashes
	changed, err := json.Marshal(line)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(changed, []byte("\n"), rest)
}

// TestTerminalsAreNotCommanded verifies, imports and reads files whose every text
// is full of control characters.
func TestTerminalsAreNotCommanded(t *testing.T) {
	const evil = "\x1b[2J\x07\u009b31m\u202e"
	content, err := os.ReadFile(vectors)
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	first := content[:bytes.IndexByte(content, '\n')]
	players := bytes.Replace(first, []byte(`"players":["ann"`), slices.Concat([]byte(`"players":[`), quoted), 1)
	named := filepath.Join(t.TempDir(), "a"+evil+"\nb")
	if err := os.WriteFile(named, first, 0o600); err != nil {
		t.Fatal(err)
	}
	ruleset := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(ruleset, slices.Concat([]byte("{"), quoted, []byte(":1}")), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := file(t, []byte(evil))
	for name, arguments := range map[string][]string{
		"verify: a player":      {"verify", file(t, players)},
		"verify: a key":         {"verify", file(t, bytes.Replace(first, []byte(`"game":`), []byte(`"`+"\u009b\u202e"+`":1,"game":`), 1))},
		"verify: no JSON":       {"verify", broken},
		"verify: name of files": {"verify", named, named},
		"verify: no such file":  {"verify", named + evil},
		"import: no record":     {"import", broken},
		"import: header":        {"import", file(t, []byte("Ruleset: "+"\u202e\u200b"+"\n\n1. a1(k) b1(K)\n"))},
		"import: ply":           {"import", "--rules", "7club-standard", file(t, []byte("1. "+"\u202ea1"+" b1(K)\n"))},
		"import: no such file":  {"import", "--rules", "7club-standard", named + evil},
		"rules":                 {"rules", ruleset},
		"log public":            {"log", "public", broken},
		"log confirm":           {"log", "confirm", "--database-url", "postgres://" + evil, "--log-key", someLogKey(t), broken},
		"witness":               {"witness", "--token", "x", "--log-key", someLogKey(t), "--key-file", broken, named},
		"export":                {"export", "--token", "x", "--format", evil},
		"no such command":       {evil},
	} {
		got := call(t.Context(), nil, arguments...)
		said := got.out + got.err
		if said == "" || strings.ContainsFunc(said, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
			t.Errorf("%s: %q", name, said)
		}
		if name == "verify: name of files" && strings.Contains(said, "\nb") {
			t.Errorf("a name ends a line: %q", said)
		}
	}
}

func TestInLines(t *testing.T) {
	inner := fmt.Errorf("%w: %w", errors.New("a\nb"), errors.New("c\x1b"))
	for want, err := range map[string]error{
		"x":                   errors.New("x"),
		`a\nb: c\x1b`:         inner,
		"one\n" + `two\nhalf`: errors.Join(errors.New("one"), errors.New("two\nhalf")),
	} {
		if got := inLines(err); got != want {
			t.Errorf("%q, want %q", got, want)
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
