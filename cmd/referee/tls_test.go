package main

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"strings"
	"testing"
)

// TestCommandsOverTLS calls a replica that has TLS and asks for certificates.
func TestCommandsOverTLS(t *testing.T) {
	certificate, authority := selfSigned(t)
	encoded, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	key := file(t, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
	r := newReplica(t)
	r.stop()
	r.config.TLSCertFile, r.config.TLSKeyFile, r.config.TLSClientCAFile = authority, key, authority
	r.start()
	address := r.app.Addr()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	secured := []string{"--tls-ca", authority, "--tls-cert", authority, "--tls-key", key}
	with := func(command, address string, flags ...string) []string {
		return append([]string{command, "--addr", address}, flags...)
	}
	got := call(t.Context(), r.environment, with("healthcheck", address, secured...)...)
	for ; strings.Contains(got.err, "NOT_SERVING"); got = call(t.Context(), r.environment, with("healthcheck", address, secured...)...) {
		if t.Context().Err() != nil {
			t.Fatal("it was never ready")
		}
	}
	if got.code != exitDone || got.out != address+" is SERVING\n" {
		t.Errorf("healthcheck: %+v", got)
	}
	// Its certificate is for the address alone, so that another name of it needs telling.
	r.must(with("healthcheck", "localhost:"+port, append(secured, "--tls-name", "127.0.0.1")...)...)
	if got := r.must(with("demo", address, append(secured, "--ascii", "--fast", "--seed", "3")...)...); !strings.HasSuffix(got.out, "sum 0\n") {
		t.Errorf("demo: %+v", got)
	}
	if got := r.must(with("export", address, secured...)...); got.out == "" {
		t.Error("nothing was exported")
	}
	for name, c := range map[string]struct {
		arguments []string
		code      int
		says      string
	}{
		"in the clear":             {with("healthcheck", address, "--timeout", "1s"), exitFailed, ""},
		"without a certificate":    {with("healthcheck", address, "--tls-ca", authority, "--timeout", "1s"), exitFailed, ""},
		"the system's roots":       {with("healthcheck", address, "--tls", "--timeout", "1s"), exitFailed, "certificate"},
		"another name":             {with("healthcheck", "localhost:"+port, append(secured, "--timeout", "1s")...), exitFailed, "localhost"},
		"demo without certificate": {with("demo", address, "--tls-ca", authority), exitFailed, ""},
		"a key too few":            {with("healthcheck", address, "--tls", "--tls-cert", authority), exitUsage, "go together"},
		"a key that is none":       {with("healthcheck", address, "--tls", "--tls-cert", authority, "--tls-key", authority), exitFailed, "--tls-key"},
		"a certificate for nobody": {with("healthcheck", address, "--tls-cert", authority, "--tls-key", key), exitUsage, "need --tls"},
	} {
		if got := call(t.Context(), r.environment, c.arguments...); got.code != c.code || !strings.Contains(got.err, c.says) {
			t.Errorf("%s: exit code %d, %q", name, got.code, got.err)
		}
	}
}
