-- The schema of the match referee. Every key of what belongs to a match begins
-- with match_id, a UUIDv7 minted from database time; no foreign key and no
-- sequence spans matches, so that the tables shard by match. The exceptions are
-- those that find a match (create_requests, external_refs, participants) and
-- those that belong to none (rulesets, principals, heartbeat, outages).
-- Numbers of kinds, statuses and reasons are those of the contract.

-- The whole ruleset that matches are judged by, once each content.
CREATE TABLE rulesets (
    ruleset_hash bytea       NOT NULL,
    ruleset_id   text        NOT NULL, -- the preset's; empty for a composed one
    content      text        NOT NULL, -- canonical JSON; ruleset_hash is its SHA-256
    created_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT rulesets_pkey PRIMARY KEY (ruleset_hash),
    CONSTRAINT rulesets_hash CHECK (ruleset_hash = sha256(convert_to(content, 'UTF8')))
);

-- What stays of a match: written at its creation and when a game starts, ends
-- or waits for a ruling, never by an ordinary move.
CREATE TABLE matches (
    match_id              uuid        NOT NULL,
    created_at            timestamptz NOT NULL,
    ended_at              timestamptz,
    stake                 bigint      NOT NULL, -- whole points, as all amounts
    fee                   bigint      NOT NULL,
    scene_fee             bigint      NOT NULL,
    disconnection_penalty bigint      NOT NULL,
    engine_version        integer     NOT NULL,
    status                smallint    NOT NULL,
    winners               smallint    NOT NULL DEFAULT 0, -- bit n for seat n
    first_seat            smallint    NOT NULL, -- -1 where a comparison decides
    platform              text        NOT NULL,
    external_ref          text        NOT NULL, -- empty for none
    table_ref             text        NOT NULL, -- empty for none
    ruleset_id            text        NOT NULL,
    ruleset_hash          bytea       NOT NULL,
    player_ids            text[]      NOT NULL, -- by seat, from 0
    end_note              text        NOT NULL DEFAULT '',
    CONSTRAINT matches_pkey PRIMARY KEY (match_id),
    CONSTRAINT matches_amounts CHECK (stake >= 0 AND fee >= 0 AND scene_fee >= 0 AND disconnection_penalty >= 0),
    CONSTRAINT matches_status CHECK (status BETWEEN 1 AND 8),
    CONSTRAINT matches_ended CHECK ((status >= 4) = (ended_at IS NOT NULL)),
    CONSTRAINT matches_players CHECK (array_ndims(player_ids) = 1 AND cardinality(player_ids) BETWEEN 2 AND 4),
    CONSTRAINT matches_first_seat CHECK (first_seat BETWEEN -1 AND cardinality(player_ids) - 1),
    CONSTRAINT matches_ruleset_hash CHECK (octet_length(ruleset_hash) = 32)
);
CREATE INDEX matches_platform ON matches (platform, match_id);

-- The one row of a match that every move rewrites. No index covers a column that
-- an ordinary move changes, and each page keeps room, so that the new row stays
-- on the page of the old one (a heap-only update).
CREATE TABLE match_states (
    match_id      uuid        NOT NULL,
    version       bigint      NOT NULL, -- commits so far; guards the next one
    deadline      timestamptz,          -- of the running turn; null while no clock runs
    -- When the sweep looks at the match: at the deadline or earlier. A move brings
    -- it forward only; the sweep alone puts it off.
    wake_at       timestamptz,
    -- Outages that ended after this instant concern the running turn; null while
    -- no clock runs.
    outages_after timestamptz,
    state         bytea       NOT NULL, -- the referee's versioned snapshot
    CONSTRAINT match_states_pkey PRIMARY KEY (match_id),
    CONSTRAINT match_states_version CHECK (version > 0),
    CONSTRAINT match_states_running CHECK ((deadline IS NULL) = (outages_after IS NULL)),
    CONSTRAINT match_states_wake CHECK (deadline IS NULL OR wake_at IS NOT NULL AND wake_at <= deadline)
) WITH (fillfactor = 70);
CREATE INDEX match_states_wake_at ON match_states (wake_at) WHERE wake_at IS NOT NULL;

-- A game: its row comes with the commitment to its deal, in the commit that
-- creates the match or ends the game before.
CREATE TABLE games (
    match_id     uuid        NOT NULL,
    game         smallint    NOT NULL, -- from 1
    status       smallint    NOT NULL,
    commitment   bytea       NOT NULL,
    sealed_seed  bytea       NOT NULL, -- encrypted under a key that is not here
    -- From the start on:
    started_at   timestamptz,
    first_seat   smallint,
    balances     bigint[],
    hold_ids     text[],               -- empty where the platform named none
    player_seeds bytea[],              -- empty where no player gave one
    root         bytea,                -- of the tree over the salted squares
    -- From the end on; captures only if it was started:
    ended_at     timestamptz,
    end_reason   smallint,
    winners      smallint,             -- bit n for seat n
    void         boolean,
    first_ply    integer,              -- with last_ply, the plies that prove the ending
    last_ply     integer,
    plies        integer,
    captures     smallint[],           -- by seat
    disconnected smallint,             -- bit n for seat n
    server_seed  bytea,                -- revealed
    head_hash    bytea,                -- of the last event
    CONSTRAINT games_pkey PRIMARY KEY (match_id, game),
    CONSTRAINT games_match FOREIGN KEY (match_id) REFERENCES matches,
    CONSTRAINT games_number CHECK (game >= 1),
    CONSTRAINT games_status CHECK (status BETWEEN 1 AND 4),
    CONSTRAINT games_commitment CHECK (octet_length(commitment) = 32),
    CONSTRAINT games_started CHECK (
        num_nulls(started_at, first_seat, balances, hold_ids, player_seeds, root) IN (0, 6)
        AND CASE status WHEN 1 THEN started_at IS NULL WHEN 4 THEN true ELSE started_at IS NOT NULL END),
    CONSTRAINT games_ended CHECK (
        num_nulls(ended_at, end_reason, winners, void, first_ply, last_ply, plies, disconnected, server_seed, head_hash)
            = CASE status WHEN 4 THEN 0 ELSE 10 END
        AND (captures IS NOT NULL) = (status = 4 AND started_at IS NOT NULL)),
    CONSTRAINT games_void CHECK (NOT (void AND winners <> 0))
);

-- The log: append-only, a row an event, partitioned by the month in which the
-- match was created. The hash of the event before is the row before. Columns
-- stand in the order that pads least; empty bytes stand for none, because a
-- null would give every row a bitmap.
CREATE TABLE events (
    match_id    uuid        NOT NULL,
    event_time  timestamptz NOT NULL,
    seq         integer     NOT NULL, -- from 1 in each game, without a gap
    ply         integer     NOT NULL, -- plies of the game after the event
    principal   integer     NOT NULL, -- who submitted it; 0 for the referee
    game        smallint    NOT NULL, -- 0 for the match's log of compensations
    seat        smallint    NOT NULL, -- -1 for none
    kind        smallint    NOT NULL,
    action_kind smallint    NOT NULL, -- 0 for none
    from_square smallint    NOT NULL,
    to_square   smallint    NOT NULL,
    turned      smallint    NOT NULL, -- piece; 0 for none
    captured    smallint    NOT NULL, -- piece; 0 for none
    request_id  uuid,                 -- null for events of the referee
    clocks      bytea       NOT NULL, -- stores of time after the event
    client_hash bytea       NOT NULL,
    detail      bytea       NOT NULL, -- what further belongs to the kind
    hash        bytea       NOT NULL,
    CONSTRAINT events_pkey PRIMARY KEY (match_id, game, seq),
    CONSTRAINT events_numbers CHECK (game >= 0 AND seq >= 1 AND ply >= 0),
    CONSTRAINT events_kind CHECK (kind BETWEEN 1 AND 21 AND (kind = 19) = (game = 0)),
    CONSTRAINT events_hash CHECK (octet_length(hash) = 32)
) PARTITION BY RANGE (match_id);

-- What a game moves. One row a game that moves anything, and one more when a
-- compensation reverses it.
CREATE TABLE settlements (
    match_id       uuid        NOT NULL,
    game           smallint    NOT NULL,
    compensates    boolean     NOT NULL,
    settlement_id  uuid        NOT NULL, -- a hash of the three above
    multiple       bigint      NOT NULL, -- of the stake
    loser_captures smallint    NOT NULL,
    settled_at     timestamptz NOT NULL,
    CONSTRAINT settlements_pkey PRIMARY KEY (match_id, game, compensates),
    CONSTRAINT settlements_game FOREIGN KEY (match_id, game) REFERENCES games
);

CREATE TABLE settlement_lines (
    match_id    uuid     NOT NULL,
    game        smallint NOT NULL,
    compensates boolean  NOT NULL,
    line        smallint NOT NULL, -- from 1
    payer       text     NOT NULL, -- player id; empty for the house
    payee       text     NOT NULL,
    amount      bigint   NOT NULL, -- whole points
    why         text     NOT NULL,
    CONSTRAINT settlement_lines_pkey PRIMARY KEY (match_id, game, compensates, line),
    CONSTRAINT settlement_lines_settlement FOREIGN KEY (match_id, game, compensates) REFERENCES settlements,
    CONSTRAINT settlement_lines_line CHECK (line >= 1),
    CONSTRAINT settlement_lines_accounts CHECK (payer <> payee),
    CONSTRAINT settlement_lines_amount CHECK (amount > 0)
);

