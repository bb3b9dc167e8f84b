package clock

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"referee.example/internal/rules"
)

// TestEncodingIsStable holds the bytes that records already contain.
func TestEncodingIsStable(t *testing.T) {
	c := Clock{Seats: 2, Running: 1, TurnStart: 300, PausedUS: 5, PausedUntil: 400, Opening: true}
	c.Stores[0] = Store{MainUS: 1, BankUS: 200, CalledUS: 3, ExtensionsLeft: 4, Expiries: 5, Cards: 6}
	c.Stores[1] = Store{ExtensionsLeft: 10}
	want := []byte{1, 0x82, 0xac, 2, 5, 0x90, 3, 2, 0x3f, 1, 0xc8, 1, 3, 4, 5, 6, 0x08, 10}
	if got := c.AppendBinary(nil); !bytes.Equal(got, want) {
		t.Errorf("encoded as %#v, want %#v", got, want)
	}
	if got := c.AppendStores(nil); !bytes.Equal(got, want[7:]) {
		t.Errorf("stores encoded as %#v, want %#v", got, want[7:])
	}
	if got, rest, err := DecodeBinary(want); err != nil || got != c || len(rest) != 0 {
		t.Errorf("decoded as %+v, %d bytes left, %v", got, len(rest), err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, sound := range [][]byte{{1, 0, 1, 0}, {1, 1, 9, 1, 10, 1, 0}} {
		if _, _, err := DecodeBinary(sound); err != nil {
			t.Fatalf("the sound one %v: %v", sound, err)
		}
	}
	cases := map[string][]byte{
		"nothing":                       {},
		"no state":                      {1},
		"version 0":                     {0, 0, 1, 0},
		"version 2":                     {2, 0, 1, 0},
		"a turn without its start":      {1, 1, 0x80},
		"no stores":                     {1, 0},
		"no seats":                      {1, 0, 0},
		"five seats":                    {1, 0, 5, 0, 0, 0, 0, 0},
		"a seat short":                  {1, 0, 2, 0},
		"a seat that is not there":      {1, 2, 9, 0, 0, 1, 0},
		"a seat far away":               {1, 0x7f, 9, 0, 0, 1, 0},
		"an unfinished number":          {1, 0, 1, 1, 0x80},
		"no number":                     {1, 0, 1, 1},
		"a number too long":             {1, 0, 1, 1, 0x81, 0},
		"a number of 65 bits":           {1, 0, 1, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2},
		"a number out of range":         {1, 0, 1, 8, 0xe9, 7},
		"a zero that is written":        {1, 0, 1, 1, 0},
		"an unknown field":              {1, 0, 1, 0x40},
		"more called than there is":     {1, 0, 1, 6, 1, 2},
		"paused without an end":         {1, 1, 9, 1, 0, 1, 0},
		"an end without a pause":        {1, 1, 9, 0, 10, 1, 0},
		"paused for longer than it ran": {1, 1, 9, 2, 10, 1, 0},
	}
	for name, b := range cases {
		c, rest, err := DecodeBinary(b)
		if !errors.Is(err, ErrMalformed) || c != (Clock{}) || rest != nil {
			t.Errorf("%s: decoded as %+v, %v", name, c, err)
		}
	}
	if stores, seats, rest, err := DecodeStores([]byte{2, 8, 10, 8}); !errors.Is(err, ErrMalformed) ||
		stores != ([rules.MaxSeats]Store{}) || seats != 0 || rest != nil {
		t.Errorf("half a table decoded as %+v, %v", stores, err)
	}
}

// TestLastNumberIsJudged: nothing that follows could still give a malformed last
// number away.
func TestLastNumberIsJudged(t *testing.T) {
	for name, last := range map[string][]byte{
		"cut off": {0x80}, "longer than needed": {0x81, 0}, "too large": {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		stores := append([]byte{1, 0x3f, 1, 2, 1, 1, 1}, last...)
		if _, _, _, err := DecodeStores(stores); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: stores: %v", name, err)
		}
		if _, _, err := DecodeBinary(append([]byte{encodingVersion, 0}, stores...)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: clock: %v", name, err)
		}
	}
}

func FuzzDecodeBinary(f *testing.F) {
	s := System{TurnMS: 30_000, Extensions: 10, ExtensionMS: 10_000, BankMS: 5, BankUse: BankManual, MainMS: 60_000, OnExpiry: ExpiryLoses}
	c := s.Start(2)
	f.Add(c.AppendBinary(nil))
	c.StartTurn(1, 1_700_000_000_000_000)
	c.Pause(s, 1_700_000_000_000_001, 1_700_000_000_000_009)
	c.CallBank(s, 1, 5, 1_700_000_000_000_010)
	f.Add(c.AppendBinary(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, rest, err := DecodeBinary(b)
		if err != nil {
			return
		}
		if again := append(c.AppendBinary(nil), rest...); !bytes.Equal(again, b) {
			t.Fatalf("%x decodes to %+v, which encodes as %x", b, c, again)
		}
		if deadline, ok := c.Deadline(s); ok && deadline < c.TurnStart {
			t.Fatalf("%+v expires before it starts, at %d", c, deadline)
		}
	})
}

func FuzzDecodeStores(f *testing.F) {
	f.Add(System{TurnMS: 1, Extensions: 10, ExtensionMS: 1, BankMS: 100_000}.Start(4).AppendStores(nil))
	f.Add([]byte{1, 0x3f, 1, 2, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		stores, seats, rest, err := DecodeStores(b)
		if err != nil {
			return
		}
		c := Clock{Stores: stores, Seats: seats}
		if again := append(c.AppendStores(nil), rest...); !bytes.Equal(again, b) {
			t.Fatalf("%x decodes to %+v, which encodes as %x", b, c, again)
		}
	})
}

// FuzzSystem lets any JSON try to be a system: one that Validate lets pass can
// be played without a sum going astray.
func FuzzSystem(f *testing.F) {
	var file clockFile
	readJSON(f, "testdata/clock.json", &file)
	for _, s := range file.Systems {
		data, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"turn_ms":2592000000,"extensions":1000,"extension_ms":2592000000,"on_expiry":"lose"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s System
		if json.Unmarshal(data, &s) != nil || len(s.Validate()) != 0 {
			return
		}
		c := s.Start(2)
		c.EndOpening(s, 1)
		c.StartTurn(0, maxTime)
		deadline, ok := c.Deadline(s)
		if ok == s.None() || ok && deadline <= maxTime {
			t.Fatalf("%+v expires at %d, %v", s, deadline, ok)
		}
		if warning, ok := c.Warning(s); ok && (warning < maxTime || warning >= deadline) {
			t.Fatalf("%+v expires at %d and warns at %d", s, deadline, warning)
		}
		if expiry := c.Expire(s); ok && (expiry.Lost == expiry.ServerPlays || expiry.At != deadline) {
			t.Fatalf("%+v expires as %+v", s, expiry)
		}
	})
}
