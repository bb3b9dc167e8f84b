// Command referee serves, migrates and demonstrates the match referee.
// `referee help` lists what it does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"referee.example/internal/app"
	"referee.example/internal/witness"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2 // wrong arguments or settings: trying again is no use
	exitForked = 3 // a witness caught the log contradicting itself, by what it signed
)

// invocation is what a command is called with.
type invocation struct {
	arguments []string
	getenv    func(string) string
	out, err  io.Writer
}

type command struct {
	name, summary string
	run           func(context.Context, invocation) error
}

var commands = []command{
	{"serve", "serve the gRPC port until a signal comes", serve},
	{"migrate", "bring the database's schema up, or down, or say where it is", migrate},
	{"roles", "make the database roles of the server, of auditors and of readers", roles},
	{"partitions", "list, make and detach the months of the log", partitions},
	{"dev", "serve with a Postgres of its own and play one match", dev},
	{"demo", "play a whole match against a running server", demonstrate},
	{"rules", "list the houses' rules, or tell one in words", tellRules},
	{"check", "judge one action in a position", checkAction},
	{"import", "replay text records and judge their results", importRecords},
	{"export", "write ended games as a server has them to a file", export},
	{"verify", "find out whether exported games are what they claim, without a server", verifyFiles},
	{"log", "make or show a key of the log of finished games; audit it; let a restored database sign on", gameLog},
	{"witness", "check and cosign the log of finished games", witnessLog},
	{"simulate", "play matches while things break, and prove every promise", simulateFaults},
	{"doctor", "check a deployment and say what to do", doctor},
	{"healthcheck", "ask a server whether it is ready", healthcheck},
	{"version", "say which build this is", version},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the second has its default effect: the end at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, invocation{arguments: os.Args[1:], getenv: os.Getenv, out: os.Stdout, err: os.Stderr}))
}

// usageError is a call that can't succeed however often it is made.
type usageError struct{ problem string }

func (e *usageError) Error() string { return e.problem }

func run(ctx context.Context, call invocation) int {
	if len(call.arguments) == 0 {
		writeUsage(call.err)
		return exitUsage
	}
	name := call.arguments[0]
	if name == "help" || name == "-h" || name == "--help" {
		writeUsage(call.out)
		return exitDone
	}
	at := slices.IndexFunc(commands, func(c command) bool { return c.name == name })
	if at < 0 {
		tell(call.err, "referee: there is no command %q\n", name)
		writeUsage(call.err)
		return exitUsage
	}
	call.arguments = call.arguments[1:]
	err := commands[at].run(ctx, call)
	return report(call.err, name, err)
}

func report(out io.Writer, name string, err error) int {
	var usage *usageError
	var config *app.ConfigError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitDone
	case errors.As(err, &usage) || errors.As(err, &config):
		tell(out, "referee %s: %s\n", name, inLines(err))
		return exitUsage
	case witness.Contradicts(err):
		tell(out, "referee %s: %s\n", name, inLines(err))
		return exitForked
	default:
		tell(out, "referee %s: %s\n", name, inLines(err))
		return exitFailed
	}
}

func writeUsage(out io.Writer) {
	tell(out, "Usage: referee COMMAND [flags]\n\n")
	for _, c := range commands {
		tell(out, "  %-12s %s\n", c.name, c.summary)
	}
	tell(out, "\nreferee COMMAND --help lists a command's flags.\n"+
		"Exit codes: 0 done, 1 failed, 2 wrong arguments or settings, 3 the log contradicts what a witness holds.\n")
}

// parse reads a command's flags; it takes no other arguments.
func (call invocation) parse(flags *flag.FlagSet) error {
	arguments, err := call.parseWith(flags, "")
	if err == nil && len(arguments) > 0 {
		return &usageError{fmt.Sprintf("%q is not a flag", arguments[0])}
	}
	return err
}

// parseWith reads a command's flags, which may stand before, between and after
// its other arguments, and returns those. takes is what help calls them.
func (call invocation) parseWith(flags *flag.FlagSet, takes string) (arguments []string, err error) {
	flags.SetOutput(io.Discard)
	err = flags.Parse(call.arguments)
	for err == nil && flags.NArg() > 0 {
		arguments = append(arguments, flags.Arg(0))
		err = flags.Parse(flags.Args()[1:])
	}
	if errors.Is(err, flag.ErrHelp) {
		tell(call.out, "Usage: referee %s [flags]%s\n\n", flags.Name(), takes)
		flags.SetOutput(call.out)
		flags.PrintDefaults()
		return nil, err
	}
	if err != nil {
		return nil, &usageError{err.Error()}
	}
	return arguments, nil
}
