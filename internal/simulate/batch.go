package simulate

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/simulate/check"
	refereev1 "referee.example/proto/referee/v1"
)

// batch is some matches in a database of their own, with a plan of their own,
// checked together.
type batch struct {
	options  Options
	seed     uint64
	size     int
	postgres *postgres

	database string
	dir      string
	settings []string
	replicas []*replica
	access   *access
	// publicKey is that of the log of finished games.
	publicKey string
	recorder  *recorder
	presets   []*refereev1.Ruleset
	log       *os.File
	done      []carriedOut
	summary   Summary
}

// quietLimit bounds what is waited for once everything runs again: that every
// ended game is in the log and every watcher has seen the end.
const quietLimit = 2 * time.Minute

// feedLimit is how soon after it was given out the last position has come by the
// feed, from a replica that may just have been started.
const feedLimit = 10 * time.Second

func (b *batch) run(ctx context.Context) (Summary, []check.Violation, error) {
	b.summary = newSummary()
	b.summary.Seed, b.summary.Matches = b.seed, b.size
	started := time.Now()
	b.recorder = &recorder{}
	if err := b.prepare(ctx); err != nil {
		return b.summary, nil, errors.Join(err, b.end())
	}
	history, err := b.play(ctx)
	var violations []check.Violation
	if ctx.Err() == nil {
		// A service that plays on no more may have broken its promises before.
		var unchecked error
		violations, unchecked = b.check(ctx, history, err == nil)
		err = errors.Join(err, unchecked)
	}
	err = errors.Join(err, b.end())
	if err == nil && len(violations) == 0 {
		err = errors.Join(b.postgres.execute(ctx, "postgres", "DROP DATABASE "+b.database+" WITH (FORCE)"), os.RemoveAll(b.dir))
	}
	b.summary.Seconds = time.Since(started).Seconds()
	return b.summary, violations, err
}

// prepare makes database, keys and tokens, and starts the replicas.
func (b *batch) prepare(ctx context.Context) error {
	b.database = fmt.Sprintf("batch_%d", b.seed)
	b.dir = filepath.Join(b.options.Dir, b.database)
	// What an interrupted run left of this batch is played anew.
	err := errors.Join(os.RemoveAll(b.dir), os.MkdirAll(b.dir, 0o750),
		b.postgres.execute(ctx, "postgres", "CREATE DATABASE "+b.database))
	if err != nil {
		return err
	}
	if b.log, err = os.Create(filepath.Join(b.dir, "replicas.log")); err != nil {
		return err
	}
	logKey, tokens := filepath.Join(b.dir, "log.key"), filepath.Join(b.dir, "tokens.json")
	if err := writeFile(tokens, tokenList()); err != nil {
		return err
	}
	if err := b.command(ctx, nil, "log", "key", "--name", "simulation.example/log", logKey); err != nil {
		return err
	}
	if err := b.readPublicKey(ctx, logKey); err != nil {
		return err
	}
	if err := b.command(ctx, []string{"REFEREE_DATABASE_URL=" + b.postgres.url(b.database)}, "migrate"); err != nil {
		return err
	}
	b.settings = []string{
		"REFEREE_LISTEN=127.0.0.1:0", "REFEREE_KEYS=" + newKey(), "REFEREE_LOG_KEY_FILE=" + logKey,
		"REFEREE_TOKEN_FILE=" + tokens, "REFEREE_LOG_LEVEL=info", "REFEREE_MAX_CONNS=16",
		"REFEREE_DRAIN_TIMEOUT=" + drainTimeout.String(),
	}
	for number := range b.options.Replicas {
		if err := b.startReplica(ctx, number); err != nil {
			return err
		}
	}
	calls := &counter{}
	if b.access, err = dial(b.replicas, calls, b.recorder, b.options.Patience); err != nil {
		return err
	}
	return b.listPresets(ctx)
}

func (b *batch) startReplica(ctx context.Context, number int) error {
	lasting := context.WithoutCancel(ctx)
	clients, err := newLink(lasting, "")
	if err != nil {
		return err
	}
	r := &replica{number: number, binary: b.options.Binary, clients: clients, logs: &locked{out: b.log}}
	b.replicas = append(b.replicas, r)
	for _, n := range b.postgres.nodes {
		database, err := newLink(lasting, n.address)
		if err != nil {
			return err
		}
		r.databases = append(r.databases, database)
	}
	url, err := b.postgres.through(b.database, r.databases)
	if err != nil {
		return err
	}
	r.settings = append(slices.Clone(b.settings), "REFEREE_DATABASE_URL="+url)
	return r.launch(ctx, 0)
}

