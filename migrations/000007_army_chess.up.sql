-- Army chess: games begin with placing, seats go out while their game goes on, and
-- plies, squares and pieces are written as its own notation does.

-- The log takes more kinds of event. Checking what is there needs no lock that
-- play would wait for, so it is a transaction of its own; run again after a failure
-- it begins anew.
BEGIN;
ALTER TABLE events DROP CONSTRAINT IF EXISTS events_kind_known;
ALTER TABLE events ADD CONSTRAINT events_kind_known
    CHECK (kind BETWEEN 1 AND 28 AND (kind = 19) = (game = 0)) NOT VALID;
COMMIT;
ALTER TABLE events VALIDATE CONSTRAINT events_kind_known;

BEGIN;
ALTER TABLE events DROP CONSTRAINT IF EXISTS events_kind;
ALTER TABLE events RENAME CONSTRAINT events_kind_known TO events_kind;
-- A game that is placed in is status 5.
ALTER TABLE games DROP CONSTRAINT games_status, ADD CONSTRAINT games_status CHECK (status BETWEEN 1 AND 5);

CREATE OR REPLACE FUNCTION audit.game_status(number smallint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (ARRAY['awaiting_start', 'playing', 'awaiting_ruling', 'ended', 'placing'])[number];
CREATE OR REPLACE FUNCTION audit.end_reason(number smallint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN number < 20
        THEN (ARRAY['all_captured', 'fouls', 'no_legal_action', 'repetition', 'idle', 'max_plies', 'flag',
            'illegal_action'])[number]
        ELSE (ARRAY['resignation', 'time', 'disconnection', 'agreement', 'all_disconnected', 'match_voided',
            'match_abandoned'])[number - 19] END;

-- The stops of army chess by their numbers: A0 to L4 with two players, with four by
-- their side, row and column.
CREATE FUNCTION audit.army_square(number smallint, four_players boolean) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN four_players THEN (regexp_split_to_array('C11 C12 C13 C21 C22 C23 C31 C32 C33 S11 S12 S13 S14 S15 S21 S22 S23 S24 S25 S31 S32 S33 S34 S35 S41
        S42 S43 S44 S45 S51 S52 S53 S54 S55 S61 S62 S63 S64 S65 E11 E12 E13 E14 E15 E21 E22 E23 E24 E25 E31
        E32 E33 E34 E35 E41 E42 E43 E44 E45 E51 E52 E53 E54 E55 E61 E62 E63 E64 E65 N11 N12 N13 N14 N15 N21
        N22 N23 N24 N25 N31 N32 N33 N34 N35 N41 N42 N43 N44 N45 N51 N52 N53 N54 N55 N61 N62 N63 N64 N65 W11
        W12 W13 W14 W15 W21 W22 W23 W24 W25 W31 W32 W33 W34 W35 W41 W42 W43 W44 W45 W51 W52 W53 W54 W55 W61
        W62 W63 W64 W65', '\s+'))[number + 1]
        ELSE chr(65 + number / 5) || (number % 5)::text END;
-- Pieces of army chess: a side's letter and a rank's.
CREATE FUNCTION audit.army_piece(code smallint, four_players boolean) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN code > 0 THEN substr(CASE WHEN four_players THEN 'SENW' ELSE 'bt' END, code / 16 + 1, 1)
        || substr('123456789BMF', code % 16, 1) END;
-- army_notation writes an action as junqi.Game.FormatAction does; turned may be null.
CREATE FUNCTION audit.army_notation(action_kind smallint, from_square smallint, to_square smallint, turned smallint,
    four_players boolean) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN audit.army_square(from_square, four_players)
        || CASE WHEN action_kind = 2 THEN '-' || audit.army_square(to_square, four_players) ELSE '' END
        || CASE WHEN turned > 0 THEN '(' || audit.army_piece(turned, four_players) || ')' ELSE '' END;

-- What a family shows of a running game is what every viewer of it sees: in dark
-- chess what a ply turned and captured, in army chess what it turned.
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
    p.name AS submitted_by
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
COMMIT;
