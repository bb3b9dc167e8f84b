package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/devpg"
	"referee.example/internal/store"
	"referee.example/internal/tlog"
	"referee.example/migrations"
	refereev1 "referee.example/proto/referee/v1"
)

// levels examines a deployment and returns the level of each look.
func levels(t *testing.T, config Config) (map[string]Level, string) {
	t.Helper()
	found, text := map[string]Level{}, ""
	for _, d := range Examine(t.Context(), config) {
		found[d.What] = d.Level
		text += d.String() + "\n"
		if (d.Level == Fine) != (d.Do == "") {
			t.Errorf("%s is %s, and what to do is %q", d.What, d.Level, d.Do)
		}
	}
	return found, text
}

// heldUp reports whether a busy machine shows in what was found.
func heldUp(found map[string]Level) bool {
	return found["heartbeat"] != Fine || found["clock error"] != Fine || found["clock offset"] != Fine
}

// TestDoctor examines a deployment that is as it should be, then that deployment
// with one thing wrong after the other.
func TestDoctor(t *testing.T) {
	tt := newTable(t)
	owner, err := pgx.Connect(t.Context(), tt.config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Close(context.Background()) })
	exec := func(query string) {
		t.Helper()
		if _, err := owner.Exec(context.Background(), query); err != nil {
			t.Fatal(err)
		}
	}
	if err := ApplyRoles(t.Context(), tt.config.DatabaseURL); err != nil {
		t.Fatal(err)
	}
	exec(`CREATE USER doctored PASSWORD 'doctored' IN ROLE referee_server`)
	t.Cleanup(func() { exec(`DROP USER doctored`) })
	exec(`UPDATE log_head SET epoch = log_epoch()`) // the test's database is a copy
	a := tt.start(t, slog.New(slog.DiscardHandler))
	defer a.Stop()
	ctx := tt.context(t)
	client := refereev1.NewMatchServiceClient(dial(t, a))
	startGame(ctx, t, client, create(ctx, t, client, preset("7club-standard")).GetGame())

	asServer := tt.config
	u, err := url.Parse(tt.config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("doctored", "doctored")
	asServer.DatabaseURL = u.String()
	found, text := levels(t, asServer)
	for end := time.Now().Add(limit); heldUp(found) && time.Now().Before(end); {
		found, text = levels(t, asServer)
	}
	for what, level := range found {
		want := Fine
		switch what {
		case "replication", "failover":
			want = Warning
		case "durability": // the tests' Postgres runs without fsync
			want = Fault
		}
		if level != want {
			t.Errorf("a good deployment: %s is %s", what, level)
		}
	}
	if len(found) < 18 || strings.Contains(text, "PRIVATE") || strings.Contains(text, "doctored@") || strings.Contains(text, tt.config.Keys) {
		t.Errorf("%d looks:\n%s", len(found), text)
	}

	other, err := tlog.NewKey("other.example/log")
	if err != nil {
		t.Fatal(err)
	}
	otherKey := t.TempDir() + "/other.key"
	write(t, otherKey, []byte(other))
	for what, test := range map[string]struct {
		level  Level
		wrong  string // SQL that makes it so
		mend   string
		change func(*Config)
	}{
		"keys":         {level: Fault, change: func(c *Config) { c.Keys = "k:short" }},
		"log key":      {level: Fault, change: func(c *Config) { c.LogKeyFile = "/nonexistent" }},
		"access":       {level: Fault, change: func(c *Config) { c.TokenFile = otherKey }},
		"certificates": {level: Fault, change: func(c *Config) { c.TLSCertFile, c.TLSKeyFile = otherKey, otherKey }},
		"database":     {level: Fault, change: func(c *Config) { c.DatabaseURL = "postgres://nobody@127.0.0.1:1/none" }},
		"schema":       {level: Fault, wrong: `UPDATE schema_migrations SET version = 1`, mend: fmt.Sprintf(`UPDATE schema_migrations SET version = %d`, migrations.Newest())},
		"append-only": {level: Fault, wrong: `ALTER TABLE settlements DISABLE TRIGGER settlements_keep`,
			mend: `ALTER TABLE settlements ENABLE TRIGGER settlements_keep`},
		"triggers": {level: Fault, wrong: `CREATE FUNCTION spy() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
			CREATE TRIGGER spy BEFORE UPDATE ON games FOR EACH ROW EXECUTE FUNCTION spy()`, mend: `DROP FUNCTION spy CASCADE`},
		"connections":     {level: Warning, change: func(c *Config) { c.MaxConns = 400 }},
		"role":            {level: Fault, wrong: `REVOKE INSERT ON events FROM referee_server`, mend: `GRANT INSERT ON events TO referee_server`},
		"least privilege": {level: Warning, change: func(c *Config) { c.DatabaseURL = tt.config.DatabaseURL }},
		"partitions": {level: Fault, wrong: `DO $$ BEGIN EXECUTE format('ALTER TABLE %I RENAME TO hidden', events_partition(now() + interval '1 month')); END $$`,
			mend: `DO $$ BEGIN EXECUTE format('ALTER TABLE hidden RENAME TO %I', events_partition(now() + interval '1 month')); END $$`},
		"seals":                 {level: Fault, change: func(c *Config) { c.Keys = NewKey("another") }},
		"log of finished games": {level: Fault, wrong: `UPDATE log_head SET epoch = 'x'`, mend: `UPDATE log_head SET epoch = log_epoch()`},
	} {
		config := asServer
		if test.change != nil {
			test.change(&config)
		}
		if test.wrong != "" {
			exec(test.wrong)
		}
		found, text := levels(t, config)
		if found[what] != test.level {
			t.Errorf("%s: %q, want %q:\n%s", what, found[what], test.level, text)
		}
		if test.mend != "" {
			exec(test.mend)
		}
	}
}

