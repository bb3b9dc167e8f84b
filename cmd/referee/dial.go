package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// server is how a command that calls one reaches it, as its flags say.
type server struct {
	transport
	address, token string
}

// transport is how a connection is secured, as the flags of a command say.
type transport struct {
	tls                  bool
	ca, cert, key, named string
}

// transportFlags adds the flags of a command that connects to a server.
func transportFlags(flags *flag.FlagSet) *transport {
	t := &transport{}
	t.add(flags)
	return t
}

func (t *transport) add(flags *flag.FlagSet) {
	flags.BoolVar(&t.tls, "tls", false, "speak TLS and trust the system's roots")
	flags.StringVar(&t.ca, "tls-ca", "", "speak TLS and trust the certificates in this PEM `file` alone")
	flags.StringVar(&t.cert, "tls-cert", "", "PEM `file` of the certificate to show to a server that asks for one; goes with --tls-key")
	flags.StringVar(&t.key, "tls-key", "", "PEM `file` of its key")
	flags.StringVar(&t.named, "tls-name", "", "`name` that the server's certificate must be for, where it is not that of --addr")
}

// serverFlags adds the flags of a command that calls a server with a token of a
// scope.
func serverFlags(flags *flag.FlagSet, scope string) *server {
	s := &server{}
	flags.StringVar(&s.address, "addr", defaultAddress, "`address` of the server")
	flags.StringVar(&s.token, "token", "", "bearer `token` of "+scope+"; by default that of REFEREE_TOKEN")
	s.add(flags)
	return s
}

// dial connects as the flags say. The caller closes the connection.
func (s *server) dial(call invocation, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	if s.token == "" {
		s.token = call.getenv("REFEREE_TOKEN")
	}
	if s.token == "" {
		return nil, &usageError{"there is no token: set --token or REFEREE_TOKEN"}
	}
	secured, err := s.credentials()
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(s.address, append(options, grpc.WithTransportCredentials(secured), grpc.WithPerRPCCredentials(bearer(s.token)))...)
	if err != nil {
		return nil, &usageError{err.Error()}
	}
	return conn, nil
}

func (t *transport) credentials() (credentials.TransportCredentials, error) {
	if t.ca == "" && !t.tls {
		if t.cert != "" || t.key != "" || t.named != "" {
			return nil, &usageError{"--tls-cert, --tls-key and --tls-name need --tls or --tls-ca"}
		}
		return insecure.NewCredentials(), nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.named}
	if t.ca != "" {
		content, err := os.ReadFile(t.ca)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(content) {
			return nil, &usageError{fmt.Sprintf("--tls-ca: %s has no certificate in PEM", t.ca)}
		}
	}
	if (t.cert == "") != (t.key == "") {
		return nil, &usageError{"--tls-cert and --tls-key go together"}
	}
	if t.cert != "" {
		pair, err := tls.LoadX509KeyPair(t.cert, t.key)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config), nil
}

// bearer sends a token with every call, over TLS or not: across machines the
// token needs a network that is private, or TLS.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }
