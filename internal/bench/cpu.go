package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cpu is processor time. On a machine that others use too it says more than
// elapsed time does: what a move costs is what bounds a quiet one.
type cpu struct{ ours, postgres time.Duration }

// since is what was used after an earlier reading.
func (b *bench) since(earlier cpu) (cpu, error) {
	now, err := b.used()
	return cpu{now.ours - earlier.ours, now.postgres - earlier.postgres}, err
}

// allocated is how many bytes this process has allocated so far. Unlike time it is
// the same on a busy machine.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// tick is the unit of /proc on Linux.
const tick = 10 * time.Millisecond

// used returns what this process with its pgbench, and Postgres with its
// sessions, have used so far.
func (b *bench) used() (c cpu, err error) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if err := syscall.Getrusage(who, &r); err != nil {
			return c, err
		}
		c.ours += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return c, err
	}
	for _, path := range stats {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile; its parent has its time
		}
		ticks, err := b.ticks(string(content))
		if err != nil {
			return c, fmt.Errorf("%s: %w", path, err)
		}
		c.postgres += time.Duration(ticks) * tick
	}
	return c, nil
}

// ticks returns the time in a line of /proc/n/stat, if that is Postgres's.
func (b *bench) ticks(line string) (sum int64, err error) {
	pid, _, _ := strings.Cut(line, " ")
	fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
	const parent, user, system, childUser, childSystem = 1, 11, 12, 13, 14
	var counted []string
	switch b.postmaster {
	case pid:
		counted = []string{fields[user], fields[system], fields[childUser], fields[childSystem]}
	case fields[parent]:
		counted = []string{fields[user], fields[system]}
	}
	for _, field := range counted {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// postmasterOf reads which process serves a data folder.
func postmasterOf(dataDir string) (string, error) {
	content, err := os.ReadFile(filepath.Join(dataDir, "postmaster.pid"))
	pid, _, _ := strings.Cut(string(content), "\n")
	return pid, err
}
