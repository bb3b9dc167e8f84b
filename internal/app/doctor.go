package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"referee.example/internal/deal"
	"referee.example/internal/store"
	"referee.example/internal/tlog"
)

// Level is how bad what was found is.
type Level string

// Levels of a diagnosis.
const (
	Fine    Level = "ok"
	Warning Level = "warn" // it works, but not as it should
	Fault   Level = "FAIL" // the promises do not hold
)

// Diagnosis is what one look at a deployment came to. Do is what to do about it.
type Diagnosis struct {
	Level           Level
	What, Found, Do string
}

// Limits beyond which something is worth a warning.
const (
	leastServerVersion = 15_00_00
	partitionsAhead    = 3 * 31 * 24 * time.Hour
	clockApart         = time.Second
	standbyBehind      = 16 << 20 // bytes
)

// Examine looks at a deployment as a replica with this configuration would find
// it: the configuration is taken to be valid. It changes nothing.
func Examine(ctx context.Context, config Config) []Diagnosis {
	e := &examination{config: config}
	keys, err := config.keyring()
	e.result(err, "keys", "the keyring can be read; new games are sealed under "+quoted(keys.Current(), err), "mend the key file")
	logKey, err := config.logKey()
	e.result(err, "log key", "the key of the log of finished games can be read", "mend the log key file")
	_, err = config.access()
	e.result(err, "access", "tokens and issuer's keys can be read", "mend the token file or the key set")
	_, err = config.certificates()
	e.result(err, "certificates", certificatesFound(config), "mend the certificate files")
	opened, err := store.Open(ctx, store.Config{URL: config.DatabaseURL, MaxConns: 2, ReadOnly: true})
	if e.result(err, "database", "it answers", "check REFEREE_DATABASE_URL, the network, and that Postgres runs"); err != nil {
		return e.all
	}
	defer opened.Close()
	err = checkSchema(ctx, config.DatabaseURL)
	if e.result(err, "schema", "it is what this binary needs", "run referee migrate as the tables' owner"); err != nil {
		return e.all
	}
	i, err := opened.Inspect(ctx)
	if err != nil {
		e.add(Fault, "inspection", err.Error(), "grant the user referee_server: referee roles")
		return e.all
	}
	e.durability(i)
	if i.InRecovery {
		return e.all // the rest is the primary's
	}
	e.rights(i)
	e.time(i, opened.ClockError())
	e.partitions(i)
	e.replication(i)
	e.seals(ctx, opened, keys)
	e.gameLog(ctx, opened, i, logKey)
	return e.all
}

// examination collects what is found.
type examination struct {
	config Config
	all    []Diagnosis
}

func (e *examination) add(level Level, what, found, do string) {
	if level == Fine {
		do = ""
	}
	e.all = append(e.all, Diagnosis{level, what, found, do})
}

// result adds a fault or what was found to be fine.
func (e *examination) result(err error, what, fine, do string) {
	if err != nil {
		e.add(Fault, what, err.Error(), do)
		return
	}
	e.add(Fine, what, fine, "")
}

// judge adds a diagnosis of the level if it is wrong.
func (e *examination) judge(wrong bool, level Level, what, found, do string) {
	if !wrong {
		level = Fine
	}
	e.add(level, what, found, do)
}

func quoted(id string, err error) string {
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%q", id)
}

func certificatesFound(c Config) string {
	switch {
	case c.TLSCertFile == "":
		return "the port has no TLS: it must be on a network of its own or behind a proxy that has"
	case c.TLSClientCAFile == "":
		return "the port has TLS"
	default:
		return "the port has TLS and asks clients for certificates"
	}
}

