package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"referee.example/internal/demo"
	refereev1 "referee.example/proto/referee/v1"
)

const (
	// defaultAddress is that of serve's and dev's default port, from here.
	defaultAddress = "localhost:50051"
	// watchablePause lets a person follow the plies.
	watchablePause = 150 * time.Millisecond
	// briskPause shows the same match as an appetiser.
	briskPause = 50 * time.Millisecond
)

func demonstrate(ctx context.Context, call invocation) error {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	address := flags.String("addr", defaultAddress, "`address` of the server")
	token := flags.String("token", "", "bearer `token` with the scope play; by default that of REFEREE_TOKEN")
	rules := flags.String("rules", demo.StandardRuleset, "`id` of the preset to play")
	seed := flags.Uint64("seed", 0, "`seed` of the players' dice; 0 takes any")
	ascii := flags.Bool("ascii", false, "draw letters instead of Chinese characters")
	colour := flags.Bool("colour", false, "use colour also where the output is no terminal")
	fast := flags.Bool("fast", false, "do not wait between plies, list them")
	err := call.parse(flags)
	if err != nil {
		return err
	}
	if *token == "" {
		*token = call.getenv("REFEREE_TOKEN")
	}
	if *token == "" {
		return &usageError{"there is no token: set --token or REFEREE_TOKEN"}
	}
	if *seed == 0 {
		*seed = anySeed()
	}
	options := call.demoOptions(*seed, *ascii, *fast)
	options.Ruleset = *rules
	options.Style.Colour = options.Style.Colour || *colour
	if options.Live {
		options.Pause = watchablePause
	}
	_, err = playDemo(ctx, *address, *token, options)
	return err
}

func anySeed() uint64 {
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // documented never to fail
	return binary.BigEndian.Uint64(seed[:])
}

// demoOptions suits the output: on a terminal the board is redrawn in place, in
// colour unless the environment declines it.
func (call invocation) demoOptions(seed uint64, ascii, fast bool) demo.Options {
	terminal := isTerminal(call.out)
	return demo.Options{
		Out:   call.out,
		Seed:  seed,
		Style: demo.Style{ASCII: ascii, Colour: terminal && call.getenv("NO_COLOR") == ""},
		Live:  terminal && !fast,
	}
}

func playDemo(ctx context.Context, address, token string, options demo.Options) (*refereev1.Match, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(bearer(token)))
	if err != nil {
		return nil, &usageError{err.Error()}
	}
	defer func() { _ = conn.Close() }() // every answer has been read
	_, err = fmt.Fprintf(options.Out, "Players' dice: --seed %d\n", options.Seed)
	if err != nil {
		return nil, err
	}
	return demo.Play(ctx, conn, options)
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
