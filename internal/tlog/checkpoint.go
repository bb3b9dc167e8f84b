package tlog

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// MaxNoteBytes is the longest signed note that is read: room for a checkpoint
// and dozens of signatures.
const MaxNoteBytes = 64 << 10

// ErrCheckpoint means that a text is not a checkpoint of this log, or not
// signed by it.
var ErrCheckpoint = errors.New("not a signed checkpoint of this log")

// Checkpoint is a signed head of a log: C2SP tlog-checkpoint.
type Checkpoint struct {
	Tree
	Origin string // the log's name
	Note   string // the whole signed note
}

// text returns the checkpoint's note without signatures.
func (c Checkpoint) text() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]))
}

// sign makes the checkpoint of a tree.
func (k Key) sign(t Tree) (Checkpoint, error) {
	c := Checkpoint{Tree: t, Origin: k.Name()}
	signed, err := note.Sign(&note.Note{Text: c.text()}, k.signer)
	c.Note = string(signed)
	return c, err
}

// OpenCheckpoint reads a checkpoint that the log has signed; others may have
// cosigned it. It returns ErrCheckpoint for everything else.
func OpenCheckpoint(text string, log note.Verifier) (Checkpoint, error) {
	c, _, err := openCheckpoint(text, log)
	return c, err
}

func openCheckpoint(text string, keys ...note.Verifier) (Checkpoint, *note.Note, error) {
	if len(text) > MaxNoteBytes {
		return Checkpoint{}, nil, fmt.Errorf("%w: longer than %d bytes", ErrCheckpoint, MaxNoteBytes)
	}
	opened, err := note.Open([]byte(text), note.VerifierList(keys...))
	if err != nil {
		return Checkpoint{}, nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	c, err := parseCheckpoint(opened.Text)
	if err != nil {
		return Checkpoint{}, nil, err
	}
	if c.Origin != keys[0].Name() {
		return Checkpoint{}, nil, fmt.Errorf("%w: its origin is %q, the key's name is %q", ErrCheckpoint, c.Origin, keys[0].Name())
	}
	c.Note = text
	return c, opened, nil
}

// unverifiedCheckpoint reads a checkpoint, whoever signed it.
func unverifiedCheckpoint(text string) (Checkpoint, error) {
	body, _, found := strings.Cut(text, "\n\n")
	if !found || len(text) > MaxNoteBytes {
		return Checkpoint{}, ErrCheckpoint
	}
	c, err := parseCheckpoint(body + "\n")
	c.Note = text
	return c, err
}

// unverifiedTree reads what tree a checkpoint is of, whoever signed it.
func unverifiedTree(text string) (Tree, error) {
	c, err := unverifiedCheckpoint(text)
	return c.Tree, err
}

// parseCheckpoint reads a checkpoint's note: origin, size and root, a line each,
// then lines that mean nothing here but must not be empty.
func parseCheckpoint(text string) (Checkpoint, error) {
	text, ended := strings.CutSuffix(text, "\n")
	lines := strings.Split(text, "\n")
	if !ended || len(lines) < 3 {
		return Checkpoint{}, fmt.Errorf("%w: fewer than three lines", ErrCheckpoint)
	}
	for _, line := range lines {
		if line == "" {
			return Checkpoint{}, fmt.Errorf("%w: an empty line", ErrCheckpoint)
		}
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != lines[1] {
		return Checkpoint{}, fmt.Errorf("%w: its size is no number of leaves", ErrCheckpoint)
	}
	root, err := base64.StdEncoding.Strict().DecodeString(lines[2])
	if err != nil || len(root) != len(Hash{}) {
		return Checkpoint{}, fmt.Errorf("%w: its root is no hash", ErrCheckpoint)
	}
	return Checkpoint{Origin: lines[0], Tree: Tree{Size: size, Root: Hash(root)}}, nil
}
