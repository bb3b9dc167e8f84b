-- Army chess in the views for people: what everybody was told of each ply, who met
-- once the game has ended, and the placements, which are opened then.

-- The stops of the four-player board in the order of their numbers: nine in the
-- middle, then six rows of five a side.
CREATE OR REPLACE FUNCTION audit.army_square(number smallint, four_players boolean) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN NOT four_players THEN chr(65 + number / 5) || (number % 5)::text
        WHEN number < 9 THEN 'C' || (number / 3 + 1)::text || (number % 3 + 1)::text
        ELSE substr('SENW', (number - 9) / 30 + 1, 1) || ((number - 9) % 30 / 5 + 1)::text || ((number - 9) % 5 + 1)::text END;

-- The detail of an event that changes a board of army chess: version, reason,
-- verdict, shown piece, whether a flag is lost, sides whose marshal fell and for
-- each the stop of its flag, seats that can't act, a byte each; or nothing.
CREATE FUNCTION audit.army_verdict(detail bytea) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN octet_length(detail) >= 7
        THEN (ARRAY['attacker_won', 'defender_won', 'both_gone', 'neither_gone'])[get_byte(detail, 2)] END;
CREATE FUNCTION audit.army_shown(detail bytea, four_players boolean) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN octet_length(detail) >= 7 THEN audit.army_piece(get_byte(detail, 3)::smallint, four_players) END;
CREATE FUNCTION audit.army_flag(detail bytea) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN octet_length(detail) >= 7 AND get_byte(detail, 4) = 1;
CREATE FUNCTION audit.army_stuck(detail bytea) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN octet_length(detail) >= 7 THEN get_byte(detail, octet_length(detail) - 1) ELSE 0 END;
-- The stops of the flags that a ply made public, in order of sides.
CREATE FUNCTION audit.army_flag_stops(detail bytea, four_players boolean) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(SELECT audit.army_square(get_byte(detail, at)::smallint, four_players)
        FROM generate_series(6, octet_length(detail) - 2) AS at ORDER BY at);

