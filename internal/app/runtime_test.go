package app

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestRuntime: the program's settings stand unless the environment has others.
func TestRuntime(t *testing.T) {
	percent, limit, threads := debug.SetGCPercent(77), debug.SetMemoryLimit(1<<40), runtime.GOMAXPROCS(3)
	defer func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit); runtime.GOMAXPROCS(threads) }()
	settings := func() (int, int64, int) {
		percent := debug.SetGCPercent(77)
		debug.SetGCPercent(percent)
		return percent, debug.SetMemoryLimit(-1), runtime.GOMAXPROCS(0)
	}
	tuneRuntime(func(string) string { return "set" })
	if percent, limit, threads := settings(); percent != 77 || limit != 1<<40 || threads != 3 {
		t.Errorf("the environment's settings became %d %%, %d bytes and %d threads", percent, limit, threads)
	}
	for range 2 { // a second replica in one process changes nothing
		tuneRuntime(func(string) string { return "" })
		if percent, limit, threads := settings(); percent != gcPercent || limit != memoryLimit || threads != threadsPerCPU*processors {
			t.Errorf("settings are %d %%, %d bytes and %d threads of %d processors", percent, limit, threads, processors)
		}
	}
}
