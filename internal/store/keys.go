package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/deal"
)

// sqlRecentSeeds reads the newest matches by their key: no index tells which
// games are unfinished, and a match is played within the hour it was created in.
const sqlRecentSeeds = `SELECT sealed_seed FROM games ORDER BY match_id DESC, game DESC LIMIT 1000`

// RecentKeyIDs returns the ids of the keys that the newest thousand games are
// sealed under, each once: those a replica needs to play on.
func (s *Store) RecentKeyIDs(ctx context.Context) ([]string, error) {
	rows, err := s.pool.Query(ctx, sqlRecentSeeds)
	if err != nil {
		return nil, wrap("read sealed seeds", err)
	}
	seeds, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return nil, wrap("read sealed seeds", err)
	}
	var ids []string
	seen := map[string]bool{}
	for _, sealed := range seeds {
		id, err := deal.KeyID(sealed)
		if err != nil {
			return nil, wrap("read sealed seeds", err)
		}
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids, nil
}
