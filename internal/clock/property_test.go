package clock

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"referee.example/internal/rules"
)

// drawSystem draws a valid system, every combination of parts within reach,
// with parts of minMS to maxMS milliseconds.
func drawSystem(t *rapid.T, minMS, maxMS int64) System {
	part := func(name string) int64 { return rapid.Int64Range(minMS, maxMS).Draw(t, name) }
	on := func(name string) bool { return rapid.Bool().Draw(t, name) }
	var s System
	if on("main") {
		s.MainMS = part("main_ms")
		if on("increment") {
			s.IncrementMS = part("increment_ms")
		}
	}
	if s.MainMS == 0 || on("turn") {
		s.TurnMS = part("turn_ms")
		if on("extensions") {
			s.Extensions, s.ExtensionMS = rapid.IntRange(1, 4).Draw(t, "extensions left"), part("extension_ms")
		}
		if on("bank") {
			s.BankMS = part("bank_ms")
			s.BankUse = rapid.SampledFrom([]string{BankAutomatic, BankManual}).Draw(t, "bank_use")
		}
		drawExpiry(t, &s)
	}
	if errs := s.Validate(); len(errs) != 0 {
		t.Fatalf("drew an invalid system: %+v %v", s, errs)
	}
	return s
}

func drawExpiry(t *rapid.T, s *System) {
	s.OnExpiry = rapid.SampledFrom([]string{ExpiryLoses, ExpiryServerPlays}).Draw(t, "on_expiry")
	if s.OnExpiry == ExpiryServerPlays {
		s.ExpiryBooks = rapid.SampledFrom([]string{"", BookExpiry, BookYellowCard}).Draw(t, "expiry_books")
	}
	if s.ExpiryBooks != "" && rapid.Bool().Draw(t, "loses") {
		s.BookedToLose = rapid.IntRange(2, 5).Draw(t, "booked_to_lose")
	}
}

// slowTurn plays a turn of usedUS microseconds one microsecond at a time, as
// somebody with a stop watch would. It returns what is left, and how long the
// turn lasted if its time ran out before.
func slowTurn(s System, st Store, usedUS int64) (left Store, lastedUS int64) {
	turnUS, extensionUS := s.TurnMS*1000, int64(0)
	for us := range usedUS {
		if s.MainMS > 0 && st.MainUS == 0 {
			return st, us
		}
		switch {
		case s.TurnMS == 0:
		case turnUS > 0:
			turnUS--
		case extensionUS > 0:
			extensionUS--
		case st.ExtensionsLeft > 0:
			st.ExtensionsLeft--
			extensionUS = s.ExtensionMS*1000 - 1
		case s.BankUse == BankAutomatic && st.BankUS > 0:
			st.BankUS--
		case s.BankUse == BankManual && st.CalledUS > 0:
			st.CalledUS--
			st.BankUS--
		default:
			return st, us
		}
		if s.MainMS > 0 {
			st.MainUS--
		}
	}
	return st, usedUS
}

// TestChargedOnceOrByStopWatch: one charge of a whole turn takes what a stop
// watch takes microsecond by microsecond, and the deadline is where it stops.
func TestChargedOnceOrByStopWatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSystem(t, 1, 4)
		c := s.Start(2)
		start := Time(rapid.Int64Range(0, 1e6).Draw(t, "start"))
		c.StartTurn(0, start)
		if s.BankUse == BankManual {
			c.CallBank(s, 0, rapid.Int64Range(0, s.BankMS).Draw(t, "portion"), start)
		}
		deadline, _ := c.Deadline(s)
		expired, lastedUS := slowTurn(s, c.Stores[0], 1e6)
		if deadline != start+Time(lastedUS) {
			t.Fatalf("deadline after %d us, by stop watch %d: %+v", deadline-start, lastedUS, s)
		}

		atDeadline := c
		atDeadline.Stop(s, deadline)
		expired.CalledUS = 0
		if atDeadline.Stores[0] != expired {
			t.Fatalf("left at the deadline %+v, by stop watch %+v", atDeadline.Stores[0], expired)
		}

		usedUS := rapid.Int64Range(0, lastedUS).Draw(t, "used")
		want, _ := slowTurn(s, c.Stores[0], usedUS)
		want.CalledUS = 0
		want.MainUS += s.IncrementMS * 1000
		c.EndTurn(s, start+Time(usedUS))
		if c.Stores[0] != want || c.Stores[1] != s.Start(2).Stores[1] {
			t.Fatalf("left after %d us %+v, by stop watch %+v: %+v", usedUS, c.Stores, want, s)
		}
	})
}

// table plays a game of two silent players: whoever looks at it settles what is due.
type table struct {
	s      System
	c      Clock
	over   bool
	record []byte
}

func (g *table) look(now Time) {
	for !g.over {
		deadline, ok := g.c.Deadline(g.s)
		if !ok || now < deadline+Grace {
			return
		}
		seat := g.c.Running
		expiry := g.c.Expire(g.s)
		g.over = expiry.Lost
		g.record = g.c.AppendStores(append(g.record, byte(seat), byte(len(expiry.Booked))))
		if !g.over {
			g.c.StartTurn(1-seat, expiry.At)
			g.record = g.c.AppendBinary(g.record)
		}
	}
}

