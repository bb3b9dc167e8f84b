package clock

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"testing"

	"referee.example/internal/rules"
)

// readJSON decodes a file of testdata, refusing names that the test would not read.
func readJSON(t testing.TB, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

type storeJSON struct {
	MainUS         int64 `json:"main_us"`
	BankUS         int64 `json:"bank_us"`
	CalledUS       int64 `json:"called_us"`
	ExtensionsLeft int   `json:"extensions_left"`
	Expiries       int   `json:"expiries"`
	Cards          int   `json:"cards"`
}

type expiryJSON struct {
	At          Time   `json:"at_us"`
	Lost        bool   `json:"lost"`
	ServerPlays bool   `json:"server_plays"`
	Booked      string `json:"booked"`
}

type stepJSON struct {
	Do        string     `json:"do"`
	Seat      rules.Seat `json:"seat"`
	AtUS      Time       `json:"at_us"`
	UntilUS   Time       `json:"until_us"`
	PortionMS int64      `json:"portion_ms"`

	Refusal       string      `json:"refusal"`
	LeftMS        int64       `json:"left_ms"`
	Expiry        *expiryJSON `json:"expiry"`
	CreditedUS    *int64      `json:"credited_us"`
	Store         *storeJSON  `json:"store"`
	DeadlineUS    *Time       `json:"deadline_us"`
	TurnTimeEndUS *Time       `json:"turn_time_end_us"`
	WarningUS     *Time       `json:"warning_us"`
}

type clockFile struct {
	Doc     []string          `json:"doc"`
	Systems map[string]System `json:"systems"`
	Cases   []struct {
		Name   string     `json:"name"`
		System string     `json:"system"`
		Steps  []stepJSON `json:"steps"`
	} `json:"cases"`
}

func TestCases(t *testing.T) {
	var file clockFile
	readJSON(t, "testdata/clock.json", &file)
	for _, tc := range file.Cases {
		t.Run(tc.Name, func(t *testing.T) {
			s, ok := file.Systems[tc.System]
			if !ok {
				t.Fatalf("no system %q", tc.System)
			}
			c := s.Start(2)
			for i, step := range tc.Steps {
				step.run(t, i, s, &c)
			}
		})
	}
}

func TestNamedSystemsAreValid(t *testing.T) {
	var file clockFile
	readJSON(t, "testdata/clock.json", &file)
	for name, s := range file.Systems {
		if errs := s.Validate(); len(errs) != 0 {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

func (step stepJSON) run(t *testing.T, i int, s System, c *Clock) {
	t.Helper()
	before := *c
	switch step.Do {
	case "start_turn":
		c.StartTurn(step.Seat, step.AtUS)
	case "end_turn":
		c.EndTurn(s, step.AtUS)
	case "stop":
		c.Stop(s, step.AtUS)
	case "expire":
		step.checkExpiry(t, i, c.Expire(s))
	case "expire_chain":
		step.checkExpiry(t, i, c.ExpireChain(s))
	case "pause":
		if got := c.Pause(s, step.AtUS, step.UntilUS); step.CreditedUS == nil || got != *step.CreditedUS {
			t.Errorf("step %d: pause gave back %d", i, got)
		}
	case "call_bank":
		step.checkRefusal(t, i, c.CallBank(s, step.Seat, step.PortionMS, step.AtUS), before, *c)
	case "end_opening":
		step.checkRefusal(t, i, c.EndOpening(s, step.AtUS), before, *c)
	case "set":
		c.Stores[step.Seat] = Store(*step.Store)
	default:
		t.Fatalf("step %d: do %q", i, step.Do)
	}
	step.checkState(t, i, s, *c)
}

func (step stepJSON) checkExpiry(t *testing.T, i int, got Expiry) {
	t.Helper()
	if step.Expiry == nil {
		t.Fatalf("step %d: the case names no expiry, got %+v", i, got)
	}
	if want := Expiry(*step.Expiry); got != want {
		t.Errorf("step %d: expiry %+v, want %+v", i, got, want)
	}
}

func (step stepJSON) checkRefusal(t *testing.T, i int, got Refusal, before, after Clock) {
	t.Helper()
	if got.Reason != step.Refusal || got.LeftMS != step.LeftMS {
		t.Errorf("step %d: refusal %+v, want %q with %d ms left", i, got, step.Refusal, step.LeftMS)
	}
	if got.OK() == (got.Words != "") {
		t.Errorf("step %d: a refusal has words and an acceptance none: %+v", i, got)
	}
	if !got.OK() && before != after {
		t.Errorf("step %d: refused and yet changed\n%+v\n%+v", i, before, after)
	}
}

func (step stepJSON) checkState(t *testing.T, i int, s System, c Clock) {
	t.Helper()
	if decoded, _, err := DecodeBinary(c.AppendBinary(nil)); decoded != c {
		t.Errorf("step %d: %+v came back as %+v, %v", i, c, decoded, err)
	}
	if step.Store != nil {
		if got, want := c.Stores[step.Seat], Store(*step.Store); got != want {
			t.Errorf("step %d: store %+v, want %+v", i, got, want)
		}
	}
	instants := []struct {
		name string
		want *Time
		read func(System) (Time, bool)
	}{
		{"deadline", step.DeadlineUS, c.Deadline},
		{"turn time end", step.TurnTimeEndUS, c.TurnTimeEnd},
		{"warning", step.WarningUS, c.Warning},
	}
	for _, instant := range instants {
		got, ok := instant.read(s)
		if !ok && got != 0 {
			t.Errorf("step %d: no %s, and yet %d", i, instant.name, got)
		}
		if !ok {
			got = -1
		}
		if instant.want != nil && got != *instant.want {
			t.Errorf("step %d: %s %d, want %d", i, instant.name, got, *instant.want)
		}
	}
}

// TestDarkChessCases judges the clock cases of the shared case file: what an
// expiry of red does to a seat that the setup has used before.
func TestDarkChessCases(t *testing.T) {
	var file struct {
		Doc     []string          `json:"doc"`
		Systems map[string]System `json:"systems"`
		Cases   []struct {
			ID      string `json:"id"`
			Ruleset string `json:"ruleset"`
			Side    string `json:"side"`
			Action  string `json:"action"`
			Setup   struct {
				Timeouts       int     `json:"timeouts_red"`
				YellowCards    int     `json:"yellow_cards_red"`
				ExtensionsLeft *int    `json:"extensions_left_red"`
				UsedSeconds    float64 `json:"used_seconds_red"`
			} `json:"setup"`
			Expect string `json:"expect"`
			Note   string `json:"note"`
		} `json:"cases"`
	}
	readJSON(t, "testdata/dark-chess.json", &file)
	const red, start = rules.Seat(0), Time(1_000_000)
	for _, tc := range file.Cases {
		t.Run(tc.ID, func(t *testing.T) {
			s := file.Systems[tc.Ruleset]
			if s.None() || tc.Side != "red" || tc.Action != "timeout" {
				t.Fatalf("cannot set up %+v", tc)
			}
			c := s.Start(2)
			store := &c.Stores[red]
			store.Expiries, store.Cards = tc.Setup.Timeouts, tc.Setup.YellowCards
			if tc.Setup.ExtensionsLeft != nil {
				store.ExtensionsLeft = *tc.Setup.ExtensionsLeft
			}
			c.StartTurn(red, start)
			deadline, _ := c.Deadline(s)
			if used := Time(math.Round(tc.Setup.UsedSeconds * 1e6)); used > 0 && start+used <= deadline {
				t.Fatalf("%d us used and still in time", used)
			}
			if got := timeout(s, c); got != tc.Expect {
				t.Errorf("%s, want %s: %s", got, tc.Expect, tc.Note)
			}
		})
	}
}

// timeout names, in the case file's words, what happens to red when the plain
// turn time, or the main time where there is none, has run out.
func timeout(s System, c Clock) string {
	deadline, _ := c.Deadline(s)
	if end, ok := c.TurnTimeEnd(s); ok && end < deadline {
		acted := c
		acted.EndTurn(s, end+1)
		if acted.Stores[0].ExtensionsLeft == c.Stores[0].ExtensionsLeft-1 {
			return "extension"
		}
	}
	switch expiry := c.Expire(s); {
	case expiry.Lost && !expiry.ServerPlays:
		return "win_black"
	case expiry.ServerPlays && !expiry.Lost:
		return "auto_move"
	}
	return "nothing"
}

func TestValidate(t *testing.T) {
	var file struct {
		Doc   []string `json:"doc"`
		Cases []struct {
			Name    string   `json:"name"`
			System  System   `json:"system"`
			Refused []string `json:"refused"`
		} `json:"cases"`
	}
	readJSON(t, "testdata/validate.json", &file)
	for _, tc := range file.Cases {
		t.Run(tc.Name, func(t *testing.T) {
			got := []string{}
			for _, wrong := range tc.System.Validate() {
				if wrong.Reason == "" {
					t.Errorf("%s is refused without a reason", wrong.Field)
				}
				got = append(got, wrong.Field)
			}
			if !reflect.DeepEqual(got, tc.Refused) {
				t.Errorf("refused %v, want %v", tc.System.Validate(), tc.Refused)
			}
		})
	}
}

func TestReadings(t *testing.T) {
	s := System{TurnMS: 30_000, BankMS: 120_000, BankUse: BankManual, OnExpiry: ExpiryServerPlays, ExpiryBooks: BookYellowCard}
	c := s.Start(2)
	c.StartTurn(1, 5)
	c.Expire(s)
	c.StartTurn(0, 100_000_000)
	c.CallBank(s, 0, 7_000, 100_000_001)
	c.EndTurn(s, 130_000_001)
	c.StartTurn(1, 200_000_000)
	c.CallBank(s, 1, 9_000, 200_000_000)

	want := []Reading{
		{Seat: 0, BankMS: 119_999},
		{Seat: 1, Running: true, BankMS: 120_000, CalledMS: 9_000, Cards: 1},
	}
	if got := c.Readings(s); !reflect.DeepEqual(got, want) {
		t.Errorf("readings %+v, want %+v", got, want)
	}

	s = System{MainMS: 180_000, UntimedOpening: true}
	c = s.Start(1)
	c.StartTurn(0, 5)
	if got, want := c.Readings(s), []Reading{{Seat: 0, MainMS: 180_000}}; !reflect.DeepEqual(got, want) {
		t.Errorf("readings in an untimed opening %+v, want %+v", got, want)
	}
	if got := (System{}).Start(rules.MaxSeats).Readings(System{}); len(got) != rules.MaxSeats {
		t.Errorf("%d readings of four seats", len(got))
	}
}