// command runs a command of the referee's program.
func (b *batch) command(ctx context.Context, environment []string, arguments ...string) error {
	cmd := exec.CommandContext(ctx, b.options.Binary, arguments...)
	cmd.Env = append(os.Environ(), environment...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("referee %s: %w: %s", strings.Join(arguments, " "), err, output)
	}
	return nil
}

// listPresets keeps those that are played.
func (b *batch) listPresets(ctx context.Context) error {
	got, err := b.access.rules[0].ListRulesets(as(ctx, platformToken), &refereev1.ListRulesetsRequest{})
	for _, preset := range got.GetRulesets() {
		if only := b.options.Presets; len(only) == 0 || slices.Contains(only, preset.GetId()) {
			b.presets = append(b.presets, preset)
		}
	}
	if err == nil && len(b.presets) == 0 {
		err = errors.New("there is no preset to play")
	}
	return err
}

// play plays the batch's matches while the plan is carried out, and then waits
// until everything has come to rest.
func (b *batch) play(ctx context.Context) (*check.History, error) {
	playing, stop := context.WithCancel(ctx)
	defer stop()
	s := &saboteur{
		plan: NewPlan(b.seed, b.options.Rates, b.options.Replicas), replicas: b.replicas, postgres: b.postgres,
		calls: b.access.calls, witness: b.witness, confirm: b.confirm,
	}
	var background, sabotage, watching sync.WaitGroup
	faulting, stopFaults := context.WithCancel(playing)
	defer stopFaults()
	sabotage.Go(func() { s.run(faulting) })
	stalls := &stallMeter{postgres: b.postgres}
	background.Go(func() { stalls.run(playing) })
	feed, exports := []check.FeedEntry{}, [][]check.Exported{}
	feeding, stopFeed := context.WithCancel(playing)
	defer stopFeed()
	var received atomic.Int64
	background.Go(func() { feed, b.summary.FeedKills = b.access.feed(feeding, b.seed, &received) })
	exporting, stopExports := context.WithCancel(playing)
	defer stopExports()
	background.Go(func() {
		b.access.exportAgain(exporting, b.seed, func(games []check.Exported) { exports = append(exports, games) })
	})
	err := b.playAll(playing, stop, &watching)
	stopFaults()
	sabotage.Wait()
	stopExports()
	if err == nil {
		err = b.rest(ctx)
	}
	if err == nil && len(s.decided) > 0 {
		err = b.signed(ctx)
	}
	if err == nil {
		err = b.fed(ctx, &received)
	}
	stopFeed()
	if err == nil {
		err = waitFor(ctx, &watching, quietLimit)
	}
	stop()
	background.Wait()
	watching.Wait()
	if err == nil {
		// Of all, once everything has come to rest.
		var games []check.Exported
		games, err = b.access.export(ctx, 0, &refereev1.HistoryFilter{Platform: platform})
		exports = append(exports, games)
	}
	b.done = s.done
	for _, f := range s.done {
		b.summary.Faults[f.Kind]++
	}
	for _, r := range b.replicas {
		b.summary.ShiftedStarts += r.shifted
	}
	b.summary.PromotionMS = b.unserved(s.decided)
	b.summary.Stalls, b.summary.LongestStall = len(stalls.stalls), stalls.longest
	r := b.recorder
	return &check.History{
		Calls: r.calls, Watches: r.watches, Feed: feed, Down: s.down, Replicas: len(b.replicas), Stalls: stalls.stalls,
		Streamed: r.streamed, Exports: exports, Secrets: r.secrets, Placements: r.placements,
		Boards: slices.Collect(maps.Keys(r.boards)), Objections: r.objections,
	}, errors.Join(err, s.err)
}

