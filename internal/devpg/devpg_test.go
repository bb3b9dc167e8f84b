package devpg_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/devpg"
)

// holdVariable tells the re-executed test binary to start a server and hold it.
const holdVariable = "DEVPG_TEST_HOLD"

func TestMain(m *testing.M) {
	if os.Getenv(holdVariable) != "" {
		hold()
	}
	os.Exit(m.Run())
}

// hold prints the data folder and URL of a running server and waits to be killed.
func hold() {
	server, err := devpg.Start(context.Background(), devpg.Options{NoFsync: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(server.DataDir())
	fmt.Println(server.URL("postgres"))
	select {}
}

func start(t *testing.T, options devpg.Options) *devpg.Server {
	t.Helper()
	options.NoFsync = true
	server, err := devpg.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(server.DataDir()); err != nil {
			t.Error(err)
		}
	})
	return server
}

// folder is one that any user may enter, which TMPDIR need not be.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "referee-devpg-test-*") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func connect(t *testing.T, server *devpg.Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// one returns the one text that a query answers with.
func one(t *testing.T, conn *pgx.Conn, query string) string {
	t.Helper()
	var answer string
	if err := conn.QueryRow(t.Context(), query).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return answer
}

func TestStopAndStartKeepsData(t *testing.T) {
	options := devpg.Options{DataDir: filepath.Join(folder(t), "new", "data"), MaxConnections: 17}
	first := start(t, options)
	conn := connect(t, first)
	if _, err := conn.Exec(t.Context(), `CREATE TABLE kept AS SELECT 'a row' AS word`); err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := start(t, options)
	conn = connect(t, second)
	if got := one(t, conn, `SELECT word FROM kept`); got != "a row" {
		t.Errorf("the row reads %q", got)
	}
	if got := one(t, conn, `SHOW max_connections`); got != "17" {
		t.Errorf("max_connections = %s", got)
	}
	if err := second.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := second.Stop(); err != nil {
		t.Errorf("the second stop: %v", err)
	}
}

func TestFsyncIsOnUnlessRefused(t *testing.T) {
	server, err := devpg.Start(t.Context(), devpg.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(server.Stop(), os.RemoveAll(server.DataDir())); err != nil {
			t.Error(err)
		}
	})
	conn := connect(t, server)
	for _, setting := range []string{"fsync", "full_page_writes", "synchronous_commit"} {
		if got := one(t, conn, "SHOW "+setting); got != "on" {
			t.Errorf("%s = %s", setting, got)
		}
	}
	if got := one(t, conn, "SHOW listen_addresses"); got != "127.0.0.1" {
		t.Errorf("listen_addresses = %s", got)
	}
}

