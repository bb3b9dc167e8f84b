package referee

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"referee.example/internal/deal"
)

// costLimit is what proofs and chain may take of a processor in a move.
const costLimit = 20 * time.Microsecond

// move is a ply of a recorded game: the state before it, and the command.
type move struct {
	before *State
	c      Command
	event  Event
}

// moves plays whole games and keeps every ply.
func moves(b *testing.B) (all []move, tb *table) {
	tb = newTable(b, preset(b, "7club-standard"))
	for range 3 {
		tb.start()
		for tb.state.Game.Status == GamePlaying {
			tb.now += second
			m := move{before: tb.state, c: tb.action(tb.choose())}
			n := len(tb.log)
			tb.must(m.c)
			m.event = tb.log[n]
			all = append(all, m)
		}
	}
	return all, tb
}

// threadTime is the processor time of the calling thread.
func threadTime(b *testing.B) time.Duration {
	const thread = 1 // RUSAGE_THREAD of Linux
	var used syscall.Rusage
	if err := syscall.Getrusage(thread, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkCostOfProofs plays the same moves in turn as the service does, and as
// a referee would that holds the arrangement in clear: nothing is unsealed,
// dealt, hashed or proved. The difference is what provable fairness costs. All
// lanes run in one loop, so that whatever else the machine does befalls all.
func BenchmarkCostOfProofs(b *testing.B) {
	all, tb := moves(b)
	arrangements := map[int][]byte{}
	seeds := map[int]deal.Seed{}
	for i := range all {
		s := all[i].before
		if arrangements[s.Game.Number] == nil {
			seed, err := OpenSeed(tb.keys, s.Context(), s.Game.Sealed)
			if err != nil {
				b.Fatal(err)
			}
			seeds[s.Game.Number], arrangements[s.Game.Number] = seed, Deal(s.material(seed), s.Rules.Deck())
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var with, without, chain time.Duration
	moves := 0
	for b.Loop() {
		// A replica keeps the provers of running games: a new one each round pays
		// for each game's tree again, as it is paid for once a game.
		r := New(nil, Presets{}, tb.keys, nil)
		began := threadTime(b)
		for i := range all {
			proved(b, r, &all[i])
		}
		mark := threadTime(b)
		with += mark - began
		for i := range all {
			game := all[i].before.Game.Number
			plain(b, &all[i], arrangements[game], seeds[game])
		}
		began, mark = mark, threadTime(b)
		without += mark - began
		for i := range all {
			if all[i].event.chain(all[i].before.Game.Head) != all[i].event.Hash {
				b.Fatal("another hash")
			}
		}
		chain += threadTime(b) - mark
		moves += len(all)
	}
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(moves) }
	cost := with - (without - chain)
	b.ReportMetric(each(with), "ns/move-with")
	b.ReportMetric(each(without-chain), "ns/move-without")
	b.ReportMetric(each(chain), "ns/move-chain")
	b.ReportMetric(each(cost), "ns/move-cost")
	b.ReportMetric(0, "ns/op")
	if each(cost) > float64(costLimit.Nanoseconds()) {
		b.Errorf("proofs and chain cost %.0f ns a move, at most %v are due", each(cost), costLimit)
	}
}

// proved makes a move as the service does, the proof in the answer included.
func proved(b *testing.B, r *Referee, m *move) {
	env := Env{Arrival: m.event.Time, Now: m.event.Time, Keys: r.keys, Deal: r.deal}
	d, err := Decide(m.before, m.c, env)
	if err != nil || d.Refusal != nil {
		b.Fatal(err, d.Refusal)
	}
	if m.event.Turned == 0 {
		return
	}
	prover, err := r.Prover(d.State)
	if err != nil {
		b.Fatal(err)
	}
	prover.Open(&m.event)
}

// plain makes the move with the arrangement at hand. Its hash is still made;
// the caller takes that off.
func plain(b *testing.B, m *move, arrangement []byte, seed deal.Seed) {
	d := newDecision(m.before, Env{Arrival: m.event.Time, Now: m.event.Time,
		Deal: func(deal.Material, []byte) []byte { return arrangement }})
	committed := [32]byte{1}
	d.seed, d.committed = &seed, &committed
	decided, err := d.decide(m.c)
	if err != nil || decided.Refusal != nil {
		b.Fatal(err, decided.Refusal)
	}
}
