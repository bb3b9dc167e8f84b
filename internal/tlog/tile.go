package tlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// tileHeight makes tiles of 256 hashes, as C2SP tlog-tiles has them.
const tileHeight = 8

// MaxTilePathBytes is the longest path of a tile that is read.
const MaxTilePathBytes = 64

var (
	// ErrTilePath means that a path is not one of C2SP tlog-tiles.
	ErrTilePath = errors.New("a tile's path must be tile/<level>/<index> or tile/entries/<index>, with .p/<width> when partial")
	// ErrNoTile means that the tile is not, or not so wide, part of the signed tree.
	ErrNoTile = errors.New("the signed log has no such tile")
)

// Tile names a tile of the tree, or a bundle of entries.
type Tile struct{ tile tlog.Tile }

// Entries reports whether it is a bundle of entries, which name matches.
func (t Tile) Entries() bool { return t.tile.L < 0 }

// ParseTile reads the path of a tile as C2SP tlog-tiles writes it. The library's
// paths differ from it: they have the height, and call entries data.
func ParseTile(path string) (Tile, error) {
	rest, ok := strings.CutPrefix(path, "tile/")
	if !ok || len(path) > MaxTilePathBytes || strings.HasPrefix(rest, "data/") {
		return Tile{}, ErrTilePath
	}
	if numbers, ok := strings.CutPrefix(rest, "entries/"); ok {
		rest = "data/" + numbers
	}
	tile, err := tlog.ParseTilePath(fmt.Sprintf("tile/%d/%s", tileHeight, rest))
	if err != nil || tile.L > 63 || tile.N < 0 {
		return Tile{}, ErrTilePath
	}
	return Tile{tile}, nil
}

// within reports whether a tree of that size has the whole tile.
func (t Tile) within(size int64) bool {
	level := max(t.tile.L, 0)
	if level*tileHeight >= 63 {
		return false
	}
	nodes := size >> (level * tileHeight) // complete subtrees at the tile's level
	return t.tile.N <= nodes>>tileHeight && t.tile.N<<tileHeight+int64(t.tile.W) <= nodes
}

// Tile returns a tile of the tree, its hashes one after the other, or a bundle
// of entries, each after its length in two big-endian bytes: C2SP tlog-tiles.
// Errors: ErrNoCheckpoint, ErrNoTile.
func (l *Log) Tile(ctx context.Context, t Tile) ([]byte, error) {
	c, err := l.signed(ctx)
	if err != nil {
		return nil, err
	}
	if !t.within(c.Size) {
		return nil, ErrNoTile
	}
	if !t.Entries() {
		return tlog.ReadTileData(t.tile, reader(ctx, l.store))
	}
	entries, err := l.store.LogEntries(ctx, t.tile.N<<tileHeight, t.tile.W)
	if err != nil {
		return nil, err
	}
	if len(entries) != t.tile.W {
		return nil, fmt.Errorf("%w: %d of %d entries are there", ErrDamaged, len(entries), t.tile.W)
	}
	var bundle []byte
	for _, e := range entries {
		bundle = binary.BigEndian.AppendUint16(bundle, uint16(EntryBytes))
		bundle = append(bundle, e.Data()...)
	}
	return bundle, nil
}
