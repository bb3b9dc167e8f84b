package witness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"referee.example/internal/tlog"
	refereev1 "referee.example/proto/referee/v1"
)

// A witness that may read the entries keeps a file of the games that it has seen:
// the tree's edge, from which the next root follows, and a record for each game,
// sorted. Checking hashes alone shows that nothing was taken away; the games show
// that no game was put in a second time.

const (
	gamesDomain = "referee.v1 witnessed games\x00"
	recordBytes = 16 + 2 + 8 // match, game, position
	keyBytes    = 16 + 2
	bundleWidth = 256
	// gamesAtOnce is how many new games are held in memory; the file is written
	// anew for each so many.
	gamesAtOnce = 1 << 20

	secondSuffix = ".second"
)

// SecondLeafError means that the log has two entries of one game: the game was
// logged again after it had been changed.
type SecondLeafError struct {
	Match         [16]byte
	Game          int
	First, Second int64 // positions
}

func (e *SecondLeafError) Error() string {
	return fmt.Sprintf("game %d of match %x is in the log twice, at positions %d and %d", e.Game, e.Match, e.First, e.Second)
}

// EntriesError means that the entries that were served are not those that the log
// signed. Entries are not signed themselves: whoever answers can alter them.
type EntriesError struct{ Shown, Served tlog.Tree }

func (e *EntriesError) Error() string {
	return fmt.Sprintf("the entries served are not what the log signed: %d of them make the root %s, signed is %s; "+
		"the answer is wrong, or the log was changed; ask again, ask another replica", e.Served.Size, e.Served.Root, e.Shown.Root)
}

var (
	errGames  = errors.New("it is not a file of the games that a witness has seen")
	errBundle = errors.New("the log answered with something other than a bundle of entries")
)

type record [recordBytes]byte

func recordOf(e tlog.Entry, position int64) (r record) {
	copy(r[:], e.Match[:])
	binary.BigEndian.PutUint16(r[16:], uint16(e.Game))
	binary.BigEndian.PutUint64(r[18:], uint64(position))
	return r
}

func (r *record) key() []byte     { return r[:keyBytes] }
func (r *record) position() int64 { return int64(binary.BigEndian.Uint64(r[keyBytes:])) }

// follow fetches the entries that the file of games lacks of a tree, and keeps
// them in it. A *SecondLeafError or *EntriesError leaves the file as it is; so does
// a *tlog.UnprovedError, if the file has more than the tree.
func (w *Witness) follow(ctx context.Context, shown tlog.Checkpoint) error {
	path := w.Games
	edge, err := readEdge(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if seen := edge.Tree(); seen.Size > shown.Size {
		return &tlog.UnprovedError{Held: tlog.Checkpoint{Tree: seen}, Shown: shown}
	}
	for edge.Size() < shown.Size {
		records, err := w.fetchGames(ctx, edge, min(shown.Size, edge.Size()+gamesAtOnce))
		if err != nil {
			return errors.Join(err, removeOther(path, w.Games))
		}
		next, err := merge(path, w.Games, edge, records)
		if err = errors.Join(err, removeOther(path, w.Games)); err != nil {
			return errors.Join(w.signed(ctx, edge, shown, err), removeOther(next, ""))
		}
		path = next
	}
	if served := edge.Tree(); served.Root != shown.Root {
		return errors.Join(&EntriesError{shown.Tree, served}, removeOther(path, w.Games))
	}
	if path == w.Games {
		return nil // nothing new
	}
	return os.Rename(path, w.Games)
}

// signed returns a *SecondLeafError only if the entries are those of the signed
// tree, to whose end it reads on: else they accuse nobody.
func (w *Witness) signed(ctx context.Context, edge *tlog.Frontier, shown tlog.Checkpoint, found error) error {
	var second *SecondLeafError
	if !errors.As(found, &second) {
		return found
	}
	for edge.Size() < shown.Size {
		if _, err := w.fetchGames(ctx, edge, min(shown.Size, edge.Size()+gamesAtOnce)); err != nil {
			return err
		}
	}
	if served := edge.Tree(); served.Root != shown.Root {
		return &EntriesError{shown.Tree, served}
	}
	return found
}

// removeOther removes a file of an earlier round, unless it is the witness's own.
func removeOther(path, own string) error {
	if path == own || path == "" {
		return nil
	}
	return os.Remove(path)
}

// fetchGames fetches the entries up to below to, lets the edge grow by them, and
// returns a record for each game, sorted. Compensations may come several times.
func (w *Witness) fetchGames(ctx context.Context, edge *tlog.Frontier, to int64) ([]record, error) {
	var records []record
	for edge.Size() < to {
		number := edge.Size() / bundleWidth
		entries, err := w.bundle(ctx, number, min(to-number*bundleWidth, bundleWidth))
		if err != nil {
			return nil, err
		}
		for _, entry := range entries[edge.Size()-number*bundleWidth:] {
			if entry.Game > 0 {
				records = append(records, recordOf(entry, edge.Size()))
			}
			edge.Append(entry.Leaf())
		}
	}
	slices.SortFunc(records, func(a, b record) int { return bytes.Compare(a[:], b[:]) })
	return records, nil
}

// bundle fetches the first entries of a bundle.
func (w *Witness) bundle(ctx context.Context, number, width int64) ([]tlog.Entry, error) {
	path := entriesPath(number)
	if width < bundleWidth {
		path += fmt.Sprintf(".p/%d", width)
	}
	answer, err := w.Audit.GetLogTile(ctx, &refereev1.GetLogTileRequest{Path: path})
	if err != nil {
		return nil, fmt.Errorf("fetch %s, which takes the scope audit and every platform: %w", path, err)
	}
	entries := make([]tlog.Entry, 0, width)
	for rest := answer.GetContent(); len(rest) > 0; {
		if len(rest) < 2+tlog.EntryBytes || int(binary.BigEndian.Uint16(rest)) != tlog.EntryBytes {
			return nil, errBundle
		}
		entry, err := tlog.ParseEntry(rest[2 : 2+tlog.EntryBytes])
		if err != nil {
			return nil, err
		}
		entries, rest = append(entries, entry), rest[2+tlog.EntryBytes:]
	}
	if int64(len(entries)) != width {
		return nil, errBundle
	}
	return entries, nil
}

// entriesPath is the path of a bundle in C2SP tlog-tiles: groups of three digits,
// all but the last after an x.
func entriesPath(number int64) string {
	path := fmt.Sprintf("%03d", number%1000)
	for number /= 1000; number > 0; number /= 1000 {
		path = fmt.Sprintf("x%03d/%s", number%1000, path)
	}
	return "tile/entries/" + path
}

// openGames opens a file of games behind its edge. No file is the empty tree.
func openGames(path string) (*os.File, *bufio.Reader, *tlog.Frontier, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, bufio.NewReader(bytes.NewReader(nil)), &tlog.Frontier{}, nil
	}
	if err != nil {
		return nil, nil, nil, err
	}
	reader := bufio.NewReaderSize(file, 1<<20)
	edge, err := scanEdge(reader)
	if err != nil {
		return nil, nil, nil, errors.Join(err, file.Close())
	}
	return file, reader, edge, nil
}