func (e *examination) durability(i store.Inspection) {
	e.judge(i.ServerVersion < leastServerVersion, Fault, "Postgres", fmt.Sprintf("version %d.%d", i.ServerVersion/10_000, i.ServerVersion%10_000),
		"use Postgres 15 or newer")
	e.judge(i.InRecovery, Fault, "primary", map[bool]string{false: "the database takes writes", true: "this is a standby"}[i.InRecovery],
		"point the replicas at the primary")
	unsafe := i.Fsync != "on" || i.FullPageWrites != "on" || i.SynchronousCommit == "off"
	e.judge(unsafe, Fault, "durability", fmt.Sprintf("fsync=%s full_page_writes=%s synchronous_commit=%s", i.Fsync, i.FullPageWrites, i.SynchronousCommit),
		"turn all three on: an answer must not leave before its commit is durable")
	e.judge(i.Guards != store.Guards, Fault, "append-only", fmt.Sprintf("%d of %d guards are in force", i.Guards, store.Guards),
		"ALTER TABLE ... ENABLE TRIGGER; find out who disabled it and verify the games since")
	strangers := "the tables have the triggers of this version's schema alone"
	if len(i.Strangers) > 0 {
		strangers = "not of the schema: " + strings.Join(i.Strangers, ", ")
	}
	e.judge(len(i.Strangers) > 0, Fault, "triggers", strangers,
		"find out who made them: a trigger sees what a commit reveals before it is done, and can stop it")
	e.judge(e.config.MaxConns*2 > i.MaxConnections, Warning, "connections",
		fmt.Sprintf("%d a replica, %d for the whole database", e.config.MaxConns, i.MaxConnections),
		"lower --max-conns or raise max_connections: two replicas must fit, with room for operators")
}

func (e *examination) rights(i store.Inspection) {
	e.judge(!i.MayPlay, Fault, "role", map[bool]string{true: "the user may add to the log", false: "the user may not add to the log"}[i.MayPlay],
		"run referee roles, then GRANT referee_server to the user")
	excess := i.Superuser || i.Owner || i.ChangesEvents
	found := "the user can't alter or delete an event"
	if excess {
		found = fmt.Sprintf("the user has more rights than a replica needs: superuser=%t owner=%t changes_events=%t", i.Superuser, i.Owner, i.ChangesEvents)
	}
	e.judge(excess, Warning, "least privilege", found, "let replicas connect as a user that is only in referee_server")
}

func (e *examination) time(i store.Inspection, bound time.Duration) {
	e.judge(bound < 0 || bound > store.MaxClockError, Fault, "clock error", fmt.Sprintf("at most %v", bound.Round(time.Microsecond)),
		"bring the replicas nearer to the database: a round trip must take less than 100 ms")
	apart := time.Until(i.Now)
	e.judge(apart.Abs() > clockApart, Warning, "clock offset", fmt.Sprintf("the database is %v ahead of this machine", apart.Round(time.Millisecond)),
		"judging goes by the database's clock; set both by NTP, the database's first")
	found := "no replica was ever alive"
	if i.HeartbeatAge >= 0 {
		found = fmt.Sprintf("a replica was alive %v ago", i.HeartbeatAge.Round(time.Millisecond))
	}
	e.judge(i.HeartbeatAge < 0 || i.HeartbeatAge > 3*time.Second, Warning, "heartbeat", found,
		"start a replica: clocks stand still and the time is recorded as an outage")
}

func (e *examination) partitions(i store.Inspection) {
	left := i.PartitionsUntil.Sub(i.Now)
	level := Warning
	if i.PartitionsUntil.Before(i.Now.AddDate(0, 1, 0)) {
		level = Fault // next month's is missing or about to be
	}
	e.judge(left < partitionsAhead, level, "partitions", "there are some up to "+i.PartitionsUntil.UTC().AddDate(0, 0, -1).Format(time.DateOnly),
		"run referee migrate as the tables' owner")
}

