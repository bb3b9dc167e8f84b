package app

import "runtime/debug"

// What the garbage collector is told, unless GOGC or GOMEMLIMIT says otherwise.
const (
	// gcPercent lets garbage grow to four times what lives. A move leaves some tens of
	// kilobytes behind, and what lives is small: collecting at the default's rate
	// took a sixth of a replica's processor time.
	gcPercent = 400
	// memoryLimit bounds what that costs while much lives, as with ten thousand idle
	// connections: near it garbage is collected more often.
	memoryLimit = 1 << 30
)

// tuneCollector sets the process's collector.
func tuneCollector(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
