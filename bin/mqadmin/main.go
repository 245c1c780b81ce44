// Command mqadmin administers a RocketMQ cluster: the commands, options and output of Java's mqadmin. See docs/mqadmin.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"time"

	"golang.org/x/term"

	"github.com/seedmq/seedmq/bin/internal/proc"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/tools/mqadmin"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := mqadmin.Main(ctx, mqadmin.Env{
		Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr,
		NameServers: proc.HostEnv().Namesrv,
		Terminal:    term.IsTerminal(int(os.Stdout.Fd())) && term.IsTerminal(int(os.Stderr.Fd())),
		Strict:      os.Getenv("MQADMIN_STRICT") == "1",
		WorkDir:     ".", TempDir: os.TempDir(),
		Clock: clock.Real{}, Location: time.Local,
		Dial:    func() (mqadmin.Transport, error) { return remoting.NewClient(remoting.ClientOptions{}), nil },
		Version: proc.Version,
	})
	stop()
	os.Exit(code)
}
