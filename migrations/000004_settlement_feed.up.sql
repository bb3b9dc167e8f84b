-- The settlements feed: every settlement has one position in its platform's
-- feed, 1, 2, 3 and so on. Settling only queues; a sequencer gives the position
-- out after the commit, so that no settlement waits for another and none is
-- passed over because it committed late. Positions span matches: they are the
-- sequencer's.
BEGIN;

-- Settlements that have no position yet. A set, not a cursor.
CREATE TABLE settlement_queue (
    match_id    uuid     NOT NULL,
    game        smallint NOT NULL,
    compensates boolean  NOT NULL,
    CONSTRAINT settlement_queue_pkey PRIMARY KEY (match_id, game, compensates)
);

CREATE TABLE settlement_feed (
    platform    text     NOT NULL,
    position    bigint   NOT NULL, -- from 1 in each platform, without a gap
    match_id    uuid     NOT NULL,
    game        smallint NOT NULL,
    compensates boolean  NOT NULL,
    CONSTRAINT settlement_feed_pkey PRIMARY KEY (platform, position),
    CONSTRAINT settlement_feed_settlement UNIQUE (match_id, game, compensates),
    CONSTRAINT settlement_feed_position CHECK (position >= 1)
);

-- The last position given out on each platform, which a sequencer advances by
-- compare-and-set.
CREATE TABLE settlement_heads (
    platform text   NOT NULL,
    position bigint NOT NULL,
    CONSTRAINT settlement_heads_pkey PRIMARY KEY (platform),
    CONSTRAINT settlement_heads_position CHECK (position >= 1)
) WITH (fillfactor = 50);

-- By a trigger, in the settling transaction, so that a replica of the version
-- before queues too; with the owner's rights, so that the server's role need not
-- be able to add to the queue.
CREATE FUNCTION queue_settlement() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO settlement_queue (match_id, game, compensates) VALUES (NEW.match_id, NEW.game, NEW.compensates);
    RETURN NULL;
END $$;
-- Making the trigger waits for the settlements under way and holds up the next:
-- those that were settled before are complete.
CREATE TRIGGER settlements_queue AFTER INSERT ON settlements
    FOR EACH ROW EXECUTE FUNCTION queue_settlement();
INSERT INTO settlement_queue (match_id, game, compensates) SELECT match_id, game, compensates FROM settlements;

CREATE TRIGGER settlement_feed_append_only BEFORE UPDATE OR DELETE ON settlement_feed
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER settlement_feed_keep BEFORE TRUNCATE ON settlement_feed
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Which games were incomplete at an instant: those that run now, and of those
-- that have ended the ones whose span covers it. A start and an ending pay for
-- these, a move does not. A game that ended when it started covers no instant.
CREATE INDEX games_incomplete ON games (match_id, game) WHERE started_at IS NOT NULL AND ended_at IS NULL;
CREATE INDEX games_span ON games USING gist (tstzrange(started_at, greatest(started_at, ended_at)))
    WHERE started_at IS NOT NULL AND ended_at IS NOT NULL;

-- Where in the log somebody intervened: rulings (16), compensations (19), voided
-- (20) and abandoned matches (21). What was done stands in the event.
CREATE TABLE interventions (
    match_id   uuid        NOT NULL,
    event_time timestamptz NOT NULL,
    seq        integer     NOT NULL,
    game       smallint    NOT NULL, -- 0 in the log of compensations
    kind       smallint    NOT NULL,
    platform   text        NOT NULL,
    CONSTRAINT interventions_pkey PRIMARY KEY (match_id, game, seq),
    CONSTRAINT interventions_kind CHECK (kind IN (16, 19, 20, 21))
);
CREATE INDEX interventions_of_all ON interventions (kind, event_time, match_id, game, seq);
CREATE INDEX interventions_of_platform ON interventions (platform, kind, event_time, match_id, game, seq);

CREATE FUNCTION note_intervention() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO interventions (match_id, event_time, seq, game, kind, platform)
    SELECT NEW.match_id, NEW.event_time, NEW.seq, NEW.game, NEW.kind, m.platform FROM matches m WHERE m.match_id = NEW.match_id;
    RETURN NULL;
END $$;
-- A trigger for the version before, as above. The condition is judged before
-- anything is queued: an ordinary event pays for a comparison.
CREATE TRIGGER events_intervention AFTER INSERT ON events
    FOR EACH ROW WHEN (NEW.kind IN (16, 19, 20, 21)) EXECUTE FUNCTION note_intervention();

CREATE TRIGGER interventions_append_only BEFORE UPDATE OR DELETE ON interventions
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER interventions_keep BEFORE TRUNCATE ON interventions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
COMMIT;

-- Apart, because it reads the whole log: moves must not wait for that. What came
-- in between is there already.
INSERT INTO interventions (match_id, event_time, seq, game, kind, platform)
SELECT e.match_id, e.event_time, e.seq, e.game, e.kind, m.platform
FROM events e JOIN matches m ON m.match_id = e.match_id WHERE e.kind IN (16, 19, 20, 21)
ON CONFLICT (match_id, game, seq) DO NOTHING;
