package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"referee.example/internal/app"
	"referee.example/internal/pgtest"
	"referee.example/migrations"
)

var update = flag.Bool("update", false, "write the golden files anew")

// asCommand, in the environment, makes the test's own program the command, so that
// one can be killed.
const asCommand = "REFEREE_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(pgtest.Main(m))
}

// called is what a command left behind.
type called struct {
	code     int
	out, err string
}

func call(ctx context.Context, environment map[string]string, arguments ...string) called {
	var out, errs bytes.Buffer
	code := run(ctx, invocation{
		arguments: arguments, out: &out, err: &errs,
		getenv: func(name string) string { return environment[name] },
	})
	return called{code, out.String(), errs.String()}
}

// TestHelp compares what each command says of itself with its golden file.
func TestHelp(t *testing.T) {
	secret := map[string]string{databaseVariable: "postgres://u:hunter2@h/d", "REFEREE_TOKEN": "hunter2", "REFEREE_KEYS": "hunter2"}
	for _, name := range []string{"", "migrate", "roles", "partitions", "dev", "demo", "rules", "check", "import", "export", "verify", "simulate", "healthcheck", "version"} {
		arguments, file := []string{name, "--help"}, name
		if name == "" {
			arguments, file = []string{"--help"}, "referee"
		}
		t.Run(file, func(t *testing.T) {
			got := call(t.Context(), secret, arguments...)
			if got.code != exitDone || got.err != "" {
				t.Fatalf("code %d, errors %q", got.code, got.err)
			}
			if strings.Contains(got.out, "hunter2") {
				t.Error("help holds a secret")
			}
			compare(t, filepath.Join("testdata", file+".txt"), got.out)
		})
	}
}

