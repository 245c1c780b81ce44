package inspect

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/index"
	"github.com/seedmq/seedmq/store/offline"
)

// Exit codes of mqstore. For scripts, do not change.
const (
	ExitGood       = 0 // nothing is wrong; the command did what it was asked to
	ExitRepairable = 1 // no message is lost; a start or a rebuild puts it right
	ExitLost       = 2 // messages or settings are lost or damaged
	ExitNoVerdict  = 3 // locked, unsupported, not readable, not a store, or a mistake in the command line; nothing was changed
)

// Env is what mqstore is handed by its process.
type Env struct {
	Args           []string
	Stdin          io.Reader // answers questions; nil: nobody is there
	Stdout, Stderr io.Writer
	Version        string
}

// Main runs mqstore and returns its exit code.
func Main(e Env) int {
	code := ExitGood
	c := root(e, &code)
	c.SetArgs(e.Args)
	c.SetOut(e.Stdout)
	c.SetErr(e.Stderr)
	if err := c.Execute(); err != nil {
		fmt.Fprintln(e.Stderr, "mqstore:", err)
		return ExitNoVerdict
	}
	return code
}

func root(e Env, code *int) *cobra.Command {
	c := &cobra.Command{
		Use:   "mqstore",
		Short: "check, print and repair the store of a broker that is stopped",
		Long: "Works on the store of a broker that is stopped. check and print change nothing; rebuild and cut ask, or want --yes.\n" +
			"Exit codes: 0 good, 1 repairable by a start or a rebuild, 2 messages or settings are lost or damaged,\n" +
			"3 no verdict: a broker has the store, its format is not known, it cannot be read, or the command line is wrong.",
		Version:       e.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	c.CompletionOptions.DisableDefaultCmd = true
	print := Command()
	print.Use, print.Example = "print PATH...", strings.ReplaceAll(print.Example, "  inspect ", "  mqstore print ")
	c.AddCommand(checkCommand(code), print, rebuildCommand(e), cutCommand(e))
	return c
}

// storeFlags are what cannot be found out from a damaged store.
type storeFlags struct {
	o              offline.Options
	slots, entries int32
	delays         string
}

func (s *storeFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.o.CommitLogDir, "commitlog", "", "folder of the commit log, if it is not DIR/commitlog (storePathCommitLog)")
	f.Int64Var(&s.o.LogFileSize, "log-file-size", 0, "bytes of a commit log file, if the files do not show it (mappedFileSizeCommitLog)")
	f.IntVar(&s.o.QueueFileUnits, "queue-file-units", 0, "units of a queue file, if the files do not show it (mappedFileSizeConsumeQueue / 20)")
	f.IntVar(&s.o.BatchFileUnits, "batch-file-units", 0, "units of a batch queue file, if the files do not show it (mapperFileSizeBatchConsumeQueue / 46)")
	f.Int32Var(&s.slots, "index-slots", 0, "slots of an index file, if the files do not show it (maxHashSlotNum)")
	f.Int32Var(&s.entries, "index-entries", 0, "entries of an index file, if the files do not show it (maxIndexNum)")
	f.StringVar(&s.delays, "delay-levels", "", "messageDelayLevel, if it is not the default and the queues do not show it")
}

// options are those for a store.
func (s *storeFlags) options(c *cobra.Command, dir string) (offline.Options, error) {
	o := s.o
	o.Root = dir
	if (s.slots > 0) != (s.entries > 0) || s.slots < 0 || s.entries < 0 {
		return o, errors.New("--index-slots and --index-entries go together")
	}
	if s.slots > 0 {
		o.IndexShape = index.Shape{Slots: s.slots, Entries: s.entries}
	}
	var err error
	if o.DelayLevels, err = parseDelays(s.delays); err != nil {
		return o, err
	}
	o.Log, err = xlog.New(c.ErrOrStderr(), "info")
	return o, err
}

var delayUnits = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}

// parseDelays reads messageDelayLevel.
func parseDelays(text string) ([]time.Duration, error) {
	var out []time.Duration
	for _, word := range strings.Fields(text) {
		unit := delayUnits[word[len(word)-1]]
		n, err := strconv.ParseInt(word[:len(word)-1], 10, 32)
		if err != nil || n < 0 || unit == 0 || time.Duration(n) > 100*365*24*time.Hour/unit {
			return nil, fmt.Errorf("--delay-levels: %q is no delay; write for example 30s, 5m, 2h or 1d", word)
		}
		out = append(out, time.Duration(n)*unit)
	}
	return out, nil
}