func (e *examination) replication(i store.Inspection) {
	synchronous, hidden := false, false
	for _, s := range i.Standbys {
		if hidden = hidden || s.State == ""; s.State == "" {
			continue
		}
		e.judge(s.State != "streaming" || s.BehindBytes > standbyBehind, Warning, "standby "+s.Name,
			fmt.Sprintf("%s, %s, %d bytes behind", s.State, s.Sync, s.BehindBytes), "look at the standby's disk and network")
		synchronous = synchronous || s.State == "streaming" && (s.Sync == "sync" || s.Sync == "quorum")
	}
	switch {
	case len(i.Standbys) == 0:
		e.add(Warning, "replication", "there is no standby", "without one a lost disk loses every match since the last backup")
	case hidden:
		e.add(Warning, "replication", fmt.Sprintf("of %d standbys the user may see no more than that they are there", len(i.Standbys)),
			"call the doctor as a user who is in pg_read_all_stats too")
		return
	}
	e.failover(i, synchronous)
}

// failover judges what a promotion would lose, and what not to lose it costs at present.
func (e *examination) failover(i store.Inspection, synchronous bool) {
	switch {
	case i.SynchronousStandbys == "":
		e.add(Warning, "failover", "synchronous_standby_names is empty: a promotion may lose the last moments",
			"set it if a promotion must lose nothing: docs/operations.md")
	case !synchronous:
		e.add(Fault, "failover", fmt.Sprintf("no standby of synchronous_standby_names (%s) is streaming: commits wait, nothing is acknowledged", i.SynchronousStandbys),
			"start a standby of that name; or take the setting back, and do without what it is for")
	case i.SynchronousCommit != "on" && i.SynchronousCommit != "remote_apply":
		e.add(Warning, "failover", fmt.Sprintf("synchronous_commit=%s: an answer leaves before it is safe on a standby", i.SynchronousCommit), "turn it on")
	default:
		e.add(Fine, "failover", "a standby that is promoted has everything that was acknowledged", "")
	}
}

func (e *examination) seals(ctx context.Context, games *store.Store, keys deal.Keyring) {
	if e.faulty("keys") {
		return
	}
	e.result(checkKeys(ctx, games, keys), "seals", "the keyring opens the newest games", "put the missing key into the keyring, after the current one")
}

func (e *examination) gameLog(ctx context.Context, games *store.Store, i store.Inspection, key tlog.Key) {
	e.judge(!i.LogConfirmed, Fault, "log of finished games", map[bool]string{
		true: "it may be signed in this database", false: "it is not signed: the database was restored, promoted or moved"}[i.LogConfirmed],
		"compare it with what the witnesses hold: referee log confirm")
	e.judge(i.LogUnsigned > 0 && i.LogConfirmed && i.HeartbeatAge > 0 && i.HeartbeatAge < 3*time.Second, Warning, "log signature",
		fmt.Sprintf("%d games are not covered by a checkpoint", i.LogUnsigned), "look for \"the log of finished games is held up\" if it stays so")
	if e.faulty("log key") {
		return
	}
	checkpoint, _, err := tlog.NewLog(games).Checkpoint(ctx, 0)
	if errors.Is(err, tlog.ErrNoCheckpoint) {
		e.add(Fine, "checkpoint", "there is none yet", "")
		return
	}
	if err != nil {
		e.add(Fault, "checkpoint", err.Error(), "see docs/verification.md")
		return
	}
	public, err := tlog.ParsePublic(key.Public())
	if err == nil {
		_, err = tlog.OpenCheckpoint(checkpoint.Note, public)
	}
	e.result(err, "checkpoint", "the last one is signed by the log key", "this is another log's key: the log must go on under the name and key that it has")
}

func (e *examination) faulty(what string) bool {
	for _, d := range e.all {
		if d.What == what {
			return d.Level == Fault
		}
	}
	return false
}

// String is a line or two for a terminal.
func (d Diagnosis) String() string {
	line := fmt.Sprintf("%-4s  %-22s %s", d.Level, d.What, d.Found)
	if d.Do != "" {
		line += "\n" + strings.Repeat(" ", 29) + "-> " + d.Do
	}
	return line
}
