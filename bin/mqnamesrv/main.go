// Command mqnamesrv runs a NameServer. It takes the flags and the namesrv.conf of Apache RocketMQ's; see docs/namesrv.md.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/seedmq/seedmq/bin/internal/proc"
	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/namesrv"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var f proc.ServerFlags
	if status, done := f.Parse("mqnamesrv", "Name server config properties file", args, stdout, stderr); done {
		return status
	}
	log, err := proc.Logger(stderr, f.LogLevel)
	if err != nil {
		return proc.Fail(stderr, err, proc.ExitUsage)
	}
	live, err := proc.LoadConfig(log, conf.DefaultNamesrvProcess(proc.HostEnv()), f.ConfigFile, nil)
	if err != nil {
		return proc.FailConfig(stderr, err)
	}
	if f.ConfigFile != "" {
		fmt.Fprintf(stdout, "load config properties file OK, %s\n", f.ConfigFile)
	}
	if f.PrintAll || f.PrintImportant {
		return proc.PrintItems(stdout, live.Get(), f.PrintImportant)
	}
	return serve(log, live, stdout, stderr)
}

func serve(log *xlog.Logger, live *conf.Live[conf.NamesrvProcess], stdout, stderr io.Writer) int {
	sig := proc.NotifySignals()
	s, err := namesrv.New(namesrv.Options{Live: live, Clock: clock.Real{}, Log: log})
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		return proc.Fail(stderr, err, proc.ExitFailed)
	}
	fmt.Fprintf(stdout, "The Name Server boot success. serializeType=JSON, address %s\n", proc.Address(live.Get().Server.BindAddress, s.Addr()))
	return sig.Wait(log, func() { proc.Reload(log, live) }, s)
}
