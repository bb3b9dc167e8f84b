package store

import "context"

// Roles of the database, without a login of their own: a deployment grants them
// to the users that its replicas and its auditors connect as.
//
//   - referee_server plays matches. It can add to the logs and to the settlements,
//     never alter or delete there; all that it deletes is what waits for the log of
//     finished games or for the feed. It can't let that log be signed in another
//     database, nor alter a position that the feed has given out.
//   - referee_auditor reads the record, but neither a match's state nor the
//     sealed seeds in it or beside it.
//   - referee_reader reads the views of the schema audit and nothing else, and
//     leaves nothing in the database.
var roleStatements = []string{
	// Several databases of one cluster may be at this at the same time.
	`DO $$ BEGIN CREATE ROLE referee_server NOLOGIN;
	EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`,
	`DO $$ BEGIN CREATE ROLE referee_auditor NOLOGIN;
	EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`,
	`DO $$ BEGIN CREATE ROLE referee_reader NOLOGIN;
	EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`,
	`REVOKE ALL ON ALL TABLES IN SCHEMA public FROM referee_server, referee_auditor, referee_reader`,
	`REVOKE ALL ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC, referee_reader`,
	`GRANT USAGE ON SCHEMA public TO referee_server, referee_auditor`,
	`GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO referee_server, referee_auditor`,

	`GRANT SELECT, INSERT ON rulesets, matches, match_states, games, events, settlements, settlement_lines,
		participants, create_requests, external_refs, principals, outages TO referee_server`,
	`GRANT SELECT, INSERT ON log_entries, log_hashes TO referee_server`,
	`GRANT SELECT ON pairs, ended_games, interventions TO referee_server`,
	`GRANT SELECT, DELETE ON finished_games, made_compensations, settlement_queue TO referee_server`,
	`GRANT SELECT, INSERT ON settlement_feed, settlement_heads TO referee_server`,
	`GRANT UPDATE (position) ON settlement_heads TO referee_server`,
	`GRANT SELECT ON heartbeat, log_head, schema_migrations TO referee_server`,
	`GRANT UPDATE (size, root, signed_size, checkpoint) ON log_head TO referee_server`,
	`GRANT UPDATE (beat_at) ON heartbeat TO referee_server`,
	`GRANT UPDATE (version, state, deadline, wake_at, outages_after) ON match_states TO referee_server`,
	`GRANT UPDATE (status, winners, end_note, ended_at) ON matches TO referee_server`,
	`GRANT UPDATE (status, started_at, first_seat, balances, hold_ids, player_seeds, root, ended_at, end_reason,
		winners, void, first_ply, last_ply, plies, captures, disconnected, server_seed, head_hash)
		ON games TO referee_server`,

	`GRANT SELECT ON rulesets, matches, events, settlements, settlement_lines, participants, pairs, ended_games, external_refs,
		principals, heartbeat, outages, finished_games, made_compensations, log_entries, log_hashes, log_head,
		settlement_queue, settlement_feed, settlement_heads, interventions, schema_migrations TO referee_auditor`,
	`GRANT SELECT (match_id, game, status, commitment, started_at, first_seat, balances, hold_ids, player_seeds, root,
		ended_at, end_reason, winners, void, first_ply, last_ply, plies, captures, disconnected, server_seed, head_hash)
		ON games TO referee_auditor`,

	// Whoever may log in could otherwise fill the disk with tables and large objects
	// of his own. The latter are the superuser's to take away.
	`DO $$ BEGIN
	EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC, referee_reader', current_database());
	IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
		REVOKE EXECUTE ON FUNCTION lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea) FROM PUBLIC, referee_reader;
	END IF; END $$`,

	// The functions are those that the views are written with: they read nothing.
	`REVOKE ALL ON ALL TABLES IN SCHEMA audit FROM PUBLIC, referee_reader`,
	`GRANT USAGE ON SCHEMA audit TO referee_reader`,
	`GRANT SELECT ON ALL TABLES IN SCHEMA audit TO referee_reader`,
	`GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA audit TO referee_reader`,
}

// ApplyRoles makes the roles and gives them exactly their rights, whatever they
// had before. It needs a superuser, or the tables' owner with CREATEROLE.
func (s *Store) ApplyRoles(ctx context.Context) error {
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return wrap("make roles", err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // does nothing after the commit
	for _, statement := range roleStatements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return wrap("make roles", err)
		}
	}
	return wrap("make roles", tx.Commit(ctx))
}
