package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sound is an environment that serve starts with.
func sound() map[string]string {
	return map[string]string{
		"REFEREE_DATABASE_URL": "postgres://referee:hunter2@db:5432/referee?sslmode=disable",
		"REFEREE_KEYS":         "key-1:c2VjcmV0",
		"REFEREE_LOG_KEY_FILE": "/etc/referee/log.key",
		"REFEREE_TOKEN_FILE":   "/etc/referee/tokens.json",
	}
}

func lookup(environment map[string]string) func(string) string {
	return func(name string) string { return environment[name] }
}

func TestParseConfigDefaults(t *testing.T) {
	got, err := ParseConfig("serve", nil, lookup(sound()), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Listen: ":50051", DatabaseURL: sound()["REFEREE_DATABASE_URL"], MaxConns: 16, Keys: "key-1:c2VjcmV0",
		LogKeyFile: "/etc/referee/log.key",
		TokenFile:  "/etc/referee/tokens.json", LogLevel: slog.LevelInfo, DrainTimeout: 20 * time.Second,
	}
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestParseConfigFlagWinsOverEnvironment(t *testing.T) {
	environment := sound()
	environment["REFEREE_LISTEN"] = "10.0.0.1:1"
	environment["REFEREE_MAX_CONNS"] = "7"
	environment["REFEREE_REFLECTION"] = "true"
	environment["REFEREE_LOG_LEVEL"] = "warn"
	environment["REFEREE_DRAIN_TIMEOUT"] = "3s"
	got, err := ParseConfig("serve", []string{"--listen", "[::1]:0", "--max-conns=8"}, lookup(environment), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Listen != "[::1]:0" || got.MaxConns != 8 || !got.Reflection || got.LogLevel != slog.LevelWarn || got.DrainTimeout != 3*time.Second {
		t.Errorf("got %v", got)
	}
}

func TestParseConfigRefuses(t *testing.T) {
	cases := []struct {
		name        string
		environment map[string]string // over the sound one
		arguments   []string
		want        string // of the message
	}{
		{"no database", map[string]string{"REFEREE_DATABASE_URL": ""}, nil, "--database-url (REFEREE_DATABASE_URL): must be a postgres:// URL"},
		{"other database", map[string]string{"REFEREE_DATABASE_URL": "mysql://u:hunter2@h/d"}, nil, "must be a postgres:// URL"},
		{"keyword database", map[string]string{"REFEREE_DATABASE_URL": "host=h password=hunter2"}, nil, "must be a postgres:// URL"},
		{"no key", map[string]string{"REFEREE_KEYS": ""}, nil, "there is no key: --key-file names a file, or REFEREE_KEYS holds the text"},
		{"no key says how to make one", map[string]string{"REFEREE_KEYS": ""}, nil, "make one with: (umask 077; echo "},
		{"two keyrings", nil, []string{"--key-file", "f"}, "must not be set beside REFEREE_KEYS"},
		{"no log key", map[string]string{"REFEREE_LOG_KEY_FILE": ""}, nil, "--log-key-file (REFEREE_LOG_KEY_FILE): must name a file: make one with: referee log key"},
		{"keys of no issuer", map[string]string{"REFEREE_JWKS_FILE": "/etc/referee/keys.json"}, nil, "--jwks-file (REFEREE_JWKS_FILE): needs --jwt-issuer"},
		{"an issuer without keys", nil, []string{"--jwt-issuer", "i", "--jwt-audience", "a"}, "--jwks-file (REFEREE_JWKS_FILE): must name a file"},
		{"a certificate without key", nil, []string{"--tls-cert-file", "c"}, "--tls-cert-file (REFEREE_TLS_CERT_FILE): must be set together"},
		{"a key without certificate", nil, []string{"--tls-key-file", "c"}, "--tls-cert-file (REFEREE_TLS_CERT_FILE): must be set together"},
		{"client certificates without TLS", nil, []string{"--tls-client-ca-file", "c"}, "--tls-client-ca-file (REFEREE_TLS_CLIENT_CA_FILE): needs"},
		{"another log key that is none", nil, []string{"--log-other-keys", "PRIVATE+KEY+hunter2+0+c2VjcmV0"}, "--log-other-keys (REFEREE_LOG_OTHER_KEYS): must be public keys"},
		{"no tokens", map[string]string{"REFEREE_TOKEN_FILE": ""}, nil, "--token-file (REFEREE_TOKEN_FILE): must name a file"},
		{"address without port", nil, []string{"--listen", "localhost"}, "--listen (REFEREE_LISTEN): must be host:port"},
		{"port of six digits", nil, []string{"--listen", ":655360"}, "must be host:port"},
		{"named port", nil, []string{"--listen", ":grpc"}, "must be host:port"},
		{"HTTP address", nil, []string{"--http-listen", "8080"}, "--http-listen (REFEREE_HTTP_LISTEN): must be host:port"},
		{"console without a port", nil, []string{"--console"}, "--console (REFEREE_CONSOLE): needs the HTTP port"},
		{"too few connections", nil, []string{"--max-conns", "3"}, "must be from 4 to"},
		{"too many connections", nil, []string{"--max-conns", "100000"}, "must be from 4 to"},
		{"no time to drain", nil, []string{"--drain-timeout", "0s"}, "must be above 0"},
		{"an hour to drain", nil, []string{"--drain-timeout", "1h"}, "at most 10m0s"},
		{"level", nil, []string{"--log-level", "loud"}, `"loud"`},
		{"number in the environment", map[string]string{"REFEREE_MAX_CONNS": "many"}, nil, `REFEREE_MAX_CONNS: "many" is not a number`},
		{"switch in the environment", map[string]string{"REFEREE_REFLECTION": "perhaps"}, nil, `"perhaps" is not a yes or no`},
		{"unknown flag", nil, []string{"--colour"}, "not defined: -colour"},
		{"an argument", nil, []string{"now"}, `"now" is not a setting`},
		{"two faults at once", map[string]string{"REFEREE_TOKEN_FILE": ""}, []string{"--listen", "x"}, "--token-file"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			environment := sound()
			for name, value := range c.environment {
				environment[name] = value
			}
			_, err := ParseConfig("serve", c.arguments, lookup(environment), nil)
			var config *ConfigError
			if !errors.As(err, &config) {
				t.Fatalf("got %v, want a *ConfigError", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want it to contain %q", err, c.want)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "c2VjcmV0") {
				t.Errorf("the refusal holds a secret: %q", err)
			}
		})
	}
}

func TestParseConfigHelp(t *testing.T) {
	var out bytes.Buffer
	_, err := ParseConfig("serve", []string{"--help"}, lookup(sound()), &out)
	if !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("got %v, want %v", err, flag.ErrHelp)
	}
	path := filepath.Join("testdata", "help.txt")
	if *update {
		err = os.WriteFile(path, out.Bytes(), 0o644)
		if err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", &out, want)
	}
	if strings.Contains(out.String(), "hunter2") {
		t.Error("help holds the database's password")
	}
}

// TestConfigIsPrintedRedacted prints settings in every way there is.
func TestConfigIsPrintedRedacted(t *testing.T) {
	const secret = "hunter2"
	urls := []string{
		"postgres://u:hunter2@h/d", "postgres://u@h/d?password=hunter2&sslmode=disable", "postgres://h/d?sslpassword=hunter2",
		"postgres://h/d#hunter2", "host=h password=hunter2", "postgres://u:hunter2@h:port/d", "hunter2",
	}
	for _, url := range urls {
		config := Config{Listen: ":1", DatabaseURL: url, Keys: "key-1:" + secret, KeyFile: "/k", TokenFile: "/t"}
		asJSON, err := json.Marshal(map[string]any{"config": config, "pointer": &config})
		if err != nil {
			t.Fatal(err)
		}
		var logged bytes.Buffer
		slog.New(slog.NewJSONHandler(&logged, nil)).Info("m", "config", config, "pointer", &config)
		slog.New(slog.NewTextHandler(&logged, nil)).Info("m", "config", config, "pointer", &config)
		prints := []string{
			config.String(), fmt.Sprint(config), fmt.Sprintf("%+v %#v %s %q %x %d", config, config, config, config, config, config),
			fmt.Sprintf("%+v", &config), fmt.Sprintf("%v", []Config{config}), string(asJSON), logged.String(),
		}
		for _, printed := range prints {
			if strings.Contains(printed, secret) || strings.Contains(printed, fmt.Sprintf("%x", secret)) {
				t.Errorf("%s is printed as %s", url, printed)
			}
		}
	}
	got := Config{DatabaseURL: "postgres://referee:hunter2@db:5432/referee?sslmode=disable", Keys: "k"}.String()
	for _, want := range []string{"postgres://referee:REDACTED@db:5432/referee?sslmode=disable", "keys=REDACTED"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want it to contain %s", got, want)
		}
	}
}
