package proof

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	refereev1 "referee.example/proto/referee/v1"
)

var (
	hostilePhases = flag.Int("hostile-phases", 2, "times that TestNeighbours is quiet and then attacked")
	hostileQuiet  = flag.Duration("hostile-quiet", time.Second, "how long it is quiet")
	hostileStrict = flag.Bool("hostile-strict", false, "whether TestNeighbours fails when neighbours' calls take more than twice as long; "+
		"then it does again what something else on the machine has disturbed")
)

// neighbours is how many of the other platform's callers there are, each of whom
// makes a call each neighbourPause: some two hundred calls a second together.
const neighbours, neighbourPause = 8, 40 * time.Millisecond

// attackVariable has a process of the tests attack what it names, as JSON, and end.
const attackVariable = "REFEREE_TEST_ATTACK"

// attackOnly is such a process.
func attackOnly(of string) error {
	flag.Parse()
	// The kernel may give each session the same share whatever the nice values in it:
	// then this one, which begins with the process, is to have the least. Where there
	// is no such file, there are no such shares.
	if err := os.WriteFile("/proc/self/autogroup", []byte("19"), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var at target
	if err := json.Unmarshal([]byte(of), &at); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var attacking sync.WaitGroup
	failed := make([]error, attackers)
	for i := range attackers {
		attacking.Go(func() {
			accepted, err := at.attack(ctx, i)
			if len(accepted) > 0 {
				err = errors.Join(err, fmt.Errorf("there were accepted: %v", accepted))
			}
			failed[i] = err
		})
	}
	attacking.Wait()
	return errors.Join(failed...)
}

// attackFrom attacks from a process of its own, which stands for other machines: it
// gets the processor time that nobody else wants, and returns how much that was.
func (at target) attackFrom(ctx context.Context, calls int, seed uint64) (used time.Duration, err error) {
	of, err := json.Marshal(at)
	if err != nil {
		return 0, err
	}
	process := exec.CommandContext(ctx, "chrt", "--idle", "0", os.Args[0],
		"-hostile-calls", strconv.Itoa(calls), "-hostile-seed", strconv.FormatUint(seed, 10))
	process.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	process.Env = append(os.Environ(), attackVariable+"="+string(of))
	if out, err := process.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("attacking: %w\n%s", err, out)
	}
	return process.ProcessState.UserTime() + process.ProcessState.SystemTime(), nil
}

// disturbed is the part of the processors' time from which on a measurement counts as
// disturbed by what is not of the test.
const disturbed = 0.1

// meter measures what part of the processors' time others take.
type meter struct {
	*house
	slots     []*slot
	begun     time.Time
	all, ours time.Duration
}

func (h *house) meter(slots []*slot) *meter {
	m := &meter{house: h, slots: slots, begun: time.Now()}
	m.all, m.ours = m.read()
	return m
}

// others is the part since the beginning, without what a process has used that has ended.
func (m *meter) others(ended time.Duration) float64 {
	all, ours := m.read()
	return float64(all-m.all-(ours-m.ours)-ended) / float64(time.Since(m.begun)) / float64(runtime.NumCPU())
}

