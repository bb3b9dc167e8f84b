-- Compensations enter the log of finished games too: a leaf of game 0 for each
-- that is made, with the head of the match's log of compensations then. A game
-- still has one leaf at most; the log of compensations has one for each head.
ALTER TABLE log_entries DROP CONSTRAINT IF EXISTS log_entries_game;
DROP INDEX IF EXISTS log_entries_game; -- what the way down leaves in its place
CREATE UNIQUE INDEX log_entries_game ON log_entries (match_id, game) WHERE game > 0;
CREATE UNIQUE INDEX log_entries_head ON log_entries (match_id, game, head_hash);

-- Compensations that were made and are not in the log. A queue of its own: a
-- replica of the version before would take a row of the other for a game.
CREATE TABLE made_compensations (
    match_id  uuid     NOT NULL,
    game      smallint NOT NULL, -- whose settlement was compensated
    head_hash bytea    NOT NULL, -- of the event that made it
    CONSTRAINT made_compensations_pkey PRIMARY KEY (match_id, game),
    CONSTRAINT made_compensations_head_hash CHECK (octet_length(head_hash) = 32)
);

-- In the transaction that makes the compensation, whose event is the last of the
-- match's log then.
CREATE FUNCTION queue_compensation() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO made_compensations (match_id, game, head_hash)
    SELECT NEW.match_id, NEW.game, e.hash FROM events e
    WHERE e.match_id = NEW.match_id AND e.game = 0 ORDER BY e.seq DESC LIMIT 1;
    RETURN NULL;
END $$;
CREATE TRIGGER settlements_compensated AFTER INSERT ON settlements
    FOR EACH ROW WHEN (NEW.compensates) EXECUTE FUNCTION queue_compensation();

-- Those made before: the settlement has the time of its event. One whose head the
-- log has already stays out, so that going down and up again logs nothing twice.
INSERT INTO made_compensations (match_id, game, head_hash)
SELECT s.match_id, s.game, e.hash FROM settlements s CROSS JOIN LATERAL (
    SELECT hash FROM events WHERE match_id = s.match_id AND game = 0 AND event_time = s.settled_at ORDER BY seq DESC LIMIT 1
) e
WHERE s.compensates AND NOT EXISTS (
    SELECT FROM log_entries l WHERE l.match_id = s.match_id AND l.game = 0 AND l.head_hash = e.hash);
