package store

import (
	"context"
	"errors"

	"referee.example/internal/referee"
)

const (
	sqlPrincipal      = `SELECT principal_id FROM principals WHERE name = $1`
	sqlAddPrincipal   = `INSERT INTO principals (name) VALUES ($1) ON CONFLICT (name) DO NOTHING`
	sqlPrincipalNames = `SELECT principal_id, name FROM principals WHERE principal_id = ANY ($1)`
)

// Principal returns the small id of a token's name, giving it one if needed.
func (s *Store) Principal(ctx context.Context, name string) (int32, error) {
	if id, ok := s.principals.get(name); ok {
		return id, nil
	}
	id, err := s.principal(ctx, name)
	if errors.Is(err, referee.ErrNotFound) {
		if _, err := s.pool.Exec(ctx, sqlAddPrincipal, name); err != nil {
			return 0, wrap("add a principal", err)
		}
		id, err = s.principal(ctx, name)
	}
	if err != nil {
		return 0, err
	}
	s.principals.put(name, id)
	return id, nil
}

func (s *Store) principal(ctx context.Context, name string) (id int32, err error) {
	err = s.pool.QueryRow(ctx, sqlPrincipal, name).Scan(&id)
	return id, wrap("find a principal", err)
}

// PrincipalNames returns the names of those of the small ids that are given out.
func (s *Store) PrincipalNames(ctx context.Context, ids []int32) (map[int32]string, error) {
	rows, err := s.pool.Query(ctx, sqlPrincipalNames, ids)
	if err != nil {
		return nil, wrap("read principals", err)
	}
	defer rows.Close()
	names := make(map[int32]string, len(ids))
	for rows.Next() {
		var id int32
		var name string
		if err := rows.Scan(&id, &name); err != nil {
			return nil, wrap("read principals", err)
		}
		names[id] = name
	}
	return names, wrap("read principals", rows.Err())
}
