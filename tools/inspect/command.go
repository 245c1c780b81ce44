// Package inspect is the command that prints the files of a store, offline and without changing anything.
package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	storefs "github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/index"
	"github.com/seedmq/seedmq/store/inspect"
)

// Command returns the command "inspect". It writes to the command's output and may run beside a broker, whose files it
// then sees as they are at the moment.
func Command() *cobra.Command {
	var o inspect.Options
	slots, entries := index.DefaultSlots, index.DefaultEntries
	var utc bool
	c := &cobra.Command{
		Use:   "inspect PATH...",
		Short: "print files of a store in words",
		Long: "Prints commit log, consume queue, index, timer, checkpoint and table files in words, and says what in them is\n" +
			"damaged. A folder stands for all files in it that belong to a store. Nothing is changed.",
		Example: "  inspect --from 1000 --limit 20 store/consumequeue/MyTopic/0/00000000000000000000\n" +
			"  inspect store/checkpoint store/config",
		Args:         cobra.MinimumNArgs(1),
		SilenceUsage: true,
		RunE: func(c *cobra.Command, args []string) error {
			o.Index = index.Shape{Slots: int32(slots), Entries: int32(entries)}
			if utc {
				o.Location = time.UTC
			}
			var errs error
			for _, path := range args {
				errs = errors.Join(errs, printPath(c, path, o))
			}
			return errs
		},
	}
	f := c.Flags()
	f.Int64Var(&o.From, "from", 0, "first log position, queue offset, index entry or timer slot to print")
	f.IntVar(&o.Limit, "limit", 0, "how many things to print per file; 0 is all")
	f.BoolVar(&o.Bodies, "bodies", false, "print what messages hold")
	f.IntVar(&slots, "index-slots", slots, "maxHashSlotNum that the index was made with")
	f.IntVar(&entries, "index-entries", entries, "maxIndexNum that the index was made with")
	f.BoolVar(&utc, "utc", false, "print times in UTC")
	return c
}

// printPath prints a file, or the known files below a folder.
func printPath(c *cobra.Command, path string, o inspect.Options) error {
	files := 0
	err := filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || name != path && inspect.KindOf(name) == inspect.Unknown {
			return err
		}
		files++
		return inspect.File(c.OutOrStdout(), storefs.OS{}, name, o)
	})
	if err == nil && files == 0 {
		return fmt.Errorf("%s: no file of a store in it", path)
	}
	return err
}
