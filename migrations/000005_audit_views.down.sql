DROP SCHEMA audit CASCADE;
DROP INDEX matches_day;
-- Months that were taken out of the log belong to its data too.
DO $$
DECLARE
    month regclass;
BEGIN
    FOR month IN SELECT c.oid::regclass FROM pg_class c
        WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'events'::regclass)
            AND c.relkind = 'r' AND NOT c.relispartition AND c.relname ~ '^events_[0-9]{4}_(0[1-9]|1[0-2])$'
    LOOP
        EXECUTE format('DROP TABLE %s', month);
    END LOOP;
END $$;
