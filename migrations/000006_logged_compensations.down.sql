-- Leaves of compensations stay, as everything in the log does; that a game has
-- one leaf at most stays too.
DROP TRIGGER settlements_compensated ON settlements;
DROP FUNCTION queue_compensation;
DROP TABLE made_compensations;
DROP INDEX log_entries_head;