-- army_placements reads the placements that a game's ending opens, by seat; empty
-- for a seat that has not placed. Before them stand reason, winners and void, a
-- byte each, two varints, a list of varints, a byte and 64 more.
CREATE FUNCTION audit.army_placements(detail bytea) RETURNS text[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
DECLARE
    at     integer := 3;
    skips  integer := 2;
    size   integer;
    placed text[] := '{}';
BEGIN
    -- The two plies, then as many numbers as the next one says.
    WHILE skips > 0 LOOP
        WHILE get_byte(detail, at) >= 128 LOOP
            at := at + 1;
        END LOOP;
        at := at + 1;
        skips := skips - 1;
    END LOOP;
    skips := get_byte(detail, at); -- one a seat
    at := at + 1;
    WHILE skips > 0 LOOP
        WHILE get_byte(detail, at) >= 128 LOOP
            at := at + 1;
        END LOOP;
        at := at + 1;
        skips := skips - 1;
    END LOOP;
    at := at + 1 + 64;
    IF at >= octet_length(detail) THEN
        RETURN placed;
    END IF;
    skips := get_byte(detail, at);
    at := at + 1;
    WHILE skips > 0 LOOP
        at := at + 1 + 32; -- the attempt, at most 100, and the salt
        size := get_byte(detail, at); -- at most 35
        placed := placed || convert_from(substring(detail FROM at + 2 FOR size), 'UTF8');
        at := at + 1 + size;
        skips := skips - 1;
    END LOOP;
    RETURN placed;
END $$;

-- army_placed is the piece that was placed on a stop, by the placements of all seats.
-- A placement has its side's stops from the front row to the back, each from the
-- owner's left; bottom and top sides lie opposite each other.
CREATE FUNCTION audit.army_placed(placements text[], stop smallint, four_players boolean) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN four_players THEN substr('SENW', (stop - 9) / 30 + 1, 1)
            || substr(replace(placements[(stop - 9) / 30 + 1], '/', ''), (stop - 9) % 30 + 1, 1)
        WHEN stop >= 30 THEN 'b' || substr(replace(placements[1], '/', ''), stop - 30 + 1, 1)
        ELSE 't' || substr(replace(placements[2], '/', ''), 29 - stop + 1, 1) END;

-- A move shows what everybody was told of it; who met in an attack, once the game
-- has ended. A piece is followed back from where it stood to where it was turned or
-- placed. Nothing but the columns that a query names is computed.
CREATE OR REPLACE VIEW audit.moves AS
SELECT e.match_id, e.game, e.ply, (m.created_at AT TIME ZONE 'UTC')::date AS day, m.platform,
    e.seat, m.player_ids[e.seat + 1] AS player_id, e.kind = 4 AS by_server,
    CASE WHEN family.army THEN audit.army_notation(e.action_kind, e.from_square, e.to_square, shown.turned, family.four)
        ELSE audit.notation(e.action_kind, e.from_square, e.to_square, shown.turned) END AS action,
    CASE WHEN family.army THEN audit.army_piece(shown.turned, family.four) ELSE audit.piece(shown.turned) END AS turned,
    CASE WHEN family.army THEN audit.army_piece(shown.captured, family.four) ELSE audit.piece(shown.captured) END AS captured,
    e.event_time AS played_at,
    (extract(epoch FROM e.event_time - (SELECT b.event_time FROM public.events b
        WHERE b.match_id = e.match_id AND b.game = e.game AND b.seq < e.seq AND b.kind IN (2, 3, 4, 13, 16, 23)
        ORDER BY b.seq DESC LIMIT 1)) * 1000)::bigint AS think_ms,
    audit.clock_left(e.clocks, e.seat, 0) / 1000 AS main_left_ms,
    audit.clock_left(e.clocks, e.seat, 1) / 1000 AS bank_left_ms,
    audit.clock_left(e.clocks, e.seat, 3) AS extensions_left,
    p.name AS submitted_by,
    CASE WHEN family.army THEN audit.army_verdict(e.detail) END AS verdict,
    CASE WHEN family.army THEN audit.army_shown(e.detail, family.four) END AS scouted,
    CASE WHEN family.army THEN audit.army_flag(e.detail) END AS flag,
    CASE WHEN family.army THEN audit.army_flag_stops(e.detail, family.four) END AS flag_stops,
    CASE WHEN family.army THEN audit.players_of(m.player_ids, audit.army_stuck(e.detail)) END AS stuck_ids,
    -- Who met is known once the placements are, which come with the ending.
    CASE WHEN family.army AND g.status = 4 AND audit.army_verdict(e.detail) IS NOT NULL THEN
        (WITH RECURSIVE way (seq, stop, turned) AS (
            SELECT e.seq, e.from_square, 0::smallint
            UNION ALL
            SELECT b.seq, b.from_square, b.turned FROM way CROSS JOIN LATERAL (
                SELECT b.seq, b.from_square, b.turned FROM public.events b
                WHERE b.match_id = e.match_id AND b.game = e.game AND b.seq < way.seq AND b.kind IN (3, 4)
                    AND CASE b.action_kind WHEN 1 THEN b.from_square = way.stop
                        ELSE b.to_square = way.stop AND coalesce(audit.army_verdict(b.detail), 'attacker_won') = 'attacker_won' END
                ORDER BY b.seq DESC LIMIT 1) AS b WHERE way.turned = 0
        ) SELECT CASE WHEN way.turned > 0 THEN audit.army_piece(way.turned, family.four)
            ELSE audit.army_placed((SELECT audit.army_placements(x.detail) FROM public.events x
                WHERE x.match_id = e.match_id AND x.game = e.game AND x.kind = 17), way.stop, family.four) END FROM way ORDER BY way.seq LIMIT 1) END AS attacker,
    CASE WHEN family.army AND g.status = 4 AND audit.army_verdict(e.detail) IS NOT NULL THEN
        (WITH RECURSIVE way (seq, stop, turned) AS (
            SELECT e.seq, e.to_square, 0::smallint
            UNION ALL
            SELECT b.seq, b.from_square, b.turned FROM way CROSS JOIN LATERAL (
                SELECT b.seq, b.from_square, b.turned FROM public.events b
                WHERE b.match_id = e.match_id AND b.game = e.game AND b.seq < way.seq AND b.kind IN (3, 4)
                    AND CASE b.action_kind WHEN 1 THEN b.from_square = way.stop
                        ELSE b.to_square = way.stop AND coalesce(audit.army_verdict(b.detail), 'attacker_won') = 'attacker_won' END
                ORDER BY b.seq DESC LIMIT 1) AS b WHERE way.turned = 0
        ) SELECT CASE WHEN way.turned > 0 THEN audit.army_piece(way.turned, family.four)
            ELSE audit.army_placed((SELECT audit.army_placements(x.detail) FROM public.events x
                WHERE x.match_id = e.match_id AND x.game = e.game AND x.kind = 17), way.stop, family.four) END FROM way ORDER BY way.seq LIMIT 1) END AS defender
FROM public.events e
JOIN public.matches m ON m.match_id = e.match_id
LEFT JOIN public.games g ON g.match_id = e.match_id AND g.game = e.game
LEFT JOIN public.principals p ON p.principal_id = e.principal
CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM public.rulesets r
        WHERE r.ruleset_hash = m.ruleset_hash AND r.content::jsonb ? 'army_chess') AS army,
    cardinality(m.player_ids) = 4 AS four) AS family
