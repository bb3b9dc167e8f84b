package check

import (
	"testing"
	"time"
)

// TestLateExpiries: one replica that is whole for a second is enough, and only what
// the machine was held up for is no part of that second.
func TestLateExpiries(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	down := func(replica, from, until int) Outage { return Outage{Span{at(from), at(until)}, replica} }
	stall := func(from, until, held int) Stall {
		return Stall{Span{at(from), at(until)}, time.Duration(held) * time.Millisecond}
	}
	for name, test := range map[string]struct {
		down   []Outage
		stalls []Stall
		// committed is how many ms after the end of its grace, at 10,000, it was.
		committed int
		want      string
	}{
		"prompt":                                   {nil, nil, 1000, "prompt"},
		"late":                                     {nil, nil, 1001, "broken"},
		"one of two down":                          {[]Outage{down(0, 9000, 12000)}, nil, 1500, "broken"},
		"one of two down, twice":                   {[]Outage{down(0, 9000, 12000), down(0, 10500, 12000)}, nil, 1500, "broken"},
		"both down":                                {[]Outage{down(0, 9000, 12000), down(1, 10500, 13000)}, nil, 1500, "excused"},
		"both down, one a second later":            {[]Outage{down(0, 9000, 12000), down(1, 11200, 13000)}, nil, 1500, "broken"},
		"both down, and a second passed since":     {[]Outage{down(0, 9000, 10500), down(1, 9000, 10800)}, nil, 1600, "broken"},
		"both down, not yet a second since":        {[]Outage{down(0, 9000, 10500), down(1, 9000, 10800)}, nil, 1500, "excused"},
		"what they share, long ago":                {[]Outage{down(AllReplicas, 8000, 9999)}, nil, 1500, "broken"},
		"what they share, at first":                {[]Outage{down(AllReplicas, 8000, 10600)}, nil, 1500, "excused"},
		"what they share, in the middle":           {[]Outage{down(AllReplicas, 10900, 11100)}, nil, 2000, "excused"},
		"what they share, no longer":               {[]Outage{down(AllReplicas, 10900, 11100)}, nil, 2200, "broken"},
		"held up for as long as it was late":       {nil, []Stall{stall(10000, 10300, 200), stall(10300, 10700, 300)}, 1500, "stalled"},
		"held up for less":                         {nil, []Stall{stall(10000, 10300, 200), stall(10300, 10700, 290)}, 1500, "broken"},
		"held up before and after":                 {nil, []Stall{stall(9000, 10000, 1000), stall(11500, 12000, 500)}, 1500, "broken"},
		"held up in half of a stall":               {nil, []Stall{stall(9500, 10300, 800)}, 1200, "stalled"},
		"held up in too little of a stall":         {nil, []Stall{stall(9500, 10300, 800)}, 1400, "broken"},
		"one down and the other held up":           {[]Outage{down(0, 9000, 12000)}, []Stall{stall(10100, 10900, 700)}, 1500, "stalled"},
		"held up while the only one left was down": {[]Outage{down(0, 9000, 12000), down(1, 9000, 10200)}, []Stall{stall(9900, 10200, 300)}, 1500, "broken"},
	} {
		c := &checker{history: &History{Replicas: 2, Down: test.down, Stalls: test.stalls}}
		c.late(&Match{ID: "m"}, &Row{}, Span{at(10_000), at(10_000 + test.committed)})
		got := "prompt"
		switch {
		case len(c.Violations) > 0:
			got = "broken"
		case c.Excused.Count > 0:
			got = "excused"
		case c.Stalled.Count > 0:
			got = "stalled"
		}
		if got != test.want {
			t.Errorf("%s: it is %s, not %s %v", name, got, test.want, c.Violations)
		}
	}
}

// TestLatenessIsCounted: the latest one is told, with what the machine was held up then.
func TestLatenessIsCounted(t *testing.T) {
	var l Lateness
	for _, other := range []Lateness{{1, 20, 3}, {2, 50, 7}, {1, 40, 30}} {
		l.Add(other)
	}
	if l != (Lateness{4, 50, 7}) {
		t.Errorf("counted %+v", l)
	}
}
