// Package inspect is the program mqstore: commands that check, print and repair a store that no broker has open. What they
// do is in store/inspect and store/offline.
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
	"github.com/seedmq/seedmq/store/offline"
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
			if c.Flags().Changed("index-slots") || c.Flags().Changed("index-entries") {
				o.Index = index.Shape{Slots: int32(slots), Entries: int32(entries)}
			}
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
	f.IntVar(&slots, "index-slots", slots, "maxHashSlotNum that the index was made with, if the file does not show it")
	f.IntVar(&entries, "index-entries", entries, "maxIndexNum that the index was made with, if the file does not show it")
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
		o := o
		if inspect.KindOf(name) == inspect.IndexFile && o.Index == (index.Shape{}) {
			if shape, ok, err := offline.IndexShape(storefs.OS{}, name); err != nil {
				return err
			} else if ok { // else the default, by which the file is called damaged
				o.Index = shape
			}
		}
		return inspect.File(c.OutOrStdout(), storefs.OS{}, name, o)
	})
	if err == nil && files == 0 {
		return fmt.Errorf("%s: no file of a store in it", path)
	}
	return err
}
