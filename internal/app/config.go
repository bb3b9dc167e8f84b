// Package app puts the referee together: configuration, wiring, the background
// loops of a replica, and an orderly end.
package app

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"referee.example/internal/store"
)

// Config is what one replica is started with.
type Config struct {
	// Listen is the TCP address of the gRPC port; port 0 picks a free one.
	Listen string
	// HTTPListen is the TCP address of the HTTP port; empty for none.
	HTTPListen string
	// Console serves the audit console on the HTTP port.
	Console bool
	// DatabaseURL is a postgres:// URL.
	DatabaseURL string
	// MaxConns is the size of the connection pool.
	MaxConns int
	// Sharded says that the database's tables are distributed by match: docs/sharding.md.
	Sharded bool
	// KeyFile names a file with the keyring that seals secrets at rest.
	KeyFile string
	// Keys is the keyring itself, for platforms that hand secrets over in the
	// environment. Exactly one of KeyFile and Keys is set.
	Keys string
	// LogKeyFile names a file with the key that signs the log of finished games.
	LogKeyFile string
	// LogOtherKeys are public keys that the log has had or is about to have, with
	// spaces between: VerifyGame takes checkpoints by them too.
	LogOtherKeys string
	// TokenFile names the JSON file of the bearer tokens that are known.
	TokenFile string
	// JWKSFile names the JSON Web Key Set of an issuer whose signed tokens are
	// accepted too; empty for none. JWTIssuer and JWTAudience are what its tokens
	// must name as iss and aud.
	JWKSFile, JWTIssuer, JWTAudience string
	// TLSCertFile and TLSKeyFile name the port's certificate chain and its key, in
	// PEM form; empty for a port without TLS.
	TLSCertFile, TLSKeyFile string
	// TLSClientCAFile names the authorities, in PEM form, one of which must have
	// signed a client's certificate; empty to ask clients for none.
	TLSClientCAFile string
	// Metrics answers /metrics on the HTTP port; nil for none. It is no setting.
	Metrics http.Handler
	// PlatformRate is how many calls a second a replica takes of one platform; 0
	// for no limit.
	PlatformRate int
	// Reflection serves the contract to whoever asks for it.
	Reflection bool
	// LogLevel is the lowest level that is logged.
	LogLevel slog.Level
	// DrainTimeout bounds how long calls at work may take to finish at the end.
	DrainTimeout time.Duration
}

// Limits of the settings.
const (
	minConns, maxConns = 4, store.MaxConns
	maxDrainTimeout    = 10 * time.Minute
	maxPlatformRate    = 1_000_000
)

// environmentPrefix begins the name of the variable of each flag: --max-conns is
// REFEREE_MAX_CONNS.
const environmentPrefix = "REFEREE_"

// keysVariable has no flag, because every user of a machine can read the
// arguments of its processes.
const keysVariable = environmentPrefix + "KEYS"

const keyHelp = `--key-file names a file, or ` + keysVariable + ` holds the text, of lines "id:base64 of 32 bytes", ` +
	`the key for new games first; make one with: (umask 077; echo "key-1:$(head -c 32 /dev/urandom | base64)" > referee.key)`

const logKeyHelp = `make one with: referee log key --name referee.example/log log.key`

// A ConfigError says which setting is wrong and why. It holds no secret.
type ConfigError struct{ Setting, Problem string }

func (e *ConfigError) Error() string { return e.Setting + ": " + e.Problem }

