// Command perf measures what SeedMQ promises about speed, memory, start and stop, and prints one table in Markdown.
//
//	perf [-only REGEXP] [-dir DIR] [-size FRACTION] [-rounds N] [-shared DIR]
//
// It builds our programs, starts them on free ports of 127.0.0.1 with their data below DIR, runs one row after another and
// removes the data. Where DIR/limit and DIR/java of -shared are there, the floor under any broker (a server that only
// reads frames, copies the bodies into memory and answers) and Apache RocketMQ are measured beside ours, in turn, with the same
// load generator: a busy machine divides all of them alike, so the ratios of one run are what counts.
//
// One goroutine runs the rows; a row's processes and loads end before the next row begins.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
)

func main() {
	var o options
	only := flag.String("only", "", "run only the rows whose name matches")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "folder for data; the full size needs 25 GB")
	flag.Float64Var(&o.size, "size", 1, "fraction of the full amount of data, queues and connections")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds of the rows that compare; medians are shown")
	flag.DurationVar(&o.secs, "time", defaultTime, "how long one load takes")
	flag.StringVar(&o.shared, "shared", "../shared/bench", "folder with limit, mqload and java; skipped when missing")
	flag.StringVar(&o.bin, "bin", "", "folder with mqbroker and mqnamesrv; default: build them")
	flag.Parse()
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		fmt.Fprintln(os.Stderr, "perf: -only:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	missed, err := run(ctx, &o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "perf:", err)
		os.Exit(1)
	}
	if missed > 0 {
		fmt.Fprintf(os.Stderr, "perf: %d bars missed\n", missed)
		os.Exit(3)
	}
}
