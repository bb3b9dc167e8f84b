package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// healthcheck fits the HEALTHCHECK of an image without a shell: it fails unless
// the server says that it is ready.
func healthcheck(ctx context.Context, call invocation) error {
	flags := flag.NewFlagSet("healthcheck", flag.ContinueOnError)
	address := flags.String("addr", localAddress(call.getenv("REFEREE_LISTEN")), "`address` of the server; by default that of REFEREE_LISTEN on this machine")
	timeout := flags.Duration("timeout", 2*time.Second, "how long to wait, as a `duration`")
	from := transportFlags(flags)
	err := call.parse(flags)
	if err != nil {
		return err
	}
	secured, err := from.credentials()
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient(*address, grpc.WithTransportCredentials(secured))
	if err != nil {
		return &usageError{err.Error()}
	}
	defer func() { _ = conn.Close() }() // nothing is left to be said to the server
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	answer, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		return fmt.Errorf("asking %s: %w", *address, err)
	}
	if answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("%s is %s", *address, answer.GetStatus())
	}
	_, err = fmt.Fprintf(call.out, "%s is %s\n", *address, answer.GetStatus())
	return err
}

// localAddress returns where a server that listens on an address is reached
// from its own machine.
func localAddress(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return defaultAddress
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
