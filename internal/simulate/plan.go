package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Kind is a kind of fault.
type Kind string

// The kinds of fault.
const (
	// Kill ends a replica at once (SIGKILL) and starts it again.
	Kill Kind = "kill"
	// Crash stops Postgres at once, as `pg_ctl stop -m immediate` does, and starts
	// it again.
	Crash Kind = "crash"
	// Pause stops a replica (SIGSTOP) and lets it go on.
	Pause Kind = "pause"
	// Cut closes a link's connections and takes no new ones.
	Cut Kind = "cut"
	// Lose lets a link's requests through and none of its answers, then cuts it.
	Lose Kind = "lose"
	// Lag delays what passes a link.
	Lag Kind = "lag"
	// Freeze keeps back what passes a link, its connections open.
	Freeze Kind = "freeze"
	// Promote ends the primary of Postgres for good and has a standby take over.
	Promote Kind = "promote"
	// Drain asks a replica to go down (SIGTERM) and starts it again.
	Drain Kind = "drain"
)

var kinds = []Kind{Kill, Crash, Pause, Cut, Lose, Lag, Freeze, Promote, Drain}

// The links of a replica that faults are on.
const (
	clientLink   = "clients"
	databaseLink = "database"
)

// Fault is one fault of a plan.
type Fault struct {
	// AfterCalls counts the calls that are answered between the fault before and
	// this one; then WaitUS microseconds pass, while others are on their way.
	AfterCalls int  `json:"after_calls"`
	WaitUS     int  `json:"wait_us"`
	Kind       Kind `json:"kind"`
	Replica    int  `json:"replica"` // from 0; of no meaning for a crash and a promotion
	// Link is the one that a fault of links is on.
	Link string `json:"link,omitempty"`
	// ForMS is how long it lasts; of what ends a process, how long until the start;
	// of a promotion, until somebody decides on it.
	ForMS int `json:"for_ms"`
	// LagMS is the delay of a lag, for each piece of what passes.
	LagMS int `json:"lag_ms,omitempty"`
	// ShiftS moves the wall clock of a replica that is started again. It needs a
	// binary that was built for that (make simulate); others ignore it.
	ShiftS int `json:"shift_s,omitempty"`
}

func (f Fault) String() string {
	text := fmt.Sprintf("after %6d calls and %4d us: %-6s", f.AfterCalls, f.WaitUS, f.Kind)
	if f.Kind != Crash && f.Kind != Promote {
		text += fmt.Sprintf(" replica %d", f.Replica)
	}
	if f.Link != "" {
		text += " to its " + f.Link
	}
	text += fmt.Sprintf(" for %d ms", f.ForMS)
	if f.LagMS > 0 {
		text += fmt.Sprintf(", %d ms a piece", f.LagMS)
	}
	if f.ShiftS != 0 {
		text += fmt.Sprintf(", its clock off by %d s", f.ShiftS)
	}
	return text
}

// Rates are how many calls pass on average between two faults of a kind. A kind
// that is missing does not happen.
type Rates map[Kind]int

// DefaultRates are those of CI: some 40 kills and 4 crashes in 200 matches.
func DefaultRates() Rates {
	return Rates{Kill: 4_000, Crash: 40_000, Pause: 8_000, Cut: 5_000, Lose: 4_000, Lag: 10_000, Freeze: 10_000, Drain: 10_000}
}

// ParseRates reads rates as they are written for a command: kill=4000,crash=40000.
func ParseRates(text string) (Rates, error) {
	rates := Rates{}
	if text == "none" {
		return rates, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, number, _ := strings.Cut(part, "=")
		every, err := strconv.Atoi(number)
		if !slices.Contains(kinds, Kind(name)) || err != nil || every < 1 {
			return nil, fmt.Errorf("%q is not KIND=CALLS, of the kinds %v", part, kinds)
		}
		rates[Kind(name)] = every
	}
	return rates, nil
}

func (r Rates) String() string {
	var parts []string
	for _, kind := range kinds {
		if r[kind] > 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", kind, r[kind]))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ",")
}

// Plan is a batch's faults, one after the other, without an end: the same seed,
// rates and number of replicas give the same plan. It begins with each kind that has
// a rate, on each link that it may be on, once, in an order of its own, so that no
// batch of some length lacks one.
type Plan struct {
	rates    Rates
	replicas int
	dice     *rand.Rand
	once     []variant // that are still to come for the first time
}

// variant is a kind of fault, on a link where it is on one.
type variant struct {
	kind Kind
	link string
}

func variants(kind Kind) []variant {
	switch kind {
	case Cut, Lose, Lag, Freeze:
		return []variant{{kind, clientLink}, {kind, databaseLink}}
	case Kill, Crash, Pause, Promote, Drain:
	}
	return []variant{{kind: kind}}
}

// streamOfFaults keeps the plan's dice apart from those of the tables.
const streamOfFaults = 1 << 32

// NewPlan returns the plan of a batch.
func NewPlan(seed uint64, rates Rates, replicas int) *Plan {
	p := &Plan{rates: rates, replicas: replicas, dice: newDice(seed, streamOfFaults)}
	for _, kind := range kinds {
		if rates[kind] > 0 {
			p.once = append(p.once, variants(kind)...)
		}
	}
	p.dice.Shuffle(len(p.once), func(i, j int) { p.once[i], p.once[j] = p.once[j], p.once[i] })
	return p
}

func newDice(seed, stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, stream)) //nolint:gosec // the same seed has to give the same run
}

// Next returns the next fault; false if the plan has none.
func (p *Plan) Next() (Fault, bool) {
	total := 0.0
	for _, kind := range kinds {
		if p.rates[kind] > 0 {
			total += 1 / float64(p.rates[kind])
		}
	}
	if total == 0 {
		return Fault{}, false
	}
	f := Fault{AfterCalls: 1 + int(p.dice.ExpFloat64()/total), WaitUS: p.dice.IntN(3000), Replica: p.dice.IntN(p.replicas)}
	if len(p.once) > 0 {
		f.Kind, f.Link = p.once[0].kind, p.once[0].link
		p.once = p.once[1:]
	} else {
		f.Kind = p.draw(total)
	}
	p.shape(&f)
	return f, true
}

// draw draws a kind by the rates, of which total is the sum.
func (p *Plan) draw(total float64) (drawn Kind) {
	at := p.dice.Float64() * total
	for _, kind := range kinds {
		if p.rates[kind] == 0 {
			continue
		}
		drawn = kind
		if at -= 1 / float64(p.rates[kind]); at < 0 {
			break
		}
	}
	return drawn
}

// shape draws what a fault is like. One in eight lasts longer than three seconds,
// after which the service may call it an outage.
func (p *Plan) shape(f *Fault) {
	f.ForMS = 20 + p.dice.IntN(1500)
	long := p.dice.IntN(8) == 0
	shift, lag, link := p.dice.IntN(7200)-3600, 1+p.dice.IntN(60), p.dice.IntN(2)
	switch f.Kind {
	case Kill:
		f.ShiftS = shift
	case Lose:
		f.ForMS = 1 + f.ForMS/15
	case Lag:
		f.LagMS, f.ForMS = lag, 2*f.ForMS
	case Pause, Freeze:
		if long {
			f.ForMS += 3000
		}
	case Crash, Cut, Drain, Promote:
	}
	if links := variants(f.Kind); f.Link == "" && len(links) > 1 {
		f.Link = links[link].link
	}
}
