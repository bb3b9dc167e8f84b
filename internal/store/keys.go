package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"referee.example/internal/deal"
)

// sqlRecentSeeds reads the newest matches by their key: no index tells which
// games are unfinished, and a match is played within the hour it was created in.
const sqlRecentSeeds = `SELECT match_id, game, sealed_seed FROM games ORDER BY match_id DESC, game DESC LIMIT 1000`

// SealedSeed is a game's seed as it is stored, and whose it is.
type SealedSeed struct {
	deal.Context
	Sealed []byte
}

// RecentSeeds returns, of the newest thousand games, the newest that is sealed
// under each key, by the key's id: a replica needs those keys to play on.
func (s *Store) RecentSeeds(ctx context.Context) (map[string]SealedSeed, error) {
	rows, err := s.pool.Query(ctx, sqlRecentSeeds)
	if err != nil {
		return nil, wrap("read sealed seeds", err)
	}
	newest := map[string]SealedSeed{}
	var match [16]byte
	var game int16
	var sealed []byte
	_, err = pgx.ForEachRow(rows, []any{&match, &game, &sealed}, func() error {
		id, err := deal.KeyID(sealed)
		if _, known := newest[id]; err != nil || known {
			return err
		}
		newest[id] = SealedSeed{deal.Context{MatchID: match, Game: uint16(game)}, append([]byte(nil), sealed...)}
		return nil
	})
	return newest, wrap("read sealed seeds", err)
}
