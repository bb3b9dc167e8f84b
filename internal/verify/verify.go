package verify

import (
	"fmt"

	"golang.org/x/mod/sumdb/note"

	"referee.example/internal/referee"
	"referee.example/internal/tlog"
)

// Match is a recorded match, or its games up to one of them.
type Match struct {
	ID      referee.ID
	Ruleset []byte // canonical JSON
	Games   []Game // in order, from game 1
	// Compensations is the match's own log, numbered as game 0.
	Compensations []Entry
	// CompensationsInclusion proves that the log of finished games has its head.
	CompensationsInclusion *tlog.Inclusion
	// Exported tells that the match comes from an exported file, which has a proof
	// of all that the log holds.
	Exported bool
	// Outages are those on record; nil where that record is not at hand.
	Outages []referee.Outage
	// Compensated is how many events the log of compensations had at least; 0
	// where the record does not say.
	Compensated int

	// repeated are other lines of a file with the log of compensations, whose
	// first is compensationsLine; bytes and lines is how much the match takes.
	repeated          []Game
	compensationsLine int
	bytes, lines      int
}

// Game is a recorded game. Of the parts beside the log nil means that the
// record at hand does not have them.
type Game struct {
	Number     int
	Log        []Entry
	Settlement *referee.RecordedSettlement
	// Settles says that a missing Settlement is one that the record lacks, Ended
	// that it is recorded as a game that has ended.
	Settles, Ended bool
	Openings       []Opening
	Readable       *Readable
	Inclusion      *tlog.Inclusion
	// Line is where the game stands in its file, from 1; 0 for one of a store.
	Line int
	// repeated are other lines of the same match's with the same number.
	repeated []Game
}

// Entry is an event as it was recorded: its canonical bytes and its hash.
type Entry struct {
	Canonical []byte
	Hash      [32]byte
}

// Finding is a fault of a record.
type Finding struct {
	Game int // 0 for the match as a whole
	Seq  int // the event at fault; 0 for the game as a whole
	// What is at fault, such as "hash", "time", "turned" or
	// "settlement.lines[0].amount".
	What            string
	Expected, Found string
}

func (f Finding) String() string {
	where := "match"
	switch {
	case f.Game > 0 && f.Seq > 0:
		where = fmt.Sprintf("game %d, event %d", f.Game, f.Seq)
	case f.Game > 0:
		where = fmt.Sprintf("game %d", f.Game)
	case f.Seq > 0:
		where = fmt.Sprintf("compensations, event %d", f.Seq)
	}
	return fmt.Sprintf("%s: %s: expected %s, found %s", where, f.What, f.Expected, f.Found)
}

// MaxFindings bounds a report: what is wrong beyond them is wrong anyway.
const MaxFindings = 1000

// Report is what verifying a match came to. It is sound without findings. What
// its texts repeat of the record is as Shown returns it.
type Report struct {
	Findings []Finding
	Notes    []string // what could not be checked, and why
	Partial  bool     // the record ends before the match does, as a note says
	Games    int
	Events   int

	shown []proved // those games that Files may compare
}

// Sound reports whether nothing was found.
func (r *Report) Sound() bool { return len(r.Findings) == 0 }

func (r *Report) find(game, seq int, what, expected, found string) {
	if len(r.Findings) < MaxFindings {
		r.Findings = append(r.Findings, Finding{game, seq, what, Shown(expected), Shown(found)})
	}
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, Shown(fmt.Sprintf(format, args...)))
}

// checker verifies one match.
type checker struct {
	Report
	match *Match
	rules *referee.Rules // nil if the ruleset on record is unusable
	// state is the match after the games so far; nil once it is not known.
	state *referee.State
	// endedAt is the number of the event that ended the game before.
	endedAt int
	// committed are the commitments to the games so far.
	committed map[int][32]byte
	log       note.Verifier
	// judged is told of each game that could be, the state being that after it.
	judged func(*played)
}

// Check verifies a match. log is the public key of the log of finished games;
// without it (nil) nothing tells whether the log holds a game.
func Check(m *Match, log note.Verifier) *Report {
	c := newChecker(m, log)
	c.run()
	return &c.Report
}

func newChecker(m *Match, log note.Verifier) *checker {
	return &checker{match: m, log: log, committed: map[int][32]byte{}}
}

func (c *checker) run() {
	c.ruleset()
	next := 1
	for i := range c.match.Games {
		g := &c.match.Games[i]
		if g.Number != next {
			c.find(next, 0, "game", "its log", fmt.Sprintf("that of game %d", g.Number))
			c.state = nil
		}
		next = g.Number + 1
		c.game(g)
	}
	if len(c.match.Compensations) > 0 {
		c.compensations()
	}
	c.part()
}

