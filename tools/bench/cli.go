package bench

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/conf/clock"
)

// Env is all that a run of the tool takes from outside.
type Env struct {
	Args           []string // without the program's name
	Stdout, Stderr io.Writer
	NameServers    string // default of -n
	Clock          clock.Clock
	Version        string
}

// Main runs the mode that env.Args names and returns the exit code: 0 when all went well, 1 for errors of any kind.
func Main(ctx context.Context, env Env) int {
	root := &cobra.Command{Use: "mqbench", Short: "Load and measure a broker that speaks the RocketMQ protocol", Version: env.Version,
		SilenceUsage: true, SilenceErrors: true}
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetArgs(append([]string{}, env.Args...)) // never nil, which cobra takes for os.Args
	failed := false
	root.AddCommand(
		modeCommand(&env, &failed, "send", "Send messages as fast as the broker takes them, or at a rate", 8, 64),
		modeCommand(&env, &failed, "consume", "Consume what is stored, by any number of groups", 8, 1),
		modeCommand(&env, &failed, "e2e", "Measure the time from send to arrival at a long-polling consumer", 2, 256),
	)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(env.Stderr, "mqbench:", err)
		return 1
	}
	if failed {
		return 1
	}
	return 0
}

// flags are the options that need a second look after parsing.
type flags struct {
	brokers, nameServers, tags, output string
	sync                               bool
}

// modeCommand is the subcommand of one mode, with that mode's defaults.
func modeCommand(env *Env, failed *bool, mode, short string, conns, window int) *cobra.Command {
	cfg := Config{Mode: mode, Conns: conns, Window: window}
	var fl flags
	cmd := &cobra.Command{Use: mode, Short: short, Args: cobra.NoArgs}
	fl.declare(cmd, env, &cfg)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg.Brokers, cfg.NameServers = admin.SplitAddrs(fl.brokers), admin.SplitAddrs(fl.nameServers)
		if fl.tags != "" {
			cfg.Tags = strings.Split(fl.tags, ",")
		}
		if fl.sync {
			cfg.Window = 1
		}
		res, err := Run(cmd.Context(), cfg, env.Clock, env.Stderr)
		if err != nil {
			return err
		}
		*failed = res.Failed()
		if fl.output == "json" {
			return res.WriteJSON(env.Stdout)
		}
		res.WriteText(env.Stdout)
		return nil
	}
	return cmd
}

func (fl *flags) declare(cmd *cobra.Command, env *Env, cfg *Config) {
	f := cmd.Flags()
	f.StringVarP(&fl.brokers, "broker", "b", "", "broker addresses, separated by semicolons")
	f.StringVarP(&fl.nameServers, "namesrv", "n", env.NameServers, "NameServer addresses: load all masters that they know")
	f.StringVarP(&cfg.Cluster, "cluster", "c", "", "with -n: only this cluster")
	f.IntVar(&cfg.Topics, "topics", 1, "number of topics")
	f.StringVarP(&cfg.TopicPrefix, "topic", "t", "BenchTopic", "topic, or with several their prefix")
	f.IntVarP(&cfg.Queues, "queues", "q", 8, "queues of each topic on each broker")
	f.IntVar(&cfg.Groups, "groups", 1, "number of consumer groups; each consumes everything")
	f.StringVarP(&cfg.GroupPrefix, "group", "g", "BenchGroup", "consumer group, or with several their prefix")
	f.BoolVar(&cfg.Create, "create", true, "create topics and groups first")
	f.IntVar(&cfg.Conns, "conns", cfg.Conns, "connections")
	f.IntVarP(&cfg.Window, "window", "w", cfg.Window, "requests in flight on each connection")
	f.IntVarP(&cfg.Size, "size", "s", 1024, "body bytes")
	f.IntVar(&cfg.Batch, "batch", 1, "messages in a send request, or at most in a pull (default there 32)")
	f.Float64VarP(&cfg.Rate, "rate", "r", rateOf(cfg.Mode), "messages a second in all; 0 is no limit")
	f.DurationVarP(&cfg.Duration, "duration", "d", 10*time.Second, "how long")
	f.Int64VarP(&cfg.Messages, "messages", "m", 0, "stop after so many; 0 is no limit")
	f.DurationVar(&cfg.Warmup, "warmup", 0, "time before that, not counted")
	f.DurationVarP(&cfg.Interval, "interval", "i", time.Second, "time between progress lines; 0 prints none")
	f.BoolVar(&cfg.OneWay, "oneway", false, "send without asking for replies")
	f.BoolVar(&fl.sync, "sync", false, "wait for each reply before the next send: the same as --window 1")
	f.BoolVar(&cfg.UniqueKey, "uniq-key", true, "give each message a unique id, as clients do")
	f.IntVar(&cfg.Keys, "keys", 0, "give each message one of so many keys; 0 is none")
	f.StringVar(&fl.tags, "tags", "", "tags, comma separated; a batch uses them in turn")
	f.BoolVar(&cfg.Binary, "binary-header", false, "binary headers instead of JSON")
	f.BoolVar(&cfg.FromEnd, "from-end", false, "consume: begin at the end of the queues")
	f.BoolVar(&cfg.Follow, "follow", false, "consume: wait for more at the end of the queues")
	f.StringVar(&cfg.Filter, "filter", "*", "consume: subscription expression")
	f.DurationVar(&cfg.Poll, "poll", 15*time.Second, "how long the broker may hold a pull")
	f.StringVarP(&fl.output, "output", "o", "text", "text or json")
}

func rateOf(mode string) float64 {
	if mode == "e2e" {
		return 2000
	}
	return 0
}
