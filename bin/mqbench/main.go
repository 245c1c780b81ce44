// Command mqbench loads and measures a broker: send, consume, and the time from one to the other.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/seedmq/seedmq/bin/internal/proc"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/tools/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := bench.Main(ctx, bench.Env{Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr, NameServers: proc.HostEnv().Namesrv,
		Clock: clock.Real{}, Version: proc.Version})
	stop()
	os.Exit(code)
}