func TestEveryCommandHasHelp(t *testing.T) {
	for _, c := range commands {
		got := call(t.Context(), nil, c.name, "-h")
		if got.code != exitDone || !strings.HasPrefix(got.out, "Usage: referee "+c.name) {
			t.Errorf("%s -h: code %d, %q, %q", c.name, got.code, got.out, got.err)
		}
	}
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(got), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

func TestWrongUse(t *testing.T) {
	cases := []struct {
		arguments []string
		want      string
	}{
		{nil, "Usage: referee COMMAND"},
		{[]string{"play"}, `there is no command "play"`},
		{[]string{"version", "now"}, `"now" is not a flag`},
		{[]string{"demo", "--colours"}, "not defined: -colours"},
		{[]string{"demo"}, "there is no token"},
		{[]string{"demo", "--seed", "-1"}, "invalid value"},
		{[]string{"export", "--match", "m"}, "there is no token"},
		{[]string{"export", "--token", "t", "--format", "text", "--game", "1"}, "--game needs --match"},
		{[]string{"export", "--token", "t", "--resume"}, "--resume goes with --out"},
		{[]string{"export", "--token", "t", "--resume-token", "x", "--out", "f"}, "--resume-token with the standard output"},
		{[]string{"export", "--token", "t", "--from", "yesterday"}, "--from is a day such as"},
		{[]string{"export", "--token", "t", "--match", "m", "--until", "2026-07-01"}, "--match excludes"},
		{[]string{"export", "--token", "t", "--tls-ca", "testdata/rush.json"}, "no certificate in PEM"},
		{[]string{"export", "--token", "t", "--format", "xml"}, "--format is json or text"},
		{[]string{"serve"}, "there is no key"},
		{[]string{"migrate"}, "there is no database"},
		{[]string{"roles"}, "there is no database"},
		{[]string{"partitions"}, "there is no database"},
		{[]string{"partitions", "--database-url", "postgres://h/d", "--detach-before", "July"}, "--detach-before is a month"},
		{[]string{"partitions", "--database-url", "postgres://h/d", "--ahead", "121"}, "--ahead is 1 to 120"},
		{[]string{"migrate", "--database-url", "postgres://h/d", "--down"}, "confirm it with --delete-all-data"},
		{[]string{"migrate", "--database-url", "postgres://h/d", "--version", "--force", "1"}, "three different things"},
		{[]string{"migrate", "--database-url", "postgres://h/d", "--down", "--delete-all-data", "--version"}, "three different things"},
	}
	for _, c := range cases {
		t.Run(strings.Join(c.arguments, " "), func(t *testing.T) {
			got := call(t.Context(), nil, c.arguments...)
			if got.code != exitUsage || got.out != "" || !strings.Contains(got.err, c.want) {
				t.Errorf("code %d, output %q, errors %q; want code %d and %q", got.code, got.out, got.err, exitUsage, c.want)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	got := call(t.Context(), nil, "version")
	want := regexp.MustCompile(`^referee \S+\ncommit  .+\nschema  ` + fmt.Sprint(migrations.Newest()) + `\nengine  1\n$`)
	if got.code != exitDone || !want.MatchString(got.out) {
		t.Errorf("code %d, output %q", got.code, got.out)
	}
	release, commit := buildOf(&debug.BuildInfo{
		Main:     debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}},
	})
	if release != "v1.2.3" || commit != "abc, with changes that are not committed" {
		t.Errorf("got %q, %q", release, commit)
	}
}

func TestMigrateAndRoles(t *testing.T) {
	environment := map[string]string{databaseVariable: pgtest.NewEmpty(t).URL}
	newest := fmt.Sprint(migrations.Newest())
	steps := []struct {
		arguments []string
		code      int
		out       string
	}{
		{[]string{"migrate", "--version"}, exitDone, "schema 0 of " + newest + "\n"},
		{[]string{"migrate"}, exitDone, "schema " + newest + " of " + newest + "\n"},
		{[]string{"migrate"}, exitDone, "schema " + newest + " of " + newest + "\n"},
		{[]string{"roles"}, exitDone, "roles referee_server, referee_auditor and referee_reader are as this version needs them; grant them to the roles that log in\n"},
		{[]string{"migrate", "--down"}, exitUsage, ""},
		{[]string{"migrate", "--version"}, exitDone, "schema " + newest + " of " + newest + "\n"},
		{[]string{"migrate", "--down", "--delete-all-data"}, exitDone, "schema 0 of " + newest + "\n"},
		{[]string{"roles"}, exitFailed, ""},
	}
	for _, step := range steps {
		got := call(t.Context(), environment, step.arguments...)
		if got.code != step.code || got.out != step.out {
			t.Errorf("%v: code %d, output %q, errors %q; want %d, %q", step.arguments, got.code, got.out, got.err, step.code, step.out)
		}
	}
}

// TestServeDemoHealthcheck runs the commands against one another.
func TestServeDemoHealthcheck(t *testing.T) {
	url := pgtest.New(t).URL
	err := app.Migrate(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	token, tokenFile := app.NewDevToken()
	tokens := filepath.Join(t.TempDir(), "tokens.json")
	err = os.WriteFile(tokens, tokenFile, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	logKey := filepath.Join(t.TempDir(), "log.key")
	if made := call(t.Context(), nil, "log", "key", "--name", "referee.example/log", logKey); made.code != exitDone {
		t.Fatalf("log key: %+v", made)
	}
	environment := map[string]string{
		databaseVariable: url, "REFEREE_KEYS": app.NewKey("test"), "REFEREE_TOKEN_FILE": tokens, "REFEREE_LOG_KEY_FILE": logKey,
		"REFEREE_LISTEN": "127.0.0.1:1", "REFEREE_TOKEN": token,
	}
	got := call(t.Context(), environment, "healthcheck")
	if got.code != exitFailed || !strings.Contains(got.err, "127.0.0.1:1") {
		t.Errorf("healthcheck without a server: %+v", got)
	}
	served := maps.Clone(environment)
	served["REFEREE_LISTEN"] = "127.0.0.1:0"
	ctx, stop := context.WithCancel(t.Context())
	ready := newTranscript(`"msg":"ready"`)
	code := make(chan int)
	go func() {
		code <- run(ctx, invocation{arguments: []string{"serve"}, out: ready, err: ready,
			getenv: func(name string) string { return served[name] }})
	}()
	ready.wait(t)
	address := regexp.MustCompile(`"msg":"listening","address":"([^"]+)"`).FindStringSubmatch(ready.String())[1]
	environment["REFEREE_LISTEN"] = address
	got = call(t.Context(), environment, "healthcheck")
	if got.code != exitDone || got.out != address+" is SERVING\n" {
		t.Errorf("healthcheck: %+v", got)
	}
	got = call(t.Context(), environment, "demo", "--addr", address, "--ascii", "--seed", "11")
	if got.code != exitDone || !strings.HasPrefix(got.out, "Players' dice: --seed 11\n") || !strings.HasSuffix(got.out, "sum 0\n") {
		t.Errorf("demo: %+v", got)
	}
	got = call(t.Context(), environment, "demo", "--addr", address, "--token", "wrong")
	if got.code != exitFailed || !strings.Contains(got.err, "Unauthenticated") || strings.Contains(got.err, "wrong") {
		t.Errorf("demo with another token: %+v", got)
	}
	exportAndImport(t, environment, address)
	stop()
	if got := <-code; got != exitDone {
		t.Errorf("serve ended with code %d: %s", got, ready.String())
	}
}

// TestDev starts with nothing and plays its match, and then starts again on what
// the first start has left, to be stopped in the middle of a match.
func TestDev(t *testing.T) {
	dir := devDir(t)
	var keys []string
	says := [][]string{
		{"The match is complete", "sum 0", "export REFEREE_TOKEN=", "until Ctrl-C", "Stopping."},
		{"Game 1: "},
	}
	for start, until := range []string{"until Ctrl-C", "Game 1: "} {
		ctx, stop := context.WithCancel(t.Context())
		output := newTranscript(until)
		code := make(chan int)
		go func() {
			code <- run(ctx, invocation{
				arguments: []string{"dev", "--data-dir", filepath.Join(dir, "postgres"), "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--ascii"},
				out:       output, err: output, getenv: func(string) string { return "" },
			})
		}()
		output.wait(t)
		stop()
		if got := <-code; got != exitDone {
			t.Fatalf("code %d: %s", got, output.String())
		}
		for _, want := range says[start] {
			if !strings.Contains(output.String(), want) {
				t.Errorf("the output lacks %q: %s", want, output.String())
			}
		}
		keyFile := filepath.Join(dir, "postgres.key")
		key, err := os.ReadFile(keyFile)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, string(key))
		info, err := os.Stat(keyFile)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("the key's file has mode %v", info.Mode())
		}
	}
	if keys[0] != keys[1] {
		t.Error("the second start made another key")
	}
	_, encoded, _ := strings.Cut(strings.TrimSpace(keys[0]), ":")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) != 32 {
		t.Errorf("the key has %d bytes, %v", len(key), err)
	}
}

// devDir is a folder that Postgres's unprivileged user may enter, as those of
// t.TempDir are not when root runs the tests.
func devDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "referee-dev-*") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	err = os.Chmod(dir, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestLocalAddress(t *testing.T) {
	for listen, want := range map[string]string{
		"": defaultAddress, ":50051": "localhost:50051", "0.0.0.0:1": "localhost:1", "[::]:1": "localhost:1",
		"10.0.0.1:2": "10.0.0.1:2", "referee:3": "referee:3", "nonsense": defaultAddress,
	} {
		if got := localAddress(listen); got != want {
			t.Errorf("localAddress(%q) = %q, want %q", listen, got, want)
		}
	}
}
