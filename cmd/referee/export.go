package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"referee.example/internal/verify"
	refereev1 "referee.example/proto/referee/v1"
)

// maxExportedBytes bounds one message of a server; the longest is a game of
// ten thousand plies.
const maxExportedBytes = 16 << 20

// export writes ended games from a running server.
func export(ctx context.Context, call invocation) error {
	flags := flag.NewFlagSet("export", flag.ContinueOnError)
	address := flags.String("addr", defaultAddress, "`address` of the server")
	token := flags.String("token", "", "bearer `token` with the scope audit; by default that of REFEREE_TOKEN")
	format := flags.String("format", "json", "`form`: json for lines that referee verify reads, text for one game as a tournament's record")
	game := flags.Uint("game", 0, "`number` of the game of --match, for --format text")
	match := flags.String("match", "", "`id` of one match; by default all matches that the token may see")
	platform := flags.String("platform", "", "`platform` whose matches are wanted")
	player := flags.String("player", "", "`player` of that platform")
	resume := flags.String("resume", "", "go on after the `token` that a broken export told")
	if err := call.parse(flags); err != nil {
		return err
	}
	if *token == "" {
		*token = call.getenv("REFEREE_TOKEN")
	}
	switch {
	case *token == "":
		return &usageError{"there is no token: set --token or REFEREE_TOKEN"}
	case *format != "json" && *format != "text":
		return &usageError{fmt.Sprintf("--format is json or text, not %q", *format)}
	case (*format == "text") != (*game != 0) || *game != 0 && *match == "":
		return &usageError{"--format text needs --match and --game, and nothing else has a --game"}
	case *match != "" && (*platform != "" || *player != ""):
		return &usageError{"--match excludes --platform and --player"}
	}
	if *format == "text" {
		return exportText(ctx, call, *address, *token, *match, *game)
	}
	request := &refereev1.ExportGamesRequest{MatchId: *match, ResumeToken: *resume}
	if *match == "" {
		request.Filter = &refereev1.HistoryFilter{Platform: *platform, PlayerId: *player}
	}
	return exportGames(ctx, call, *address, *token, request)
}

func exportGames(ctx context.Context, call invocation, address, token string, request *refereev1.ExportGamesRequest) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(bearer(token)), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxExportedBytes)))
	if err != nil {
		return &usageError{err.Error()}
	}
	defer func() { _ = conn.Close() }() // every answer has been read
	stream, err := refereev1.NewAuditServiceClient(conn).ExportGames(ctx, request)
	if err != nil {
		return err
	}
	last, games := request.GetResumeToken(), 0
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			_, err = fmt.Fprintf(call.err, "%d games exported\n", games)
			return err
		}
		if err == nil {
			_, err = fmt.Fprintf(call.out, "%s\n", verify.PrintableJSON(answer.GetJson()))
		}
		if err != nil {
			if last != "" {
				err = errors.Join(err, fmt.Errorf("go on with --resume %s", last))
			}
			return err
		}
		last = answer.GetResumeToken()
		games++
	}
}
