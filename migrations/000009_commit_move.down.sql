DROP FUNCTION commit_move;
