-- An analysis holds its snapshot until it has read all that it samples, and what moves
-- leave behind isn't cleared as long: rows no longer fit on their pages then. Of a match
-- only its key and its wake-up are looked for, so few rows tell enough.
ALTER TABLE match_states
    ALTER COLUMN match_id SET STATISTICS 10,
    ALTER COLUMN version SET STATISTICS 0,
    ALTER COLUMN deadline SET STATISTICS 10,
    ALTER COLUMN wake_at SET STATISTICS 10,
    ALTER COLUMN outages_after SET STATISTICS 0,
    ALTER COLUMN state SET STATISTICS 0;
