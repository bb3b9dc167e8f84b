-- This can't be taken back while there are events or games of army chess.
-- What a family shows of a running game is what every viewer of it sees: in dark
-- chess what a ply turned and captured, in any other nothing.
CREATE OR REPLACE VIEW audit.moves AS
SELECT e.match_id, e.game, e.ply, (m.created_at AT TIME ZONE 'UTC')::date AS day, m.platform,
    e.seat, m.player_ids[e.seat + 1] AS player_id, e.kind = 4 AS by_server,
    audit.notation(e.action_kind, e.from_square, e.to_square, shown.turned) AS action,
    audit.piece(shown.turned) AS turned, audit.piece(shown.captured) AS captured,
    e.event_time AS played_at,
    (extract(epoch FROM e.event_time - (SELECT b.event_time FROM public.events b
        WHERE b.match_id = e.match_id AND b.game = e.game AND b.seq < e.seq AND b.kind IN (2, 3, 4, 16)
        ORDER BY b.seq DESC LIMIT 1)) * 1000)::bigint AS think_ms,
    audit.clock_left(e.clocks, e.seat, 0) / 1000 AS main_left_ms,
    audit.clock_left(e.clocks, e.seat, 1) / 1000 AS bank_left_ms,
    audit.clock_left(e.clocks, e.seat, 3) AS extensions_left,
    p.name AS submitted_by
FROM public.events e
JOIN public.matches m ON m.match_id = e.match_id
LEFT JOIN public.games g ON g.match_id = e.match_id AND g.game = e.game
LEFT JOIN public.principals p ON p.principal_id = e.principal
CROSS JOIN LATERAL (SELECT CASE WHEN open.to_all THEN e.turned END AS turned, CASE WHEN open.to_all THEN e.captured END AS captured
    FROM (SELECT g.status = 4 OR EXISTS (SELECT FROM public.rulesets r
        WHERE r.ruleset_hash = m.ruleset_hash AND r.content::jsonb ? 'dark_chess') AS to_all) AS open) AS shown
WHERE e.kind IN (3, 4);

DROP FUNCTION audit.army_notation;
DROP FUNCTION audit.army_piece;
DROP FUNCTION audit.army_square;
CREATE OR REPLACE FUNCTION audit.game_status(number smallint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (ARRAY['awaiting_start', 'playing', 'awaiting_ruling', 'ended'])[number];
CREATE OR REPLACE FUNCTION audit.end_reason(number smallint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN number < 20
        THEN (ARRAY['all_captured', 'fouls', 'no_legal_action', 'repetition', 'idle', 'max_plies'])[number]
        ELSE (ARRAY['resignation', 'time', 'disconnection', 'agreement', 'all_disconnected', 'match_voided',
            'match_abandoned'])[number - 19] END;
ALTER TABLE games DROP CONSTRAINT games_status, ADD CONSTRAINT games_status CHECK (status BETWEEN 1 AND 4);
ALTER TABLE events DROP CONSTRAINT events_kind,
    ADD CONSTRAINT events_kind CHECK (kind BETWEEN 1 AND 21 AND (kind = 19) = (game = 0));
