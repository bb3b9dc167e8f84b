package store

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"referee.example/internal/clock"
)

const base = clock.Time(1_700_000_000_000_000)

func TestClockWithoutSampleIsUnsure(t *testing.T) {
	if _, err := NewClock().Now(); !errors.Is(err, ErrClockUnsure) {
		t.Errorf("error is %v", err)
	}
}

func TestClockBoundsItsError(t *testing.T) {
	for name, test := range map[string]struct {
		trip, age time.Duration
		unsure    bool
	}{
		"quick and fresh":            {trip: time.Millisecond},
		"a trip of twice the bound":  {trip: 2*MaxClockError - 10*time.Microsecond},
		"a longer one":               {trip: 2*MaxClockError + 10*time.Microsecond, unsure: true},
		"old within the drift":       {trip: 0, age: 249 * time.Second},
		"old beyond the drift":       {trip: 0, age: 251 * time.Second, unsure: true},
		"half the bound each, below": {trip: MaxClockError, age: 124 * time.Second},
		"half the bound each, above": {trip: MaxClockError, age: 126 * time.Second, unsure: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewClock()
			c.observe(time.Second, time.Second+test.trip, base)
			now, err := c.at(time.Second + test.trip + test.age)
			if errors.Is(err, ErrClockUnsure) != test.unsure {
				t.Fatalf("error is %v", err)
			}
			if want := base + clock.Time((test.trip - test.trip/2 + test.age).Microseconds()); err == nil && now != want {
				t.Errorf("now is %d, want %d", now, want)
			}
		})
	}
}

func TestClockKeepsTheBetterSample(t *testing.T) {
	c := NewClock()
	c.observe(0, 2*time.Millisecond, base) // ±1 ms around elapsed 1 ms
	// Worse, and within the doubt: the first one stays.
	c.observe(10*time.Millisecond, 30*time.Millisecond, base+25_000)
	if now, _ := c.at(31 * time.Millisecond); now != base+30_000 {
		t.Errorf("a worse sample was taken: %d", now-base)
	}
	// When the first has aged (10 s make 2 ms), the worse one is the better.
	c.observe(10*time.Second, 10*time.Second+4*time.Millisecond, base+10_002_000)
	if now, _ := c.at(10*time.Second + 4*time.Millisecond); now != base+10_004_000 {
		t.Errorf("the fresher sample was not taken: %d", now-base)
	}
}

func TestClockFollowsAnotherDatabase(t *testing.T) {
	c := NewClock()
	c.observe(0, time.Millisecond, base)
	// Its successor after a failover is ahead, and far off in travel.
	c.observe(time.Second, time.Second+20*time.Millisecond, base+61*second)
	if now, err := c.at(time.Second + 20*time.Millisecond); err != nil || now != base+61*second+10_000 {
		t.Errorf("now is %d, %v", now-base, err)
	}
	// One that is behind by more than the bound leaves the replica unsure until
	// time has caught up: it never goes back.
	c.observe(2*time.Second, 2*time.Second, base+2*second)
	if _, err := c.at(3 * time.Second); !errors.Is(err, ErrClockUnsure) {
		t.Errorf("error is %v", err)
	}
	c.observe(61*time.Second, 61*time.Second, base+61*second)
	if now, err := c.at(61*time.Second + 30*time.Millisecond); err != nil || now != base+61*second+30_000 {
		t.Errorf("caught up: %d, %v", now-base, err)
	}
}

// A clock of samples with truthful trips is right within its bound and never
// goes back, whatever the rate of the machine's oscillator within the allowance.
func TestClockIsRightWithinItsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewClock()
		drift := rapid.Int64Range(-driftPPM, driftPPM).Draw(t, "drift")
		database := func(elapsed time.Duration) clock.Time {
			return base + clock.Time((elapsed + elapsed*time.Duration(drift)/1_000_000).Microseconds())
		}
		var elapsed time.Duration
		var last clock.Time
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			elapsed += time.Duration(rapid.Int64Range(0, int64(20*time.Second)).Draw(t, "pause"))
			if rapid.Bool().Draw(t, "sample") {
				there := time.Duration(rapid.Int64Range(0, int64(30*time.Millisecond)).Draw(t, "there"))
				back := time.Duration(rapid.Int64Range(0, int64(30*time.Millisecond)).Draw(t, "back"))
				c.observe(elapsed, elapsed+there+back, database(elapsed+there))
				elapsed += there + back
			}
			now, err := c.at(elapsed)
			if err != nil {
				continue
			}
			if now < last {
				t.Fatalf("time went back from %d to %d", last, now)
			}
			last = now
			if off := now - database(elapsed); max(off, -off) > clock.Time(MaxClockError.Microseconds())+2 {
				t.Fatalf("off by %d microseconds", off)
			}
		}
	})
}

func TestOpenSamplesTheDatabasesTime(t *testing.T) {
	d := newDesk(t)
	now := d.now()
	if there := ask[time.Time](d, `SELECT clock_timestamp()`); max(instant(there)-now, now-instant(there)) > second {
		t.Errorf("%v is not the database's %v", timestamp(now), there)
	}
}
