package main

import (
	"context"
	"flag"
	"fmt"
	"text/tabwriter"
	"time"

	"referee.example/internal/app"
)

// partitions lists the months of the log, makes those ahead, packs those that are
// over and takes old ones out. It drops none.
func partitions(ctx context.Context, call invocation) error {
	flags := flag.NewFlagSet("partitions", flag.ContinueOnError)
	url := flags.String("database-url", call.getenv(databaseVariable), "postgres:// `URL` of the database, as its owner; by default that of "+databaseVariable)
	flags.Lookup("database-url").DefValue = "" // the real one holds a password
	ahead := flags.Int("ahead", 0, "make room for so many `months` after this one")
	before := flags.String("detach-before", "", "take every month before `YYYY-MM` out of the log; their tables stay, and no match of them may still go on")
	pack := flags.Bool("pack", false, "rebuild the indexes of months that are over, which play has left half full; nothing stops meanwhile")
	if err := call.parse(flags); err != nil {
		return err
	}
	if *url == "" {
		return &usageError{"there is no database: set --database-url or " + databaseVariable}
	}
	if *ahead < 0 || *ahead > app.MaxMonthsAhead {
		return &usageError{fmt.Sprintf("--ahead is 1 to %d", app.MaxMonthsAhead)}
	}
	asked := app.Partitions{Ahead: *ahead, Pack: *pack}
	if *before != "" {
		month, err := time.Parse("2006-01", *before)
		if err != nil {
			return &usageError{fmt.Sprintf("--detach-before is a month such as 2016-07, not %q", *before)}
		}
		asked.DetachBefore = month
	}
	kept, err := app.KeepPartitions(ctx, *url, asked)
	for _, name := range kept.Detached {
		tell(call.out, "detached %s\n", name)
	}
	for _, name := range kept.Packed {
		tell(call.out, "packed %s\n", name)
	}
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(call.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	tell(table, "month\tevents about\tbytes\tlive matches\tstate\t\n")
	for _, p := range kept.Months {
		state := "in the log"
		switch {
		case p.Pending:
			state = "half detached: detach it again"
		case !p.Attached:
			state = "detached"
		}
		tell(table, "%s\t%d\t%d\t%d\t%s\t\n", p.Month.Format("2006-01"), max(p.Events, 0), p.Bytes, p.Live, state)
	}
	return table.Flush()
}
