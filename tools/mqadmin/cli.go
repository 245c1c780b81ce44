package mqadmin

import (
	"bufio"
	"context"
	"errors"
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
	// NameServers is the list to use without -n, separated by semicolons.
	NameServers string
	// Terminal says that a person watches: what takes long shows its progress on Stderr.
	Terminal bool
	// Strict makes a failed command exit with 1, as --strict does. Java's tool exits with 0.
	Strict bool
	// WorkDir gets the files of consumerStatus, TempDir those of queryMsgBy...
	WorkDir, TempDir string
	Clock            clock.Clock
	Location         *time.Location
	// Dial makes the transport. Main closes it.
	Dial    func() (Transport, error)
	Version string
}

// Transport carries requests to servers.
type Transport interface {
	admin.Invoker
	Close() error
}

// command is one admin command.
type command struct {
	name    string
	class   string // Java's class, which error texts name
	short   string
	options []option
	json    bool // takes -o json
	run     func(ctx context.Context, c *call) error

	failClass string // class in the first line of an error, SubCommandException when empty
	failText  string // what follows the class name there, " command failed" when empty
}

// call is one run of one command.
type call struct {
	env     *Env
	cmd     *command
	values                // options given
	out     *bufio.Writer // stdout; flushed at the end, before anything on stderr, and by flush
	admin   *admin.Client
	asJSON  bool
	failed  bool // something went wrong, though the command may have gone on
	closers []io.Closer
}

func (c *call) printf(format string, a ...any) { fmt.Fprintf(c.out, format, a...) }
func (c *call) flush()                         { _ = c.out.Flush() }

// exitInterrupted is the exit code after Ctrl-C, as shells have it.
const exitInterrupted = 130

// exit is an exit code on its way through cobra.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Main runs the command that env.Args names and returns the exit code: 0, and also when a server refused, unless strict; 1 for a wrong command line.
func Main(ctx context.Context, env Env) int {
	root := newRoot(&env)
	args := append([]string{}, env.Args...) // never nil, which cobra takes for os.Args
	if len(args) > 0 {
		args[0] = canonical(args[0])
	}
	root.SetArgs(args)
	var code exit
	switch err := root.ExecuteContext(ctx); {
	case errors.As(err, &code):
		return int(code)
	case err != nil:
		fmt.Fprintln(env.Stderr, err)
		return 1
	}
	return 0
}

// canonical is the command's name as it is listed, whatever the case it was typed in.
func canonical(name string) string {
	for _, c := range commands() {
		if strings.EqualFold(c.name, name) {
			return c.name
		}
	}
	return name
}

func newRoot(env *Env) *cobra.Command {
	root := &cobra.Command{
		Use: "mqadmin", Short: "Administer a RocketMQ cluster", Version: env.Version,
		SilenceErrors: true, SilenceUsage: true, DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return runRoot(env, args) },
	}
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetHelpCommand(&cobra.Command{
		Use: "help", Short: "Print the usage of a command", DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error { return runHelp(env, args) },
	})
	for _, c := range commands() {
		root.AddCommand(&cobra.Command{
			Use: c.name, Short: c.short, DisableFlagParsing: true,
			RunE:              func(cc *cobra.Command, args []string) error { return c.main(cc.Context(), env, args) },
			ValidArgsFunction: c.complete,
		})
	}
	return root
}

func runRoot(env *Env, args []string) error {
	switch {
	case len(args) == 0, args[0] == "-h", args[0] == "--help":
		listCommands(env.Stdout)
	case args[0] == "--version":
		fmt.Fprintln(env.Stdout, "mqadmin "+env.Version)
	default:
		return unknownCommand(env, args[0])
	}
	return nil
}

func unknownCommand(env *Env, name string) error {
	if known := unsupported(name); known != "" {
		fmt.Fprintf(env.Stderr, "mqadmin: %s is not supported yet: this version has no %s.\n", known, unsupportedReason(known))
		return exit(1)
	}
	fmt.Fprintf(env.Stdout, "The sub command %s not exist.\n", name)
	if env.Strict {
		return exit(1)
	}
	return nil
}

func listCommands(w io.Writer) {
	fmt.Fprintln(w, "The most commonly used mqadmin commands are:")
	for _, c := range commands() {
		fmt.Fprintf(w, "   %-35s %s\n", c.name, c.short)
	}
	fmt.Fprintln(w, "\nSee 'mqadmin help <command>' for more information on a specific command.")
}

