package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"referee.example/internal/server"
)

// fileCheck is how often the files that may be exchanged under a running replica
// are read again: tokens, an issuer's keys, certificates.
const fileCheck = 10 * time.Second

// access reads who may call.
func (c Config) access() (*server.Access, error) {
	content, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return nil, err
	}
	tokens, err := server.ParseTokens(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.TokenFile, err)
	}
	if c.JWKSFile == "" {
		return server.NewAccess(tokens, nil), nil
	}
	content, err = os.ReadFile(c.JWKSFile)
	if err != nil {
		return nil, err
	}
	issuer, err := server.ParseIssuer(c.JWTIssuer, c.JWTAudience, content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.JWKSFile, err)
	}
	return server.NewAccess(tokens, issuer), nil
}

// followFiles takes over what changes of the files until ctx ends. A file that
// can't be used changes nothing: who may call goes on calling.
func followFiles(ctx context.Context, ticks <-chan time.Time, files []*file, logger *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
			for _, f := range files {
				f.follow(logger)
			}
		}
	}
}

// file is a setting that is kept in files, and what takes it over.
type file struct {
	paths []string
	take  func() error
	seen  string // what the paths held when it was looked at last
}

// newFile returns a setting that has just been taken over.
func newFile(take func() error, paths ...string) *file {
	f := &file{take: take}
	for _, path := range paths {
		if path != "" {
			f.paths = append(f.paths, path)
		}
	}
	f.seen = f.content()
	return f
}

// content is the whole of the files: they are small, and neither a time nor a
// size tells every change.
func (f *file) content() string {
	var all string
	for _, path := range f.paths {
		content, err := os.ReadFile(path)
		all += fmt.Sprintf("%q %t ", content, err == nil)
	}
	return all
}

func (f *file) follow(logger *slog.Logger) {
	content := f.content()
	if content == f.seen {
		return
	}
	f.seen = content
	if err := f.take(); err != nil {
		logger.Error("a changed file can't be used; what it held before stays in force", "files", f.paths, "error", err)
		return
	}
	logger.Info("took over a changed file", "files", f.paths)
}
