package witness

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	gamelog "referee.example/internal/tlog"
	refereev1 "referee.example/proto/referee/v1"
)

// library is a house that has the entries of its log, and serves them.
type library struct {
	*house
	entries []gamelog.Entry
	closed  bool // to the caller's token
	bundles int  // that were asked for
}

// enter logs a game, or with number 0 a compensation.
func (l *library) enter(match, game int, head string) {
	e := gamelog.Entry{Game: game}
	binary.BigEndian.PutUint64(e.Match[:], uint64(match)*0x9e3779b97f4a7c15) // in no order
	copy(e.Head[:], head)
	hashes, err := tlog.StoredHashes(l.size, e.Data(), l)
	if err != nil {
		panic(err)
	}
	l.hashes, l.size, l.entries = append(l.hashes, hashes...), l.size+1, append(l.entries, e)
}

func (l *library) GetLogTile(_ context.Context, r *refereev1.GetLogTileRequest, _ ...grpc.CallOption) (*refereev1.GetLogTileResponse, error) {
	l.bundles++
	if l.closed {
		return nil, status.Error(codes.NotFound, "")
	}
	tile, err := gamelog.ParseTile(r.GetPath())
	if err != nil || !tile.Entries() {
		return nil, status.Error(codes.InvalidArgument, "path")
	}
	// The library's own reading of the path, which is not the witness's.
	parsed, err := tlog.ParseTilePath("tile/8/data/" + r.GetPath()[len("tile/entries/"):])
	if err != nil {
		return nil, err
	}
	var content []byte
	for _, e := range l.entries[parsed.N*256 : parsed.N*256+int64(parsed.W)] {
		content = binary.BigEndian.AppendUint16(content, uint16(gamelog.EntryBytes))
		content = append(content, e.Data()...)
	}
	return &refereev1.GetLogTileResponse{Content: content}, nil
}

func newReader(t *testing.T) (*Witness, *library) {
	t.Helper()
	w, h, _ := newWitness(t)
	l := &library{house: h}
	w.Audit, w.Games = l, filepath.Join(filepath.Dir(w.File), "log.games")
	return w, l
}

func TestAWitnessKeepsTheGames(t *testing.T) {
	w, l := newReader(t)
	for round, games := range []int{0, 1, 3, 0, 600, 255, 2} {
		for range games {
			l.enter(len(l.entries), 1, "end")
		}
		l.enter(7, 0, string(rune('a'+round))) // a match may be compensated often
		c, err := w.Update(t.Context(), noon)
		if err != nil || c.Size != l.size {
			t.Fatalf("round %d: %d of %d, %v", round, c.Size, l.size, err)
		}
		content := []byte(read(t, w.Games))
		edge, err := scanEdge(bytes.NewReader(content))
		if err != nil || edge.Tree() != c.Tree {
			t.Errorf("round %d: the file's edge is of %d games, %v", round, edge.Size(), err)
		}
		records := content[len(gamesDomain)+8+len(edge.Edge()):]
		kept := slices.Collect(slices.Chunk(records, recordBytes))
		if want := len(l.entries) - round - 1; len(kept) != want || !slices.IsSortedFunc(kept, bytes.Compare) {
			t.Errorf("round %d: %d games are kept, want %d in order", round, len(kept), want)
		}
		for _, r := range kept {
			e := l.entries[(*record)(r).position()]
			if want := recordOf(e, (*record)(r).position()); !bytes.Equal(want[:], r) {
				t.Fatalf("round %d: game %d of %x is kept as %x", round, e.Game, e.Match, r)
			}
		}
	}
	asked := l.bundles
	if _, err := w.Update(t.Context(), noon); err != nil || l.bundles != asked {
		t.Errorf("nothing new: %d bundles, %v", l.bundles-asked, err)
	}
	files, err := os.ReadDir(filepath.Dir(w.File))
	if err != nil || len(files) != 3 { // checkpoint, games, lock
		t.Errorf("%d files are there, %v", len(files), err)
	}
}

