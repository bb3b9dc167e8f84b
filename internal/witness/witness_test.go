package witness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	gamelog "referee.example/internal/tlog"
	refereev1 "referee.example/proto/referee/v1"
)

// house is a log that does as a test tells it: it can show any tree.
type house struct {
	refereev1.AuditServiceClient
	signer note.Signer
	hashes []tlog.Hash
	size   int64
	asked  int
	garble func(proof [][]byte) [][]byte // nil for none
}

func (h *house) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		hashes[i] = h.hashes[index]
	}
	return hashes, nil
}

// log adds games whose endings are named by a word.
func (h *house) log(word string, games int) {
	for range games {
		hashes, err := tlog.StoredHashes(h.size, []byte(word), h)
		if err != nil {
			panic(err)
		}
		h.hashes, h.size = append(h.hashes, hashes...), h.size+1
	}
}

func (h *house) GetCheckpoint(_ context.Context, r *refereev1.GetCheckpointRequest, _ ...grpc.CallOption) (*refereev1.GetCheckpointResponse, error) {
	h.asked++
	if r.GetFromSize() > h.size {
		return nil, status.Error(codes.InvalidArgument, "from_size")
	}
	root, err := tlog.TreeHash(h.size, h)
	if err != nil {
		return nil, err
	}
	text, err := note.Sign(&note.Note{Text: strings.Join([]string{h.signer.Name(), strconv.FormatInt(h.size, 10), root.String(), ""}, "\n")}, h.signer)
	if err != nil {
		return nil, err
	}
	answer := &refereev1.GetCheckpointResponse{Checkpoint: string(text), Size: h.size}
	if r.GetFromSize() > 0 {
		proof, err := tlog.ProveTree(h.size, r.GetFromSize(), h)
		if err != nil {
			return nil, err
		}
		for _, hash := range proof {
			answer.ConsistencyProof = append(answer.ConsistencyProof, hash[:])
		}
	}
	if h.garble != nil && answer.ConsistencyProof != nil {
		answer.ConsistencyProof = h.garble(answer.ConsistencyProof)
	}
	return answer, nil
}

func newKey(t *testing.T, name string) (gamelog.Key, string) {
	t.Helper()
	text, err := gamelog.NewKey(name)
	if err != nil {
		t.Fatal(err)
	}
	key, err := gamelog.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return key, strings.TrimSpace(text)
}

func newWitness(t *testing.T) (*Witness, *house, note.Verifier) {
	t.Helper()
	log, text := newKey(t, "referee.example/log")
	signer, err := note.NewSigner(text)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := gamelog.ParsePublic(log.Public())
	if err != nil {
		t.Fatal(err)
	}
	key, _ := newKey(t, "regulator.example/w1")
	public, err := gamelog.ParsePublicWitness(key.PublicWitness())
	if err != nil {
		t.Fatal(err)
	}
	h := &house{signer: signer}
	return &Witness{Audit: h, Log: verifier, Key: key, File: filepath.Join(t.TempDir(), "log.witness")}, h, public
}

var noon = time.Unix(1_700_000_000, 0)

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestWitnessFollowsALog(t *testing.T) {
	w, h, public := newWitness(t)
	for _, games := range []int{0, 1, 0, 4, 300, 0} {
		h.log("honest", games)
		c, err := w.Update(t.Context(), noon)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := gamelog.OpenCosigned(read(t, w.File), w.Log, public)
		if err != nil || kept != c || kept.Size != h.size {
			t.Errorf("kept is %d of %d games, %v", kept.Size, h.size, err)
		}
	}
	files, err := os.ReadDir(filepath.Dir(w.File))
	if err != nil || len(files) != 2 { // its own and the lock
		t.Errorf("%d files are there, %v", len(files), err)
	}
}

// TestWitnessAccusesOnlyOfForks: what a log signed must exclude itself. Whoever
// answers without its key can withhold or garble a proof and repeat what is old.
func TestWitnessAccusesOnlyOfForks(t *testing.T) {
	for name, test := range map[string]struct {
		word   string
		games  int // that are shown in place of 5
		garble func([][]byte) [][]byte
		fork   bool
	}{
		"another of that size": {"altered", 5, nil, true},
		"an older one":         {"honest", 3, nil, false},
		"an empty one":         {"honest", 0, nil, false},
		"grown from another":   {"altered", 9, nil, false},
		"without a proof":      {"honest", 9, func([][]byte) [][]byte { return nil }, false},
		"with another proof":   {"honest", 9, func(p [][]byte) [][]byte { p[0][0] ^= 1; return p }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, h, _ := newWitness(t)
			h.log("honest", 5)
			if _, err := w.Update(t.Context(), noon); err != nil {
				t.Fatal(err)
			}
			held := read(t, w.File)
			evidence, other := w.File+unprovedSuffix, w.File+forkSuffix
			if test.fork {
				evidence, other = other, evidence
			}
			h.hashes, h.size, h.garble = nil, 0, test.garble
			h.log(test.word, test.games)
			for range 2 {
				_, err := w.Update(t.Context(), noon)
				var fork *gamelog.ForkError
				var unproved *gamelog.UnprovedError
				if errors.As(err, &fork) != test.fork || errors.As(err, &unproved) == test.fork || Contradicts(err) != test.fork {
					t.Errorf("error %v", err)
				}
			}
			if read(t, w.File) != held {
				t.Error("the file was changed")
			}
			if _, err := os.Stat(other); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is there: %v", other, err)
			}
			shown, err := gamelog.OpenCheckpoint(read(t, evidence), w.Log)
			if err != nil || shown.Size != int64(test.games) {
				t.Errorf("the evidence is of %d games, %v", shown.Size, err)
			}
			h.hashes, h.size, h.garble = nil, 0, nil
			h.log("honest", 7)
			if _, err := w.Update(t.Context(), noon); err != nil {
				t.Errorf("the honest log again: %v", err)
			}
		})
	}
}

func TestWitnessRefusesWhatTheLogDidNotSign(t *testing.T) {
	w, h, _ := newWitness(t)
	h.log("honest", 2)
	_, text := newKey(t, "referee.example/log")
	honest := h.signer
	var err error
	if h.signer, err = note.NewSigner(text); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Update(t.Context(), noon); !errors.Is(err, gamelog.ErrCheckpoint) {
		t.Errorf("signed by another key: %v", err)
	}
	if _, err := os.Stat(w.File); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was made: %v", err)
	}
	h.signer = honest
	if err := os.WriteFile(w.File, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := h.asked
	if _, err := w.Update(t.Context(), noon); !errors.Is(err, gamelog.ErrCheckpoint) || !strings.Contains(err.Error(), w.File) {
		t.Errorf("a file of something else: %v", err)
	}
	if read(t, w.File) != "something else" || h.asked != asked {
		t.Error("the file was overwritten or not looked at first")
	}
}

func TestOneWitnessAFile(t *testing.T) {
	w, h, _ := newWitness(t)
	h.log("honest", 1)
	unlock, err := lock(w.File)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Update(t.Context(), noon); !errors.Is(err, ErrBusy) {
		t.Errorf("error %v", err)
	}
	unlock()
	if _, err := w.Update(t.Context(), noon); err != nil {
		t.Errorf("after the other: %v", err)
	}
}
