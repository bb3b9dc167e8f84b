DROP VIEW audit.placements;
DROP VIEW audit.moves;

-- What a family shows of a running game is what every viewer of it sees: in dark
-- chess what a ply turned and captured, in army chess what it turned.
CREATE VIEW audit.moves AS
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

COMMENT ON VIEW audit.moves IS 'One row a ply. Name a match, or a day and a platform: all moves together are very many.';
COMMENT ON COLUMN audit.moves.match_id IS 'Its match.';
COMMENT ON COLUMN audit.moves.game IS 'Its game, from 1.';
COMMENT ON COLUMN audit.moves.ply IS 'Number in the game, from 1. The steps of a chain are a ply each.';
COMMENT ON COLUMN audit.moves.day IS 'Day (UTC) on which the match was created.';
COMMENT ON COLUMN audit.moves.platform IS 'Platform of the match.';
COMMENT ON COLUMN audit.moves.seat IS 'Seat that moved, from 0.';
COMMENT ON COLUMN audit.moves.player_id IS 'Player of that seat.';
COMMENT ON COLUMN audit.moves.by_server IS 'Whether the referee played it when the time ran out.';
COMMENT ON COLUMN audit.moves.action IS 'In the notation of records: a1(n) turns, a1-a2 moves or captures, a4-a5(k) captures a face-down piece, stop ends a chain.';
COMMENT ON COLUMN audit.moves.turned IS 'Piece that was turned (KGMRNCP red, kgmrncp black); null for none, and where not everybody saw it while the game runs.';
COMMENT ON COLUMN audit.moves.captured IS 'Piece that was captured; null for none, and where not everybody saw it while the game runs.';
COMMENT ON COLUMN audit.moves.played_at IS 'When the referee received it, in database time.';
COMMENT ON COLUMN audit.moves.think_ms IS 'Milliseconds since the ply before, the start of the game or a ruling between; outages of the referee included.';
COMMENT ON COLUMN audit.moves.main_left_ms IS 'Main time left to that seat after it, in milliseconds; 0 where the house has none.';
COMMENT ON COLUMN audit.moves.bank_left_ms IS 'Time bank left to that seat after it, in milliseconds; 0 where the house has none.';
COMMENT ON COLUMN audit.moves.extensions_left IS 'Extensions of the turn left to that seat after it.';
COMMENT ON COLUMN audit.moves.submitted_by IS 'Name of the token that submitted it; null for the referee.';

DROP FUNCTION audit.army_placed;
DROP FUNCTION audit.army_placements;
DROP FUNCTION audit.army_flag_stops;
DROP FUNCTION audit.army_stuck;
DROP FUNCTION audit.army_flag;
DROP FUNCTION audit.army_shown;
DROP FUNCTION audit.army_verdict;
CREATE OR REPLACE FUNCTION audit.army_square(number smallint, four_players boolean) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN four_players THEN (string_to_array('C11 C12 C13 C21 C22 C23 C31 C32 C33 S11 S12 S13 S14 S15 S21 S22 S23 S24 S25 S31 S32 S33 S34 S35 S41
        S42 S43 S44 S45 S51 S52 S53 S54 S55 S61 S62 S63 S64 S65 E11 E12 E13 E14 E15 E21 E22 E23 E24 E25 E31
        E32 E33 E34 E35 E41 E42 E43 E44 E45 E51 E52 E53 E54 E55 E61 E62 E63 E64 E65 N11 N12 N13 N14 N15 N21
        N22 N23 N24 N25 N31 N32 N33 N34 N35 N41 N42 N43 N44 N45 N51 N52 N53 N54 N55 N61 N62 N63 N64 N65 W11
        W12 W13 W14 W15 W21 W22 W23 W24 W25 W31 W32 W33 W34 W35 W41 W42 W43 W44 W45 W51 W52 W53 W54 W55 W61
        W62 W63 W64 W65', ' '))[number + 1]
        ELSE chr(65 + number / 5) || (number % 5)::text END;
