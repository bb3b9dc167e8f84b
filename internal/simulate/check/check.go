package check

import (
	"fmt"
	"sort"
	"time"
)

// Kinds of event, by the contract's numbers, that the checker tells apart.
const (
	kindMatchCreated = 1
	kindGameStarted  = 2
	kindPly          = 3
	kindServerPly    = 4
	kindExpired      = 13
	kindGameEnded    = 17
	kindMatchEnded   = 18
	kindCompensation = 19

	kindClockPaused        = 14
	kindMatchVoided        = 20
	kindMatchAbandoned     = 21
	kindPlacementSubmitted = 22
	kindPlayBegan          = 23
	kindPlacementExpired   = 24
	kindTurnPassed         = 25
	kindSeatOut            = 26
	kindSeatLeft           = 27
)

// Statuses of matches and games, by the contract's numbers.
const (
	statusPlaying       = 2
	statusComplete      = 4
	statusDecided       = 5
	statusInsufficient  = 6
	gameEnded           = 4
	reasonNoLegalAction = 3
	reasonIdle          = 5
	reasonMaxPlies      = 6
	reasonFlag          = 7
	reasonTime          = 21
	reasonDisconnection = 22
	reasonAgreement     = 23
)

// Result is what checking came to.
type Result struct {
	Violations []Violation
	// What was checked.
	Acknowledgements, Events, Endings, Settlements, Watched, Linearized int
	// Expiries are those adjudicated, DeadlinesTold those among them whose
	// deadline a client had been told.
	Expiries, DeadlinesTold int
	// Excused are those that came late when no replica had been whole for a second,
	// Stalled those when none would have been, had the machine not been held up.
	Excused, Stalled Lateness
	// Exported are games of exports, InOrder answers on streams of actions, Reused
	// refusals of ids that were another request's, Seeds those that were seen to be
	// secret until their games had ended.
	Exported, InOrder, Reused, Seeds int
	// Placements are commitments that bind what was sent, PlacementExpiries those of the
	// phases that ran out; Encounters verdicts that follow from the opened ranks, and
	// Boards those that showed their viewers no more than they may know.
	Placements, PlacementExpiries, Encounters, Boards int
	// Undecided are the matches whose linearizability could not be decided in time.
	Undecided int
}

// Lateness is of expiries that came late with an excuse.
type Lateness struct {
	Count int `json:"count"`
	// Latest is the most that one came after the second that it had, and Held how
	// much of the time since its grace the machine was then held up.
	Latest time.Duration `json:"latest_ns"`
	Held   time.Duration `json:"held_ns"`
}

// Add counts others too.
func (l *Lateness) Add(other Lateness) {
	l.Count += other.Count
	if other.Latest > l.Latest {
		l.Latest, l.Held = other.Latest, other.Held
	}
}

// checker works on one history and record.
type checker struct {
	history *History
	record  *Record
	calls   map[string][]*Call // by match, in order of sending
	// boards are what was shown of each game, by match and number, and fought the
	// captures by seat that its replay came to.
	boards map[string]map[int][]*Board
	fought map[string]map[int][]int
	Result
}

// Check proves every promise of the history and the record, and returns what is
// broken.
func Check(h *History, r *Record) Result {
	c := newChecker(h, r)
	c.sortCalls()
	c.sortBoards()
	c.creations()
	for _, id := range sortedKeys(r.Matches) {
		m := r.Matches[id]
		c.chain(m)
		c.log(m)
		c.acknowledged(m)
		c.requests(m)
		c.ended(m)
		c.army(m)
		c.settlements(m)
		c.expiries(m)
		c.linear(m)
	}
	c.watches()
	c.finished()
	c.streamed()
	c.exports()
	c.secrets()
	c.placementsSeen()
	c.Violations = append(c.Violations, h.Objections...)
	if h.Feed != nil {
		c.Violations = append(c.Violations, Feed(h.Feed, r)...)
	}
	return c.Result
}

func newChecker(h *History, r *Record) *checker {
	return &checker{history: h, record: r, calls: map[string][]*Call{}, boards: map[string]map[int][]*Board{}, fought: map[string]map[int][]int{}}
}

func (c *checker) broken(promise, match, format string, arguments ...any) {
	c.Violations = append(c.Violations, Violation{promise, match, fmt.Sprintf(format, arguments...)})
}

func (c *checker) sortCalls() {
	for i := range c.history.Calls {
		call := &c.history.Calls[i]
		if call.Code == "Internal" {
			c.broken(Explained, call.Match, "%s was answered INTERNAL", call.Method)
		}
		if call.Outcome == Refused && call.Reason == "" {
			c.broken(Explained, call.Match, "%s was refused %s without a reason", call.Method, call.Code)
		}
		c.calls[call.Match] = append(c.calls[call.Match], call)
	}
}

// creations checks that each acknowledged creation made the match that it said,
// and that no match is there which nobody asked for.
func (c *checker) creations() {
	asked := map[string]bool{}
	made := map[string]string{}
	for i := range c.history.Calls {
		call := &c.history.Calls[i]
		if call.Method != "CreateMatch" {
			continue
		}
		asked[call.RequestID] = true
		if call.Outcome != Acknowledged {
			continue
		}
		if other, ok := made[call.RequestID]; ok && other != call.Match {
			c.broken(Once, call.Match, "its creation had made match %s before", other)
		}
		made[call.RequestID] = call.Match
		if c.record.Creators[call.RequestID] != call.Match || c.record.Matches[call.Match] == nil {
			c.broken(Durable, call.Match, "its creation was acknowledged and is not stored")
		}
	}
	created := map[string]bool{}
	for request, match := range c.record.Creators {
		if !asked[request] {
			c.broken(Once, match, "nobody asked for it")
		}
		if created[match] {
			c.broken(Once, match, "two requests created it")
		}
		created[match] = true
	}
	for id := range c.record.Matches {
		if !created[id] {
			c.broken(Once, id, "no request created it")
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
