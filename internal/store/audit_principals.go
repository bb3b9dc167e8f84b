package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"referee.example/internal/referee"
	"referee.example/internal/tlog"
)

// sqlAuditInterventions has beside each intervention the name of who made it.
// Those whose month was detached from the log can't be told.
const sqlAuditInterventions = `
SELECT i.match_id, i.game, i.seq, e.kind, e.principal, e.detail, p.name
FROM interventions i JOIN events e ON e.match_id = i.match_id AND e.game = i.game AND e.seq = i.seq
LEFT JOIN principals p ON p.principal_id = e.principal
WHERE (i.match_id, i.game, i.seq) > ($1, $2::smallint, $3::integer) ORDER BY i.match_id, i.game, i.seq LIMIT $4`

// principals looks for interventions whose operator has no name, or another than
// the log keeps of a compensation. They are what two operators answer for and what
// is listed by name; of ordinary moves each match's verification tells.
func (r *logAudit) principals(ctx context.Context) error {
	var e referee.Event
	match, name := pgtype.UUID{Valid: true}, (*string)(nil)
	for read := auditPage; read == auditPage; {
		rows, err := r.store.pool.Query(ctx, sqlAuditInterventions, match, e.Game, e.Seq, auditPage)
		if err != nil {
			return err
		}
		read = 0
		_, err = pgx.ForEachRow(rows, []any{&match, &e.Game, &e.Seq, &e.Kind, &e.Principal, &e.Detail, &name}, func() error {
			read++
			r.principal(referee.ID(match.Bytes), &e, name)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *logAudit) principal(match referee.ID, e *referee.Event, name *string) {
	where := fmt.Sprintf("event %d of game %d of match %s", e.Seq, e.Game, match)
	if name == nil {
		r.tree.Find(tlog.NoPosition, "principals", fmt.Sprintf("the name of principal %d, who made %s", e.Principal, where), "none")
		return
	}
	if e.Kind != referee.EventCompensation {
		return
	}
	if d, err := e.Compensation(); err == nil && d.Operator != "" && d.Operator != *name {
		r.tree.Find(tlog.NoPosition, "principals", fmt.Sprintf("%q as principal %d, who made %s", d.Operator, e.Principal, where), fmt.Sprintf("%q", *name))
	}
}