-- Which matches a player sat in, for lists that begin with the newest.
CREATE TABLE participants (
    platform  text     NOT NULL,
    player_id text     NOT NULL,
    match_id  uuid     NOT NULL,
    seat      smallint NOT NULL,
    CONSTRAINT participants_pkey PRIMARY KEY (platform, player_id, match_id)
);

-- Which match a CreateMatch request made.
CREATE TABLE create_requests (
    platform    text  NOT NULL,
    request_id  uuid  NOT NULL,
    match_id    uuid  NOT NULL,
    fingerprint bytea NOT NULL, -- of the request's content
    CONSTRAINT create_requests_pkey PRIMARY KEY (platform, request_id)
);

-- The platforms' own references, each once.
CREATE TABLE external_refs (
    platform     text NOT NULL,
    external_ref text NOT NULL,
    match_id     uuid NOT NULL,
    CONSTRAINT external_refs_pkey PRIMARY KEY (platform, external_ref),
    CONSTRAINT external_refs_named CHECK (external_ref <> '')
);

-- Small numbers for the names of tokens, so that an event can say who sent it.
CREATE TABLE principals (
    principal_id integer GENERATED ALWAYS AS IDENTITY,
    name         text NOT NULL,
    CONSTRAINT principals_pkey PRIMARY KEY (principal_id),
    CONSTRAINT principals_name UNIQUE (name)
);

-- When any replica was last alive. Its one row is there from the beginning.
CREATE TABLE heartbeat (
    one     boolean     NOT NULL DEFAULT true,
    beat_at timestamptz,
    CONSTRAINT heartbeat_pkey PRIMARY KEY (one),
    CONSTRAINT heartbeat_one CHECK (one)
) WITH (fillfactor = 10);
INSERT INTO heartbeat DEFAULT VALUES;

-- Times in which no replica was alive: clocks do not run in them.
CREATE TABLE outages (
    from_at  timestamptz NOT NULL,
    until_at timestamptz NOT NULL,
    CONSTRAINT outages_pkey PRIMARY KEY (until_at),
    CONSTRAINT outages_order CHECK (from_at < until_at)
);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'table % is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE ON events
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER events_keep BEFORE TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER settlements_append_only BEFORE UPDATE OR DELETE ON settlements
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER settlements_keep BEFORE TRUNCATE ON settlements
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER settlement_lines_append_only BEFORE UPDATE OR DELETE ON settlement_lines
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER settlement_lines_keep BEFORE TRUNCATE ON settlement_lines
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- require_saved makes a commit's whole transaction fail unless the match was
-- saved, so that no write after it needs a guard of its own. The SQLSTATE carries
-- the verdict.
CREATE FUNCTION require_saved(verdict integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    IF verdict <> 0 THEN
        RAISE EXCEPTION 'the match was not saved' USING ERRCODE = 'RF00' || verdict;
    END IF;
    RETURN verdict;
END $$;

-- first_match_id returns the lowest UUIDv7 of an instant: 48 bits of Unix
-- milliseconds, then zeros.
CREATE FUNCTION first_match_id(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE
    RETURN rpad(lpad(to_hex(floor(extract(epoch FROM at) * 1000)::bigint), 12, '0'), 32, '0')::uuid;

CREATE FUNCTION events_partition(month timestamptz) RETURNS text LANGUAGE sql STABLE
    RETURN 'events_' || to_char(month AT TIME ZONE 'UTC', 'YYYY_MM');

-- ensure_events_partitions makes what is missing of the log's partitions from
-- the month (UTC) of the instant on, and returns how many it made.
CREATE FUNCTION ensure_events_partitions(first timestamptz, months integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    month timestamptz;
    made  integer := 0;
BEGIN
    -- One at a time: two callers would both find a partition missing.
    LOCK TABLE events IN SHARE UPDATE EXCLUSIVE MODE;
    FOR n IN 0 .. months - 1 LOOP
        month := (date_trunc('month', first AT TIME ZONE 'UTC') + make_interval(months => n)) AT TIME ZONE 'UTC';
        CONTINUE WHEN to_regclass(events_partition(month)) IS NOT NULL;
        -- Made apart and attached, which does not stop the moves being logged.
        EXECUTE format('CREATE TABLE %I (LIKE events INCLUDING CONSTRAINTS)', events_partition(month));
        EXECUTE format('ALTER TABLE events ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', events_partition(month),
            first_match_id(month),
            first_match_id((month AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC'));
        EXECUTE format('CREATE TRIGGER events_keep BEFORE TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()',
            events_partition(month));
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;

-- The month before is for matches minted just before a month ended.
SELECT ensure_events_partitions(now() - interval '1 month', 15);
