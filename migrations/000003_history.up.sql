-- What lists of the history are driven by: for each question the referee answers
-- there is one index that begins with its equalities and ends in the match id, so
-- that a page reads the same however much there is and however far back it lies.
-- Ordinary moves write nothing of this.

-- Creations touch matches before games, endings games before matches: whoever
-- waits for one holding the other could deadlock with either. So the second lock
-- is not waited for; the first is let go and both are tried again.
DO $$
DECLARE
    began timestamptz := clock_timestamp();
BEGIN
    WHILE clock_timestamp() < began + interval '10 seconds' LOOP
        BEGIN
            LOCK TABLE matches IN SHARE ROW EXCLUSIVE MODE;
            LOCK TABLE games IN SHARE ROW EXCLUSIVE MODE NOWAIT;
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.05);
        END;
    END LOOP;
    RAISE EXCEPTION 'matches and games are in use' USING ERRCODE = 'lock_not_available';
END $$;

-- Which matches two players sat in together, each pair of seats once. The order
-- of the two is that of their bytes.
CREATE TABLE pairs (
    platform       text NOT NULL,
    low_player_id  text COLLATE "C" NOT NULL,
    high_player_id text COLLATE "C" NOT NULL,
    match_id       uuid NOT NULL,
    CONSTRAINT pairs_pkey PRIMARY KEY (platform, low_player_id, high_player_id, match_id),
    CONSTRAINT pairs_order CHECK (low_player_id < high_player_id)
);

-- How the games that had been started ended.
CREATE TABLE ended_games (
    match_id   uuid     NOT NULL,
    game       smallint NOT NULL,
    end_reason smallint NOT NULL,
    result     smallint NOT NULL, -- 1 decided, 2 drawn, 3 void
    platform   text     NOT NULL,
    CONSTRAINT ended_games_pkey PRIMARY KEY (platform, end_reason, match_id, game),
    CONSTRAINT ended_games_result CHECK (result BETWEEN 1 AND 3)
);
-- Most games are decided; that does not narrow a list by much.
CREATE INDEX ended_games_undecided ON ended_games (platform, result, match_id, game) WHERE result > 1;

CREATE INDEX matches_ruleset ON matches (platform, ruleset_id, match_id);
CREATE INDEX matches_table ON matches (platform, table_ref, match_id) WHERE table_ref <> '';
CREATE INDEX matches_live ON matches (match_id) WHERE status < 4;
CREATE INDEX matches_ended_as ON matches (platform, status, match_id) WHERE status >= 4;

-- Both tables are filled by triggers, so that a replica of the version before
-- fills them too; with the owner's rights, so that the server's role need not be
-- able to write there.
CREATE FUNCTION add_pairs() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO pairs (platform, low_player_id, high_player_id, match_id)
    SELECT NEW.platform, low.player, high.player, NEW.match_id
    FROM unnest(NEW.player_ids) low (player)
    JOIN unnest(NEW.player_ids) high (player) ON low.player < high.player COLLATE "C";
    RETURN NULL;
END $$;
CREATE TRIGGER matches_pairs AFTER INSERT ON matches FOR EACH ROW EXECUTE FUNCTION add_pairs();
INSERT INTO pairs (platform, low_player_id, high_player_id, match_id)
SELECT m.platform, low.player, high.player, m.match_id
FROM matches m CROSS JOIN unnest(m.player_ids) low (player)
JOIN unnest(m.player_ids) high (player) ON low.player < high.player COLLATE "C";

CREATE FUNCTION game_result(winners smallint, void boolean) RETURNS smallint LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN void THEN 3 WHEN winners = 0 THEN 2 ELSE 1 END;

CREATE FUNCTION add_ended_game() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO ended_games (match_id, game, end_reason, result, platform)
    SELECT NEW.match_id, NEW.game, NEW.end_reason, game_result(NEW.winners, NEW.void), m.platform
    FROM matches m WHERE m.match_id = NEW.match_id;
    RETURN NULL;
END $$;
CREATE TRIGGER games_ended AFTER UPDATE OF status ON games FOR EACH ROW
    WHEN (OLD.status <> 4 AND NEW.status = 4 AND NEW.started_at IS NOT NULL) EXECUTE FUNCTION add_ended_game();
INSERT INTO ended_games (match_id, game, end_reason, result, platform)
SELECT g.match_id, g.game, g.end_reason, game_result(g.winners, g.void), m.platform
FROM games g JOIN matches m ON m.match_id = g.match_id
WHERE g.status = 4 AND g.started_at IS NOT NULL;