// TestDoctorJudges takes what the tests' Postgres can't be brought to.
func TestDoctorJudges(t *testing.T) {
	sound := store.Inspection{
		ServerVersion: 15_00_18, Fsync: "on", FullPageWrites: "on", SynchronousCommit: "on", MaxConnections: 100, MayPlay: true,
		Guards: store.Guards, Now: time.Now(), PartitionsUntil: time.Now().AddDate(1, 0, 0), HeartbeatAge: time.Second, LogConfirmed: true,
		Standbys: []store.Standby{{Name: "b", State: "streaming", Sync: "sync"}}, SynchronousStandbys: "b",
	}
	examine := func(i store.Inspection, bound time.Duration) map[string]Level {
		e := &examination{config: Config{MaxConns: 16}}
		e.durability(i)
		e.rights(i)
		e.time(i, bound)
		e.partitions(i)
		e.replication(i)
		found := map[string]Level{}
		for _, d := range e.all {
			found[d.What] = d.Level
		}
		return found
	}
	for what, level := range examine(sound, time.Millisecond) {
		if level != Fine {
			t.Errorf("sound: %s is %s", what, level)
		}
	}
	for name, test := range map[string]struct {
		change func(*store.Inspection)
		bound  time.Duration
		what   string
		level  Level
	}{
		"old Postgres":          {func(i *store.Inspection) { i.ServerVersion = 14_00_99 }, 0, "Postgres", Fault},
		"a standby":             {func(i *store.Inspection) { i.InRecovery = true }, 0, "primary", Fault},
		"no fsync":              {func(i *store.Inspection) { i.Fsync = "off" }, 0, "durability", Fault},
		"torn pages":            {func(i *store.Inspection) { i.FullPageWrites = "off" }, 0, "durability", Fault},
		"answers before disk":   {func(i *store.Inspection) { i.SynchronousCommit = "off" }, 0, "durability", Fault},
		"superuser":             {func(i *store.Inspection) { i.Superuser = true }, 0, "least privilege", Warning},
		"may change events":     {func(i *store.Inspection) { i.ChangesEvents = true }, 0, "least privilege", Warning},
		"clock not known":       {func(*store.Inspection) {}, -1, "clock error", Fault},
		"clock known badly":     {func(*store.Inspection) {}, 51 * time.Millisecond, "clock error", Fault},
		"database's clock fast": {func(i *store.Inspection) { i.Now = time.Now().Add(3 * time.Second) }, 0, "clock offset", Warning},
		"nobody alive":          {func(i *store.Inspection) { i.HeartbeatAge = 4 * time.Second }, 0, "heartbeat", Warning},
		"two months left":       {func(i *store.Inspection) { i.PartitionsUntil = time.Now().AddDate(0, 2, 0) }, 0, "partitions", Warning},
		"days left":             {func(i *store.Inspection) { i.PartitionsUntil = time.Now().AddDate(0, 0, 20) }, 0, "partitions", Fault},
		"no standby":            {func(i *store.Inspection) { i.Standbys = nil }, 0, "replication", Warning},
		"asynchronous":          {func(i *store.Inspection) { i.SynchronousStandbys = "" }, 0, "failover", Warning},
		"none is synchronous":   {func(i *store.Inspection) { i.Standbys[0].Sync = "async" }, 0, "failover", Fault},
		"none is there":         {func(i *store.Inspection) { i.Standbys = nil }, 0, "failover", Fault},
		"none is streaming":     {func(i *store.Inspection) { i.Standbys[0].State = "catchup" }, 0, "failover", Fault},
		"catching up":           {func(i *store.Inspection) { i.Standbys[0].State = "catchup" }, 0, "standby b", Warning},
		"answers before those":  {func(i *store.Inspection) { i.SynchronousCommit = "local" }, 0, "failover", Warning},
		"standbys out of sight": {func(i *store.Inspection) { i.Standbys = []store.Standby{{}} }, 0, "replication", Warning},
		"far behind":            {func(i *store.Inspection) { i.Standbys[0].BehindBytes = 1 << 30 }, 0, "standby b", Warning},
	} {
		i := sound
		i.Standbys = slices.Clone(sound.Standbys)
		test.change(&i)
		if got := examine(i, test.bound)[test.what]; got != test.level {
			t.Errorf("%s: %s is %q, want %q", name, test.what, got, test.level)
		}
	}
}

