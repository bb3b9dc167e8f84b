package tlog

import (
	"strings"
	"testing"
)

func FuzzCheckpoint(f *testing.F) {
	k := newKey(f, "referee.example/log")
	log := publicOf(f, k)
	c := mustSign(f, k, EmptyTree)
	f.Add(c.Note)
	f.Add(c.text())
	f.Add("o\n1\n" + EmptyTree.Root.String() + "\nextension\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := parseCheckpoint(text); err == nil && !strings.HasPrefix(text, got.text()) {
			t.Errorf("%q was read as %q", text, got.text())
		}
		if got, err := OpenCheckpoint(text, log); err == nil && (got.Note != text || got.Origin != k.Name()) {
			t.Errorf("%q was opened as %+v", text, got)
		}
		_, _ = unverifiedTree(text)
	})
}

func FuzzTilePath(f *testing.F) {
	for _, path := range []string{"tile/0/x001/x234/067", "tile/entries/000.p/1", "tile/63/000", "tile/data/000"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		tile, err := ParseTile(path)
		if err != nil {
			return
		}
		written := strings.Replace(strings.Replace(tile.tile.Path(), "tile/8/", "tile/", 1), "tile/data/", "tile/entries/", 1)
		if written != path {
			t.Errorf("%q was read as %q", path, written)
		}
		if tile.within(0) {
			t.Errorf("the empty tree has %q", path)
		}
	})
}

func FuzzKeys(f *testing.F) {
	k := newKey(f, "referee.example/log")
	f.Add(k.Public())
	f.Add(k.PublicWitness())
	f.Add("PRIVATE+KEY+n+00000000+AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := ParsePublicWitness(text); err == nil && !strings.HasPrefix(strings.TrimSpace(text), v.Name()+"+") {
			t.Errorf("%q was read as a key named %q", text, v.Name())
		}
		if read, err := ParseKey(text); err == nil && read.Name() == "" {
			t.Errorf("%q was read as a key without a name", text)
		}
		_, _ = ParsePublic(text)
	})
}