// TestSilenceLookedAtOnceOrOften: after up to an hour of silence the record is
// the same as if somebody had looked every second, and at other moments too.
func TestSilenceLookedAtOnceOrOften(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSystem(t, 5_000, 100_000)
		once := table{s: s, c: s.Start(2)}
		once.c.StartTurn(0, Time(rapid.Int64Range(0, 1e6).Draw(t, "start")))
		often := once
		moments := rapid.SliceOfN(rapid.Int64Range(0, 999_999), 1, 10).Draw(t, "moments within a second")
		seconds := rapid.IntRange(0, 3600).Draw(t, "silence")
		for second := range seconds {
			often.look(Time(second) * 1e6)
			often.look(Time(second)*1e6 + Time(moments[second%len(moments)]))
		}
		end := Time(seconds) * 1e6
		often.look(end)
		once.look(end)
		if !bytes.Equal(once.record, often.record) || once.c != often.c || once.over != often.over {
			t.Fatalf("%+v\nlooked at once  %+v\nlooked at often %+v", s, once.c, often.c)
		}
	})
}

// TestOutageCostsNothing: a turn with an outage in it costs what it would have
// cost without, and expires exactly that much later.
func TestOutageCostsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSystem(t, 1, 1000)
		plain := s.Start(2)
		plain.StartTurn(0, 1e6)
		paused := plain
		deadline, _ := plain.Deadline(s)
		from := Time(rapid.Int64Range(1e6, int64(deadline)-1).Draw(t, "from"))
		lengthUS := rapid.Int64Range(1, 1e9).Draw(t, "length")
		if got := paused.Pause(s, from, from+Time(lengthUS)); got != lengthUS {
			t.Fatalf("gave back %d of %d us", got, lengthUS)
		}
		if later, _ := paused.Deadline(s); later != deadline+Time(lengthUS) {
			t.Fatalf("deadline %d, want %d", later, deadline+Time(lengthUS))
		}
		end := Time(rapid.Int64Range(int64(from), int64(deadline)).Draw(t, "end"))
		plain.EndTurn(s, end)
		paused.EndTurn(s, end+Time(lengthUS))
		if plain != paused {
			t.Fatalf("without outage %+v, with %+v", plain, paused)
		}
	})
}

// drawClock plays some random turns and returns where they lead.
func drawClock(t *rapid.T, s System) Clock {
	c := s.Start(rapid.IntRange(1, rules.MaxSeats).Draw(t, "seats"))
	now := Time(rapid.Int64Range(0, 2e15).Draw(t, "now"))
	for range rapid.IntRange(0, 12).Draw(t, "steps") {
		if c.Running == rules.NoSeat {
			c.StartTurn(rules.Seat(rapid.IntRange(0, c.Seats-1).Draw(t, "seat")), now)
		}
		deadline, ok := c.Deadline(s)
		if !ok {
			deadline = now + 1e6
		}
		at := Time(rapid.Int64Range(int64(now), max(int64(now), int64(deadline))).Draw(t, "at"))
		switch rapid.SampledFrom([]string{"end", "expire", "pause", "call", "opening", "think"}).Draw(t, "do") {
		case "end":
			c.EndTurn(s, at)
		case "expire":
			if e := c.Expire(s); e.At > at {
				at = e.At
			}
		case "pause":
			c.Pause(s, at, at+Time(rapid.Int64Range(-10, 1e9).Draw(t, "outage")))
		case "call":
			c.CallBank(s, c.Running, rapid.Int64Range(1, 1000).Draw(t, "portion"), at)
		case "opening":
			c.EndOpening(s, at)
		}
		now = at
	}
	return c
}

// TestStoresStayInTheirBounds: nothing is ever overdrawn, whatever is done.
func TestStoresStayInTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSystem(t, 1, MaxPartMS)
		s.UntimedOpening = rapid.Bool().Draw(t, "untimed_opening")
		c := drawClock(t, s)
		full := s.Start(c.Seats)
		for seat, st := range c.Stores {
			if st.MainUS < 0 || st.BankUS < 0 || st.CalledUS < 0 || st.ExtensionsLeft < 0 ||
				st.MainUS > MaxMainMS*1000 || st.CalledUS > st.BankUS ||
				st.BankUS > full.Stores[seat].BankUS || st.ExtensionsLeft > s.Extensions {
				t.Fatalf("seat %d has %+v under %+v", seat, st, s)
			}
		}
	})
}

func TestEncodingRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSystem(t, 1, MaxPartMS)
		s.UntimedOpening = rapid.Bool().Draw(t, "untimed_opening")
		c := drawClock(t, s)
		after := []byte("after")
		got, rest, err := DecodeBinary(append(c.AppendBinary(nil), after...))
		if err != nil || got != c || !bytes.Equal(rest, after) {
			t.Fatalf("%+v came back as %+v, rest %q, %v", c, got, rest, err)
		}
		stores, seats, rest, err := DecodeStores(append(c.AppendStores(nil), after...))
		if err != nil || stores != c.Stores || seats != c.Seats || !bytes.Equal(rest, after) {
			t.Fatalf("%+v came back as %+v of %d, rest %q, %v", c.Stores, stores, seats, rest, err)
		}
	})
}
