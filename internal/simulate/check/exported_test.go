package check

import (
	"testing"
	"time"
)

// promisesOf runs a part of the checker on a history and a match, and returns what is broken.
func promisesOf(h *History, m *Match, run func(*checker)) []Violation {
	c := &checker{history: h, record: &Record{Matches: map[string]*Match{m.ID: m}}, calls: map[string][]*Call{}}
	c.sortCalls()
	run(c)
	return c.Violations
}

func TestStreamedAnswersComeInOrder(t *testing.T) {
	for name, test := range map[string]struct {
		answered []string
		sound    bool
	}{
		"all":           {[]string{"a", "a", "b"}, true},
		"broken off":    {[]string{"a"}, true},
		"none":          {nil, true},
		"another order": {[]string{"a", "b", "a"}, false},
		"one left out":  {[]string{"a", "b"}, false},
		"one more":      {[]string{"a", "a", "b", "b"}, false},
	} {
		h := &History{Streamed: []Streamed{{Match: "m", Sent: []string{"a", "a", "b"}, Answered: test.answered}}}
		if v := promisesOf(h, &Match{ID: "m"}, (*checker).streamed); (len(v) == 0) != test.sound {
			t.Errorf("%s: %v", name, v)
		}
	}
}

// ended is a match of one game that ended at an instant.
func ended(at time.Time) *Match {
	seed := make([]byte, 32)
	seed[0] = 1
	return &Match{ID: "m", Games: []Game{{Number: 1, Status: gameEnded, Seed: seed}}, Logs: map[int][]Row{
		1: {{Game: 1, Seq: 1, Hash: []byte("h1")}, {Game: 1, Seq: 2, Hash: []byte("h2"), Kind: kindGameEnded, Committed: at}},
		0: {{Seq: 1, Hash: []byte("c1")}, {Seq: 2, Hash: []byte("c2")}},
	}}
}

func TestExports(t *testing.T) {
	whole := Exported{"m", 1, "h2", 2}
	for name, test := range map[string]struct {
		exports [][]Exported
		sound   bool
	}{
		"whole":                     {[][]Exported{{}, {whole}}, true},
		"with what was compensated": {[][]Exported{{whole, {"m", 0, "c1", 1}}, {whole, {"m", 0, "c2", 2}}}, true},
		"missing at the end":        {[][]Exported{{whole}, {}}, false},
		"twice":                     {[][]Exported{{whole, whole}}, false},
		"before it had ended":       {[][]Exported{{{"m", 1, "h1", 1}}, {whole}}, false},
		"with another end":          {[][]Exported{{{"m", 1, "h3", 2}}}, false},
		"one that is not there":     {[][]Exported{{whole, {"n", 1, "h2", 2}}}, false},
		"other compensations":       {[][]Exported{{whole, {"m", 0, "c2", 1}}}, false},
		"compensations not made":    {[][]Exported{{whole, {"m", 0, "c3", 3}}}, false},
		"a log of none":             {[][]Exported{{whole, {"m", 0, "", 0}}}, false},
	} {
		if v := promisesOf(&History{Exports: test.exports}, ended(time.Time{}), (*checker).exports); (len(v) == 0) != test.sound {
			t.Errorf("%s: %v", name, v)
		}
	}
}

func TestSeedsAreSecretUntilTheEnd(t *testing.T) {
	end := time.Unix(100, 0)
	m := ended(end)
	for after, sound := range map[time.Duration]bool{-time.Millisecond: false, 0: true, time.Second: true} {
		h := &History{Secrets: map[string]map[[32]byte]time.Time{"m": {[32]byte(m.Games[0].Seed): end.Add(after)}}}
		if v := promisesOf(h, m, (*checker).secrets); (len(v) == 0) != sound {
			t.Errorf("received %s after the end: %v", after, v)
		}
	}
}

func TestReusedRequestIDsAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		call  Call
		sound bool
	}{
		"refused for that":      {Call{Outcome: Refused, Reason: "REQUEST_ID_REUSED"}, true},
		"refused as stale":      {Call{Outcome: Refused, Reason: "STALE", Code: "Aborted"}, false},
		"refused for the crowd": {Call{Outcome: Refused, Reason: "CONTENTION", Code: "Aborted"}, true},
		"a busy replica":        {Call{Outcome: Refused, Reason: "OVERLOADED", Code: "ResourceExhausted"}, true},
		"no answer":             {Call{Outcome: Unknown}, true},
		"acknowledged":          {Call{Outcome: Acknowledged, Replayed: true}, false},
	} {
		test.call.Match, test.call.RequestID, test.call.Reused = "m", "r", true
		h := &History{Calls: []Call{{Match: "m", RequestID: "r", Outcome: Unknown}, test.call}}
		m := &Match{ID: "m"}
		if v := promisesOf(h, m, func(c *checker) { c.requests(m) }); (len(v) == 0) != test.sound {
			t.Errorf("%s: %v", name, v)
		}
	}
}

func TestAnExpiryIsOneATurn(t *testing.T) {
	for name, test := range map[string]struct {
		kinds []int
		sound bool
	}{
		"a ply between":  {[]int{kindExpired, kindServerPly, kindExpired, kindGameEnded}, true},
		"one turn twice": {[]int{kindExpired, kindExpired, kindServerPly}, false},
	} {
		m := &Match{ID: "m", Logs: map[int][]Row{}}
		for i, kind := range test.kinds {
			at := time.Unix(int64(i), 0)
			m.Logs[1] = append(m.Logs[1], Row{Game: 1, Seq: i + 1, Kind: kind, Time: at, Committed: at.Add(grace)})
		}
		if v := promisesOf(&History{}, m, func(c *checker) { c.expiries(m) }); (len(v) == 0) != test.sound {
			t.Errorf("%s: %v", name, v)
		}
	}
}
