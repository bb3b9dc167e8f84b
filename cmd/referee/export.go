package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"referee.example/internal/verify"
	refereev1 "referee.example/proto/referee/v1"
)

// maxExportedBytes bounds one message of a server; the longest is a game of
// ten thousand plies.
const maxExportedBytes = 16 << 20

// exportCommand is what the flags of export say.
type exportCommand struct {
	server                              *server
	format, match, from, until          string
	platform, player, opponent, ruleset string
	game                                uint
	out, resumeToken                    string
	resume                              bool
}

// export writes ended games from a running server.
func export(ctx context.Context, call invocation) error {
	flags := flag.NewFlagSet("export", flag.ContinueOnError)
	c := &exportCommand{server: serverFlags(flags, "the scope audit")}
	flags.StringVar(&c.format, "format", "json", "`form`: json for lines that referee verify reads, text for records as tournaments write them")
	flags.StringVar(&c.match, "match", "", "`id` of one match; by default all matches that the token may see")
	flags.UintVar(&c.game, "game", 0, "`number` of one game of --match")
	flags.StringVar(&c.platform, "platform", "", "`platform` whose matches are wanted")
	flags.StringVar(&c.player, "player", "", "`player` of that platform")
	flags.StringVar(&c.opponent, "opponent", "", "second `player`: matches between the two")
	flags.StringVar(&c.ruleset, "ruleset", "", "`preset` that the matches are judged by")
	flags.StringVar(&c.from, "from", "", "matches created at this `time` or later: 2026-07-01 (UTC) or 2026-07-01T12:00:00Z")
	flags.StringVar(&c.until, "until", "", "matches created before this `time`")
	flags.StringVar(&c.out, "out", "", "new `file` to write to; by default the standard output")
	flags.BoolVar(&c.resume, "resume", false, "go on with --out where a broken export left it; give the same flags again")
	flags.StringVar(&c.resumeToken, "resume-token", "", "go on after the `token` that a broken export to the standard output told")
	if err := call.parse(flags); err != nil {
		return err
	}
	request, err := c.request()
	if err != nil {
		return err
	}
	conn, err := c.server.dial(call, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxExportedBytes)))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // every answer has been read
	return c.run(ctx, call, refereev1.NewAuditServiceClient(conn), request)
}

// request checks the flags and returns what they ask for.
func (c *exportCommand) request() (*refereev1.ExportGamesRequest, error) {
	filtered := c.platform != "" || c.player != "" || c.opponent != "" || c.ruleset != "" || c.from != "" || c.until != ""
	switch {
	case c.format != "json" && c.format != "text":
		return nil, &usageError{fmt.Sprintf("--format is json or text, not %q", c.format)}
	case c.match != "" && filtered:
		return nil, &usageError{"--match excludes --platform, --player, --opponent, --ruleset, --from and --until"}
	case c.game != 0 && c.match == "":
		return nil, &usageError{"--game needs --match"}
	case c.resume && c.out == "" || c.resumeToken != "" && c.out != "":
		return nil, &usageError{"--resume goes with --out, --resume-token with the standard output"}
	}
	request := &refereev1.ExportGamesRequest{MatchId: c.match, ResumeToken: c.resumeToken}
	if c.format == "text" {
		request.Format = refereev1.ExportFormat_EXPORT_FORMAT_TEXT
	}
	if c.match != "" {
		return request, nil
	}
	from, err := timeFlag("from", c.from)
	if err != nil {
		return nil, err
	}
	until, err := timeFlag("until", c.until)
	if err != nil {
		return nil, err
	}
	request.Filter = &refereev1.HistoryFilter{Platform: c.platform, PlayerId: c.player, OpponentId: c.opponent,
		RulesetId: c.ruleset, FromTime: from, UntilTime: until}
	return request, nil
}

// timeFlag reads a day or an instant; nil for an empty text.
func timeFlag(name, text string) (*timestamppb.Timestamp, error) {
	if text == "" {
		return nil, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339Nano} {
		if at, err := time.Parse(layout, text); err == nil {
			return timestamppb.New(at), nil
		}
	}
	return nil, &usageError{fmt.Sprintf("--%s is a day such as 2026-07-01 or a time such as 2026-07-01T12:00:00Z, not %q", name, text)}
}

// sink is where exported games go.
type sink interface {
	io.Writer
	wrote(token string) error // the games up to the resume token
	broken() string           // the flags to go on with, empty for none
	done() error              // with the last game
}

func (c *exportCommand) run(ctx context.Context, call invocation, audit refereev1.AuditServiceClient, request *refereev1.ExportGamesRequest) error {
	out, token, err := c.sink(call)
	if err != nil {
		return err
	}
	if token != "" {
		request.ResumeToken = token
	}
	bar := newProgress(call.err, request.GetFilter().GetFromTime(), time.Now)
	err = c.copy(ctx, audit, request, out, bar)
	bar.stop()
	if err != nil {
		if how := out.broken(); how != "" {
			err = fmt.Errorf("%w\ngo on with %s", err, how)
		}
		return err
	}
	if c.game != 0 && bar.games == 0 {
		return fmt.Errorf("match %s has no ended game %d", c.match, c.game)
	}
	if err := out.done(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(call.err, "%d games exported\n", bar.games)
	return err
}

func (c *exportCommand) sink(call invocation) (sink, string, error) {
	if c.out == "" {
		return &streamSink{Writer: call.out, token: c.resumeToken}, "", nil
	}
	return openExport(c.out, c.resume)
}

func (c *exportCommand) copy(ctx context.Context, audit refereev1.AuditServiceClient, request *refereev1.ExportGamesRequest, out sink, bar *progress) error {
	stream, err := audit.ExportGames(ctx, request)
	if err != nil {
		return err
	}
	judge := answers{match: c.match, text: request.GetFormat() == refereev1.ExportFormat_EXPORT_FORMAT_TEXT}
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := judge.check(answer); err != nil {
			return err
		}
		if c.game != 0 && answer.GetGame() != uint32(c.game) {
			continue
		}
		n, err := fmt.Fprintf(out, "%s\n", append(verify.PrintableJSON(answer.GetJson()), printable(answer.GetText())...))
		if err == nil {
			err = out.wrote(answer.GetResumeToken())
		}
		if err != nil {
			return err
		}
		bar.add(answer.GetMatchId(), int(answer.GetEvents()), n)
	}
}

// streamSink is the standard output: whoever reads it keeps the token.
type streamSink struct {
	io.Writer
	token string
}

func (s *streamSink) wrote(token string) error { s.token = token; return nil }

func (s *streamSink) done() error { return nil }

func (s *streamSink) broken() string {
	if s.token == "" {
		return ""
	}
	return "--resume-token " + s.token
}
