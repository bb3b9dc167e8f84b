package app

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	refereev1 "referee.example/proto/referee/v1"
)

// authority signs certificates in a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.certificate, a.key = a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// sign signs a template; the first one signs itself.
func (a *authority) sign(t *testing.T, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a.serial++
	template.SerialNumber = big.NewInt(a.serial)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signing := a.certificate, a.key
	if parent == nil {
		parent, signing = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signing)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

// issue writes a certificate of the name and its key to files.
func (a *authority) issue(t *testing.T, name, certFile, keyFile string) {
	t.Helper()
	certificate, key := a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	write(t, certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}))
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTLS: a port with certificates takes no call in the clear, none from a client
// without a certificate, and none from one of another authority; certificates are
// exchanged while it runs.
func TestTLS(t *testing.T) {
	tt := newTable(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	servers, clients, strangers := newAuthority(t), newAuthority(t), newAuthority(t)
	servers.issue(t, "first", at("server.crt"), at("server.key"))
	clients.issue(t, "client", at("client.crt"), at("client.key"))
	strangers.issue(t, "stranger", at("stranger.crt"), at("stranger.key"))
	write(t, at("clients.pem"), clients.pem())
	tt.config.TLSCertFile, tt.config.TLSKeyFile, tt.config.TLSClientCAFile = at("server.crt"), at("server.key"), at("clients.pem")
	tt.config.HTTPListen = "127.0.0.1:0"
	a := tt.start(t, slog.New(slog.DiscardHandler))
	defer a.Stop()

	roots := x509.NewCertPool()
	roots.AddCert(servers.certificate)
	call := func(transport credentials.TransportCredentials) error {
		conn, err := grpc.NewClient(a.Addr(), grpc.WithTransportCredentials(transport))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, err = refereev1.NewRulesServiceClient(conn).ListRulesets(tt.context(t), &refereev1.ListRulesetsRequest{})
		return err
	}
	with := func(name string) *tls.Config {
		pair, err := tls.LoadX509KeyPair(at(name+".crt"), at(name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}
	}
	if err := call(credentials.NewTLS(with("client"))); err != nil {
		t.Errorf("with a certificate: %v", err)
	}
	for name, config := range map[string]*tls.Config{
		"no certificate":                 {RootCAs: roots},
		"a stranger's certificate":       with("stranger"),
		"a server of unknown authority":  {Certificates: with("client").Certificates},
		"a version that is no longer in": {RootCAs: roots, Certificates: with("client").Certificates, MaxVersion: tls.VersionTLS11},
	} {
		if got := status.Code(call(credentials.NewTLS(config))); got != codes.Unavailable {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := status.Code(call(insecure.NewCredentials())); got != codes.Unavailable {
		t.Errorf("in the clear: %v", got)
	}

	web := &http.Client{Transport: &http.Transport{TLSClientConfig: with("client")}}
	status, body := get(t, web, "https://"+a.HTTPAddr()+"/healthz")
	for end := time.Now().Add(limit); status == http.StatusServiceUnavailable && time.Now().Before(end); { // until it is ready
		status, body = get(t, web, "https://"+a.HTTPAddr()+"/healthz")
	}
	if status != http.StatusOK {
		t.Errorf("the HTTP port answers %d: %s", status, body)
	}
	web.CloseIdleConnections()
	if _, err := tls.Dial("tcp", a.HTTPAddr(), &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS12}); err == nil {
		t.Error("the HTTP port takes a client without a certificate")
	}

	seen := func() string {
		conn, err := tls.Dial("tcp", a.Addr(), with("client"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		return conn.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	if got := seen(); got != "first" {
		t.Errorf("the certificate at first is %q", got)
	}
	file := newFile(a.certificates.take, tt.config.TLSCertFile, tt.config.TLSKeyFile, tt.config.TLSClientCAFile)
	var logged bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&logged, nil))
	write(t, at("server.crt"), []byte("half a file"))
	file.follow(logger)
	if got := seen(); got != "first" || !strings.Contains(logged.String(), "can't be used") {
		t.Errorf("a broken file: the certificate is %q; logged %s", got, &logged)
	}
	servers.issue(t, "second", at("server.crt"), at("server.key"))
	file.follow(logger)
	if got := seen(); got != "second" {
		t.Errorf("after the exchange the certificate is %q; logged %s", got, &logged)
	}
}

// TestTokenFileIsFollowed exchanges the token file of a running replica.
func TestTokenFileIsFollowed(t *testing.T) {
	tt := newTable(t)
	a := tt.start(t, slog.New(slog.DiscardHandler))
	defer a.Stop()
	client := refereev1.NewRulesServiceClient(dial(t, a))
	list := func() codes.Code {
		_, err := client.ListRulesets(tt.context(t), &refereev1.ListRulesetsRequest{})
		return status.Code(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ticks, done := make(chan time.Time), make(chan struct{})
	var logged lockedBuffer
	files := []*file{newFile(a.takeAccess, tt.config.TokenFile, tt.config.JWKSFile)}
	go func() {
		defer close(done)
		followFiles(ctx, ticks, files, slog.New(slog.NewTextHandler(&logged, nil)))
	}()
	// The second tick is taken only after the first has been worked on.
	follow := func() { ticks <- time.Time{}; ticks <- time.Time{} }

	write(t, tt.config.TokenFile, []byte("[{"))
	follow()
	if got := list(); got != codes.OK || !strings.Contains(logged.String(), "can't be used") {
		t.Errorf("after a broken file: %v; logged %s", got, logged.String())
	}
	token, content := NewDevToken()
	write(t, tt.config.TokenFile, content)
	follow()
	if got := list(); got != codes.Unauthenticated {
		t.Errorf("a token that was taken out: %v", got)
	}
	tt.token = token
	if got := list(); got != codes.OK {
		t.Errorf("a token that was put in: %v", got)
	}
	cancel()
	<-done
	if strings.Contains(logged.String(), token) {
		t.Error("a token was logged")
	}
}
