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

// server is how a command reaches one, as its flags say.
type server struct {
	address, token, tlsCA string
	tls                   bool
}

// serverFlags adds the flags of a command that calls a server with a token of a
// scope.
func serverFlags(flags *flag.FlagSet, scope string) *server {
	s := &server{}
	flags.StringVar(&s.address, "addr", defaultAddress, "`address` of the server")
	flags.StringVar(&s.token, "token", "", "bearer `token` of "+scope+"; by default that of REFEREE_TOKEN")
	flags.BoolVar(&s.tls, "tls", false, "speak TLS, as to a proxy before the server, and trust the system's roots")
	flags.StringVar(&s.tlsCA, "tls-ca", "", "speak TLS and trust the certificates in this PEM `file` alone")
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
	transport, err := s.transport()
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(s.address, append(options, grpc.WithTransportCredentials(transport), grpc.WithPerRPCCredentials(bearer(s.token)))...)
	if err != nil {
		return nil, &usageError{err.Error()}
	}
	return conn, nil
}

func (s *server) transport() (credentials.TransportCredentials, error) {
	if s.tlsCA == "" && !s.tls {
		return insecure.NewCredentials(), nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.tlsCA != "" {
		content, err := os.ReadFile(s.tlsCA)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(content) {
			return nil, &usageError{fmt.Sprintf("--tls-ca: %s has no certificate in PEM", s.tlsCA)}
		}
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
