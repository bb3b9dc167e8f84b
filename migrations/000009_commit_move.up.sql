-- What commits one move of one match, for a database that is sharded by match_id:
-- a statement that locks, judges, saves and logs at once would be taken apart by a
-- distributed Postgres, while a function that is distributed by its first argument
-- runs whole on the node that has the match. See docs/sharding.md. Nothing calls it
-- unless a replica is told that the database is sharded.

-- commit_move saves a match and logs its events, one an element of each array, if
-- the match is still at the version decided_on and the guards hold. It returns 0 for
-- saved, 1 for another version, or a heartbeat or outage that the decision did not
-- know, 2 for too late, 3 for too early, 4 for no such match. It locks first and
-- judges by what it finds then, however long that took; at_once waits for no lock,
-- and a match whose row is held is missing to it. If the move is required, anything
-- but 0 fails the transaction by require_saved.
CREATE FUNCTION commit_move(
    moved uuid, games smallint[], seqs integer[], plies integer[], times timestamptz[], principals integer[],
    seats smallint[], kinds smallint[], action_kinds smallint[], from_squares smallint[], to_squares smallint[],
    turned_pieces smallint[], captured_pieces smallint[], request_ids uuid[], clock_stores bytea[],
    client_hashes bytea[], details bytea[], hashes bytea[],
    decided_on bigint, after_at timestamptz, before_at timestamptz, known_at timestamptz,
    new_state bytea, new_deadline timestamptz, new_outages_after timestamptz, put_off boolean,
    at_once boolean, required boolean
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    found_version bigint;
    judged_at     timestamptz;
    verdict       integer := 4;
BEGIN
    IF at_once THEN
        SELECT s.version INTO found_version FROM match_states s WHERE s.match_id = moved FOR NO KEY UPDATE SKIP LOCKED;
    ELSE
        SELECT s.version INTO found_version FROM match_states s WHERE s.match_id = moved FOR NO KEY UPDATE;
    END IF;
    IF FOUND THEN
        judged_at := clock_timestamp();
        verdict := CASE
            WHEN found_version <> decided_on THEN 1
            WHEN judged_at < after_at THEN 3
            WHEN judged_at >= before_at THEN 2
            WHEN known_at IS NOT NULL AND (
                NOT EXISTS (SELECT FROM heartbeat b WHERE judged_at - b.beat_at <= interval '3 seconds')
                OR EXISTS (SELECT FROM outages o WHERE o.until_at > known_at)) THEN 1
            WHEN after_at IS NOT NULL AND NOT EXISTS (
                SELECT FROM heartbeat b WHERE b.beat_at >= after_at - interval '250 milliseconds') THEN 1
            ELSE 0
        END;
    END IF;
    IF verdict <> 0 THEN
        IF required THEN
            PERFORM require_saved(verdict);
        END IF;
        RETURN verdict;
    END IF;
    UPDATE match_states s SET version = s.version + 1, state = new_state, deadline = new_deadline,
        outages_after = new_outages_after,
        wake_at = CASE WHEN put_off THEN new_deadline ELSE least(s.wake_at, new_deadline) END
    WHERE s.match_id = moved;
    -- A row a statement, since rows that come from a query would be gathered first.
    FOR n IN 1 .. coalesce(cardinality(seqs), 0) LOOP
        INSERT INTO events (match_id, game, seq, ply, event_time, principal, seat, kind, action_kind, from_square, to_square,
            turned, captured, request_id, clocks, client_hash, detail, hash)
        VALUES (moved, games[n], seqs[n], plies[n], times[n], principals[n], seats[n], kinds[n], action_kinds[n],
            from_squares[n], to_squares[n], turned_pieces[n], captured_pieces[n], request_ids[n], clock_stores[n],
            client_hashes[n], details[n], hashes[n]);
    END LOOP;
    RETURN 0;
END $$;
