// Command mqserver runs a NameServer and a broker in one process, ready for use without a configuration file.
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/seedmq/seedmq/bin/internal/proc"
	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/namesrv"
)

//go:embed default.conf
var defaultConf []byte

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// flags are the command line. "" means not given.
type flags struct {
	data, listen, namesrvPort, brokerPort, config, logLevel string
}

func run(args []string, stdout, stderr io.Writer) int {
	f, version := flags{logLevel: "warn"}, false
	set := proc.NewFlagSet("mqserver",
		proc.Flag{Name: "data", Usage: "Directory of all data, default ./mqdata", Value: &f.data},
		proc.Flag{Name: "listen", Usage: "Address to listen on and to tell clients, default 127.0.0.1", Value: &f.listen},
		proc.Flag{Name: "namesrv-port", Usage: "Port of the NameServer, default 9876; 0 takes a free one", Value: &f.namesrvPort},
		proc.Flag{Name: "broker-port", Usage: "Port of the broker, default 10911; 0 takes a free one", Value: &f.brokerPort},
		proc.Flag{Name: "config", Short: "c", Usage: "broker.conf with further keys", Value: &f.config},
		proc.Flag{Name: "logLevel", Usage: "debug, info, warn or error; the log goes to stderr", Value: &f.logLevel},
		proc.Flag{Name: "version", Usage: "Print the version", Bool: &version})
	if status, done := set.Parse(args, stdout, stderr); done {
		return status
	}
	if version {
		fmt.Fprintln(stdout, "mqserver", proc.Version)
		return proc.ExitOK
	}
	log, err := proc.Logger(stderr, f.logLevel)
	if err != nil {
		return proc.Fail(stderr, err, proc.ExitUsage)
	}
	c, err := f.load(log)
	if err != nil {
		return proc.FailConfig(stderr, err)
	}
	return serve(log, f, c, stdout, stderr)
}

// config is the embedded file, the file given, and the flags, the last one winning.
type config struct {
	base     conf.BrokerProcess
	path     string
	override map[string]string
	live     *conf.Live[conf.BrokerProcess]
}

func (f *flags) load(log *xlog.Logger) (*config, error) {
	c := &config{base: conf.DefaultBrokerProcess(proc.HostEnv()), path: f.config, override: map[string]string{}}
	src, err := conf.Parse("default.conf", defaultConf)
	if err != nil {
		return nil, err
	}
	for _, p := range src.Apply(&c.base) {
		return nil, fmt.Errorf("embedded configuration: %s", p)
	}
	c.base.Store.StorePathRootDir = "mqdata"
	c.base.Server.BindAddress = "127.0.0.1"
	c.base.Broker.BrokerIP1, c.base.Broker.BrokerIP2, c.base.Broker.NamesrvAddr = "", "", ""
	for key, value := range map[string]string{"storePathRootDir": f.data, "bindAddress": f.listen, "listenPort": f.brokerPort} {
		if value != "" {
			c.override[key] = value
		}
	}
	c.live, err = proc.LoadBroker(log, c.base, c.path, c.override)
	return c, err
}

// complete adds what is known only when the NameServer listens; a configuration file still wins.
func (c *config) complete(nsAddr string) error {
	p := c.live.Get()
	c.base.Broker.BrokerIP1 = advertised(p.Server.BindAddress)
	c.base.Broker.BrokerIP2 = c.base.Broker.BrokerIP1
	c.base.Broker.NamesrvAddr = nsAddr
	c.override["brokerId"] = strconv.FormatInt(p.Broker.BrokerID, 10)
	live, _, err := conf.Start(c.base, c.path, c.override) // its problems were logged by load
	c.live = live
	return err
}

func serve(log *xlog.Logger, f flags, c *config, stdout, stderr io.Writer) int {
	sig := proc.NotifySignals()
	ns, err := startNamesrv(log, f, c.live.Get())
	if err != nil {
		return proc.Fail(stderr, inUse(err, "--namesrv-port"), proc.ExitFailed)
	}
	nsAddr := proc.Address(advertised(c.live.Get().Server.BindAddress), ns.Addr())
	b, err := startBroker(log, c, nsAddr)
	if err != nil {
		proc.Stop(log, ns)
		return proc.Fail(stderr, inUse(err, "--broker-port"), proc.ExitFailed)
	}
	p := c.live.Get()
	welcome(stdout, p, nsAddr, net.JoinHostPort(p.Broker.BrokerIP1, strconv.Itoa(int(b.Addr().Port()))))
	return sig.Wait(log, func() { proc.Reload(log, c.live) }, b, ns)
}

func startNamesrv(log *xlog.Logger, f flags, p *conf.BrokerProcess) (*namesrv.Server, error) {
	nc := conf.DefaultNamesrv(conf.Env{})
	nc.KvConfigPath = filepath.Join(p.Store.StorePathRootDir, "namesrv", "kvConfig.json")
	port := f.namesrvPort
	if port == "" {
		port = strconv.Itoa(conf.DefaultNamesrvPort)
	}
	s, err := namesrv.New(namesrv.Options{Conf: nc, Server: p.Server, ListenAddr: net.JoinHostPort(p.Server.BindAddress, port),
		Clock: clock.Real{}, Log: log.With("part", "namesrv")})
	if err != nil {
		return nil, err
	}
	return s, s.Start()
}

func startBroker(log *xlog.Logger, c *config, nsAddr string) (*broker.Broker, error) {
	if err := c.complete(nsAddr); err != nil {
		return nil, err
	}
	p := c.live.Get()
	b, err := broker.New(broker.Options{Broker: p.Broker, Store: p.Store, Server: p.Server, Clock: clock.Real{}, Log: log.With("part", "broker")})
	if err != nil {
		return nil, err
	}
	b.UseConfig(c.live)
	return b, b.Start()
}

// advertised is the address that clients are told when we listen on bind.
func advertised(bind string) string {
	if ip := net.ParseIP(bind); bind == "" || ip != nil && ip.IsUnspecified() {
		return proc.LocalIP()
	}
	return bind
}

// welcome says where we listen and what to try next.
func welcome(w io.Writer, p *conf.BrokerProcess, nsAddr, brokerAddr string) {
	data, err := filepath.Abs(p.Store.StorePathRootDir)
	if err != nil {
		data = p.Store.StorePathRootDir
	}
	admin := "mqadmin"
	if exe, err := os.Executable(); err == nil {
		if beside := filepath.Join(filepath.Dir(exe), admin); isFile(beside) {
			admin = short(beside)
		}
	}
	fmt.Fprintf(w, `SeedMQ %s is ready.

  NameServer  %s
  broker      %s, %s of %s
  data        %s

Try:
  %s sendMessage    -n %s -t Hello -p 'hello, world'
  %s consumeMessage -n %s -t Hello
  %s topicStatus    -n %s -t Hello

Ctrl-C stops it.
`, proc.Version, nsAddr, brokerAddr, p.Broker.BrokerName, p.Broker.BrokerClusterName, data, admin, nsAddr, admin, nsAddr, admin, nsAddr)
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// short is path as seen from the working directory, when that is shorter.
func short(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && len(rel) < len(path) {
		if filepath.Dir(rel) == "." {
			return "./" + rel
		}
		return rel
	}
	return path
}

// inUse adds to the error of a taken port how to choose another.
func inUse(err error, flag string) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w\nAnother program has the port: choose one with %s", err, flag)
	}
	return err
}
