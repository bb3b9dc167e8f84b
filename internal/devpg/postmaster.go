package devpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// readyInterval is how often the state file of a starting server is read.
	readyInterval = 10 * time.Millisecond
	// lingerTimeout bounds the wait for the last child of a killed server.
	lingerTimeout = 10 * time.Second
	// logLimit is how many bytes of the server's log an error can quote.
	logLimit = 8 << 10
)

// StartError means that a program of Postgres ended when it should not have.
type StartError struct {
	Program string
	Err     error
	// Log is the end of what the program wrote, at most 8 KiB.
	Log string
}

func (e *StartError) Error() string {
	return fmt.Sprintf("%s did not start: %v\n%s", e.Program, e.Err, e.Log)
}

func (e *StartError) Unwrap() error { return e.Err }

// portTaken reads the log, because the exit code is the same for every reason.
func portTaken(err error) bool {
	var failed *StartError
	return errors.As(err, &failed) && strings.Contains(failed.Log, "could not create any TCP/IP sockets")
}

// postmaster is the running server process, the parent of all its others.
type postmaster struct {
	process *os.Process
	gone    chan struct{} // closed when it and its children are gone
	waitErr error         // its exit; read after gone
}

func (s *Server) command(port int) *exec.Cmd {
	arguments := []string{
		"-D", s.dataDir,
		"-c", "listen_addresses=127.0.0.1",
		"-c", "port=" + strconv.Itoa(port),
		"-c", "unix_socket_directories=",
		"-c", "max_connections=" + strconv.Itoa(s.options.MaxConnections),
	}
	if s.options.NoFsync {
		arguments = append(arguments, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	// It outlives the context that bounds its start.
	cmd := exec.CommandContext(context.Background(), s.binaries.path("postgres"), arguments...)
	cmd.Dir = "/"
	cmd.Env = cleanEnvironment()
	cmd.WaitDelay = lingerTimeout
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: s.account.credential(),
		// A terminal's Ctrl-C is for the program that drains; were the server in
		// its group, the database would be gone in the middle of the drain.
		Setpgid: true,
		// A fast shutdown when this process dies, however it dies.
		Pdeathsig: syscall.SIGINT,
	}
	return cmd
}

// startPostmaster returns when the server accepts connections.
func startPostmaster(ctx context.Context, cmd *exec.Cmd, dataDir string) (*postmaster, error) {
	log := new(tail)
	cmd.Stdout, cmd.Stderr = log, log
	p := &postmaster{gone: make(chan struct{})}
	started := make(chan error)
	go p.run(cmd, started)
	err := <-started
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(readyInterval)
	defer ticker.Stop()
	for !ready(dataDir, cmd.Process.Pid) {
		select {
		case <-ticker.C:
		case <-p.gone:
			return nil, &StartError{Program: "postgres", Err: p.waitErr, Log: log.text()}
		case <-ctx.Done():
			p.kill()
			return nil, &StartError{Program: "postgres", Err: ctx.Err(), Log: log.text()}
		}
	}
	return p, nil
}

// run starts the process and waits for it on one thread: the kernel sends the
// parent-death signal when the starting thread ends, not the whole process, so
// no other goroutine may be given this thread and end it.
func (p *postmaster) run(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	p.process = cmd.Process
	started <- err
	if err != nil {
		return
	}
	// The children hold the log's pipe, so Wait outlasts them too.
	p.waitErr = cmd.Wait()
	close(p.gone)
}

func (p *postmaster) stop(timeout time.Duration) error {
	// SIGINT is Postgres's "fast" shutdown, SIGQUIT the "immediate" one.
	err := p.signal(syscall.SIGINT)
	if err != nil {
		return err
	}
	select {
	case <-p.gone:
		return nil
	case <-time.After(timeout):
	}
	err = p.signal(syscall.SIGQUIT)
	if err != nil {
		return err
	}
	<-p.gone
	return fmt.Errorf("postgres did not shut down within %s and was stopped without a checkpoint", timeout)
}

func (p *postmaster) kill() {
	// Its only failure is that the process is gone already, which is the aim.
	_ = p.signal(syscall.SIGKILL)
	<-p.gone
}

func (p *postmaster) crash() {
	// Its only failure is that the process is gone already, which is the aim.
	_ = p.signal(syscall.SIGQUIT)
	<-p.gone
}

func (p *postmaster) signal(sig syscall.Signal) error {
	err := p.process.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// ready reads the state that the server keeps in its lock file: the first line
// is its process, the eighth says "ready" once it accepts connections.
func ready(dataDir string, pid int) bool {
	content, err := os.ReadFile(filepath.Join(dataDir, "postmaster.pid"))
	if err != nil {
		return false
	}
	lines := strings.Split(string(content), "\n")
	return len(lines) >= 8 && lines[0] == strconv.Itoa(pid) && strings.TrimSpace(lines[7]) == "ready"
}

// cleanEnvironment drops the PG* variables, which would change ports and
// folders behind our back, and asks for log lines in English.
func cleanEnvironment() []string {
	environment := []string{}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "PG") && !strings.HasPrefix(entry, "LC_") {
			environment = append(environment, entry)
		}
	}
	return append(environment, "LC_ALL=C")
}

// tail keeps the last logLimit bytes written to it. The copying goroutine of
// the process writes it; it is read when that has ended or, on a cancelled
// start, when the process has been killed.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - logLimit; extra > 0 {
		t.kept = append([]byte(nil), t.kept[extra:]...)
	}
	return len(p), nil
}

func (t *tail) text() string { return string(bytes.TrimSpace(t.kept)) }
