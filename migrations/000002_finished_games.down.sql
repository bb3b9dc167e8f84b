DROP TRIGGER games_finished ON games;
DROP FUNCTION queue_finished_game;
DROP FUNCTION log_epoch;
DROP TABLE log_head;
DROP TABLE log_hashes;
DROP TABLE log_entries;
DROP TABLE finished_games;
