package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// relay passes connections on to an address. Of what comes back it passes at most
// so many bytes, then holds the connection; stalled is closed once it does.
type relay struct {
	net.Listener
	stalled chan struct{}
}

func newRelay(t *testing.T, listener net.Listener, to string, most int64) *relay {
	t.Helper()
	r := &relay{Listener: listener, stalled: make(chan struct{})}
	var once sync.Once
	var open sync.Map
	var passing sync.WaitGroup
	passing.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				_ = near.Close()
				return
			}
			open.Store(near, far)
			passing.Go(func() {
				_, _ = io.Copy(far, near)
				_ = far.Close() // as the system does for a client that was killed
			})
			passing.Go(func() {
				if n, _ := io.CopyN(near, far, most); n == most {
					once.Do(func() { close(r.stalled) })
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		open.Range(func(near, far any) bool {
			_, _ = near.(net.Conn).Close(), far.(net.Conn).Close()
			return true
		})
		passing.Wait()
	})
	return r
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// TestAKilledExportIsResumed kills the command in the middle, again and again,
// and goes on: the file is the one that an export without a break writes.
func TestAKilledExportIsResumed(t *testing.T) {
	r := newReplica(t)
	for seed := range uint64(2) {
		r.play(seed+1, true)
	}
	for _, format := range []string{"json", "text"} {
		whole := r.must(r.export("--format", format)...).out
		path := filepath.Join(t.TempDir(), "games")
		arguments := []string{"--format", format, "--out", path}
		for n := range 3 {
			// Half of what is left comes through.
			info, err := os.Stat(path)
			written := 0
			if err == nil {
				written = int(info.Size())
			}
			relay := newRelay(t, listen(t), r.app.Addr(), int64(len(whole)-written)/2)
			command := exec.CommandContext(t.Context(), os.Args[0], append([]string{"export", "--addr", relay.Addr().String()}, arguments...)...)
			command.Env = append(os.Environ(), asCommand+"=1", "REFEREE_TOKEN="+r.environment["REFEREE_TOKEN"])
			var errs bytes.Buffer
			command.Stderr = &errs
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- command.Wait() }()
			select {
			case <-relay.stalled:
			case err := <-ended:
				t.Fatalf("it ended before it was killed: %v, %s", err, &errs)
			}
			awaitGame(t, path)
			if err := command.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err == nil || errs.Len() > 0 {
				t.Fatalf("it ended before it was killed: %v, %s", err, &errs)
			}
			if n > 0 {
				continue
			}
			if again := call(t.Context(), r.environment, r.export(arguments...)...); again.code != exitUsage || !strings.Contains(again.err, "--resume") {
				t.Errorf("the file is written over: %+v", again)
			}
			arguments = append(arguments, "--resume")
		}
		// Other games can't be added to it.
		other := call(t.Context(), r.environment, r.export(append(arguments, "--platform", "elsewhere")...)...)
		for end := time.Now().Add(time.Minute); strings.Contains(other.err, "ResourceExhausted") && time.Now().Before(end); {
			// The replica has not noticed the end of the killed one yet.
			other = call(t.Context(), r.environment, r.export(append(arguments, "--platform", "elsewhere")...)...)
		}
		if other.code != exitFailed || !strings.Contains(other.err, "InvalidArgument") {
			t.Errorf("resumed with another filter: %+v", other)
		}
		r.must(r.export(arguments...)...)
		got, err := os.ReadFile(path)
		if err != nil || string(got) != whole {
			t.Errorf("%s: the resumed file has %d bytes, one without a break %d, %v", format, len(got), len(whole), err)
		}
		left, err := filepath.Glob(path + ".*")
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		if again := call(t.Context(), r.environment, r.export(arguments...)...); again.code != exitFailed || !strings.Contains(again.err, "nothing to resume") {
			t.Errorf("a whole file is resumed: %+v", again)
		}
	}
	// Last, for it plays a match, and a game that enters the log meanwhile is exported otherwise.
	t.Run("over TLS", func(t *testing.T) { exportOverTLS(t, r) })
}

// awaitGame waits until the file's place is after a game.
func awaitGame(t *testing.T, path string) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); {
		content, err := os.ReadFile(placeFile(path))
		if err == nil && !bytes.Contains(content, []byte(`"resume_token":""`)) {
			return
		}
	}
	t.Fatal("no game was written")
}

func TestAnExportFileThatWasCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "games")
	e, token, err := openExport(path, false)
	if err != nil || token != "" {
		t.Fatal(token, err)
	}
	write := func(text, token string) {
		t.Helper()
		if _, err := e.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := e.wrote(token); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n", "1")
	e.kept = time.Now() // the disk may have been slow
	write("two\n", "2") // within the second: not kept
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
	if how := e.broken(); how != "--out "+path+" --resume" {
		t.Errorf("it says to go on with %q", how)
	}
	e, token, err = openExport(path, true)
	if err != nil || token != "1" {
		t.Fatal(token, err)
	}
	write("two\n", "2")
	if err := e.done(); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "one\ntwo\n" {
		t.Errorf("the file has %q, %v", content, err)
	}
	for name, place := range map[string]string{"shorter": `{"resume_token":"1","bytes":99}`, "unexpected end": ``} {
		if err := os.WriteFile(placeFile(path), []byte(place), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := openExport(path, true); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOneExportAFile: who goes on with a file that another export writes to is
// refused and changes nothing, whether that one is its first or goes on itself.
func TestOneExportAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "games")
	refused := func(when string) {
		t.Helper()
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := openExport(path, true); err == nil || !strings.Contains(err.Error(), "written to by another export") {
			t.Errorf("%s: %v", when, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: the file had %q and has %q, %v", when, before, after, err)
		}
	}
	write := func(e *exportFile, text, token string) {
		t.Helper()
		if _, err := e.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := e.keep(token); err != nil {
			t.Fatal(err)
		}
	}
	e, _, err := openExport(path, false)
	if err != nil {
		t.Fatal(err)
	}
	refused("at its beginning")
	write(e, "one\n", "1")
	refused("while it is written first")
	e.broken()
	e, _, err = openExport(path, true)
	if err != nil {
		t.Fatal(err)
	}
	write(e, "two\n", "2")
	refused("while it is gone on with")
	if err := e.done(); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "one\ntwo\n" {
		t.Errorf("the file has %q, %v", content, err)
	}
}

// TestAnExportThatBrokeAtOnce: a file that an export had no time, or no room, to
// keep a place of is begun anew.
func TestAnExportThatBrokeAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "games")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e, token, err := openExport(path, true)
	if err != nil || token != "" {
		t.Fatal(token, err)
	}
	if _, err := e.WriteString("one\n"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.wrote("1"), e.done()); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "one\n" {
		t.Errorf("the file has %q, %v", content, err)
	}
	if _, _, err := openExport(path, true); err == nil || !strings.Contains(err.Error(), "nothing to resume") {
		t.Errorf("a whole file is gone on with: %v", err)
	}
}

// exportOverTLS goes through a proxy that speaks TLS, as one before a server does.
func exportOverTLS(t *testing.T, r *replica) {
	t.Helper()
	certificate, authority := selfSigned(t)
	relay := newRelay(t, tls.NewListener(listen(t), &tls.Config{Certificates: []tls.Certificate{certificate},
		NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS13}), r.app.Addr(), 1<<40)
	address := relay.Addr().String()
	got := r.must("export", "--addr", address, "--tls-ca", authority)
	if plain := r.must(r.export()...); got.out == "" || strings.Count(got.out, "\n") != strings.Count(plain.out, "\n") {
		t.Errorf("over TLS %d bytes, without %d", len(got.out), len(plain.out))
	}
	r.must("demo", "--addr", address, "--tls-ca", authority, "--fast")
	if got := call(t.Context(), r.environment, "export", "--addr", address, "--tls"); got.code != exitFailed || !strings.Contains(got.err, "certificate") {
		t.Errorf("a certificate that the system does not trust: %+v", got)
	}
}

// selfSigned is a certificate for this machine and the file to trust it by.
func selfSigned(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	content, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{content}, PrivateKey: key},
		file(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: content}))
}

func TestProgress(t *testing.T) {
	const match = "0197c2b0-0000-7000-8000-000000000000"
	at, ok := createdAt(match)
	if !ok {
		t.Fatal("no time in a match's id")
	}
	id := func(t time.Time) string { return fmt.Sprintf("%012x-7000-8000-000000000000", t.UnixMilli()) }
	for name, c := range map[string]struct {
		terminal bool
		from     *timestamppb.Timestamp
		want     string
	}{
		"a file":               {false, nil, "2 games, 200 events, 2.0 MB, 10 events/s, back to "},
		"a terminal":           {true, nil, "\r2 games, 200 events, 2.0 MB, 10 events/s, back to "},
		"with a time to reach": {true, timestamppb.New(at.Add(-10 * time.Hour)), "\r[###############...............]  50%  2 games, "},
		"an empty span":        {false, timestamppb.New(at), "2 games, 200 events, "},
	} {
		var out bytes.Buffer
		now := time.Unix(0, 0)
		p := newProgress(&out, c.from, func() time.Time { return now })
		p.terminal = c.terminal
		p.add(id(at), 100, 1_000_000)
		if out.Len() > 0 {
			t.Errorf("%s: told at once: %q", name, &out)
		}
		now = now.Add(20 * time.Second)
		p.add(id(at.Add(-5*time.Hour)), 100, 1_000_000)
		if !strings.HasPrefix(out.String(), c.want) {
			t.Errorf("%s: %q, want %q", name, &out, c.want)
		}
		p.stop()
		if clears := strings.HasSuffix(out.String(), "\r\x1b[K"); clears != c.terminal {
			t.Errorf("%s: ends as %q", name, &out)
		}
	}
}