// part tells that a file's record of a match is only its beginning. A record
// that lacks something before its end is a finding of run.
func (c *checker) part() {
	if c.state == nil || len(c.match.Games) == 0 {
		return
	}
	if last := &c.match.Games[len(c.match.Games)-1]; last.Ended && !c.state.Status.Over() {
		c.Partial = true
		c.note("this is a part of the match: it goes on after game %d", last.Number)
	}
	if n := len(c.match.Compensations); n < c.match.Compensated {
		c.Partial = true
		c.note("this is a part of the match: of its log of compensations, which had %d events when the games were exported, it has %d",
			c.match.Compensated, n)
	}
}

// ruleset reads the ruleset, whose hash the replay compares with the log's.
func (c *checker) ruleset() {
	r, err := referee.ParseRules(c.match.Ruleset)
	switch {
	case err != nil:
		c.find(0, 0, "ruleset", "a sound ruleset", err.Error())
	case string(r.Content) != string(c.match.Ruleset):
		c.find(0, 0, "ruleset", "its canonical JSON", "another form of it")
	default:
		c.rules, c.state = r, referee.NewReplay(r)
	}
}

// game verifies one game; c.state becomes the match after it.
func (c *checker) game(g *Game) {
	c.Games++
	repeated := c.repeated(g)
	events, whole := c.chain(g.Number, g.Log)
	if len(events) == 0 {
		c.find(g.Number, 0, "log", "events", "none")
		c.state = nil
		return
	}
	game := played{Game: g, events: events}
	game.read()
	if c.state == nil {
		c.find(g.Number, 0, "replay", "a sound record of the games before it", "none: this game can't be judged")
		return
	}
	if !c.sameRuleset(&game) {
		c.state = nil
		return
	}
	c.replay(&game)
	if !whole {
		c.state = nil
	}
	if c.state == nil {
		return
	}
	c.endedAt = game.endSeq()
	c.committed[g.Number] = c.state.Game.Commitment
	c.pauses(&game)
	c.beside(&game)
	for i := range repeated {
		other := game
		other.Game = &repeated[i]
		c.beside(&other)
	}
	if c.judged != nil {
		c.judged(&game)
	}
}

// beside verifies what a record has of a game beside its log.
func (c *checker) beside(g *played) {
	c.settlement(g)
	c.openings(g)
	c.readable(g)
	c.inclusion(g)
}

// sameRuleset compares the ruleset at hand with the one the match was created under.
func (c *checker) sameRuleset(g *played) bool {
	if g.Number != 1 || g.created == nil || g.created.RulesetHash == c.rules.Hash {
		return true
	}
	c.find(1, 1, "ruleset_hash", hexOf(g.created.RulesetHash), "a ruleset with hash "+hexOf(c.rules.Hash))
	return false
}

// compensations verifies the match's own log.
func (c *checker) compensations() {
	c.repeatedCompensations()
	events, whole := c.chain(0, c.match.Compensations)
	if c.state == nil || !whole {
		return
	}
	game := played{Game: &Game{Number: 0}, events: events}
	c.rejudge(&game, referee.Hindsight{})
	c.submitted(events)
	c.compensationInclusion(events)
}

// played is a game with what its log says of it.
type played struct {
	*Game
	events  []referee.Event
	created *referee.Created
	started *referee.Started
	ended   *referee.Ended
	// startedAt and revealedAt are indexes into events, -1 for none.
	startedAt, revealedAt int
	seed                  *[32]byte // revealed
	next                  [32]byte  // commitment to the next game
}

// read looks for what the log says once. Details that can't be decoded are
// found by the replay.
func (g *played) read() {
	g.startedAt, g.revealedAt = -1, -1
	for i := range g.events {
		e := &g.events[i]
		switch e.Kind {
		case referee.EventMatchCreated:
			if d, err := e.Created(); err == nil {
				g.created = &d
			}
		case referee.EventGameStarted:
			if d, err := e.Started(); err == nil {
				g.started, g.startedAt = &d, i
			}
		case referee.EventGameEnded:
			if d, err := e.GameEnded(); err == nil {
				g.ended, g.seed, g.next, g.revealedAt = &d, &d.ServerSeed, d.NextCommitment, i
			}
		case referee.EventMatchEnded:
			if d, err := e.MatchEnd(); err == nil && d.ServerSeed != ([32]byte{}) {
				g.seed, g.revealedAt = &d.ServerSeed, i
			}
		}
	}
}

// endSeq is the number of the event that ended the game.
func (g *played) endSeq() int {
	if g.revealedAt < 0 {
		return 0
	}
	return g.events[g.revealedAt].Seq
}
