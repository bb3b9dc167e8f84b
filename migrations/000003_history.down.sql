DROP TRIGGER games_ended ON games;
DROP TRIGGER matches_pairs ON matches;
DROP FUNCTION add_ended_game();
DROP FUNCTION game_result(smallint, boolean);
DROP FUNCTION add_pairs();
DROP INDEX matches_ended_as, matches_live, matches_table, matches_ruleset;
DROP TABLE ended_games;
DROP TABLE pairs;