// ParseConfig reads the settings of a command from flags, then the environment, then the
// defaults, and checks them. It returns flag.ErrHelp when the arguments ask for
// help, which has then been written to out, and *ConfigErrors otherwise, joined.
func ParseConfig(command string, arguments []string, getenv func(string) string, out io.Writer) (Config, error) {
	c := Config{Keys: getenv(keysVariable)}
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&c.Listen, "listen", ":50051", "TCP `address` of the gRPC port")
	flags.StringVar(&c.HTTPListen, "http-listen", "", "TCP `address` of the HTTP port: JSON over HTTP and /healthz; none by default")
	flags.BoolVar(&c.Console, "console", false, "serve the audit console on the HTTP port, under /console/")
	flags.StringVar(&c.DatabaseURL, "database-url", "", "postgres:// `URL` of the database; the environment keeps its password out of sight")
	flags.IntVar(&c.MaxConns, "max-conns", 16, fmt.Sprintf("connections to the database, `number` from %d to %d", minConns, maxConns))
	flags.BoolVar(&c.Sharded, "sharded", false, "the database's tables are distributed over nodes by match, so that each change goes as a call for one (docs/sharding.md)")
	flags.StringVar(&c.KeyFile, "key-file", "", "`file` of the keys that seal secrets at rest, unless "+keysVariable+" holds them")
	flags.StringVar(&c.LogKeyFile, "log-key-file", "", "`file` of the key that signs the log of finished games; "+logKeyHelp)
	flags.StringVar(&c.LogOtherKeys, "log-other-keys", "", "public `keys` that the log has had before or is about to have, with spaces between; VerifyGame takes checkpoints by them too")
	flags.StringVar(&c.TokenFile, "token-file", "", "JSON `file` of the bearer tokens that are known")
	flags.StringVar(&c.JWKSFile, "jwks-file", "", "`file` of an issuer's public keys (JSON Web Key Set), whose signed tokens are accepted too")
	flags.StringVar(&c.JWTIssuer, "jwt-issuer", "", "`name` that signed tokens must have as iss")
	flags.StringVar(&c.JWTAudience, "jwt-audience", "", "`name` that signed tokens must have among their aud")
	flags.StringVar(&c.TLSCertFile, "tls-cert-file", "", "`file` of the port's certificate chain (PEM); without one the port has no TLS")
	flags.StringVar(&c.TLSKeyFile, "tls-key-file", "", "`file` of the certificate's key (PEM)")
	flags.StringVar(&c.TLSClientCAFile, "tls-client-ca-file", "", "`file` of the authorities (PEM) of which clients must show a certificate")
	flags.IntVar(&c.PlatformRate, "platform-rate", 10_000, fmt.Sprintf("calls a second that this replica takes of one platform, `number` up to %d; 0 for no limit", maxPlatformRate))
	flags.BoolVar(&c.Reflection, "reflection", false, "serve the contract by reflection")
	flags.TextVar(&c.LogLevel, "log-level", slog.LevelInfo, "`level`: debug, info, warn or error")
	flags.DurationVar(&c.DrainTimeout, "drain-timeout", 20*time.Second, "how long calls at work may take to finish at the end, as a `duration`")
	err := fromEnvironment(flags, getenv)
	if err != nil {
		return Config{}, err
	}
	err = flags.Parse(arguments)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(out)
		describeFlags(flags, out)
		return Config{}, err
	}
	if err != nil {
		return Config{}, &ConfigError{"arguments", err.Error()}
	}
	if flags.NArg() > 0 {
		return Config{}, &ConfigError{"arguments", fmt.Sprintf("%q is not a setting", flags.Arg(0))}
	}
	return c, c.Validate()
}

func fromEnvironment(flags *flag.FlagSet, getenv func(string) string) error {
	var faults []error
	flags.VisitAll(func(f *flag.Flag) {
		name := variableOf(f.Name)
		value := getenv(name)
		if value == "" {
			return
		}
		err := flags.Set(f.Name, value)
		if err != nil {
			faults = append(faults, &ConfigError{name, fmt.Sprintf("%q is not a %s", value, kindOf(f))})
		}
	})
	return errors.Join(faults...)
}

// variableOf returns the environment variable of a flag.
func variableOf(name string) string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

func kindOf(f *flag.Flag) string {
	kind, _ := flag.UnquoteUsage(f)
	if kind == "" {
		return "yes or no"
	}
	return kind
}

func describeFlags(flags *flag.FlagSet, out io.Writer) {
	_, _ = fmt.Fprintf(out, "Usage: referee %s [flags]\n\nEach flag has a variable of the environment, "+
		"such as %s for --%s; the flag wins.\nKeys: %s.\n\n", flags.Name(), variableOf("max-conns"), "max-conns", keyHelp)
	flags.PrintDefaults()
}