func (b *batch) playAll(ctx context.Context, stop func(), watching *sync.WaitGroup) error {
	next := make(chan int)
	go func() {
		defer close(next)
		for i := range b.size {
			select {
			case next <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	var tables sync.WaitGroup
	var mu sync.Mutex
	var failed error
	done := 0
	for range min(b.options.Tables, b.size) {
		tables.Go(func() {
			for i := range next {
				err := b.table(i).play(ctx, func(match string) {
					watching.Go(func() { b.access.watch(ctx, b.seed<<16+uint64(i), match) })
				})
				mu.Lock()
				if err != nil && failed == nil {
					failed = err
					stop()
				}
				if done++; done%20 == 0 {
					progress(b.options, "seed %d: %d of %d matches, %d calls", b.seed, done, b.size, b.access.calls.value())
				}
				mu.Unlock()
			}
		})
	}
	tables.Wait()
	if failed == nil {
		failed = ctx.Err()
	}
	return failed
}

// table is that of the batch's i-th match: presets take turns.
func (b *batch) table(i int) *table {
	dice := newDice(b.seed, uint64(i))
	t := &table{number: i, access: b.access, habits: b.options.Habits, dice: dice, rules: b.presets[i%len(b.presets)]}
	t.short = now(dice, t.habits.Short) && timed(t.rules)
	t.dallies = t.short && places(t.rules) && now(dice, t.habits.Dally)
	return t
}

// timed reports whether a ruleset has a clock.
func timed(r *refereev1.Ruleset) bool { return r.GetClock().GetOnExpiry() != "" }

// queues are the tables in which something waits for a sequencer, where they are.
var queues = []string{"finished_games", "made_compensations", "settlement_queue"}

// waiting is how much waits in them.
func waiting(ctx context.Context, conn *pgx.Conn) (total int, err error) {
	for _, queue := range queues {
		there, count := false, 0
		err = conn.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, queue).Scan(&there)
		if err == nil && there {
			err = conn.QueryRow(ctx, `SELECT count(*) FROM `+queue).Scan(&count)
		}
		if err != nil {
			return 0, err
		}
		total += count
	}
	return total, nil
}

// rest waits until sequencers have put everything in its place.
func (b *batch) rest(ctx context.Context) error {
	deadline := time.Now().Add(quietLimit)
	for {
		queued := -1
		err := b.postgres.with(ctx, b.database, func(conn *pgx.Conn) (err error) {
			queued, err = waiting(ctx, conn)
			return err
		})
		if err == nil && queued == 0 || time.Now().After(deadline) {
			return nil // what still waits is for the checker to find
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// fed waits until the feed's reader has received the last position there is, for a while.
func (b *batch) fed(ctx context.Context, received *atomic.Int64) error {
	last := int64(0)
	err := b.postgres.with(ctx, b.database, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT coalesce(max(position), 0) FROM settlement_feed`).Scan(&last)
	})
	deadline := time.Now().Add(feedLimit)
	for err == nil && received.Load() < last && time.Now().Before(deadline) {
		err = sleep(ctx, 50*time.Millisecond)
	}
	return err
}

// waitFor waits for what runs, for a while.
func waitFor(ctx context.Context, running *sync.WaitGroup, limit time.Duration) error {
	done := make(chan struct{})
	go func() {
		running.Wait()
		close(done)
	}()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-done:
	case <-limited.Done():
	}
	return ctx.Err()
}

// end ends what the batch has started.
func (b *batch) end() error {
	for _, r := range b.replicas {
		r.stop()
	}
	if b.access != nil {
		b.access.close()
	}
	if b.log == nil {
		return nil
	}
	return b.log.Close()
}

func newKey() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // documented never to fail
	return "simulation:" + base64.StdEncoding.EncodeToString(key)
}

type token struct {
	Name     string   `json:"name"`
	Platform string   `json:"platform"`
	Scopes   []string `json:"scopes"`
	SHA256   string   `json:"sha256"`
}

func tokenList() []token {
	var list []token
	for name, scope := range map[string]string{
		platformToken: "play", operatorToken: "operate", secondToken: "operate", auditorToken: "audit",
	} {
		digest := sha256.Sum256([]byte(name))
		granted := "*"
		if scope == "play" {
			granted = platform
		}
		list = append(list, token{Name: name, Platform: granted, Scopes: []string{scope}, SHA256: hex.EncodeToString(digest[:])})
	}
	return list
}

// locked is a writer for several writers.
type locked struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}
