package app

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
)

// certificates are the TLS side of the ports: their certificate and, where clients
// must show one too, the authorities that may have signed it. They can be
// exchanged while connections are open, which keep what they began with.
type certificates struct {
	config  Config
	current atomic.Pointer[tls.Config]
}

// certificates reads the files; nil means a port without TLS.
func (c Config) certificates() (*certificates, error) {
	if c.TLSCertFile == "" {
		return nil, nil
	}
	s := &certificates{config: c}
	return s, s.take()
}

// take reads the files anew.
func (s *certificates) take() error {
	pair, err := tls.LoadX509KeyPair(s.config.TLSCertFile, s.config.TLSKeyFile)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", s.config.TLSCertFile, s.config.TLSKeyFile, err)
	}
	current := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if s.config.TLSClientCAFile != "" {
		content, err := os.ReadFile(s.config.TLSClientCAFile)
		if err != nil {
			return err
		}
		current.ClientCAs = x509.NewCertPool()
		if !current.ClientCAs.AppendCertsFromPEM(content) {
			return fmt.Errorf("%s: %w", s.config.TLSClientCAFile, errors.New("holds no certificate in PEM form"))
		}
		current.ClientAuth = tls.RequireAndVerifyClientCert
	}
	s.current.Store(current)
	return nil
}

// server is the configuration of a port that speaks a protocol; each handshake
// takes the present files.
func (s *certificates) server(protocol string) *tls.Config {
	if s == nil {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{protocol},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			config := s.current.Load().Clone()
			config.NextProtos = []string{protocol}
			return config, nil
		},
	}
}
