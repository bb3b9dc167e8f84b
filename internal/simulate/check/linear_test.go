package check

import (
	"testing"
	"time"
)

// TestLinearizable checks calls of a match of two plies, made by requests 1 and 2.
func TestLinearizable(t *testing.T) {
	one, two := [16]byte{1}, [16]byte{2}
	m := &Match{ID: "m", Games: []Game{{Number: 1}}, Logs: map[int][]Row{1: {
		{Game: 1, Seq: 1, Ply: 1, Kind: kindPly, Request: &one, Hash: []byte("h1"), Transaction: "1"},
		{Game: 1, Seq: 2, Ply: 2, Kind: kindPly, Request: &two, Hash: []byte("h2"), Transaction: "2"},
	}}}
	call := func(request [16]byte, sent, answered int, outcome Outcome, replayed bool) Call {
		return Call{Match: "m", RequestID: uuidText(request), Sent: time.UnixMilli(int64(sent)), Answered: time.UnixMilli(int64(answered)),
			Outcome: outcome, Replayed: replayed}
	}
	read := func(head string, sent, answered int) Call {
		c := call([16]byte{}, sent, answered, Acknowledged, false)
		c.RequestID, c.View = "", View{Game: 1, Head: head}
		return c
	}
	first := call(one, 0, 10, Acknowledged, false)
	for name, test := range map[string]struct {
		calls []Call
		sound bool
	}{
		"one after the other":                     {[]Call{first, call(two, 20, 30, Acknowledged, false)}, true},
		"the second before the first":             {[]Call{call(one, 20, 30, Acknowledged, false), call(two, 0, 10, Acknowledged, false)}, false},
		"read before it was sent":                 {[]Call{first, read("h2", 11, 12), call(two, 20, 30, Acknowledged, false)}, false},
		"not read after it was answered":          {[]Call{first, call(two, 20, 30, Acknowledged, false), read("h1", 31, 32)}, false},
		"read without an answer":                  {[]Call{first, call(two, 20, 30, Unknown, false), read("h2", 40, 50)}, true},
		"read before it was sent without answer":  {[]Call{first, read("h2", 11, 12), call(two, 20, 30, Unknown, false)}, false},
		"only answered again":                     {[]Call{first, call(two, 20, 30, Acknowledged, true), read("h2", 31, 32)}, true},
		"only answered again, before it was sent": {[]Call{first, read("h2", 11, 12), call(two, 20, 30, Acknowledged, true)}, false},
		"answered again and not read":             {[]Call{first, call(two, 20, 30, Acknowledged, true), read("h1", 31, 32)}, false},
		"answered again, then sent in vain": {[]Call{first, call(two, 20, 30, Acknowledged, true), read("h2", 31, 32),
			call(two, 40, 50, Unknown, false)}, true},
		"sent in vain, then answered again": {[]Call{first, call(two, 20, 30, Unknown, false), read("h2", 31, 32),
			call(two, 40, 50, Acknowledged, true)}, true},
	} {
		h := &History{Calls: test.calls}
		if v := promisesOf(h, m, func(c *checker) { c.linear(m) }); (len(v) == 0) != test.sound {
			t.Errorf("%s: %v", name, v)
		}
	}
}