// TestAWitnessFindsASecondLeaf: the game is logged again long after, or in what
// the witness sees at once.
func TestAWitnessFindsASecondLeaf(t *testing.T) {
	for name, between := range map[string]bool{"seen before": true, "seen at once": false} {
		t.Run(name, func(t *testing.T) {
			w, l := newReader(t)
			for n := range 300 {
				l.enter(n, 1, "end")
			}
			held, games := "", ""
			if between {
				if _, err := w.Update(t.Context(), noon); err != nil {
					t.Fatal(err)
				}
				held, games = read(t, w.File), read(t, w.Games)
			}
			for n := range 300 {
				l.enter(n, 2, "end")
			}
			l.enter(42, 1, "another end")
			for range 2 {
				_, err := w.Update(t.Context(), noon)
				var second *SecondLeafError
				if !errors.As(err, &second) || second.First != 42 || second.Second != 600 || second.Game != 1 || !Contradicts(err) {
					t.Fatalf("error %v", err)
				}
			}
			if between && (read(t, w.File) != held || read(t, w.Games) != games) {
				t.Error("the files were changed")
			}
			if shown, err := gamelog.OpenCheckpoint(read(t, w.File+secondSuffix), w.Log); err != nil || shown.Size != 601 {
				t.Errorf("the evidence is of %d games, %v", shown.Size, err)
			}
			if left, err := filepath.Glob(w.Games + ".*"); err != nil || len(left) > 0 {
				t.Errorf("left behind: %q, %v", left, err)
			}
		})
	}
}

// TestAWitnessFindsEntriesThatAreNotTheTrees: an entry was moved away in the house's
// tables and its tree left, or somebody on the way serves others. Nothing signed
// contradicts itself, so that nobody is accused, nor of a game that comes twice.
func TestAWitnessFindsEntriesThatAreNotTheTrees(t *testing.T) {
	w, l := newReader(t)
	for n := range 10 {
		l.enter(n, 1, "end")
	}
	honest := l.entries[4]
	for name, match := range map[string][16]byte{"another": {1}, "twice": l.entries[2].Match} {
		l.entries[4].Match = match
		_, err := w.Update(t.Context(), noon)
		var entries *EntriesError
		if !errors.As(err, &entries) || Contradicts(err) {
			t.Fatalf("%s: error %v", name, err)
		}
		if files, err := os.ReadDir(filepath.Dir(w.File)); err != nil || len(files) != 1 { // the lock
			t.Errorf("%s: %d files are there, %v", name, len(files), err)
		}
	}
	l.entries[4] = honest
	if _, err := w.Update(t.Context(), noon); err != nil {
		t.Errorf("the true entries: %v", err)
	}
}

func TestAWitnessWithoutTheRight(t *testing.T) {
	w, l := newReader(t)
	l.enter(1, 1, "end")
	l.closed = true
	if _, err := w.Update(t.Context(), noon); status.Code(err) != codes.NotFound || Contradicts(err) {
		t.Errorf("error %v", err)
	}
	w.Games = ""
	if _, err := w.Update(t.Context(), noon); err != nil || l.bundles != 1 {
		t.Errorf("hashes only: %v", err)
	}
}

func TestAFileThatIsNoGames(t *testing.T) {
	w, l := newReader(t)
	l.enter(1, 1, "end")
	if err := os.WriteFile(w.Games, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Update(t.Context(), noon); !errors.Is(err, errGames) || read(t, w.Games) != "something else" {
		t.Errorf("error %v", err)
	}
}

func TestPathsOfBundles(t *testing.T) {
	for number, want := range map[int64]string{0: "tile/entries/000", 999: "tile/entries/999", 1000: "tile/entries/x001/000", 1234067: "tile/entries/x001/x234/067"} {
		got := entriesPath(number)
		if _, err := gamelog.ParseTile(got); got != want || err != nil {
			t.Errorf("bundle %d is at %s, %v", number, got, err)
		}
	}
}