// Validate returns a *ConfigError for each setting that is wrong, joined.
func (c Config) Validate() error {
	var faults []error
	refuse := func(wrong bool, flagName, problem string) {
		if wrong {
			faults = append(faults, &ConfigError{"--" + flagName + " (" + variableOf(flagName) + ")", problem})
		}
	}
	refuse(!validAddress(c.Listen), "listen", "must be host:port or :port")
	refuse(c.HTTPListen != "" && !validAddress(c.HTTPListen), "http-listen", "must be host:port or :port")
	refuse(c.Console && c.HTTPListen == "", "console", "needs the HTTP port: set --http-listen")
	refuse(!validDatabaseURL(c.DatabaseURL), "database-url", "must be a postgres:// URL")
	refuse(c.MaxConns < minConns || c.MaxConns > maxConns, "max-conns", fmt.Sprintf("must be from %d to %d", minConns, maxConns))
	refuse(c.PlatformRate < 0 || c.PlatformRate > maxPlatformRate, "platform-rate", fmt.Sprintf("must be from 0 to %d", maxPlatformRate))
	refuse(c.KeyFile == "" && c.Keys == "", "key-file", "there is no key: "+keyHelp)
	refuse(c.KeyFile != "" && c.Keys != "", "key-file", "must not be set beside "+keysVariable)
	refuse(c.LogKeyFile == "", "log-key-file", "must name a file: "+logKeyHelp)
	_, err := c.logKeys()
	refuse(err != nil, "log-other-keys", "must be public keys as referee log key prints them, with spaces between")
	refuse(c.TokenFile == "", "token-file", "must name a file: without tokens nobody could call")
	refuse(c.JWKSFile != "" && (c.JWTIssuer == "" || c.JWTAudience == ""), "jwks-file", "needs --jwt-issuer and --jwt-audience beside it")
	refuse(c.JWKSFile == "" && (c.JWTIssuer != "" || c.JWTAudience != ""), "jwks-file", "must name a file when --jwt-issuer or --jwt-audience is set")
	refuse((c.TLSCertFile == "") != (c.TLSKeyFile == ""), "tls-cert-file", "must be set together with --tls-key-file")
	refuse(c.TLSClientCAFile != "" && c.TLSCertFile == "", "tls-client-ca-file", "needs --tls-cert-file")
	refuse(c.DrainTimeout <= 0 || c.DrainTimeout > maxDrainTimeout, "drain-timeout", fmt.Sprintf("must be above 0 and at most %s", maxDrainTimeout))
	return errors.Join(faults...)
}

func validAddress(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

func validDatabaseURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql")
}

// String returns the settings with every secret taken out.
func (c Config) String() string {
	return fmt.Sprintf("listen=%s http_listen=%s console=%t database_url=%s max_conns=%d sharded=%t key_file=%s keys=%s log_key_file=%s log_other_keys=%q token_file=%s "+
		"jwks_file=%s jwt_issuer=%s jwt_audience=%s tls_cert_file=%s tls_key_file=%s tls_client_ca_file=%s platform_rate=%d reflection=%t log_level=%s drain_timeout=%s",
		c.Listen, c.HTTPListen, c.Console, redactURL(c.DatabaseURL), c.MaxConns, c.Sharded, c.KeyFile, redact(c.Keys), c.LogKeyFile, c.LogOtherKeys, c.TokenFile,
		c.JWKSFile, c.JWTIssuer, c.JWTAudience, c.TLSCertFile, c.TLSKeyFile, c.TLSClientCAFile, c.PlatformRate, c.Reflection, c.LogLevel, c.DrainTimeout)
}

// Format prints the settings redacted whatever the verb.
func (c Config) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, c.String()) }

// LogValue returns the settings as they may be logged.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText returns the settings as they may be written anywhere.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

const redacted = "REDACTED"

func redact(secret string) string {
	if secret == "" {
		return ""
	}
	return redacted
}

// redactURL keeps what tells databases apart: user, host, path, and parameters
// that are known to be harmless.
func redactURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return redact(text) // whatever it is, it may hold a password
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), redacted)
	}
	query := u.Query()
	for name := range query {
		if name != "sslmode" && name != "host" && name != "port" {
			query.Set(name, redacted)
		}
	}
	u.RawQuery = query.Encode()
	u.Fragment = ""
	return u.String()
}
