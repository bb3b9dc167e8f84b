package app

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"referee.example/internal/deal"
	"referee.example/internal/tlog"
)

// keyring reads the keys of the settings. Its errors never hold a key.
func (c Config) keyring() (deal.Keyring, error) {
	text, source := c.Keys, keysVariable
	if c.KeyFile != "" {
		content, err := os.ReadFile(c.KeyFile)
		if errors.Is(err, fs.ErrNotExist) {
			return deal.Keyring{}, fmt.Errorf("%w; %s", err, keyHelp)
		}
		if err != nil {
			return deal.Keyring{}, err
		}
		text, source = string(content), c.KeyFile
	}
	ring, err := deal.ParseKeyring(text)
	if err != nil {
		return deal.Keyring{}, fmt.Errorf("%s: %w; %s", source, err, keyHelp)
	}
	return ring, nil
}

// logKey reads the key that signs the log of finished games. Its errors never
// hold it.
func (c Config) logKey() (tlog.Key, error) {
	content, err := os.ReadFile(c.LogKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return tlog.Key{}, fmt.Errorf("%w; %s", err, logKeyHelp)
	}
	if err != nil {
		return tlog.Key{}, err
	}
	key, err := tlog.ParseKey(string(content))
	if err != nil {
		return tlog.Key{}, fmt.Errorf("%s: %w; %s", c.LogKeyFile, err, logKeyHelp)
	}
	return key, nil
}

// NewKey returns a keyring of one new key, as a key file has it.
func NewKey(id string) string {
	key := make([]byte, deal.KeySize)
	_, _ = rand.Read(key) // documented never to fail
	return id + ":" + base64.StdEncoding.EncodeToString(key) + "\n"
}

// logKeys reads the log's public keys: those given, and the other ones.
func (c Config) logKeys(more ...string) ([]note.Verifier, error) {
	var keys []note.Verifier
	for _, text := range append(more, strings.Fields(c.LogOtherKeys)...) {
		key, err := tlog.ParsePublic(text)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}