// TestDoctorSeesStandbys examines a primary with a real standby, and the standby.
func TestDoctorSeesStandbys(t *testing.T) {
	primary, err := devpg.Start(t.Context(), devpg.Options{NoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	end := func(s *devpg.Server) {
		if err := errors.Join(s.Stop(), os.RemoveAll(s.DataDir())); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { end(primary) })
	config := newTable(t).config
	config.DatabaseURL = primary.URL("postgres")
	if err := Migrate(t.Context(), config.DatabaseURL); err != nil {
		t.Fatal(err)
	}
	standby, err := primary.Standby(t.Context(), "second", "", devpg.Options{NoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(standby) })
	admin, err := pgx.Connect(t.Context(), config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close(context.Background()) })
	says := func(query string) (yes bool) {
		t.Helper()
		if err := admin.QueryRow(t.Context(), query).Scan(&yes); err != nil {
			t.Fatal(err)
		}
		return yes
	}
	until := func(query string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !says(query); {
			if time.Now().After(deadline) {
				t.Fatalf("it never became so: %s", query)
			}
		}
	}
	expect := func(when string, config Config, want map[string]Level) string {
		t.Helper()
		found, text := levels(t, config)
		for what, level := range want {
			if found[what] != level {
				t.Errorf("%s: %s is %q, want %q:\n%s", when, what, found[what], level, text)
			}
		}
		return text
	}
	until(`SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming' AND flush_lsn = pg_current_wal_lsn()`)
	text := expect("asynchronous", config, map[string]Level{"standby second": Fine, "failover": Warning})
	if !strings.Contains(text, "synchronous_standby_names is empty") || !strings.Contains(text, "streaming, async, ") {
		t.Errorf("asynchronous:\n%s", text)
	}
	if _, err := admin.Exec(t.Context(), `ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (second, third)'`); err != nil {
		t.Fatal(err)
	}
	says(`SELECT pg_reload_conf()`)
	until(`SELECT sync_state = 'quorum' FROM pg_stat_replication`)
	expect("synchronous", config, map[string]Level{"standby second": Fine, "failover": Fine})

	atStandby := config
	atStandby.DatabaseURL = standby.URL("postgres")
	expect("at the standby", atStandby, map[string]Level{"database": Fine, "primary": Fault})
	if opened, err := store.Open(t.Context(), store.Config{URL: atStandby.DatabaseURL, MaxConns: 1}); err == nil {
		opened.Close()
		t.Error("a replica takes a standby")
	}

	if err := standby.Stop(); err != nil {
		t.Fatal(err)
	}
	until(`SELECT count(*) = 0 FROM pg_stat_replication`)
	expect("without its standby", config, map[string]Level{"replication": Warning, "failover": Fault, "database": Fine})
}
