package app

import (
	"runtime"
	"runtime/debug"
)

// What Go's runtime is told, unless GOGC, GOMEMLIMIT or GOMAXPROCS says otherwise.
const (
	// gcPercent lets garbage grow to ten times what lives. A move leaves some twenty
	// kilobytes behind, and some megabytes live: collecting at the default's rate took a
	// sixth of a replica's processor time, and at four times all work stopped a dozen
	// times a second, for some milliseconds on a busy machine.
	gcPercent = 1000
	// memoryLimit bounds what that costs while much lives, as with ten thousand idle
	// connections: near it garbage is collected more often.
	memoryLimit = 1 << 30
	// threadsPerCPU is how many threads run Go code for each processor. A thread that
	// has goroutines to run looks for what came to other connections after 10 ms only.
	// With as many threads as processors, a burst of calls on some connections keeps
	// all of them busy, and everybody else waits; with more the kernel shares the
	// processors between the burst and the rest (docs/overload.md).
	threadsPerCPU = 4
)

// processors is what the machine, or the container, has: Go's own setting at the start.
var processors = runtime.GOMAXPROCS(0)

// tuneRuntime sets the process's collector and scheduler.
func tuneRuntime(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	if getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(threadsPerCPU * processors)
	}
}
