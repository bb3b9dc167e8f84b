package tlog

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func isDamaged(err error) bool { return errors.Is(err, ErrDamaged) }

func newKey(t testing.TB, name string) Key {
	t.Helper()
	text, err := NewKey(name)
	if err != nil {
		t.Fatal(err)
	}
	k, err := ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func publicOf(t testing.TB, k Key) note.Verifier {
	t.Helper()
	v, err := ParsePublic(k.Public())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func mustSign(t testing.TB, k Key, tree Tree) Checkpoint {
	t.Helper()
	c, err := k.sign(tree)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEntryVector fixes the bytes of an entry for other implementations.
func TestEntryVector(t *testing.T) {
	e := Entry{Game: 258}
	for i := range e.Match {
		e.Match[i] = byte(i)
	}
	for i := range e.Head {
		e.Head[i] = byte(0xe0 + i)
	}
	const data = "726566657265652e76312066696e69736865642067616d6500" + // "referee.v1 finished game", NUL
		"000102030405060708090a0b0c0d0e0f" + "0102" +
		"e0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
	if got := hex.EncodeToString(e.Data()); got != data {
		t.Errorf("data is %s", got)
	}
	if leaf := leafHash(e.Data()); e.Leaf() != leaf || len(e.Data()) != EntryBytes {
		t.Errorf("leaf is %s, want %x", e.Leaf(), leaf)
	}
}

func TestKeys(t *testing.T) {
	for range 300 { // so that some base64 holds a plus, the separator
		k := newKey(t, "referee.example/log")
		if v := publicOf(t, k); v.Name() != "referee.example/log" {
			t.Fatalf("name %q", v.Name())
		}
		if _, err := ParsePublicWitness(k.PublicWitness()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"", "two words", "a+b", "a\nb"} {
		if _, err := NewKey(name); err == nil {
			t.Errorf("a key named %q was made", name)
		}
	}
	good, err := NewKey("n")
	if err != nil {
		t.Fatal(err)
	}
	k, err := ParseKey(good)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "x", k.Public(), strings.Replace(good, "+n+", "+m+", 1), good[:len(good)-4], "PRIVATE+KEY+n"} {
		_, err := ParseKey(bad)
		if err == nil {
			t.Errorf("%q was read as a key", bad)
		} else if secret := good[len(good)-20 : len(good)-1]; strings.Contains(err.Error(), secret) {
			t.Errorf("the error shows the key: %v", err)
		}
	}
	witness := k.PublicWitness()
	for _, bad := range []string{"", "n", k.Public(), witness[:len(witness)-4], strings.Replace(witness, "n+", "m+", 1), "+" + witness} {
		if _, err := ParsePublicWitness(bad); err == nil {
			t.Errorf("%q was read as a witness's key", bad)
		}
		if bad == k.Public() {
			continue
		}
		if _, err := ParsePublic(bad); err == nil {
			t.Errorf("%q was read as a log's key", bad)
		}
	}
}

// TestCheckpointCases reads the notes of testdata/checkpoints.json.
func TestCheckpointCases(t *testing.T) {
	content, err := os.ReadFile("testdata/checkpoints.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Text, Error string
		Size              int64
	}
	if err := json.Unmarshal(content, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 12 {
		t.Errorf("only %d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			got, err := parseCheckpoint(c.Text)
			if c.Error == "" {
				if err != nil || got.Size != c.Size {
					t.Errorf("size %d, %v; want %d", got.Size, err, c.Size)
				}
				return
			}
			if !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), c.Error) {
				t.Errorf("error %v, want %q", err, c.Error)
			}
		})
	}
}

func TestOpenCheckpoint(t *testing.T) {
	k, other := newKey(t, "referee.example/log"), newKey(t, "referee.example/log")
	c := mustSign(t, k, Tree{Size: 12, Root: entry(1).Leaf()})
	got, err := OpenCheckpoint(c.Note, publicOf(t, k))
	if err != nil || got != c {
		t.Fatalf("read back %+v, %v", got, err)
	}
	again := mustSign(t, k, c.Tree)
	if again != c {
		t.Error("the same tree was signed twice, in two ways")
	}
	foreign := mustSign(t, newKey(t, "referee.example/other"), c.Tree)
	disguised, err := note.Sign(&note.Note{Text: foreign.text()}, k.signer)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"nothing":             "",
		"another key":         mustSign(t, other, c.Tree).Note,
		"another log":         foreign.Note,
		"another log's head":  string(disguised),
		"another size":        strings.Replace(c.Note, "\n12\n", "\n13\n", 1),
		"no signature":        c.text(),
		"its signature alone": c.Note[len(c.text()):],
		"too long":            c.Note + strings.Repeat(c.Note[len(c.text())+1:], 600),
	} {
		if _, err := OpenCheckpoint(text, publicOf(t, k)); !errors.Is(err, ErrCheckpoint) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCosignature(t *testing.T) {
	k, w := newKey(t, "referee.example/log"), newKey(t, "regulator.example/w1")
	log := publicOf(t, k)
	witness, err := ParsePublicWitness(w.PublicWitness())
	if err != nil {
		t.Fatal(err)
	}
	c := mustSign(t, k, Tree{Size: 3, Root: entry(1).Leaf()})
	at := time.Unix(1_679_315_147, 999)
	cosigned, err := Cosign(c, log, w, at)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := OpenCosigned(cosigned.Note, log, witness); err != nil || got.Tree != c.Tree {
		t.Fatalf("read back %v, %v", got.Tree, err)
	}
	if _, err := OpenCheckpoint(cosigned.Note, log); err != nil {
		t.Errorf("the log's own signature is gone: %v", err)
	}
	if _, err := OpenCosigned(c.Note, log, witness); !errors.Is(err, ErrNotCosigned) {
		t.Errorf("without a cosignature: %v", err)
	}
	// By hand, as C2SP tlog-cosignature words it.
	line := strings.Split(strings.TrimSpace(cosigned.Note), "\n")[5]
	signature, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(line, "— regulator.example/w1 "))
	if err != nil || len(signature) != 4+8+64 {
		t.Fatalf("the line %q has %d bytes, %v", line, len(signature), err)
	}
	text := fmt.Sprintf("cosignature/v1\ntime %d\n%s", 1_679_315_147, c.Note[:strings.Index(c.Note, "\n\n")+1])
	if binary.BigEndian.Uint64(signature[4:]) != 1_679_315_147 || !ed25519.Verify(w.public(), []byte(text), signature[12:]) {
		t.Error("the cosignature does not verify")
	}
	// A later one of the same witness takes its place; another's stays beside it.
	second, err := Cosign(cosigned, log, w, at.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	third, err := Cosign(second, log, newKey(t, "arcade.example/w"), at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCosigned(third.Note, log, witness); err != nil {
		t.Errorf("the first witness's signature is gone: %v", err)
	}
	if n := strings.Count(third.Note, "— arcade.example/w "); n != 1 {
		t.Errorf("the second witness signed %d times", n)
	}
	altered := strings.Replace(cosigned.Note, "\n3\n", "\n4\n", 1)
	if _, err := OpenCosigned(altered, log, witness); !errors.Is(err, ErrCheckpoint) {
		t.Errorf("altered: %v", err)
	}
	onlyWitness := c.text() + "\n" + line + "\n"
	if _, err := OpenCosigned(onlyWitness, log, witness); !errors.Is(err, ErrCheckpoint) {
		t.Errorf("without the log's signature: %v", err)
	}
}

func TestCheckConsistency(t *testing.T) {
	var hashes stored
	trees := []Tree{EmptyTree}
	for n := range 9 {
		g, err := grow(trees[n], []Hash{entry(n).Leaf()}, hashes.read)
		if err != nil {
			t.Fatal(err)
		}
		hashes, trees = append(hashes, g.hashes...), append(trees, g.to)
	}
	for to, shown := range trees {
		for from, held := range trees {
			var proof []Hash
			if 0 < from && from <= to {
				var err error
				if proof, err = tlog.ProveTree(shown.Size, held.Size, tlog.HashReaderFunc(hashes.read)); err != nil {
					t.Fatal(err)
				}
			}
			err := CheckConsistency(Checkpoint{Tree: held}, Checkpoint{Tree: shown}, proof)
			var unproved *UnprovedError
			if from > to != errors.As(err, &unproved) || from <= to && err != nil {
				t.Errorf("from %d to %d: %v", from, to, err)
			}
			forked := Checkpoint{Tree: held}
			forked.Root[5] ^= 1
			var fork *ForkError
			err = CheckConsistency(forked, Checkpoint{Tree: shown}, proof)
			// No log signs an empty tree with another root than that.
			excluded := from == to || from == 0
			if errors.As(err, &fork) != excluded || errors.As(err, &unproved) == excluded {
				t.Errorf("from %d to %d with another root: %v", from, to, err)
			}
			if err := CheckConsistency(Checkpoint{Tree: held}, Checkpoint{Tree: shown}, nil); 0 < from && from < to && !errors.As(err, &unproved) {
				t.Errorf("from %d to %d without a proof: %v", from, to, err)
			}
			for i := range proof {
				altered := append([]Hash{}, proof...)
				altered[i][0] ^= 1
				if err := CheckConsistency(Checkpoint{Tree: held}, Checkpoint{Tree: shown}, altered); from < to && !errors.As(err, &unproved) {
					t.Errorf("from %d to %d with an altered proof: %v", from, to, err)
				}
			}
		}
	}
}

func TestTilePaths(t *testing.T) {
	for path, want := range map[string]tlog.Tile{
		"tile/0/000":                    {H: 8, L: 0, N: 0, W: 256},
		"tile/0/x001/x234/067":          {H: 8, L: 0, N: 1_234_067, W: 256},
		"tile/2/005.p/17":               {H: 8, L: 2, N: 5, W: 17},
		"tile/63/000.p/1":               {H: 8, L: 63, N: 0, W: 1},
		"tile/entries/x001/067.p/255":   {H: 8, L: -1, N: 1067, W: 255},
		"tile/entries/000":              {H: 8, L: -1, N: 0, W: 256},
		"tile/0/x999/x999/x999/999":     {H: 8, L: 0, N: 999_999_999_999, W: 256},
		"tile/entries/x012/345.p/1":     {H: 8, L: -1, N: 12_345, W: 1},
		"tile/1/x123/x456/x789/012.p/9": {H: 8, L: 1, N: 123_456_789_012, W: 9},
	} {
		got, err := ParseTile(path)
		if err != nil || got.tile != want || got.Entries() != (want.L < 0) {
			t.Errorf("%s: %+v, %v", path, got.tile, err)
		}
	}
	for _, path := range []string{
		"", "tile", "tile/", "tile/0", "tile/data/000", "tile/64/000", "tile/-1/000", "tile/0/0", "tile/0/1000", "tile/00/000",
		"tile/0/000.p/0", "tile/0/000.p/256", "tile/0/000.p/01", "tile/0/x000/000", "tile/0/001/000", "/tile/0/000", "tile/8/0/000",
		"tile/entries/-01", "tile/0/000/", "tile/0/" + strings.Repeat("x999/", 20) + "999",
		"tile/0/x999/x999/x999/x999/x999/x999/x999/999",
	} {
		if got, err := ParseTile(path); !errors.Is(err, ErrTilePath) {
			t.Errorf("%q was read as %+v, %v", path, got.tile, err)
		}
	}
}

func TestTilesWithinATree(t *testing.T) {
	// The example of C2SP tlog-tiles: a tree of 70,000.
	for path, want := range map[string]bool{
		"tile/0/272": true, "tile/0/273.p/112": true, "tile/0/273.p/113": false, "tile/0/273": false, "tile/0/274.p/1": false,
		"tile/1/000": true, "tile/1/001.p/17": true, "tile/1/001.p/18": false, "tile/2/000.p/1": true, "tile/2/000.p/2": false,
		"tile/3/000.p/1": false, "tile/7/000.p/1": false, "tile/8/000.p/1": false, "tile/63/000.p/1": false,
		"tile/entries/273.p/112": true, "tile/entries/273.p/113": false,
		"tile/0/x999/x999/x999/x999/x999/999": false,
	} {
		tile, err := ParseTile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := tile.within(70_000); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}

func TestInclusionRefusesMalformedProofs(t *testing.T) {
	k := newKey(t, "referee.example/log")
	a, b := entry(1), entry(2)
	g, err := grow(EmptyTree, []Hash{a.Leaf(), b.Leaf()}, stored{}.read)
	if err != nil {
		t.Fatal(err)
	}
	sibling := b.Leaf()
	good := Inclusion{Checkpoint: mustSign(t, k, g.to).Note, Index: 0, Proof: [][]byte{sibling[:]}}
	if c, err := good.Check(a, publicOf(t, k)); err != nil || c.Tree != g.to {
		t.Fatalf("%v, %v", c.Tree, err)
	}
	text, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	var read Inclusion
	if err := json.Unmarshal(text, &read); err != nil || read.Checkpoint != good.Checkpoint || string(read.Proof[0]) != string(sibling[:]) {
		t.Errorf("%s was read back as %+v, %v", text, read, err)
	}
	for name, change := range map[string]func(in *Inclusion, e *Entry){
		"another game":    func(_ *Inclusion, e *Entry) { e.Game++ },
		"another match":   func(_ *Inclusion, e *Entry) { e.Match[3]++ },
		"another ending":  func(_ *Inclusion, e *Entry) { e.Head[3]++ },
		"another index":   func(in *Inclusion, _ *Entry) { in.Index = 1 },
		"a negative one":  func(in *Inclusion, _ *Entry) { in.Index = -1 },
		"one beyond":      func(in *Inclusion, _ *Entry) { in.Index = 2 },
		"no proof":        func(in *Inclusion, _ *Entry) { in.Proof = nil },
		"a longer proof":  func(in *Inclusion, _ *Entry) { in.Proof = append(in.Proof, sibling[:]) },
		"a short hash":    func(in *Inclusion, _ *Entry) { in.Proof = [][]byte{sibling[:31]} },
		"no checkpoint":   func(in *Inclusion, _ *Entry) { in.Checkpoint = "" },
		"another tree":    func(in *Inclusion, _ *Entry) { in.Checkpoint = mustSign(t, k, Tree{2, b.Leaf()}).Note },
		"another log key": func(in *Inclusion, _ *Entry) { in.Checkpoint = mustSign(t, newKey(t, "x"), g.to).Note },
	} {
		in, e := good, a
		change(&in, &e)
		if _, err := in.Check(e, publicOf(t, k)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