func scanEdge(reader io.Reader) (*tlog.Frontier, error) {
	head := make([]byte, len(gamesDomain)+8)
	if _, err := io.ReadFull(reader, head); err != nil || string(head[:len(gamesDomain)]) != gamesDomain {
		return nil, errGames
	}
	size := int64(binary.BigEndian.Uint64(head[len(gamesDomain):]))
	var hashes []byte
	for rest := size; rest > 0; rest &= rest - 1 {
		hashes = append(hashes, make([]byte, len(tlog.Hash{}))...)
	}
	if _, err := io.ReadFull(reader, hashes); err != nil {
		return nil, errGames
	}
	return tlog.ParseFrontier(size, hashes)
}

func readEdge(path string) (*tlog.Frontier, error) {
	file, _, edge, err := openGames(path)
	if err == nil && file != nil {
		err = file.Close()
	}
	return edge, err
}

// merge writes the games of a file and new ones, both sorted, to a file beside the
// witness's own, and returns its path.
func merge(from, own string, edge *tlog.Frontier, records []record) (path string, err error) {
	old, reader, _, err := openGames(from)
	if err != nil {
		return "", err
	}
	if old != nil {
		defer func() { err = errors.Join(err, old.Close()) }()
	}
	file, err := os.CreateTemp(filepath.Dir(own), filepath.Base(own)+".*")
	if err != nil {
		return "", err
	}
	out := bufio.NewWriterSize(file, 1<<20)
	header := binary.BigEndian.AppendUint64([]byte(gamesDomain), uint64(edge.Size()))
	_, err = out.Write(append(header, edge.Edge()...))
	if err == nil {
		err = mergeRecords(out, reader, records)
	}
	return file.Name(), errors.Join(err, out.Flush(), file.Sync(), file.Close())
}

// mergeRecords returns a *SecondLeafError where a game comes twice.
func mergeRecords(out io.Writer, old io.Reader, records []record) error {
	var last record // no match has the id of zeros
	write := func(r record) error {
		if bytes.Equal(last.key(), r.key()) {
			first, second := min(last.position(), r.position()), max(last.position(), r.position())
			return &SecondLeafError{[16]byte(r[:16]), int(binary.BigEndian.Uint16(r[16:])), first, second}
		}
		last = r
		_, err := out.Write(r[:])
		return err
	}
	for {
		var r record
		_, err := io.ReadFull(old, r[:])
		if err != nil && err != io.EOF {
			return errGames
		}
		for len(records) > 0 && (err == io.EOF || bytes.Compare(records[0][:], r[:]) < 0) {
			if failed := write(records[0]); failed != nil {
				return failed
			}
			records = records[1:]
		}
		if err == io.EOF {
			return nil
		}
		if failed := write(r); failed != nil {
			return failed
		}
	}
}