func checkCommand(code *int) *cobra.Command {
	var s storeFlags
	c := &cobra.Command{
		Use:   "check DIR",
		Short: "read a whole store and say what is wrong with it",
		Long: "Reads every record of the commit log, and compares queues and index with it; then the checkpoint, the tables\n" +
			"under config/, and what is left of earlier repairs. Nothing is changed. DIR is storePathRootDir.",
		Example: "  mqstore check /data/store; echo $?",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o, err := s.options(c, args[0])
			if err != nil {
				return err
			}
			r, err := offline.Check(o)
			if err != nil {
				return explain(err)
			}
			*code = int(r.State())
			return r.Print(c.OutOrStdout())
		},
	}
	s.add(c)
	return c
}

// explain adds what an operator can do about an error.
func explain(err error) error {
	switch {
	case errors.Is(err, offline.ErrSize):
		return fmt.Errorf("%w; say it with --log-file-size (mappedFileSizeCommitLog)", err)
	case errors.Is(err, offline.ErrNoStore):
		return fmt.Errorf("%w; DIR is storePathRootDir, of mqserver its --data", err)
	case errors.Is(err, store.ErrUnsupported):
		return fmt.Errorf("%w; nothing was changed", err)
	}
	return err
}

func rebuildCommand(e Env) *cobra.Command {
	var s storeFlags
	var w offline.What
	var yes bool
	c := &cobra.Command{
		Use:   "rebuild DIR",
		Short: "make queues and index again from the commit log",
		Long: "Moves consume queues and index to DIR/bad and makes them again from the commit log, as a broker does at its start\n" +
			"after a crash; like that it also cuts a torn end of the log. An index that is not there is made with --index only.",
		Example: "  mqstore rebuild /data/store\n  mqstore rebuild /data/store --index --yes",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o, err := s.options(c, args[0])
			if err != nil {
				return err
			}
			if err := confirm(e, yes, "Make "+parts(w)+" of "+args[0]+" again from the log?"); err != nil {
				return err
			}
			res, err := offline.Rebuild(o, w)
			if err != nil {
				return explain(err)
			}
			return printResult(c.OutOrStdout(), res)
		},
	}
	s.add(c)
	c.Flags().BoolVar(&w.Queues, "queues", false, "only the consume queues")
	c.Flags().BoolVar(&w.Index, "index", false, "only the index")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

func parts(w offline.What) string {
	switch {
	case w.Queues && !w.Index:
		return "the queues"
	case w.Index && !w.Queues:
		return "the index"
	}
	return "queues and index"
}

func cutCommand(e Env) *cobra.Command {
	var s storeFlags
	var yes bool
	at := int64(-1)
	c := &cobra.Command{
		Use:   "cut DIR --at OFFSET",
		Short: "remove everything from a position of the commit log on",
		Long: "Removes all messages from a commit log position on, where a message must begin (mqstore print shows them), keeps the\n" +
			"bytes in DIR/torn, and cuts queues and index to what is left.",
		Example: "  mqstore cut /data/store --at 1073741824 --yes",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o, err := s.options(c, args[0])
			if err != nil {
				return err
			}
			if err := confirm(e, yes, fmt.Sprintf("Remove all messages of %s from log position %d on?", args[0], at)); err != nil {
				return err
			}
			res, err := offline.Cut(o, at)
			if err != nil {
				return explain(err)
			}
			return printResult(c.OutOrStdout(), res)
		},
	}
	s.add(c)
	c.Flags().Int64Var(&at, "at", -1, "log position of the first message to remove")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	if err := c.MarkFlagRequired("at"); err != nil {
		panic(err) // our bug: the flag was not defined
	}
	return c
}

// confirm asks, unless it was answered beforehand.
func confirm(e Env, yes bool, question string) error {
	if yes {
		return nil
	}
	if e.Stdin == nil {
		return errors.New("this changes the store: say --yes")
	}
	fmt.Fprint(e.Stderr, question, " [y/N] ")
	answer, err := bufio.NewReader(e.Stdin).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer == "y" || answer == "yes" {
		return nil
	}
	if err != nil && err != io.EOF {
		return err
	}
	return errors.New("nothing was changed")
}

func printResult(w io.Writer, r *offline.Result) error {
	_, err := fmt.Fprintf(w, "the log goes from %d to %d, %d queues\n", r.Start, r.End, r.Queues)
	for _, path := range r.Aside {
		what := "old"
		if strings.HasSuffix(path, ".cut") {
			what = "removed"
		}
		if _, err2 := os.Stat(path); err == nil && err2 == nil {
			_, err = fmt.Fprintf(w, "%s: %s; delete it once you do not want it back\n", what, path)
		}
	}
	return err
}
