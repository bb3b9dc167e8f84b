package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Inspection is what can be seen of a deployment's database.
type Inspection struct {
	ServerVersion                            int // such as 150018
	Fsync, FullPageWrites, SynchronousCommit string
	MaxConnections                           int
	// InRecovery tells a standby, which can't be written to.
	InRecovery bool
	// Superuser, Owner and ChangesEvents tell what the user of the connection may
	// do beyond a server's rights.
	Superuser, Owner, ChangesEvents bool
	// MayPlay tells whether the user may add to the log.
	MayPlay bool
	// Guards counts the triggers that keep the log, the settlements and the log of
	// finished games append-only and are enabled.
	Guards int
	// Strangers are triggers and rules of the tables that no migration made, as
	// "table: name".
	Strangers []string
	// PartitionsUntil is the first month without a partition, at least this one.
	PartitionsUntil time.Time
	Now             time.Time
	// HeartbeatAge is how long ago any replica was alive; negative if none ever was.
	HeartbeatAge time.Duration
	LogConfirmed bool
	LogUnsigned  int64
	Standbys     []Standby
	// SynchronousStandbys is the setting of that name.
	SynchronousStandbys string
}

// Guards is how many append-only triggers there are: two a table.
const Guards = 14

// Standby is a replication connection of the database.
type Standby struct {
	Name, State, Sync string // empty where the user may not see it
	BehindBytes       int64  // of write-ahead log that it has not written safely
}

const (
	sqlInspect = `
SELECT current_setting('server_version_num')::integer, current_setting('fsync'), current_setting('full_page_writes'),
	current_setting('synchronous_commit'), current_setting('max_connections')::integer, pg_is_in_recovery(),
	(SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
	pg_has_role((SELECT relowner FROM pg_class WHERE oid = 'events'::regclass), 'MEMBER'),
	has_table_privilege('events', 'UPDATE') OR has_table_privilege('events', 'DELETE') OR has_table_privilege('events', 'TRUNCATE'),
	has_table_privilege('events', 'INSERT') AND has_any_column_privilege('match_states', 'UPDATE'),
	(SELECT count(*) FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
		WHERE p.proname = 'refuse_change' AND t.tgparentid = 0 AND t.tgenabled IN ('O', 'A')
			AND t.tgrelid IN ('events'::regclass, 'settlements'::regclass, 'settlement_lines'::regclass,
				'log_entries'::regclass, 'log_hashes'::regclass, 'settlement_feed'::regclass, 'interventions'::regclass)),
	(SELECT coalesce(array_agg(found ORDER BY found), '{}') FROM (
		SELECT c.relname || ': ' || t.tgname AS found FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
		WHERE NOT t.tgisinternal AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'events'::regclass)
			AND p.proname NOT IN ('refuse_change', 'queue_finished_game', 'queue_compensation', 'queue_settlement', 'note_intervention',
				'add_pairs', 'add_ended_game')
		UNION ALL SELECT c.relname || ': ' || r.rulename FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
		WHERE c.relkind IN ('r', 'p') AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'events'::regclass)) s),
	(SELECT min(month) FROM generate_series(0, 120) AS n,
		LATERAL (SELECT (date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => n)) AT TIME ZONE 'UTC' AS month) m
		WHERE NOT EXISTS (SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
			WHERE i.inhparent = 'events'::regclass AND c.relname = events_partition(month))),
	clock_timestamp(),
	coalesce((SELECT extract(epoch FROM clock_timestamp() - beat_at) FROM heartbeat), -1),
	CASE WHEN pg_is_in_recovery() THEN false ELSE coalesce((SELECT epoch = log_epoch() FROM log_head), false) END,
	coalesce((SELECT size - coalesce(signed_size, 0) FROM log_head), 0),
	current_setting('synchronous_standby_names')`
	sqlStandbys = `
SELECT coalesce(application_name, ''), coalesce(state, ''), coalesce(sync_state, ''),
	coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn), 0)::bigint
FROM pg_stat_replication ORDER BY application_name`
)

// Inspect looks at the database of a deployment. It needs the schema to be there.
func (s *Store) Inspect(ctx context.Context) (i Inspection, err error) {
	var age float64
	err = s.pool.QueryRow(ctx, sqlInspect).Scan(&i.ServerVersion, &i.Fsync, &i.FullPageWrites, &i.SynchronousCommit,
		&i.MaxConnections, &i.InRecovery, &i.Superuser, &i.Owner, &i.ChangesEvents, &i.MayPlay, &i.Guards, &i.Strangers,
		&i.PartitionsUntil, &i.Now, &age, &i.LogConfirmed, &i.LogUnsigned, &i.SynchronousStandbys)
	if err != nil {
		return i, wrap("inspect the database", err)
	}
	i.HeartbeatAge = seconds(age)
	if i.InRecovery {
		return i, nil
	}
	rows, err := s.pool.Query(ctx, sqlStandbys)
	if err != nil {
		return i, wrap("look for standbys", err)
	}
	i.Standbys, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Standby])
	return i, wrap("look for standbys", err)
}