func TestAsksForThePassword(t *testing.T) {
	server := start(t, devpg.Options{})
	config, err := pgx.ParseConfig(server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	config.Password += "x"
	if conn, err := pgx.ConnectConfig(t.Context(), config); err == nil {
		_ = conn.Close(t.Context())
		t.Error("a wrong password was let in")
	}
}

func TestCrashLosesNothingCommitted(t *testing.T) {
	for name, crash := range map[string]func(*devpg.Server){"killed": (*devpg.Server).Kill, "stopped at once": (*devpg.Server).Crash} {
		t.Run(name, func(t *testing.T) { crashLosesNothingCommitted(t, crash) })
	}
}

func crashLosesNothingCommitted(t *testing.T, crash func(*devpg.Server)) {
	t.Helper()
	server := start(t, devpg.Options{})
	conn := connect(t, server)
	if _, err := conn.Exec(t.Context(), `CREATE TABLE ledger AS SELECT 1 AS n`); err != nil {
		t.Fatal(err)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `INSERT INTO ledger VALUES (2)`); err != nil {
		t.Fatal(err)
	}
	url := server.URL("postgres")
	crash(server)
	if err := tx.Commit(t.Context()); err == nil {
		t.Error("a commit was answered by a server that had crashed")
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := server.URL("postgres"); got != url {
		t.Error("the URL changed over a restart")
	}
	if got := one(t, connect(t, server), `SELECT string_agg(n::text, ',') FROM ledger`); got != "1" {
		t.Errorf("the ledger holds %s, not 1", got)
	}
}

func TestRestartOfARunningServer(t *testing.T) {
	server := start(t, devpg.Options{})
	const began = `SELECT pg_postmaster_start_time()::text`
	before := one(t, connect(t, server), began)
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := one(t, connect(t, server), began); after == before {
		t.Error("the server was not restarted")
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		wants []string
	}{
		{"other version", map[string]string{"PG_VERSION": "9\n"}, []string{"made by Postgres 9", "REFEREE_PG_BIN"}},
		{"unreadable version", map[string]string{"PG_VERSION": ""}, []string{"made by Postgres ,"}},
		{"not a data folder", map[string]string{"letter.txt": "dear all"}, []string{"not empty", "PG_VERSION"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := folder(t)
			for name, content := range test.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := devpg.Start(t.Context(), devpg.Options{DataDir: dir})
			var version *devpg.VersionError
			var unusable *devpg.DataDirError
			if !errors.As(err, &version) && !errors.As(err, &unusable) {
				t.Fatalf("error %v is neither *VersionError nor *DataDirError", err)
			}
			for _, want := range append(test.wants, dir) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			for name, content := range test.files {
				if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != content {
					t.Errorf("%s was touched: %q, %v", name, got, err)
				}
			}
		})
	}
}

func TestMissingBinariesNameTheCommand(t *testing.T) {
	t.Setenv("REFEREE_PG_BIN", folder(t))
	_, err := devpg.Start(t.Context(), devpg.Options{})
	if !errors.Is(err, devpg.ErrNoBinaries) {
		t.Fatalf("error %v is not ErrNoBinaries", err)
	}
	if !strings.Contains(err.Error(), "apt-get install -y postgresql") {
		t.Errorf("error %q names no command that installs them", err)
	}
}

func TestTakenPortIsRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	dir := filepath.Join(folder(t), "data")
	options := devpg.Options{DataDir: dir, NoFsync: true, Port: listener.Addr().(*net.TCPAddr).Port}
	_, err = devpg.Start(t.Context(), options)
	var failed *devpg.StartError
	if !errors.As(err, &failed) || !strings.Contains(failed.Log, "Address already in use") {
		t.Errorf("error is %v", err)
	}
}

func TestOneServerAFolder(t *testing.T) {
	dir := filepath.Join(folder(t), "data")
	first := start(t, devpg.Options{DataDir: dir})
	_, err := devpg.Start(t.Context(), devpg.Options{DataDir: dir})
	var failed *devpg.StartError
	if !errors.As(err, &failed) || !strings.Contains(failed.Log, "postmaster.pid") {
		t.Errorf("error is %v", err)
	}
	one(t, connect(t, first), `SELECT 'the first goes on'`)
}

func TestFailedInitdbLeavesNoFolder(t *testing.T) {
	bin, dir := folder(t), folder(t)
	for name, script := range map[string]string{
		"postgres": "#!/bin/sh\necho 'postgres (PostgreSQL) 15.1'\n",
		"initdb":   "#!/bin/sh\necho 'no room for it'\nexit 1\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("REFEREE_PG_BIN", bin)
	_, err := devpg.Start(t.Context(), devpg.Options{DataDir: filepath.Join(dir, "data")})
	var failed *devpg.StartError
	if !errors.As(err, &failed) || failed.Program != "initdb" || failed.Log != "no room for it" {
		t.Errorf("error is %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestServerDiesWithItsParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), holdVariable+"=1")
	parent.Stderr = os.Stderr
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	var told []string
	for len(told) < 2 && lines.Scan() {
		told = append(told, lines.Text())
	}
	if len(told) < 2 {
		t.Fatalf("the parent ended: %v", parent.Wait())
	}
	dataDir := told[0]
	t.Cleanup(func() { _ = os.RemoveAll(dataDir) })
	conn, err := pgx.Connect(t.Context(), told[1])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed, as asked
	// The server's last act is to remove its lock file.
	deadline := time.After(30 * time.Second)
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		_, err := os.Stat(filepath.Join(dataDir, "postmaster.pid"))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		select {
		case <-look.C:
		case <-deadline:
			t.Fatal("the server outlived its killed parent")
		}
	}
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("a session outlived the server")
	}
}

// TestStandby makes a standby, moves it behind another address, and promotes it.
func TestStandby(t *testing.T) {
	primary := start(t, devpg.Options{})
	if _, err := connect(t, primary).Exec(t.Context(), `CREATE TABLE followed AS SELECT 'one' AS word`); err != nil {
		t.Fatal(err)
	}
	standby, err := primary.Standby(t.Context(), "second", "", devpg.Options{NoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(standby.Stop(), os.RemoveAll(standby.DataDir())); err != nil {
			t.Error(err)
		}
	})
	on := connect(t, standby)
	if got := one(t, on, `SELECT word || pg_is_in_recovery() FROM followed`); got != "onetrue" {
		t.Errorf("the standby says %s", got)
	}
	// It answers before it has found its primary.
	at := connect(t, primary)
	for one(t, at, `SELECT count(*)::text FROM pg_stat_replication`) == "0" {
		if _, err := at.Exec(t.Context(), `SELECT pg_sleep(0.01)`); err != nil {
			t.Fatal(err)
		}
	}
	if got := one(t, at, `SELECT application_name FROM pg_stat_replication`); got != "second" {
		t.Errorf("the primary has the standby %s", got)
	}
	primary.Kill()
	if got := one(t, on, `SELECT pg_promote()::text`); got != "true" {
		t.Errorf("promoted: %s", got)
	}
	if _, err := on.Exec(t.Context(), `INSERT INTO followed VALUES ('two')`); err != nil {
		t.Error(err)
	}
}
