package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"referee.example/internal/referee"
)

// Changes that write only to their match's row and its log are committed
// together: while one statement is on its way, those that come in wait, and then
// all go in the next. A change that finds nothing under way goes at once, alone, and
// its caller sends it.
// Those that end a game have a group of their own, so that many endings at once
// hold up no move: see endings.go.

// Limits of a group.
const (
	// groupRows bounds the matches of one statement.
	groupRows = 256
	// groupWaiting bounds the changes that have no answer yet.
	groupWaiting = 4096
	// groupWriters is how many statements may be under way at once.
	groupWriters = 1
	// groupTimeout bounds a statement together with the connection it may need.
	groupTimeout = statementTimeout + connectTimeout
	// groupSilence is after which time the next statement no longer waits for one: its
	// connection hangs, or its commit waits for a standby. groupSilent is how many may be
	// left behind at once like that.
	groupSilence = time.Second
	groupSilent  = 3
)

// sqlCommitGroup does for many matches what commitOne does for one. $1 holds the
// matches of the events, $19 to $27 the rows. The rows are locked in the order of
// their keys, and one that is held is passed over: a group waits for nobody, so
// that no match holds up the others, no two groups deadlock, and the time that is
// judged by is that of the writing. A match that is missing from the answer was
// passed over or does not exist.
const (
	sqlCommitGroup = groupGiven + groupHeld + ` SKIP LOCKED` + groupSaved + groupVerdicts

	groupGiven = `
WITH given AS MATERIALIZED (
	SELECT ($19::uuid[])[i] AS match_id, ($20::bigint[])[i] AS decided_on, ($21::timestamptz[])[i] AS after_at,
		($22::timestamptz[])[i] AS before_at, ($23::timestamptz[])[i] AS known_at, ($24::bytea[])[i] AS state,
		($25::timestamptz[])[i] AS deadline, ($26::timestamptz[])[i] AS outages_after, ($27::boolean[])[i] AS put_off
	FROM generate_subscripts($19::uuid[], 1) AS i
), `
	groupHeld = `held AS MATERIALIZED (
	SELECT match_id, version FROM match_states WHERE match_id = ANY ($19::uuid[])
	ORDER BY match_id FOR NO KEY UPDATE`
	groupSaved = `
), judged AS MATERIALIZED (
	SELECT g.match_id, g.decided_on, g.state, g.deadline, g.outages_after, g.put_off, ` + verdictOf + ` AS verdict
	FROM (SELECT match_id, version, clock_timestamp() AS now FROM held) h JOIN given g USING (match_id)
), saved AS (
	UPDATE match_states s SET version = s.version + 1, state = j.state, deadline = j.deadline,
		outages_after = j.outages_after,
		wake_at = CASE WHEN j.put_off THEN j.deadline ELSE least(s.wake_at, j.deadline) END
	FROM judged j
	WHERE s.match_id = j.match_id AND s.version = j.decided_on AND j.verdict = 0
	RETURNING s.match_id
), logged AS (
	INSERT INTO events (match_id, ` + eventColumns + `)
	SELECT match_id, ` + newEvent + `
	FROM ` + newEvents + ` JOIN saved ON match_id = ($1::uuid[])[i]
)`
	groupVerdicts = `
SELECT j.match_id, CASE WHEN s.match_id IS NOT NULL THEN 0 ELSE greatest(j.verdict, 1) END
FROM judged j LEFT JOIN saved s USING (match_id)`
)

// errClosed means that the store was closed before the change was sent.
var errClosed = fmt.Errorf("commit: the store is closed: %w", referee.ErrUnavailable)

// group is the queue of changes and what commits them.
type group struct {
	pool    *pgxpool.Pool
	known   *known
	writers int
	sharded bool // each change goes by itself: see sharded.go

	mu         sync.Mutex
	come       *sync.Cond // a change has, or the group is closed
	waiting    []*pending // in the order of their coming
	unanswered int        // waiting or under way
	sending    int        // statements under way that the next one waits for
	silent     int        // those that it does not wait for any more
	closed     bool

	working sync.WaitGroup
}

// pending is a change that waits for its answer.
type pending struct {
	ctx    context.Context
	id     referee.ID
	state  *referee.State
	row    row
	events []referee.Event
	ending *ending    // nil in the group of ordinary changes
	answer chan error // takes one answer without a reader
	// byCaller is whether its caller sends it, who can do nothing else meanwhile.
	byCaller bool
}

func newPending(ctx context.Context, c referee.Change, ending *ending) *pending {
	return &pending{ctx: ctx, id: c.State.ID, state: c.State, row: newRow(c), events: c.Events, ending: ending, answer: make(chan error, 1)}
}

// patience is how long the statement may take that the change comes first in. Giving it
// up costs its connection, and the change is then judged by itself.
func (p *pending) patience() time.Duration {
	if deadline, ok := p.ctx.Deadline(); ok && p.byCaller {
		return min(groupTimeout, max(groupSilence, time.Until(deadline)))
	}
	return groupTimeout
}

