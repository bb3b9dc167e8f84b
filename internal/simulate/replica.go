package simulate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// replica is where one replica's process runs, one after the other, between the
// link that clients come by and those to its database.
type replica struct {
	number    int
	binary    string
	settings  []string // of the environment
	clients   *link
	databases []*link // one to each node
	logs      io.Writer

	fault   sync.Mutex // one fault of the process at a time
	process *process
	shifted int // starts with another wall clock, by what the log says
}

// process is one life of a replica.
type process struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has ended and its log has been read
}

// shiftVariable tells a binary that was built for it how far its wall clock is
// off; others don't know it.
const shiftVariable = "SIMULATE_CLOCK_SHIFT_S"

// drainTimeout bounds how long a replica that goes down finishes the calls at work.
const drainTimeout = 3 * time.Second

// startLimit bounds the start of a replica, whose database may be down.
const startLimit = time.Minute

// launch starts a process, again if it fails for its database is away, and
// returns when it listens.
func (r *replica) launch(ctx context.Context, shiftS int) error {
	deadline := time.Now().Add(startLimit)
	for {
		err := r.start(ctx, shiftS)
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

func (r *replica) start(ctx context.Context, shiftS int) error {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), r.binary, "serve")
	cmd.Env = append(append(os.Environ(), r.settings...), shiftVariable+"="+strconv.Itoa(shiftS))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	log, write, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stderr = write
	p := &process{cmd: cmd, gone: make(chan struct{})}
	started := make(chan error)
	go p.run(started, write)
	if err := <-started; err != nil {
		return errors.Join(err, log.Close())
	}
	lines := bufio.NewReader(log)
	address, at, err := listening(lines)
	if err != nil {
		p.kill()
		return errors.Join(err, log.Close())
	}
	if time.Since(at).Abs() > time.Minute {
		r.shifted++
	}
	go func() {
		_, _ = io.Copy(r.logs, lines) // its pipe must not fill
		_ = log.Close()
	}()
	r.process = p
	r.clients.lead(address)
	return nil
}

// run starts the process and waits for it on a thread of its own, since the
// kernel ends the child when the thread that started it ends.
func (p *process) run(started chan<- error, log *os.File) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	_ = log.Close() // the child has it
	started <- err
	if err != nil {
		return
	}
	_ = p.cmd.Wait() // killed, as planned
	close(p.gone)
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) } // it may be gone

// drain asks the process to go down in order, and waits until it has.
func (p *process) drain() {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.gone:
	case <-time.After(2 * drainTimeout):
		p.kill()
	}
}

func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.gone
}

// listening reads a replica's log until it says where it listens, and when, by
// its own clock.
func listening(log *bufio.Reader) (address string, at time.Time, err error) {
	var before string
	for {
		line, err := log.ReadString('\n')
		before += line
		if err != nil {
			return "", at, fmt.Errorf("the replica did not start: %s", before)
		}
		var entry struct {
			Time         time.Time
			Msg, Address string
		}
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "listening" {
			return entry.Address, entry.Time, nil
		}
	}
}

func (r *replica) stop() {
	r.fault.Lock()
	defer r.fault.Unlock()
	if r.process != nil {
		r.process.signal(syscall.SIGCONT)
		r.process.kill()
	}
	r.clients.close()
	for _, l := range r.databases {
		l.close()
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
