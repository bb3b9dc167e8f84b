package referee

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"
	"referee.example/internal/clock"
	"referee.example/internal/rules"
)

// clockSystems are rulesets whose clocks differ in kind.
func clockSystems(t testing.TB) map[string]*Rules {
	t.Helper()
	systems := map[string]*Rules{}
	for _, id := range []string{sevenClub, "gametower-dark-chain", "baidu", "sinica-2019", "mingjian-2026"} {
		systems[id] = preset(t, id)
	}
	composed := preset(t, "gametower-open-chain").Ruleset
	composed.Clock = clock.System{TurnMS: 20_000, Extensions: 1, ExtensionMS: 5_000, BankMS: 60_000, BankUse: "manual",
		MainMS: 600_000, IncrementMS: 2_000, OnExpiry: "server_plays", ExpiryBooks: "expiry", BookedToLose: 5}
	r, err := CompileRules(composed)
	if err != nil {
		t.Fatal(err)
	}
	systems["manual bank within main time"] = r
	return systems
}

// TestSilence lets random silences of up to an hour pass in a game, with
// outages of all replicas, and compares a referee that is asked only by the
// next call with one that is asked each second.
func TestSilence(t *testing.T) {
	reached := map[EventKind]int{}
	for name, r := range clockSystems(t) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				lazy := newTable(t, r)
				silences(rt, lazy, newTable(t, r))
				for i := range lazy.log {
					reached[lazy.log[i].Kind]++
				}
			})
		})
	}
	for _, kind := range []EventKind{EventClockPaused, EventExpired, EventServerPly, EventBankCalled, EventOpeningEnded, EventGameEnded} {
		if reached[kind] == 0 {
			t.Errorf("no silence led to an event of kind %d", kind)
		}
	}
}

func silences(rt *rapid.T, lazy, busy *table) {
	lazy.start()
	busy.start()
	for lazy.state.Game.Status == GamePlaying && len(lazy.log) < 150 {
		target := lazy.now + drawSilence(rt, lazy)
		lazy.now = target
		for busy.now < target {
			busy.now = min(busy.now+second, target)
			busy.outages = ended(lazy.outages, busy.now)
			if !asleep(lazy.outages, busy.now) {
				busy.settle()
			}
		}
		lazy.settle()
		if lazy.state.Game.Status == GamePlaying {
			drawAction(rt, lazy, busy)
		}
		if !bytes.Equal(lazy.state.Snapshot(), busy.state.Snapshot()) {
			rt.Fatal("the record depends on who asked when")
		}
	}
}

// drawSilence draws how long nobody calls, and adds an outage in it at times.
func drawSilence(rt *rapid.T, lazy *table) clock.Time {
	silence := rapid.OneOf(
		rapid.Int64Range(0, 20_000_000),
		rapid.Int64Range(29_000_000, 31_000_000),
		rapid.Int64Range(0, 3_600_000_000)).Draw(rt, "silence")
	if rapid.IntRange(0, 4).Draw(rt, "outage") == 0 {
		from := lazy.now + clock.Time(rapid.Int64Range(0, silence).Draw(rt, "from"))
		until := from + clock.Time(rapid.Int64Range(3_000_001, 60_000_000).Draw(rt, "length"))
		silence = max(silence, int64(until-lazy.now))
		lazy.outages = append(lazy.outages, Outage{from, until})
	}
	return clock.Time(silence)
}

// drawAction lets both tables play the same, or call the same time.
func drawAction(rt *rapid.T, lazy, busy *table) {
	commands := func(tb *table) Command { return tb.action(tb.choose()) }
	switch call := rapid.IntRange(0, 9).Draw(rt, "call"); {
	case lazy.state.Game.Clock.Opening && call < 3:
		commands = func(tb *table) Command { return &CallTime{Header: tb.header(rules.NoSeat, false)} }
	case call == 9:
		commands = func(tb *table) Command {
			return &CallTime{Header: tb.header(tb.turn(), false), PortionMS: 7_000}
		}
	}
	if x, y := fmt.Sprint(lazy.do(commands(lazy))), fmt.Sprint(busy.do(commands(busy))); x != y {
		rt.Fatalf("%s against %s", x, y)
	}
}

// ended returns the outages that are over by now: a replica that judges knows
// those and no other, for it has recorded them before it judges.
func ended(outages []Outage, now clock.Time) []Outage {
	var over []Outage
	for _, o := range outages {
		if o.Until <= now {
			over = append(over, o)
		}
	}
	return over
}

// asleep reports whether no replica is alive to judge at this instant.
func asleep(outages []Outage, now clock.Time) bool {
	for _, o := range outages {
		if o.From <= now && now < o.Until {
			return true
		}
	}
	return false
}
