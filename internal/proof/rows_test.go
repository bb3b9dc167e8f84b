package proof

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// tables lists the tables that calls write to: all but the partitions of the
// events, which their own table shows, what tells that replicas live, what
// sequencers write in their own time, and the note of the migrations.
func (h *house) tables() []string {
	h.t.Helper()
	rows, err := h.pool.Query(h.ctx, `
SELECT c.relname FROM pg_class c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
	AND c.relname NOT IN ('heartbeat', 'outages', 'finished_games', 'made_compensations', 'log_entries', 'log_hashes', 'log_head',
		'settlement_queue', 'settlement_feed', 'settlement_heads', 'schema_migrations')
ORDER BY 1`)
	must(h.t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(h.t, err)
	if !slices.Contains(names, "events") || !slices.Contains(names, "settlements") {
		h.t.Fatalf("the tables are %v", names)
	}
	return names
}

// everything returns every row of every table as text: counts, versions and
// contents.
func (h *house) everything() string {
	h.t.Helper()
	var out strings.Builder
	for _, table := range h.tables() {
		rows, err := h.pool.Query(h.ctx, fmt.Sprintf("SELECT t::text FROM %s t ORDER BY 1", pgx.Identifier{table}.Sanitize()))
		must(h.t, err)
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(h.t, err)
		fmt.Fprintf(&out, "%s: %d rows\n%s\n", table, len(texts), strings.Join(texts, "\n"))
	}
	return out.String()
}

// none fails with the rows that a query of faults returns.
func (h *house) none(fault, query string, arguments ...any) {
	h.t.Helper()
	rows, err := h.pool.Query(h.ctx, query, arguments...)
	must(h.t, err)
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		values, err := row.Values()
		return fmt.Sprint(values...), err
	})
	must(h.t, err)
	if len(found) > 0 {
		h.t.Errorf("%s: %d rows, such as %s", fault, len(found), strings.Join(found[:min(len(found), 5)], "; "))
	}
}

// consistent checks what must hold in any database at any time: every log is
// dense, a request stands in it once, an ended game has one ending, and what a
// decided game moved is there once and moves nothing but points.
func (h *house) consistent() {
	h.t.Helper()
	h.none("a log with a gap", `
SELECT match_id, game, count(*), max(seq) FROM events GROUP BY 1, 2 HAVING count(*) <> max(seq) OR min(seq) <> 1`)
	h.none("plies with a gap", `
SELECT match_id, game, count(*), max(ply) FROM events WHERE kind IN (3, 4)
GROUP BY 1, 2 HAVING count(*) <> max(ply) OR min(ply) <> 1 OR count(DISTINCT ply) <> count(*)`)
	h.none("a request twice", `
SELECT match_id, request_id, count(*) FROM events WHERE request_id IS NOT NULL GROUP BY 1, 2 HAVING count(*) > 1`)
	h.none("a game whose row and log disagree on its end", `
SELECT g.match_id, g.game, g.status, count(e.seq) FROM games g
LEFT JOIN events e ON e.match_id = g.match_id AND e.game = g.game AND e.kind = 17
GROUP BY 1, 2, 3 HAVING count(e.seq) <> CASE WHEN g.status = 4 AND g.started_at IS NOT NULL THEN 1 ELSE 0 END`)
	h.none("a decided game without its settlement, or another one with", `
SELECT g.match_id, g.game FROM games g
LEFT JOIN settlements s ON s.match_id = g.match_id AND s.game = g.game AND NOT s.compensates
WHERE (s.match_id IS NOT NULL) <> (g.status = 4 AND g.winners <> 0)`)
	h.none("a settlement whose stake does not go from the loser to the winner", `
SELECT s.match_id, s.game, l.payer, l.payee, l.amount FROM settlements s
JOIN games g USING (match_id, game) JOIN matches m USING (match_id)
LEFT JOIN settlement_lines l ON l.match_id = s.match_id AND l.game = s.game AND NOT l.compensates AND l.why = 'stake'
WHERE NOT s.compensates AND (l.line IS NULL OR l.amount <> m.stake * s.multiple
	OR l.payee <> m.player_ids[CASE g.winners WHEN 1 THEN 1 WHEN 2 THEN 2 END]
	OR l.payer <> m.player_ids[CASE g.winners WHEN 1 THEN 2 WHEN 2 THEN 1 END])`)
	h.none("a settlement that does not sum to zero", `
SELECT match_id, game, sum(points) FROM (
	SELECT match_id, game, payee AS account, amount AS points FROM settlement_lines
	UNION ALL SELECT match_id, game, payer, -amount FROM settlement_lines) moved
GROUP BY 1, 2 HAVING sum(points) <> 0`)
}