// atOnce is the statement that commits the change alone, waiting for no lock.
func (p *pending) atOnce() (query string, arguments []any) {
	if len(p.events) == 1 {
		return sqlCommitEvent, p.row.argumentsOfOne(&p.events[0])
	}
	return sqlCommitAtOnce, p.row.arguments(p.events)
}

// newGroup returns a group whose writers run until close.
func newGroup(pool *pgxpool.Pool, known *known, writers int, sharded bool) *group {
	g := &group{pool: pool, known: known, writers: writers, sharded: sharded}
	g.come = sync.NewCond(&g.mu)
	for range writers {
		g.working.Go(g.write)
	}
	return g
}

// commit commits a change. It returns when the outcome is known or ctx ends; the change
// may still be committed then. One that it sends itself it waits for up to groupSilence,
// or to the deadline of ctx if that is later.
func (g *group) commit(ctx context.Context, p *pending) error {
	if g.claim() {
		g.sendClaimed(p)
	} else if err := g.enter(p); err != nil {
		return err
	}
	select {
	case err := <-p.answer: // rather than that ctx has ended meanwhile
		return err
	default:
	}
	select {
	case err := <-p.answer:
		return err
	case <-ctx.Done():
		return fmt.Errorf("commit: %w", ctx.Err())
	}
}

// claim begins a statement for a change that finds none under way and nothing waiting,
// and returns whether it did.
func (g *group) claim() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sharded || g.closed || g.sending > 0 || len(g.waiting) > 0 || g.unanswered >= groupWaiting {
		return false
	}
	g.sending++
	g.unanswered++
	g.working.Add(1)
	return true
}

// sendClaimed sends what was claimed for: no writer is woken for it, nor its caller by
// the writer.
func (g *group) sendClaimed(p *pending) {
	defer g.working.Done()
	p.byCaller = true
	g.sendInTime([]*pending{p}, func() {})
}

// sendInTime sends changes and answers them. If that takes longer than groupSilence the
// next statement goes without waiting for it: passedOver is called first, with the lock
// held.
func (g *group) sendInTime(batch []*pending, passedOver func()) {
	sent, passed := false, false
	timer := time.AfterFunc(groupSilence, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if sent || g.silent == groupSilent {
			return
		}
		passed = true
		g.silent++
		g.sending--
		passedOver()
		g.come.Signal()
	})
	defer func() {
		timer.Stop()
		g.mu.Lock()
		defer g.mu.Unlock()
		if sent = true; passed {
			g.silent--
			return
		}
		g.sending--
		g.come.Signal()
	}()
	g.send(batch)
}

func (g *group) enter(p *pending) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errClosed
	}
	if g.unanswered >= groupWaiting {
		return fmt.Errorf("commit: %w", referee.ErrOverloaded)
	}
	g.unanswered++
	g.waiting = append(g.waiting, p)
	g.come.Signal()
	return nil
}

// close returns when everything that has entered is answered.
func (g *group) close() {
	g.mu.Lock()
	g.closed = true
	g.come.Broadcast()
	g.mu.Unlock()
	g.working.Wait()
}

// write commits what waits until the group is closed and nothing does, or until
// another writer has taken its place.
func (g *group) write() {
	for replaced := false; !replaced; {
		batch := g.next()
		if batch == nil {
			return
		}
		g.sendInTime(batch, func() {
			replaced = true
			g.working.Go(g.write)
		})
	}
}

// next waits for changes and takes those that go next: of each match the first,
// since the next one can't have been decided on what that leaves.
func (g *group) next() []*pending {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.waiting) == 0 || g.sending >= g.writers {
		if g.closed && len(g.waiting) == 0 {
			return nil
		}
		g.come.Wait()
	}
	g.sending++
	most := groupRows
	if g.sharded {
		most = share(len(g.waiting), g.writers)
	}
	var batch, rest []*pending
	taken := make(map[referee.ID]bool, len(g.waiting))
	for _, p := range g.waiting {
		if taken[p.id] || len(batch) == most {
			rest = append(rest, p)
			continue
		}
		taken[p.id] = true
		batch = append(batch, p)
	}
	g.waiting = rest
	return batch
}

// send commits changes of different matches and has them answered. It waits for no
// lock, and leaves to a statement of its own each change that has to, or that
// shared a statement with one that failed: no change suffers for another. A
// change whose commit's answer was lost is judged again like that; if it was
// committed after all it is a conflict now, which the referee, deciding again,
// finds to be its own doing.
func (g *group) send(batch []*pending) {
	batch = g.wanted(batch)
	if len(batch) == 0 {
		return
	}
	groupSize.Record(context.Background(), int64(len(batch)))
	if g.sharded {
		g.sendEach(batch)
		return
	}
	verdicts, err := g.commitAtOnce(batch)
	if len(batch) == 1 {
		g.answer(batch, verdicts, err)
		return
	}
	g.working.Go(func() { g.answer(batch, verdicts, err) })
}