func runHelp(env *Env, args []string) error {
	name := "help"
	if len(args) > 0 {
		name = args[0]
	}
	for _, c := range commands() {
		if strings.EqualFold(c.name, name) {
			c.help(env)
			return nil
		}
	}
	return unknownCommand(env, name)
}

// allOptions are the command's own options and those that every command has.
func (c *command) allOptions() []option {
	opts := []option{{short: "h", long: "help", help: "Print help"}}
	nameServers := option{short: "n", long: "namesrvAddr", arg: true, help: "Name server address list, eg: '192.168.0.1:9876;192.168.0.2:9876'"}
	opts = append(opts, nameServers)
	opts = append(opts, c.options...)
	opts = append(opts, option{long: "strict", hidden: true, help: "exit with 1 when the command fails"})
	if c.json {
		o := option{long: "output", arg: true, hidden: true, help: "json: print JSON instead of the table"}
		if !c.takes("o") {
			o.short = "o"
		}
		opts = append(opts, o)
	}
	return opts
}

func (c *command) takes(short string) bool {
	for i := range c.options {
		if c.options[i].short == short {
			return true
		}
	}
	return false
}

// help prints Java's usage, and what this tool adds to it.
func (c *command) help(env *Env) {
	opts := c.allOptions()
	writeUsage(env.Stdout, c.name, opts)
	fmt.Fprintln(env.Stdout, "\nNot in Java's tool:")
	for i := range opts {
		if o := &opts[i]; o.hidden {
			fmt.Fprintf(env.Stdout, "%-27s%s\n", optionColumn(o), o.help)
		}
	}
}

// complete offers the command's options to a shell.
func (c *command) complete(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, o := range c.allOptions() {
		if o.long != "" && !strings.Contains(o.long, " ") {
			words = append(words, "--"+o.long+"\t"+o.help)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// main parses the command line and runs the command.
func (c *command) main(ctx context.Context, env *Env, args []string) error {
	opts := c.allOptions()
	vals, err := parse(opts, args)
	if err != nil {
		fmt.Fprintln(env.Stderr, err)
		writeUsage(env.Stdout, c.name, opts)
		return exit(1)
	}
	if vals.has("h") {
		c.help(env)
		return nil
	}
	asJSON, err := wantsJSON(vals, c)
	if err != nil {
		fmt.Fprintln(env.Stderr, err)
		return exit(1)
	}
	cl := &call{env: env, cmd: c, values: vals, asJSON: asJSON, out: bufio.NewWriterSize(env.Stdout, 64<<10)}
	err = cl.start()
	if err == nil {
		err = c.run(ctx, cl)
	}
	var wrong *usageError
	if errors.As(err, &wrong) { // an option combination that only the command can judge: Java prints the usage and exits with 0
		cl.flush()
		writeUsage(env.Stdout, c.name, opts)
		cl.failed, err = true, nil
	}
	interrupted := ctx.Err() != nil && errors.Is(err, ctx.Err())
	if err != nil && !interrupted {
		cl.traceFatal(err)
	}
	cl.close()
	if interrupted {
		fmt.Fprintln(env.Stderr, "mqadmin: interrupted")
		return exit(exitInterrupted)
	}
	if cl.failed && (env.Strict || vals.has("strict")) {
		return exit(1)
	}
	return nil
}

func wantsJSON(v values, c *command) (bool, error) {
	key := "output"
	if c.json && !c.takes("o") {
		key = "o"
	}
	if !c.json || !v.has(key) {
		return false, nil
	}
	if !strings.EqualFold(v.str(key), "json") {
		return false, usagef("Unknown output form: %s (json is the only one besides the table)", v.str(key))
	}
	return true, nil
}

// start connects the call to a transport. It contacts no server.
func (c *call) start() error {
	t, err := c.env.Dial()
	if err != nil {
		return err
	}
	c.closers = append(c.closers, t)
	c.admin = admin.New(t, admin.Options{NameServers: admin.SplitAddrs(c.strOr("n", c.env.NameServers)), Clock: c.env.Clock})
	return nil
}

func (c *call) close() {
	c.flush()
	for _, cl := range c.closers {
		_ = cl.Close() // the answers are in; what closing may say changes nothing
	}
}

// wait pauses for d, or until ctx ends; it reports which.
func (c *call) wait(ctx context.Context, d time.Duration) bool {
	c.flush()
	t := c.env.Clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return true
	case <-ctx.Done():
		return false
	}
}

// printJSON prints v for -o json.
func (c *call) printJSON(v any) error {
	b, err := plainJSON(v)
	if err == nil {
		c.printf("%s\n", b)
	}
	return err
}
