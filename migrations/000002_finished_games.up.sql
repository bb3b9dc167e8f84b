-- The log of finished games: a Merkle tree with one leaf a game. Endings only
-- queue their game; a sequencer gives it its position, in batches, so that no
-- ending waits for another. Positions span matches: they are the sequencer's.

-- Games that have ended and are not in the log. A set, not a cursor: a slow
-- transaction that ended a game is not passed over, whenever it commits.
CREATE TABLE finished_games (
    match_id uuid     NOT NULL,
    game     smallint NOT NULL,
    CONSTRAINT finished_games_pkey PRIMARY KEY (match_id, game)
);

-- What the log holds, in its order.
CREATE TABLE log_entries (
    position  bigint   NOT NULL, -- from 0, without a gap
    match_id  uuid     NOT NULL,
    game      smallint NOT NULL,
    head_hash bytea    NOT NULL, -- of the game's last event
    CONSTRAINT log_entries_pkey PRIMARY KEY (position),
    CONSTRAINT log_entries_game UNIQUE (match_id, game),
    CONSTRAINT log_entries_position CHECK (position >= 0),
    CONSTRAINT log_entries_head_hash CHECK (octet_length(head_hash) = 32)
);

-- The tree over the entries: the hash of each leaf and of each complete subtree,
-- in the order in which they become complete.
CREATE TABLE log_hashes (
    storage_index bigint NOT NULL, -- from 0, without a gap
    hash          bytea  NOT NULL,
    CONSTRAINT log_hashes_pkey PRIMARY KEY (storage_index),
    CONSTRAINT log_hashes_index CHECK (storage_index >= 0),
    CONSTRAINT log_hashes_hash CHECK (octet_length(hash) = 32)
);

-- The one row that a sequencer advances, by compare-and-set of the size.
CREATE TABLE log_head (
    one         boolean NOT NULL DEFAULT true,
    size        bigint  NOT NULL, -- leaves
    root        bytea   NOT NULL,
    signed_size bigint,           -- of the last checkpoint; null when none was signed
    checkpoint  text,             -- signed note
    epoch       text    NOT NULL, -- log_epoch() of the database that may sign
    CONSTRAINT log_head_pkey PRIMARY KEY (one),
    CONSTRAINT log_head_one CHECK (one),
    CONSTRAINT log_head_size CHECK (size >= 0),
    CONSTRAINT log_head_root CHECK (octet_length(root) = 32),
    CONSTRAINT log_head_signed CHECK ((signed_size IS NULL) = (checkpoint IS NULL) AND signed_size BETWEEN 0 AND size)
) WITH (fillfactor = 10);

-- log_epoch names this life of this database: the server's installation, its
-- timeline, which a promotion or a recovery to a point in time begins anew, the
-- database and the table. The timeline is that of the write-ahead log now: the
-- one in the control file lags behind a promotion until the next checkpoint.
CREATE FUNCTION log_epoch() RETURNS text LANGUAGE sql STABLE
    RETURN (SELECT system_identifier FROM pg_control_system())::text
        || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
        || '/' || (SELECT oid FROM pg_database WHERE datname = current_database())::text
        || '/' || 'log_head'::regclass::oid::text;

-- The empty tree: its root is the hash of nothing (RFC 6962, section 2.1). A
-- copy of the database has another epoch from the beginning.
INSERT INTO log_head (size, root, epoch) VALUES (0, sha256(''), log_epoch());

-- The game is queued by a trigger in its ending's transaction, so that a replica
-- of the version before queues too; with the owner's rights, so that the server's
-- role need not be able to add to the queue.
CREATE FUNCTION queue_finished_game() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO finished_games (match_id, game) VALUES (NEW.match_id, NEW.game);
    RETURN NULL;
END $$;
-- Making the trigger waits for the endings under way and holds up the next: the
-- games that ended before are complete.
CREATE TRIGGER games_finished AFTER UPDATE OF status ON games
    FOR EACH ROW WHEN (OLD.status <> 4 AND NEW.status = 4) EXECUTE FUNCTION queue_finished_game();
INSERT INTO finished_games (match_id, game) SELECT match_id, game FROM games WHERE status = 4;

CREATE TRIGGER log_entries_append_only BEFORE UPDATE OR DELETE ON log_entries
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER log_entries_keep BEFORE TRUNCATE ON log_entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER log_hashes_append_only BEFORE UPDATE OR DELETE ON log_hashes
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER log_hashes_keep BEFORE TRUNCATE ON log_hashes
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
