-- Views for people who ask in SQL, in a schema of their own. A view reads its
-- tables with its owner's rights, so that the role referee_reader sees these
-- columns and nothing else. What is sealed, face down or nobody's business stands
-- in none of them: no seed, no snapshot, no hash, no request id.
CREATE SCHEMA audit;
COMMENT ON SCHEMA audit IS 'Documented views of the history, for people. Read docs/audit-sql.md first.';

-- Days are filtered by in matches, games, moves and totals alike.
CREATE INDEX matches_day ON matches (((created_at AT TIME ZONE 'UTC')::date), platform);

-- The words of the contract behind the numbers that are stored.
CREATE FUNCTION audit.match_status(number smallint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (ARRAY['awaiting_start', 'playing', 'awaiting_ruling', 'complete', 'decided', 'insufficient_stake',
        'abandoned', 'void'])[number];
CREATE FUNCTION audit.game_status(number smallint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (ARRAY['awaiting_start', 'playing', 'awaiting_ruling', 'ended'])[number];
CREATE FUNCTION audit.end_reason(number smallint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN number < 20
        THEN (ARRAY['all_captured', 'fouls', 'no_legal_action', 'repetition', 'idle', 'max_plies'])[number]
        ELSE (ARRAY['resignation', 'time', 'disconnection', 'agreement', 'all_disconnected', 'match_voided',
            'match_abandoned'])[number - 19] END;

-- players_of returns the players of the seats whose bits are set.
CREATE FUNCTION audit.players_of(players text[], seats smallint) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(SELECT players[seat + 1] FROM generate_series(0, cardinality(players) - 1) AS seat
        WHERE seats & (1 << seat) <> 0 ORDER BY seat);

-- The notation of records: squares a1 to d8, pieces KGMRNCP for red, kgmrncp for
-- black, X face down.
CREATE FUNCTION audit.piece(code smallint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN code BETWEEN 1 AND 15 THEN substr('PCNRMGKXpcnrmgk', code, 1) WHEN code > 15 THEN '?' END;
CREATE FUNCTION audit.square(number smallint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN substr('abcd', number % 4 + 1, 1) || (number / 4 + 1)::text;
-- notation writes an action as banqi.FormatAction does; turned may be null.
CREATE FUNCTION audit.notation(action_kind smallint, from_square smallint, to_square smallint, turned smallint)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE action_kind WHEN 1 THEN audit.square(from_square)
            WHEN 2 THEN audit.square(from_square) || '-' || audit.square(to_square)
            WHEN 3 THEN 'stop' END
        || CASE WHEN turned > 0 AND action_kind < 3 THEN '(' || audit.piece(turned) || ')' ELSE '' END;

-- clock_left reads one number of a seat's store of time after an event: 0 main
-- time and 1 bank, both in microseconds, 3 extensions left, 4 expiries. The bytes
-- are the number of seats, then for each a byte telling which of its numbers are
-- not zero, then these as unsigned varints, seven bits a byte, lowest first.
CREATE FUNCTION audit.clock_left(clocks bytea, seat integer, which integer) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT AS $$
DECLARE
    at    integer := 1;
    mask  integer;
    value bigint;
    shift integer;
    part  integer;
BEGIN
    IF octet_length(clocks) = 0 OR seat < 0 OR seat >= get_byte(clocks, 0) THEN
        RETURN NULL;
    END IF;
    FOR s IN 0 .. seat LOOP
        mask := get_byte(clocks, at);
        at := at + 1;
        FOR n IN 0 .. 5 LOOP
            value := 0;
            IF mask & (1 << n) <> 0 THEN
                shift := 0;
                LOOP
                    part := get_byte(clocks, at);
                    at := at + 1;
                    value := value | ((part & 127)::bigint << shift);
                    EXIT WHEN part < 128;
                    shift := shift + 7;
                END LOOP;
            END IF;
            IF s = seat AND n = which THEN
                RETURN value;
            END IF;
        END LOOP;
    END LOOP;
    RETURN NULL;
END $$;

CREATE VIEW audit.matches AS
SELECT m.match_id, (m.created_at AT TIME ZONE 'UTC')::date AS day, m.platform, m.external_ref, m.table_ref, m.ruleset_id,
    m.player_ids, m.stake, m.fee, m.scene_fee, m.disconnection_penalty, audit.match_status(m.status) AS status,
    audit.players_of(m.player_ids, m.winners) AS winner_ids,
    (SELECT count(*) FROM public.games g WHERE g.match_id = m.match_id AND g.started_at IS NOT NULL) AS games,
    m.created_at, m.ended_at, m.end_note
FROM public.matches m;

CREATE VIEW audit.games AS
SELECT g.match_id, g.game, (m.created_at AT TIME ZONE 'UTC')::date AS day, m.platform, m.ruleset_id, m.player_ids, m.stake,
    audit.game_status(g.status) AS status, m.player_ids[g.first_seat + 1] AS first_player_id,
    CASE WHEN g.status = 4 THEN CASE WHEN g.void THEN 'void' WHEN g.winners = 0 THEN 'draw' ELSE 'decided' END END AS result,
    audit.end_reason(g.end_reason) AS ended_by, audit.players_of(m.player_ids, g.winners) AS winner_ids,
    g.plies, g.captures, audit.players_of(m.player_ids, g.disconnected) AS disconnected_ids,
    g.started_at, g.ended_at
FROM public.games g JOIN public.matches m ON m.match_id = g.match_id;

-- What a family shows of a running game is what every viewer of it sees: in dark
-- chess what a ply turned and captured, in any other nothing.
CREATE VIEW audit.moves AS
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

CREATE VIEW audit.settlements AS
SELECT s.settlement_id, s.match_id, s.game, (m.created_at AT TIME ZONE 'UTC')::date AS day, m.platform,
    s.compensates, s.multiple, s.loser_captures, s.settled_at,
    (SELECT sum(l.amount) FROM public.settlement_lines l
        WHERE l.match_id = s.match_id AND l.game = s.game AND l.compensates = s.compensates) AS points
FROM public.settlements s JOIN public.matches m ON m.match_id = s.match_id;

CREATE VIEW audit.settlement_lines AS
SELECT s.settlement_id, l.match_id, l.game, (m.created_at AT TIME ZONE 'UTC')::date AS day, m.platform, l.compensates, l.line,
    nullif(l.payer, '') AS payer_id, nullif(l.payee, '') AS payee_id, l.amount, l.why, s.settled_at
FROM public.settlement_lines l
JOIN public.matches m ON m.match_id = l.match_id
JOIN public.settlements s ON s.match_id = l.match_id AND s.game = l.game AND s.compensates = l.compensates;

CREATE VIEW audit.player_records AS
SELECT platform, player_id, sum(games) AS games, sum(wins) AS wins, sum(losses) AS losses, sum(draws) AS draws,
    sum(voids) AS voids, sum(points_won) AS points_won, sum(points_lost) AS points_lost
FROM (
    SELECT p.platform, p.player_id, 1 AS games,
        (g.winners & (1 << p.seat) <> 0)::integer AS wins,
        (g.winners <> 0 AND g.winners & (1 << p.seat) = 0)::integer AS losses,
        (g.winners = 0 AND NOT g.void)::integer AS draws,
        g.void::integer AS voids, 0::bigint AS points_won, 0::bigint AS points_lost
    FROM public.participants p JOIN public.games g ON g.match_id = p.match_id
    WHERE g.status = 4 AND g.started_at IS NOT NULL
    UNION ALL
    SELECT p.platform, p.player_id, 0, 0, 0, 0, 0,
        CASE WHEN l.payee = p.player_id THEN l.amount ELSE 0 END,
        CASE WHEN l.payer = p.player_id THEN l.amount ELSE 0 END
    FROM public.participants p JOIN public.settlement_lines l ON l.match_id = p.match_id AND p.player_id IN (l.payer, l.payee)
) AS parts
GROUP BY platform, player_id;

CREATE VIEW audit.daily_totals AS
SELECT day, platform, sum(matches) AS matches, sum(games) AS games, sum(plies) AS plies, sum(settlements) AS settlements,
    sum(points) AS points
FROM (
    SELECT (m.created_at AT TIME ZONE 'UTC')::date AS day, m.platform, 1 AS matches, 0 AS games, 0::bigint AS plies,
        0 AS settlements, 0::bigint AS points
    FROM public.matches m
    UNION ALL
    SELECT (m.created_at AT TIME ZONE 'UTC')::date, m.platform, 0, 1, g.plies::bigint, 0, 0::bigint
    FROM public.matches m JOIN public.games g ON g.match_id = m.match_id
    WHERE g.status = 4 AND g.started_at IS NOT NULL
    UNION ALL
    SELECT (m.created_at AT TIME ZONE 'UTC')::date, m.platform, 0, 0, 0::bigint, (l.line = 1)::integer, l.amount
    FROM public.matches m JOIN public.settlement_lines l ON l.match_id = m.match_id
) AS parts
GROUP BY day, platform;

COMMENT ON VIEW audit.matches IS 'One row a match.';
COMMENT ON COLUMN audit.matches.match_id IS 'Id; ids sort by time of creation.';
COMMENT ON COLUMN audit.matches.day IS 'Day (UTC) on which the match was created. The views of games, moves and settlements have the day of their match.';
COMMENT ON COLUMN audit.matches.platform IS 'Platform that the match belongs to.';
COMMENT ON COLUMN audit.matches.external_ref IS 'The platform''s own reference; empty for none.';
COMMENT ON COLUMN audit.matches.table_ref IS 'The platform''s table; empty for none.';
COMMENT ON COLUMN audit.matches.ruleset_id IS 'Preset that it is judged by; empty for a composed ruleset.';
COMMENT ON COLUMN audit.matches.player_ids IS 'Players by seat: the first is seat 0.';
COMMENT ON COLUMN audit.matches.stake IS 'Stake in whole points.';
COMMENT ON COLUMN audit.matches.fee IS 'Fee a game and player, in whole points.';
COMMENT ON COLUMN audit.matches.scene_fee IS 'Scene fee in whole points.';
COMMENT ON COLUMN audit.matches.disconnection_penalty IS 'Penalty of a player who disconnects, in whole points.';
COMMENT ON COLUMN audit.matches.status IS 'awaiting_start, playing, awaiting_ruling; complete, decided, insufficient_stake, abandoned, void once it is over.';
COMMENT ON COLUMN audit.matches.winner_ids IS 'Who won the match; empty while it goes on and for a draw.';
COMMENT ON COLUMN audit.matches.games IS 'Games that were started.';
COMMENT ON COLUMN audit.matches.created_at IS 'When it was created.';
COMMENT ON COLUMN audit.matches.ended_at IS 'When it was over; null while it goes on.';
COMMENT ON COLUMN audit.matches.end_note IS 'What an operator noted on voiding it.';

COMMENT ON VIEW audit.games IS 'One row a game, also one that waits to be started.';
COMMENT ON COLUMN audit.games.match_id IS 'Its match.';
COMMENT ON COLUMN audit.games.game IS 'Number in the match, from 1.';
COMMENT ON COLUMN audit.games.day IS 'Day (UTC) on which the match was created.';
COMMENT ON COLUMN audit.games.platform IS 'Platform of the match.';
COMMENT ON COLUMN audit.games.ruleset_id IS 'Preset that it is judged by; empty for a composed ruleset.';
COMMENT ON COLUMN audit.games.player_ids IS 'Players by seat: the first is seat 0.';
COMMENT ON COLUMN audit.games.stake IS 'Stake in whole points.';
COMMENT ON COLUMN audit.games.status IS 'awaiting_start, playing, awaiting_ruling or ended.';
COMMENT ON COLUMN audit.games.first_player_id IS 'Who moved first; null before the start.';
COMMENT ON COLUMN audit.games.result IS 'decided, draw or void; null until it has ended.';
COMMENT ON COLUMN audit.games.ended_by IS 'How it ended, in the words of records, such as all_captured or time; null until it has.';
COMMENT ON COLUMN audit.games.winner_ids IS 'Who won; empty for a draw, a void game and one that runs.';
COMMENT ON COLUMN audit.games.plies IS 'Plies; null until it has ended.';
COMMENT ON COLUMN audit.games.captures IS 'Pieces captured by each seat; null until it has ended.';
COMMENT ON COLUMN audit.games.disconnected_ids IS 'Players that were reported as gone.';
COMMENT ON COLUMN audit.games.started_at IS 'When it was started; null before.';
COMMENT ON COLUMN audit.games.ended_at IS 'When it ended; null before.';

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

COMMENT ON VIEW audit.settlements IS 'One row for what a game moves, and one more where that was reversed. A game that moves nothing has none.';
COMMENT ON COLUMN audit.settlements.settlement_id IS 'Id by which wallets apply it once.';
COMMENT ON COLUMN audit.settlements.match_id IS 'Its match.';
COMMENT ON COLUMN audit.settlements.game IS 'Its game, from 1.';
COMMENT ON COLUMN audit.settlements.day IS 'Day (UTC) on which the match was created.';
COMMENT ON COLUMN audit.settlements.platform IS 'Platform of the match.';
COMMENT ON COLUMN audit.settlements.compensates IS 'Whether it reverses the game''s other settlement.';
COMMENT ON COLUMN audit.settlements.multiple IS 'How many stakes the game was worth.';
COMMENT ON COLUMN audit.settlements.loser_captures IS 'Pieces that the loser had captured.';
COMMENT ON COLUMN audit.settlements.settled_at IS 'When.';
COMMENT ON COLUMN audit.settlements.points IS 'Sum of its lines in whole points.';

COMMENT ON VIEW audit.settlement_lines IS 'One row a payment of a settlement.';
COMMENT ON COLUMN audit.settlement_lines.settlement_id IS 'Its settlement.';
COMMENT ON COLUMN audit.settlement_lines.match_id IS 'Its match.';
COMMENT ON COLUMN audit.settlement_lines.game IS 'Its game, from 1.';
COMMENT ON COLUMN audit.settlement_lines.day IS 'Day (UTC) on which the match was created.';
COMMENT ON COLUMN audit.settlement_lines.platform IS 'Platform of the match.';
COMMENT ON COLUMN audit.settlement_lines.compensates IS 'Whether its settlement reverses the game''s other one.';
COMMENT ON COLUMN audit.settlement_lines.line IS 'Number in the settlement, from 1.';
COMMENT ON COLUMN audit.settlement_lines.payer_id IS 'Player who pays; null for the house.';
COMMENT ON COLUMN audit.settlement_lines.payee_id IS 'Player who is paid; null for the house.';
COMMENT ON COLUMN audit.settlement_lines.amount IS 'Whole points.';
COMMENT ON COLUMN audit.settlement_lines.why IS 'What for, such as stake or fee.';
COMMENT ON COLUMN audit.settlement_lines.settled_at IS 'When.';

COMMENT ON VIEW audit.player_records IS 'One row a player who has finished a game. Ended games that were started count.';
COMMENT ON COLUMN audit.player_records.platform IS 'Platform of the player.';
COMMENT ON COLUMN audit.player_records.player_id IS 'The player.';
COMMENT ON COLUMN audit.player_records.games IS 'Games: wins, losses, draws and voids together.';
COMMENT ON COLUMN audit.player_records.wins IS 'Games won.';
COMMENT ON COLUMN audit.player_records.losses IS 'Games lost.';
COMMENT ON COLUMN audit.player_records.draws IS 'Games drawn.';
COMMENT ON COLUMN audit.player_records.voids IS 'Void games.';
COMMENT ON COLUMN audit.player_records.points_won IS 'Whole points that settlements paid to the player, compensations included.';
COMMENT ON COLUMN audit.player_records.points_lost IS 'Whole points that settlements took from the player, fees and compensations included.';

COMMENT ON VIEW audit.daily_totals IS 'One row a day and platform; everything counts for the day (UTC) on which its match was created.';
COMMENT ON COLUMN audit.daily_totals.day IS 'The day (UTC).';
COMMENT ON COLUMN audit.daily_totals.platform IS 'The platform.';
COMMENT ON COLUMN audit.daily_totals.matches IS 'Matches created.';
COMMENT ON COLUMN audit.daily_totals.games IS 'Games of these that were started and have ended.';
COMMENT ON COLUMN audit.daily_totals.plies IS 'Plies of those games.';
COMMENT ON COLUMN audit.daily_totals.settlements IS 'Settlements, compensations included.';
COMMENT ON COLUMN audit.daily_totals.points IS 'Whole points that their lines move.';