func (m *meter) read() (all, ours time.Duration) {
	m.t.Helper()
	replicas, database := m.processorTime(m.slots)
	content, err := os.ReadFile("/proc/stat")
	must(m.t, err)
	line, _, _ := strings.Cut(string(content), "\n")
	for i, field := range strings.Fields(line)[1:8] { // user, nice, system, idle, waiting for input or output, interrupts (2)
		ticks, err := strconv.ParseInt(field, 10, 64)
		must(m.t, err)
		if i != 3 && i != 4 {
			all += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return all, replicas + database + m.used(os.Getpid())
}

// TestNeighbours measures how long another platform's calls take while nobody else
// calls and while hostile calls are made, in turns. None of them may be lost.
func TestNeighbours(t *testing.T) {
	// Threads to spare: what holds callers up in their own process is not the replica's doing.
	threads := runtime.GOMAXPROCS(2 * runtime.NumCPU())
	defer runtime.GOMAXPROCS(threads)
	s := newScene(t)
	s.ctx = withLimit(t, limit+4*time.Duration(*hostilePhases)*(*hostileQuiet))
	at := s.target()
	s.r.stop()
	slots := s.processes(1)
	at.Address = slots[0].client().conn.Target()
	process := strconv.Itoa(slots[0].process.Process.Pid)
	n := s.neighbourhood(s.dial(at.Address))
	_, err := n.phase(func(calls int) bool { return calls < 25 }) // connections are made, statements prepared
	must(t, err)
	first := resident(t, process)
	most := first
	var quiet, beside []phase
	var attacked time.Duration
	for i := 0; len(quiet) < *hostilePhases; i++ {
		meter := s.meter(slots)
		end := time.Now().Add(*hostileQuiet)
		calm, err := n.phase(func(int) bool { return time.Now().Before(end) })
		must(t, err)
		var rough phase
		var ended, took time.Duration
		attacking, stop := context.WithCancel(s.ctx)
		together(t, 2, func(role int) (err error) {
			if role == 0 {
				defer stop()
				begun := time.Now()
				ended, err = at.attackFrom(s.ctx, *hostileCalls / *hostilePhases, *hostileSeed+uint64(i))
				took = time.Since(begun)
				return err
			}
			rough, err = n.phase(func(calls int) bool { return calls < 25 || attacking.Err() == nil })
			return err
		})
		if t.Failed() {
			return
		}
		most = max(most, resident(t, process))
		others := meter.others(ended)
		t.Logf("phase %d: quiet %v; beside %v; others took %.0f %% of the processors", i+1, calm, rough, 100*others)
		if *hostileStrict && others > disturbed {
			continue // until the test's time is over
		}
		quiet, beside, attacked = append(quiet, calm), append(beside, rough), attacked+took
	}
	before, during := median(quiet), median(beside)
	t.Logf("medians of %d phases each: %v quiet, %v beside %.0f hostile calls a second: %.2f times the p99; memory %d MB at first, %d MB at most",
		*hostilePhases, before, during, float64(*hostileCalls)/attacked.Seconds(), float64(during.p99)/float64(before.p99), first>>20, most>>20)
	if most > first+256<<20 {
		t.Errorf("the replica grew from %d to %d bytes", first, most)
	}
	if *hostileStrict && during.p99 > 2*before.p99 {
		t.Errorf("neighbours' p99 is %v, more than twice %v", during.p99, before.p99)
	}
	s.consistent()
}

// neighbourhood is the other platform's callers, each with a game.
type neighbourhood struct {
	*house
	r     *replica
	games []*refereev1.Game
}

func (h *house) neighbourhood(r *replica) *neighbourhood {
	h.t.Helper()
	n := &neighbourhood{house: h, r: r}
	rules := h.ruleset(r, "7club-standard", endless)
	for range neighbours {
		change, err := call(h.as("west"), r, creation(rules))
		must(h.t, err)
		change, err = call(h.as("west"), r, starting(change.GetGame().GetMatchId(), 1, change.GetGame().GetNextSeq()))
		must(h.t, err)
		n.games = append(n.games, change.GetGame())
	}
	return n
}

// phase has each neighbour make calls for as long as more says, and returns how long
// they took. All have to be answered.
func (n *neighbourhood) phase(more func(calls int) bool) (phase, error) {
	took, failed := make([][]time.Duration, neighbours), make([]error, neighbours)
	var calling sync.WaitGroup
	for i := range neighbours {
		calling.Go(func() { took[i], failed[i] = n.neighbour(i, more) })
	}
	calling.Wait()
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	return phase{len(all), all[len(all)/2], all[len(all)*99/100]}, errors.Join(failed...)
}

// neighbour makes calls when they are due: half of them changes, a quarter each reads of
// the game and queries of the history. A call that was held up by the one before took
// as much longer.
func (n *neighbourhood) neighbour(i int, more func(int) bool) (took []time.Duration, err error) {
	ctx := n.as("west")
	begun := time.Now().Add(neighbourPause * time.Duration(i) / neighbours)
	for c := 0; more(c); c++ {
		due := begun.Add(neighbourPause * time.Duration(c))
		if wait := time.Until(due); wait > 0 {
			if err := awaitInstant(ctx, wait); err != nil {
				return took, err
			}
			due = time.Now()
		}
		switch c % 4 {
		case 1:
			_, err = n.r.match.GetGame(ctx, &refereev1.GetGameRequest{MatchId: n.games[i].GetMatchId()})
		case 3:
			_, err = n.r.audit.ListMatches(ctx, &refereev1.ListMatchesRequest{PageSize: 1})
		default:
			n.games[i], err = offerOrWithdraw(ctx, n.r, n.games[i])
		}
		if err != nil {
			return took, fmt.Errorf("neighbour %d, call %d: %w", i, c, err)
		}
		took = append(took, time.Since(due))
	}
	return took, nil
}

// phase is what neighbours' calls took.
type phase struct {
	calls    int
	p50, p99 time.Duration
}

func (p phase) String() string {
	return fmt.Sprintf("%d calls, p50 %v, p99 %v", p.calls, p.p50.Round(10*time.Microsecond), p.p99.Round(10*time.Microsecond))
}

// median is the phase in the middle, by each measure for itself.
func median(phases []phase) phase {
	middle := func(of func(phase) time.Duration) time.Duration {
		values := make([]time.Duration, len(phases))
		for i, p := range phases {
			values[i] = of(p)
		}
		slices.Sort(values)
		return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	out := phase{p50: middle(func(p phase) time.Duration { return p.p50 }), p99: middle(func(p phase) time.Duration { return p.p99 })}
	for _, p := range phases {
		out.calls += p.calls
	}
	return out
}
