package app

import (
	"runtime/debug"
	"testing"
)

// TestCollector: the program's settings stand unless the environment has others.
func TestCollector(t *testing.T) {
	percent, limit := debug.SetGCPercent(77), debug.SetMemoryLimit(1<<40)
	defer func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) }()
	settings := func() (int, int64) {
		percent := debug.SetGCPercent(77)
		debug.SetGCPercent(percent)
		return percent, debug.SetMemoryLimit(-1)
	}
	tuneCollector(func(string) string { return "set" })
	if percent, limit := settings(); percent != 77 || limit != 1<<40 {
		t.Errorf("the environment's settings became %d %% and %d bytes", percent, limit)
	}
	tuneCollector(func(string) string { return "" })
	if percent, limit := settings(); percent != gcPercent || limit != memoryLimit {
		t.Errorf("settings are %d %% and %d bytes", percent, limit)
	}
}
