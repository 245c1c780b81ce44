// Command mqbroker runs a broker. It takes the flags and the broker.conf of Apache RocketMQ's; see docs/configuration.md.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"github.com/seedmq/seedmq/bin/internal/proc"
	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var f proc.ServerFlags
	if status, done := f.Parse("mqbroker", "Broker config properties file", args, stdout, stderr); done {
		return status
	}
	log, err := proc.Logger(stderr, f.LogLevel)
	if err != nil {
		return proc.Fail(stderr, err, proc.ExitUsage)
	}
	override := map[string]string{}
	printing := f.PrintAll || f.PrintImportant
	if f.NamesrvAddr != "" && !printing { // RocketMQ prints before it looks at -n
		override["namesrvAddr"] = f.NamesrvAddr
	}
	live, err := proc.LoadBroker(log, conf.DefaultBrokerProcess(proc.HostEnv()), f.ConfigFile, override)
	if err != nil {
		return proc.FailConfig(stderr, err)
	}
	if printing {
		return proc.PrintItems(stdout, live.Get(), f.PrintImportant)
	}
	return serve(log, live, stdout, stderr)
}

func serve(log *xlog.Logger, live *conf.Live[conf.BrokerProcess], stdout, stderr io.Writer) int {
	sig := proc.NotifySignals()
	p := live.Get()
	b, err := broker.New(broker.Options{Broker: p.Broker, Store: p.Store, Server: p.Server, Clock: clock.Real{}, Log: log})
	if err == nil {
		b.UseConfig(live)
		err = b.Start()
	}
	if err != nil {
		return proc.Fail(stderr, err, proc.ExitFailed)
	}
	live.Watch(func(old, now *conf.BrokerProcess) {
		if old.Broker.NamesrvAddr != now.Broker.NamesrvAddr {
			if err := b.SetNameServers(now.Broker.NamesrvAddr); err != nil {
				log.Errorf("namesrvAddr: %v", err)
			}
		}
	})
	line := fmt.Sprintf("The broker[%s, %s] boot success. serializeType=JSON", p.Broker.BrokerName,
		net.JoinHostPort(p.Broker.BrokerIP1, strconv.Itoa(int(b.Addr().Port()))))
	if p.Broker.NamesrvAddr != "" {
		line += " and name server is " + p.Broker.NamesrvAddr
	}
	fmt.Fprintln(stdout, line)
	return sig.Wait(log, func() { proc.Reload(log, live) }, b)
}