CROSS JOIN LATERAL (SELECT CASE WHEN open.to_all THEN e.turned END AS turned, CASE WHEN open.to_all THEN e.captured END AS captured
    FROM (SELECT g.status = 4 OR EXISTS (SELECT FROM public.rulesets r
        WHERE r.ruleset_hash = m.ruleset_hash AND r.content::jsonb ?| ARRAY['dark_chess', 'army_chess']) AS to_all) AS open) AS shown
WHERE e.kind IN (3, 4);

CREATE VIEW audit.placements AS
SELECT e.match_id, e.game, (m.created_at AT TIME ZONE 'UTC')::date AS day, m.platform, e.seat, m.player_ids[e.seat + 1] AS player_id,
    count(*) AS attempts, max(e.event_time) AS placed_at,
    (SELECT nullif((audit.army_placements(x.detail))[e.seat + 1], '') FROM public.events x
        WHERE x.match_id = e.match_id AND x.game = e.game AND x.kind = 17) AS placement
FROM public.events e JOIN public.matches m ON m.match_id = e.match_id
WHERE e.kind = 22
GROUP BY e.match_id, e.game, m.created_at, m.platform, e.seat, m.player_ids;

COMMENT ON COLUMN audit.moves.action IS 'In the notation of records: a1(n) turns, a1-a2 moves or captures, a4-a5(k) captures a face-down piece, stop ends a chain. In army chess G2-F2 moves or attacks, F2(t5) turns.';
COMMENT ON COLUMN audit.moves.turned IS 'Piece that was turned: KGMRNCP red, kgmrncp black; in army chess its side and rank, such as t5. Null for none.';
COMMENT ON COLUMN audit.moves.captured IS 'Dark chess: piece that was captured; null for none. In army chess see verdict.';
COMMENT ON COLUMN audit.moves.verdict IS 'Army chess: what became of an attack: attacker_won, defender_won, both_gone or neither_gone; null where nobody was attacked.';
COMMENT ON COLUMN audit.moves.scouted IS 'Army chess: defender that an engineer was lost to and everybody was shown; null for none.';
COMMENT ON COLUMN audit.moves.flag IS 'Army chess: whether the defender was a flag.';
COMMENT ON COLUMN audit.moves.flag_stops IS 'Army chess: stops of the flags that the loss of their marshal made public.';
COMMENT ON COLUMN audit.moves.stuck_ids IS 'Army chess: players without a legal move after it.';
COMMENT ON COLUMN audit.moves.attacker IS 'Army chess: piece that attacked, such as b9; null for none, and until the game has ended.';
COMMENT ON COLUMN audit.moves.defender IS 'Army chess: piece that was attacked; null for none, and until the game has ended.';

COMMENT ON VIEW audit.placements IS 'One row a seat that has placed its pieces (army chess in the dark).';
COMMENT ON COLUMN audit.placements.match_id IS 'Its match.';
COMMENT ON COLUMN audit.placements.game IS 'Its game, from 1.';
COMMENT ON COLUMN audit.placements.day IS 'Day (UTC) on which the match was created.';
COMMENT ON COLUMN audit.placements.platform IS 'Platform of the match.';
COMMENT ON COLUMN audit.placements.seat IS 'Seat that placed, from 0.';
COMMENT ON COLUMN audit.placements.player_id IS 'Player of that seat.';
COMMENT ON COLUMN audit.placements.attempts IS 'Placements that it submitted; the last one stands.';
COMMENT ON COLUMN audit.placements.placed_at IS 'When it submitted the last one.';
COMMENT ON COLUMN audit.placements.placement IS 'The last one: six rows from the front to the back, each from the owner''s left, a dot for a camp; null until the game has ended.';