// answer answers changes that were sent together.
func (g *group) answer(batch []*pending, verdicts map[referee.ID]int, err error) {
	for _, p := range batch {
		verdict, judged := verdicts[p.id]
		switch {
		case err != nil, !judged && !p.row.putOff:
			g.working.Go(func() { g.alone(p) })
		case !judged: // the sweep comes again, and whoever holds the row may settle the match
			g.settle(p, referee.ErrConflict)
		default:
			g.settle(p, verdictError(verdict))
		}
	}
}

// wanted returns the changes that somebody still waits for. The others are not
// begun.
func (g *group) wanted(batch []*pending) []*pending {
	wanted := batch[:0]
	for _, p := range batch {
		if err := p.ctx.Err(); err != nil {
			g.settle(p, fmt.Errorf("commit: %w", err))
			continue
		}
		wanted = append(wanted, p)
	}
	return wanted
}

// settle answers a change.
func (g *group) settle(p *pending, err error) {
	if err == nil {
		g.known.committed(p.state, p.row.version+1, p.events)
	}
	g.mu.Lock()
	g.unanswered--
	g.mu.Unlock()
	p.answer <- err
}

// alone commits one change, waiting for its row. Its caller's going away does
// not stop it, since that would cost the connection too.
func (g *group) alone(p *pending) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), groupTimeout)
	defer cancel()
	verdict, err := g.judgedAlone(ctx, p)
	if err == nil {
		err = verdictError(verdict)
	}
	g.settle(p, err)
}

// judgedAlone commits one change, waiting for its row.
func (g *group) judgedAlone(ctx context.Context, p *pending) (verdict int, err error) {
	if g.sharded {
		o := g.commitEach(ctx, []*pending{p}, false)[0]
		return o.verdict, o.err
	}
	if p.ending == nil {
		return g.one(ctx, sqlCommit, p.row.arguments(p.events))
	}
	verdicts, err := g.many(ctx, sqlEndGamesWaiting, endGroupArguments([]*pending{p}))
	verdict, judged := verdicts[p.id]
	if !judged {
		verdict = verdictMissing
	}
	return verdict, err
}

// one sends the statement for one match.
func (g *group) one(ctx context.Context, query string, arguments []any) (verdict int, err error) {
	verdict = verdictMissing
	err = execute(ctx, g.pool, query, arguments, func(values [][]byte) {
		verdict = int(int32(binary.BigEndian.Uint32(values[0])))
	})
	return verdict, wrap("commit", err)
}

// commitAtOnce commits what can be without waiting. A match that is missing from
// the verdicts was not judged.
func (g *group) commitAtOnce(batch []*pending) (map[referee.ID]int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), batch[0].patience())
	defer cancel()
	switch {
	case batch[0].ending != nil:
		return g.many(ctx, sqlEndGames, endGroupArguments(batch))
	case len(batch) > 1:
		return g.many(ctx, sqlCommitGroup, groupArguments(batch))
	}
	p := batch[0]
	query, arguments := p.atOnce()
	verdict, err := g.one(ctx, query, arguments)
	if err != nil || verdict == verdictMissing {
		return nil, err
	}
	return map[referee.ID]int{p.id: verdict}, nil
}

// many sends a statement for several matches.
func (g *group) many(ctx context.Context, query string, arguments []any) (map[referee.ID]int, error) {
	verdicts := map[referee.ID]int{}
	err := execute(ctx, g.pool, query, arguments, func(values [][]byte) {
		verdicts[referee.ID(values[0])] = int(int32(binary.BigEndian.Uint32(values[1])))
	})
	return verdicts, wrap("commit", err)
}

// groupArguments are the parameters of sqlCommitGroup: a column an array.
func groupArguments(batch []*pending) []any {
	var events []referee.Event
	for _, p := range batch {
		events = append(events, p.events...)
	}
	arguments := append(make([]any, 0, 27), column(events, func(e *referee.Event) pgtype.UUID { return uuid(e.Match) }))
	arguments = append(arguments, eventArrays(events)...)
	return append(arguments,
		rowColumn(batch, func(r *row) pgtype.UUID { return r.match }),
		rowColumn(batch, func(r *row) int64 { return r.version }),
		rowColumn(batch, func(r *row) *time.Time { return r.after }),
		rowColumn(batch, func(r *row) *time.Time { return r.before }),
		rowColumn(batch, func(r *row) *time.Time { return r.known }),
		rowColumn(batch, func(r *row) []byte { return r.state }),
		rowColumn(batch, func(r *row) *time.Time { return r.deadline }),
		rowColumn(batch, func(r *row) *time.Time { return r.outagesAfter }),
		rowColumn(batch, func(r *row) bool { return r.putOff }))
}

func rowColumn[T any](batch []*pending, value func(*row) T) pgtype.FlatArray[T] {
	values := make(pgtype.FlatArray[T], len(batch))
	for i, p := range batch {
		values[i] = value(&p.row)
	}
	return values
}
