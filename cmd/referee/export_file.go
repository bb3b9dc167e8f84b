package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// keepEach is how often a file's place is kept, at most.
const keepEach = time.Second

// exportFile is a file that a broken export can go on with: beside it, until it
// is whole, a small file says up to which byte it is sound, and the token that
// goes on from there.
type exportFile struct {
	*bufio.Writer
	file  *os.File
	place place
	kept  time.Time
}

// place is how far a file has come.
type place struct {
	Token string `json:"resume_token"`
	Bytes int64  `json:"bytes"`
}

func placeFile(path string) string { return path + ".resume" }

// openExport opens a new file, or with resume one that a broken export left, cut
// off where it is sound. It returns the token to go on after, empty to begin.
func openExport(path string, resume bool) (*exportFile, string, error) {
	path = filepath.Clean(path)
	if !resume {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			return nil, "", &usageError{path + " is there already: name another file, or go on with it by --resume"}
		}
		if err != nil {
			return nil, "", err
		}
		e := newExportFile(file)
		if err := e.alone(); err != nil {
			return nil, "", errors.Join(err, file.Close())
		}
		return e, "", e.keep("")
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0o600)
	if err != nil {
		return nil, "", err
	}
	e := newExportFile(file)
	if err := errors.Join(e.alone(), e.goOn()); err != nil {
		return nil, "", errors.Join(err, file.Close())
	}
	return e, e.place.Token, nil
}

func newExportFile(file *os.File) *exportFile {
	return &exportFile{Writer: bufio.NewWriterSize(file, 1<<20), file: file}
}

// alone takes the file for this process until it is closed: of two exports that
// go on with one file each would write between the other's lines.
func (e *exportFile) alone() error {
	err := syscall.Flock(int(e.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("%s is being written to by another export", e.file.Name())
	}
	return err
}

// goOn cuts off what was written after the place that is kept.
func (e *exportFile) goOn() error {
	path := e.file.Name()
	info, err := e.file.Stat()
	if err != nil {
		return err
	}
	content, err := os.ReadFile(placeFile(path))
	switch {
	case errors.Is(err, os.ErrNotExist) && info.Size() == 0:
		return nil // it broke before the first place was kept
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("nothing to resume: there is no %s, so %s is whole or no export's", placeFile(path), path)
	case err != nil:
		return err
	}
	if err := json.Unmarshal(content, &e.place); err != nil {
		return fmt.Errorf("%s: %w", placeFile(path), err)
	}
	if info.Size() < e.place.Bytes {
		return fmt.Errorf("%s is shorter than the %d bytes that were written", path, e.place.Bytes)
	}
	if err := e.file.Truncate(e.place.Bytes); err != nil {
		return err
	}
	_, err = e.file.Seek(e.place.Bytes, 0)
	return err
}

// wrote says that all before a token has been written.
func (e *exportFile) wrote(token string) error {
	if e.place.Token != "" && time.Since(e.kept) < keepEach {
		return nil
	}
	return e.keep(token)
}

// keep makes durable what was written, then the place.
func (e *exportFile) keep(token string) error {
	err := errors.Join(e.Flush(), e.file.Sync())
	if err != nil {
		return err
	}
	at, err := e.file.Seek(0, 1)
	if err != nil {
		return err
	}
	e.place, e.kept = place{token, at}, time.Now()
	content, err := json.Marshal(e.place)
	if err != nil {
		return err
	}
	next := placeFile(e.file.Name()) + ".next"
	err = os.WriteFile(next, content, 0o600)
	if err != nil {
		return err
	}
	return os.Rename(next, placeFile(e.file.Name()))
}

// broken leaves what is there as it is: what was written since the last place
// will be cut off.
func (e *exportFile) broken() string {
	if err := e.file.Close(); err != nil {
		return ""
	}
	return fmt.Sprintf("--out %s --resume", e.file.Name())
}

// done ends a file that is whole. Nobody else gets it before its place is gone.
func (e *exportFile) done() error {
	err := errors.Join(e.Flush(), e.file.Sync())
	if err == nil {
		err = os.Remove(placeFile(e.file.Name()))
	}
	return errors.Join(err, e.file.Close())
}
