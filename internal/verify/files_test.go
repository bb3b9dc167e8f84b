package verify

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	xtlog "golang.org/x/mod/sumdb/tlog"

	"referee.example/internal/referee"
	"referee.example/internal/tlog"
)

// judged is what verifying files together comes to.
type judged struct {
	findings []Finding
	notes    []string
	partial  int
	matches  int
}

// judge verifies files as `referee verify` does.
func judge(t testing.TB, log note.Verifier, files ...[]byte) (out judged) {
	t.Helper()
	var together Files
	for i, file := range files {
		err := Read(bytes.NewReader(file), func(m *Match) error {
			r := Check(m, log)
			together.Compare(fmt.Sprintf("file-%d", i), m, r)
			out.findings, out.notes = append(out.findings, r.Findings...), append(out.notes, r.Notes...)
			if out.matches++; r.Partial {
				out.partial++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// linesOf are the lines of the vectors, without their ends.
func linesOf(t testing.TB) [][]byte {
	t.Helper()
	file, err := os.ReadFile(vectors)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(file), []byte("\n"))
}

func joined(lines ...[]byte) []byte { return append(bytes.Join(lines, []byte("\n")), '\n') }

// edited returns a line whose game was changed.
func editedLine(t testing.TB, line []byte, do func(*exportedGame)) []byte {
	t.Helper()
	g := &exportedGame{}
	if err := json.Unmarshal(line, g); err != nil {
		t.Fatal(err)
	}
	do(g)
	return encode(g)
}

// wants fails unless exactly one finding is of this place and kind, and no other.
func (j judged) wants(t *testing.T, name string, game, seq int, what string) {
	t.Helper()
	if len(j.findings) != 1 || j.findings[0].Game != game || j.findings[0].Seq != seq || j.findings[0].What != what {
		t.Errorf("%s: want game %d, event %d, %s; found: %s", name, game, seq, what, lines(j.findings))
	}
}

// TestTheSameGameTwice is no fault, and is said.
func TestTheSameGameTwice(t *testing.T) {
	t.Parallel()
	g := linesOf(t)
	whole := joined(g...)
	for name, files := range map[string][][]byte{
		"line after line":  {joined(g[0], g[0], g[1], g[2])},
		"file after file":  {append(slices.Clone(whole), whole...)},
		"export gone on":   {joined(g[0], g[1], g[1], g[2])},
		"two files":        {whole, whole},
		"part and whole":   {joined(g[0]), whole},
		"a match between":  {slices.Concat(whole, exportedFile(whole2(t)), whole)},
		"in another order": {joined(g[0], g[1], g[0], g[2])},
	} {
		got := judge(t, nil, files...)
		if len(got.findings) != 0 || !strings.Contains(strings.Join(got.notes, "\n"), "is seen twice, the same in line") {
			t.Errorf("%s: findings %v, notes %q", name, got.findings, got.notes)
		}
	}
}

func whole2(t testing.TB) *table { return whole(t, 11) }

// TestTwoLogsOfOneGame are each sound, and can't both be true.
func TestTwoLogsOfOneGame(t *testing.T) {
	t.Parallel()
	g := linesOf(t)
	later := editedLine(t, g[0], editExported(2, func(e *referee.Event) { e.Principal++ }))
	if alone := judge(t, nil, joined(later, g[1], g[2])); len(alone.findings) != 0 {
		t.Fatalf("the other game is not sound by itself: %v", alone.findings)
	}
	judge(t, nil, joined(g[0], later, g[1], g[2])).wants(t, "two lines", 1, 2, "log")
	judge(t, nil, joined(g...), joined(later, g[1], g[2])).wants(t, "two files", 1, 0, "log")
	got := judge(t, nil, joined(g...), joined(later, g[1], g[2]))
	if !strings.Contains(got.findings[0].Expected, "line 1 of file-0") {
		t.Errorf("it is not said where: %s", got.findings[0])
	}
	cut := editedLine(t, g[0], func(x *exportedGame) { x.Events, x.Hashes = x.Events[:13], x.Hashes[:13] })
	judge(t, nil, joined(g[0], cut, g[1], g[2])).wants(t, "a shorter log", 1, 14, "log")
}

// TestARepeatedLineIsJudged: the same log does not vouch for what stands beside it.
func TestARepeatedLineIsJudged(t *testing.T) {
	t.Parallel()
	g := linesOf(t)
	false1 := editedLine(t, g[0], func(x *exportedGame) { x.Settlement.Lines[0].Amount++ })
	judge(t, nil, joined(g[0], false1, g[1], g[2])).wants(t, "settlement", 1, 14, "settlement.lines[0].amount")
	false2 := editedLine(t, g[0], func(x *exportedGame) { x.Openings[1].Salt[3] ^= 1 })
	judge(t, nil, joined(g[0], false2, g[1], g[2])).wants(t, "salt", 1, 4, "opening")
	false3 := editedLine(t, g[0], func(x *exportedGame) { x.Readable.Winners = []int{0} })
	judge(t, nil, joined(g[0], g[0], false3, g[1], g[2])).wants(t, "winner", 1, 0, "readable.winners")
}

// compensated is a whole match, two settlements of which were compensated: its
// games, and its log of compensations at its first and its last event.
func compensatedMatch(t *testing.T) (games [][]byte, after1, after2, other []byte) {
	t.Helper()
	tb := whole(t, 3)
	game := 1 + slices.IndexFunc(tb.settlements, func(s referee.RecordedSettlement) bool { return s.ID != referee.ID{} })
	for principal := range int32(2) {
		c := &referee.CompensateSettlement{Header: tb.header(-1, false), Note: "wrong table",
			Settlement: referee.SettlementID(tb.state.ID, game, false)}
		c.Game, c.Expected, c.Caller.Principal = game, int(principal)+1, principal+1
		if refusal := tb.keep(referee.Compensate(tb.state, c, tb.env())); refusal != nil {
			t.Fatal(refusal)
		}
	}
	all := bytes.Split(bytes.TrimSpace(exportedFile(tb)), []byte("\n"))
	games, after2 = all[:len(all)-1], all[len(all)-1]
	after1 = editedLine(t, after2, func(x *exportedGame) { x.Events, x.Hashes = x.Events[:1], x.Hashes[:1] })
	other = editedLine(t, after2, editExported(2, func(e *referee.Event) { e.Principal = 7 }))
	return games, after1, after2, other
}

func TestCompensationsInFiles(t *testing.T) {
	t.Parallel()
	games, after1, after2, other := compensatedMatch(t)
	file := func(logs ...[]byte) []byte { return joined(append(slices.Clone(games), logs...)...) }
	for name, files := range map[string][][]byte{
		"as exported":          {file(after2)},
		"grown in one file":    {file(after1, after2)},
		"older after newer":    {file(after2, after1)},
		"grown in two files":   {file(after1), file(after2)},
		"shrunk in two files":  {file(after2), file(after1)},
		"other between, grown": {file(after1), file(after1), file(after2)},
	} {
		if got := judge(t, nil, files...); len(got.findings) != 0 {
			t.Errorf("%s: %v", name, got.findings)
		}
	}
	judge(t, nil, file(after2, other)).wants(t, "two in one file", 0, 2, "log")
	judge(t, nil, file(after2), file(other)).wants(t, "two in two files", 0, 2, "log")
	judge(t, nil, file(after2), file(after1), file(other)).wants(t, "two, a shorter between", 0, 2, "log")
}

// TestParts: a file that ends before the match does is sound as far as it goes,
// and says so; one that lacks what its own later games follow is not.
func TestParts(t *testing.T) {
	t.Parallel()
	g := linesOf(t)
	games, after1, after2, _ := compensatedMatch(t)
	for name, c := range map[string]struct {
		file []byte
		note string
	}{
		"first game":            {joined(g[0]), "it goes on after game 1"},
		"last game missing":     {joined(g[0], g[1]), "it goes on after game 2"},
		"no compensations":      {joined(games...), "had 2 events when the games were exported, it has 0"},
		"part of compensations": {joined(append(slices.Clone(games), after1)...), "it has 1"},
		"last of a whole match": {joined(games[:len(games)-1]...), fmt.Sprintf("it goes on after game %d", len(games)-1)},
	} {
		got := judge(t, nil, c.file)
		if len(got.findings) != 0 || got.partial != 1 || !strings.Contains(strings.Join(got.notes, "\n"), c.note) {
			t.Errorf("%s: findings %v, notes %q", name, got.findings, got.notes)
		}
	}
	for name, file := range map[string][]byte{"vectors": joined(g...), "whole": joined(append(slices.Clone(games), after2)...)} {
		if got := judge(t, nil, file); len(got.findings) != 0 || len(got.notes) != 0 || got.partial != 0 {
			t.Errorf("%s: findings %v, notes %q", name, got.findings, got.notes)
		}
	}
	missing := judge(t, nil, joined(g[0], g[2]))
	if len(missing.findings) == 0 || missing.findings[0].Game != 2 || missing.findings[0].What != "game" {
		t.Errorf("a game in the middle: %s", lines(missing.findings))
	}
	if got := judge(t, nil, joined(after2)); len(got.findings) == 0 {
		t.Error("compensations without a game pass")
	}
}

// notary keeps logs of finished games under one key.
type notary struct {
	t      *testing.T
	signer note.Signer
	public note.Verifier
}

func newNotary(t *testing.T) *notary {
	secret, public, err := note.GenerateKey(rand.Reader, "referee.example/log")
	if err != nil {
		t.Fatal(err)
	}
	n := &notary{t: t}
	if n.signer, err = note.NewSigner(secret); err != nil {
		t.Fatal(err)
	}
	if n.public, err = note.NewVerifier(public); err != nil {
		t.Fatal(err)
	}
	return n
}

// prove proves a line's game in a log of these leaves, at the place of the leaf
// that is nil.
func (n *notary) prove(line []byte, log ...[]byte) []byte {
	n.t.Helper()
	return editedLine(n.t, line, func(x *exportedGame) {
		id, err := parseID(x.MatchID)
		if err != nil {
			n.t.Fatal(err)
		}
		entry := tlog.Entry{Match: id, Game: x.Game, Head: [32]byte(x.Hashes[len(x.Hashes)-1])}
		var stored []xtlog.Hash
		read := xtlog.HashReaderFunc(func(indexes []int64) (out []xtlog.Hash, err error) {
			for _, i := range indexes {
				out = append(out, stored[i])
			}
			return out, nil
		})
		at := int64(0)
		for i, data := range log {
			if data == nil {
				data, at = entry.Data(), int64(i)
			}
			hashes, err := xtlog.StoredHashes(int64(i), data, read)
			if err != nil {
				n.t.Fatal(err)
			}
			stored = append(stored, hashes...)
		}
		root, err := xtlog.TreeHash(int64(len(log)), read)
		if err != nil {
			n.t.Fatal(err)
		}
		proof, err := xtlog.ProveRecord(int64(len(log)), at, read)
		if err != nil {
			n.t.Fatal(err)
		}
		text := fmt.Sprintf("%s\n%d\n%s\n", n.signer.Name(), len(log), base64.StdEncoding.EncodeToString(root[:]))
		signed, err := note.Sign(&note.Note{Text: text}, n.signer)
		if err != nil {
			n.t.Fatal(err)
		}
		x.Inclusion = &tlog.Inclusion{Checkpoint: string(signed), Index: at, Proof: [][]byte{}}
		for _, hash := range proof {
			x.Inclusion.Proof = append(x.Inclusion.Proof, hash[:])
		}
	})
}

// TestForkedCheckpoints: proofs that are each in order, of logs that can't be one.
func TestForkedCheckpoints(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	g := linesOf(t)
	a, b, c := []byte("a"), []byte("b"), []byte("c")
	one := exportedFile(playedOnce(t, 21))
	one = bytes.TrimSpace(one)
	for name, fork := range map[string]struct {
		first, second []byte // of the vectors' game 1, and of another match's
		what          string
		game          int
	}{
		"same size, other root":          {n.prove(g[0], a, nil, b, c), n.prove(one, a, b, nil, c), "checkpoint", 1},
		"other entry at a position":      {n.prove(g[0], nil, a, b), n.prove(one, nil, a, b, c), "checkpoint", 1},
		"other beginning":                {n.prove(g[0], a, nil, b, c), n.prove(one, b, a, b, c, nil), "checkpoint", 1},
		"first half differs, other size": {n.prove(g[0], a, b, nil, c, a), n.prove(one, a, a, b, c, a, b, nil), "checkpoint", 1},
	} {
		for _, key := range []note.Verifier{nil, n.public} {
			for _, files := range [][][]byte{{joined(fork.first), joined(fork.second)}, {joined(fork.first, fork.second)}, {joined(fork.second), joined(fork.first)}} {
				judge(t, key, files...).wants(t, name, fork.game, endOf(t, files[len(files)-1]), fork.what)
			}
		}
	}
	grown := judge(t, n.public, joined(n.prove(g[0], a, nil, b)), joined(n.prove(one, a, headOf(t, g[0]), b, c, nil)))
	if len(grown.findings) != 0 {
		t.Errorf("one log that grew: %v", grown.findings)
	}
	twice := judge(t, n.public, joined(n.prove(g[0], a, nil)), joined(n.prove(g[0], a, headOf(t, g[0]), nil)))
	twice.wants(t, "logged twice", 1, endOf(t, g[0]), "inclusion")
	repeated := judge(t, n.public, joined(n.prove(g[0], a, nil, b, c), n.prove(g[0], b, nil, b, c)))
	repeated.wants(t, "two lines of one game", 1, endOf(t, g[0]), "checkpoint")
	other := newNotary(t)
	unsigned := judge(t, n.public, joined(n.prove(g[0], a, nil)), joined(other.prove(one, b, nil)))
	unsigned.wants(t, "a checkpoint that the log did not sign", 1, endOf(t, one), "inclusion")
	wrong := editedLine(t, n.prove(g[0], a, nil, b), func(x *exportedGame) { x.Inclusion.Proof[0][0] ^= 1 })
	judge(t, nil, joined(wrong)).wants(t, "a proof that leads nowhere", 1, endOf(t, g[0]), "inclusion")
}

// playedOnce is a match of one game.
func playedOnce(t testing.TB, seed uint64) *table {
	tb := newTable(t, preset(t, "7club-standard"), seed)
	tb.start()
	tb.playOut()
	return tb
}

// headOf is the log's entry of a line's game, endOf the number of the last event
// of the last line.
func headOf(t testing.TB, line []byte) (data []byte) {
	editedLine(t, line, func(x *exportedGame) {
		id, err := parseID(x.MatchID)
		if err != nil {
			t.Fatal(err)
		}
		data = tlog.Entry{Match: id, Game: x.Game, Head: [32]byte(x.Hashes[len(x.Hashes)-1])}.Data()
	})
	return data
}

func endOf(t testing.TB, file []byte) (seq int) {
	all := bytes.Split(bytes.TrimSpace(file), []byte("\n"))
	editedLine(t, all[len(all)-1], func(x *exportedGame) { seq = len(x.Events) })
	return seq
}
