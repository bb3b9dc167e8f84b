CREATE TABLE replicas (
    replica_id uuid PRIMARY KEY,
    seen_time  timestamptz NOT NULL
);
