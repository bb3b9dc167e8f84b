package devpg

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNewest(t *testing.T) {
	dirs := []string{"/usr/lib/postgresql/9.6/bin", "/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/10/bin"}
	if got := newest(dirs); got != dirs[1] {
		t.Errorf("newest is %s", got)
	}
}

func TestParseMajor(t *testing.T) {
	for output, want := range map[string]int{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": 15,
		"postgres (PostgreSQL) 18devel\n":                        18,
	} {
		if got, err := parseMajor(output); err != nil || got != want {
			t.Errorf("parseMajor(%q) = %d, %v", output, got, err)
		}
	}
	if got, err := parseMajor("postgres: no such thing 15"); err == nil {
		t.Errorf("nonsense gave version %d", got)
	}
}

func TestBarrier(t *testing.T) {
	open, err := os.MkdirTemp("/tmp", "referee-devpg-test-*") //nolint:usetesting // any user may enter /tmp
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(open) })
	closed := filepath.Join(open, "closed")
	inner := filepath.Join(closed, "inner")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	for dir, mode := range map[string]os.FileMode{open: 0o755, closed: 0o700} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	// A user and group that own nothing here.
	stranger := &account{name: "stranger", uid: 54321, gid: 54321}
	if got, err := stranger.barrier(inner); got != closed || err != nil {
		t.Errorf("barrier(inner) = %q, %v", got, err)
	}
	if got, err := stranger.barrier(open); got != "" || err != nil {
		t.Errorf("barrier(open) = %q, %v", got, err)
	}
	var present *account
	if got, err := present.barrier(inner); got != "" || err != nil {
		t.Errorf("the present user is barred at %q, %v", got, err)
	}
	server := &Server{account: stranger}
	if err := server.checkReach(filepath.Join(inner, "data")); err == nil || !strings.Contains(err.Error(), closed) {
		t.Errorf("the refusal does not name the closed folder: %v", err)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	log := new(tail)
	for _, text := range []string{"start", strings.Repeat("x", logLimit), "end\n"} {
		if n, err := log.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if len(log.kept) != logLimit {
		t.Errorf("it keeps %d bytes", len(log.kept))
	}
	if got := log.text(); !strings.HasSuffix(got, "xend") || strings.Contains(got, "start") {
		t.Errorf("it keeps %q...", got[:8])
	}
}

func TestDefaultDataDir(t *testing.T) {
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(closed)
	want := filepath.Join(closed, ".cache", "postgres")
	if os.Geteuid() == 0 {
		want = "/var/lib/referee/postgres"
	}
	if got, err := DefaultDataDir(); got != want || err != nil {
		t.Errorf("DefaultDataDir() = %s, %v; want %s", got, err, want)
	}
}
