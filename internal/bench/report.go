package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"referee.example/internal/referee"
	"referee.example/internal/rules/banqi"
)

// loadGame returns the board rules of the preset that is played, by which the
// players choose their moves.
func loadGame() (*banqi.Game, error) {
	presets, err := referee.LoadPresets()
	if err != nil {
		return nil, err
	}
	return banqi.Compile(*presets.Get(ruleset).DarkChess)
}

// results are the measurements by kind and number of matches.
type results map[string]map[int][]result

func (r results) add(kind string, matches int, one result) {
	if r[kind] == nil {
		r[kind] = map[int][]result{}
	}
	r[kind][matches] = append(r[kind][matches], one)
}

// median returns the middle of what value reads, the spread the lowest and the
// highest.
func median[T int64 | float64 | time.Duration](all []result, value func(result) T) T {
	values := sorted(all, value)
	return values[len(values)/2]
}

func spread[T int64 | float64 | time.Duration](all []result, value func(result) T) (least, most T) {
	values := sorted(all, value)
	return values[0], values[len(values)-1]
}

func sorted[T int64 | float64 | time.Duration](all []result, value func(result) T) []T {
	values := make([]T, len(all))
	for i, r := range all {
		values[i] = value(r)
	}
	slices.Sort(values)
	return values
}

func perSecond(r result) float64 { return r.perSecond }

// report writes Markdown.
func (b *bench) report(ctx context.Context, out io.Writer, c comparison, all results, sizes []int, rounds int) error {
	var version string
	if err := b.pool.QueryRow(ctx, `SELECT current_setting('server_version')`).Scan(&version); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s; %d CPUs; %s; Postgres %s, fsync on; load average before the report %s\n\n",
		cpuName(), runtime.NumCPU(), runtime.Version(), version, loadAverage())
	fmt.Fprintf(out, "Medians of %d rounds of %v, in turns; in brackets the slowest and the fastest round.\n\n", rounds, b.length)
	heads := []string{"matches", "kind", "moves/s"}
	for _, base := range c.bases {
		heads = append(heads, "of "+base)
	}
	heads = append(heads, "p50 ms", "p99 ms", "CPU µs/move, ours + Postgres", "allocated kB/move", "WAL bytes/move", "table bytes/move",
		"commits/s", "HOT %", "states kB")
	fmt.Fprintf(out, "| %s |\n|%s\n", strings.Join(heads, " | "), strings.Repeat(" --- |", len(heads)))
	for _, matches := range sizes {
		for _, kind := range c.kinds {
			measured := all[kind.name][matches]
			if len(measured) == 0 {
				continue
			}
			slowest, fastest := spread(measured, perSecond)
			fmt.Fprintf(out, "| %d | %s | %.0f (%.0f to %.0f) | %s%.2f | %.2f | %d + %d | %.1f | %.0f | %.0f | %.0f | %.1f | %.0f |\n",
				matches, kind.name, median(measured, perSecond), slowest, fastest,
				all.shares(kind.name, c.bases, matches),
				milliseconds(median(measured, func(r result) time.Duration { return r.p50 })),
				milliseconds(median(measured, func(r result) time.Duration { return r.p99 })),
				median(measured, func(r result) time.Duration { return r.cpu.ours }).Microseconds(),
				median(measured, func(r result) time.Duration { return r.cpu.postgres }).Microseconds(),
				median(measured, func(r result) float64 { return r.allocated / 1000 }),
				median(measured, func(r result) float64 { return r.walBytes }),
				median(measured, func(r result) float64 { return r.rowBytes }),
				median(measured, func(r result) float64 { return r.commitsPerSecond }),
				100*median(measured, func(r result) float64 { return r.hot }),
				median(measured, func(r result) float64 { return r.stateBytes / 1000 }))
		}
	}
	return nil
}

// shares are the cells of a kind's ratios.
func (r results) shares(kind string, bases []string, matches int) (cells string) {
	for _, base := range bases {
		cells += r.ratio(kind, base, matches) + " | "
	}
	return cells
}

// ratio is the median over the rounds of one kind's moves to another's in the
// same round, so that slow minutes of the machine fall out.
func (r results) ratio(kind, to string, matches int) string {
	ours, theirs := r[kind][matches], r[to][matches]
	if len(theirs) != len(ours) {
		return "-"
	}
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i].perSecond / theirs[i].perSecond
	}
	slices.Sort(ratios)
	return fmt.Sprintf("%.2f", ratios[len(ratios)/2])
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func cpuName() string {
	content, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(content)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func loadAverage() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(content))[:3], " ")
}
