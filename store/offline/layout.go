package offline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/consumequeue"
	"github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/index"
)

const defaultLogFileSize = 1 << 30

// ErrNoStore: the folder holds no store.
var ErrNoStore = errors.New("no store here")

// Layout is which files a store has, and their sizes.
type Layout struct {
	LogFiles       []LogFile // in order
	LogFileSize    int64     // bytes
	Queues         []QueueFiles
	QueueFileUnits int
	BatchQueues    []QueueFiles
	BatchFileUnits int
	IndexFiles     []fs.Info // in order
	IndexShape     index.Shape
	// Crashed: the last stop was not clean.
	Crashed bool
	// Foreign are paths below the queues' and the index's folders that do not belong there.
	Foreign []string
}

// LogFile is a file of the log: where it begins and how long it is now.
type LogFile struct{ Start, Size int64 }

// QueueFiles are the files of one queue, in order.
type QueueFiles struct {
	Topic string
	ID    int32
	Files []fs.Info
}

func (q *QueueFiles) name() string { return q.Topic + "/" + strconv.Itoa(int(q.ID)) }

// Look lists a store's files and finds out their sizes: of log and queues those that most files have or that fit the
// files' names, of the index those with which its entries make sense. It changes nothing. ErrNoStore and
// store.ErrUnsupported say that there is nothing that these functions could work on.
func Look(o Options) (*Layout, error) {
	o = o.withDefaults()
	if err := refuseForeign(o); err != nil {
		return nil, err
	}
	l := &Layout{}
	for _, find := range []func(Options) error{l.findLog, l.findQueues, l.findBatches, l.findIndex} {
		if err := find(o); err != nil {
			return nil, err
		}
	}
	_, err := o.FS.Stat(o.path(abortName))
	l.Crashed = err == nil
	if len(l.LogFiles) == 0 && len(l.Queues) == 0 && !l.Crashed {
		if _, err := o.FS.Stat(o.path("config")); err != nil {
			return nil, fmt.Errorf("%s: %w: neither commitlog, consumequeue nor config in it", o.Root, ErrNoStore)
		}
	}
	return l, nil
}

// list is FS.List, and nothing of a folder that is not there.
func list(f fs.FS, dir string) ([]fs.Info, error) {
	l, err := f.List(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return l, err
}

func refuseForeign(o Options) error {
	if strings.Contains(o.CommitLogDir, ",") {
		return fmt.Errorf("%w: several commit log folders", store.ErrUnsupported)
	}
	if _, err := o.FS.Stat(o.Root); err != nil {
		return err
	}
	root, err := list(o.FS, o.Root)
	if err != nil {
		return err
	}
	queues, err := list(o.FS, o.path(queueDir))
	if err != nil {
		return err
	}
	for _, i := range root {
		if i.Dir && strings.HasPrefix(i.Name, "dledger-") {
			return fmt.Errorf("%w: %s holds a DLedger log", store.ErrUnsupported, o.path(i.Name))
		}
	}
	for _, i := range queues {
		if !i.Dir && (i.Name == "CURRENT" || strings.HasPrefix(i.Name, "MANIFEST-") || strings.HasSuffix(i.Name, ".sst")) {
			return fmt.Errorf("%w: %s holds a RocksDB database", store.ErrUnsupported, o.path(queueDir))
		}
	}
	return nil
}

// fileNumber is the number that a file of log or queue is named after.
func fileNumber(name string) (int64, bool) {
	if len(name) != 20 || strings.Trim(name, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(name, 10, 64)
	return n, err == nil && n < 1<<62
}

func (l *Layout) findLog(o Options) error {
	files, err := list(o.FS, o.CommitLogDir)
	if err != nil {
		return err
	}
	for _, i := range files {
		if start, ok := fileNumber(i.Name); ok && !i.Dir {
			l.LogFiles = append(l.LogFiles, LogFile{start, i.Size})
		}
	}
	l.LogFileSize = cmp.Or(o.LogFileSize, logFileSize(l.LogFiles))
	for _, f := range l.LogFiles {
		if f.Start%l.LogFileSize != 0 || f.Size > l.LogFileSize {
			return fmt.Errorf("%w: commit log file %020d has %d bytes; a file size of %d does not fit its name",
				store.ErrUnsupported, f.Start, f.Size, l.LogFileSize)
		}
	}
	return nil
}

// logFileSize is the size of the log's files: every name is a multiple of it, and no file is longer.
func logFileSize(files []LogFile) int64 {
	var names, longest int64
	count := map[int64]int{}
	for _, f := range files {
		names = gcd(names, f.Start)
		longest = max(longest, f.Size)
		count[f.Size]++
	}
	best := int64(0)
	for size, n := range count {
		if size > 0 && size == longest && names%size == 0 && n > count[best] {
			best = size
		}
	}
	switch {
	case best > 0:
		return best
	case names > 0 && names >= longest && names < math.MaxInt32:
		return names // all files are cut
	}
	return defaultLogFileSize
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (l *Layout) findQueues(o Options) error {
	count, err := l.findIn(o, queueDir, &l.Queues)
	l.QueueFileUnits = cmp.Or(o.QueueFileUnits, fileUnits(count, consumequeue.UnitSize, consumequeue.DefaultFileUnits))
	return err
}

func (l *Layout) findBatches(o Options) error {
	count, err := l.findIn(o, batchDir, &l.BatchQueues)
	l.BatchFileUnits = cmp.Or(o.BatchFileUnits, fileUnits(count, consumequeue.BatchUnitSize, consumequeue.DefaultBatchFileUnits))
	return err
}

// findIn lists the queues of a folder, and counts their files by size.
func (l *Layout) findIn(o Options, name string, out *[]QueueFiles) (map[int64]int, error) {
	topics, err := list(o.FS, o.path(name))
	count := map[int64]int{}
	for _, t := range topics {
		dir := filepath.Join(o.path(name), t.Name)
		if !t.Dir {
			l.Foreign = append(l.Foreign, dir)
			continue
		}
		if err := l.findTopic(o, dir, t.Name, count, out); err != nil {
			return nil, err
		}
	}
	return count, err
}

func (l *Layout) findTopic(o Options, dir, topic string, count map[int64]int, out *[]QueueFiles) error {
	ids, err := list(o.FS, dir)
	if err != nil {
		return err
	}
	for _, i := range ids {
		id, err := strconv.ParseInt(i.Name, 10, 32)
		if err != nil || id < 0 || !i.Dir || strconv.Itoa(int(id)) != i.Name {
			l.Foreign = append(l.Foreign, filepath.Join(dir, i.Name))
			continue
		}
		q := QueueFiles{Topic: topic, ID: int32(id)}
		files, err := list(o.FS, filepath.Join(dir, i.Name))
		if err != nil {
			return err
		}
		for _, f := range files {
			if _, ok := fileNumber(f.Name); !ok || f.Dir {
				l.Foreign = append(l.Foreign, filepath.Join(dir, i.Name, f.Name))
				continue
			}
			q.Files = append(q.Files, f)
			count[f.Size]++
		}
		*out = append(*out, q)
	}
	slices.SortFunc(*out, func(a, b QueueFiles) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.ID, b.ID))
	})
	return nil
}

// fileUnits is the size that most files have, in units; of equals the greatest.
func fileUnits(count map[int64]int, unit int64, standard int) int {
	best := int64(0)
	for size, n := range count {
		if size > 0 && size%unit == 0 && (n > count[best] || n == count[best] && size > best) {
			best = size
		}
	}
	if best == 0 {
		return standard
	}
	return int(best / unit)
}

func (l *Layout) findIndex(o Options) error {
	files, err := list(o.FS, o.path(indexDir))
	if err != nil {
		return err
	}
	for _, i := range files {
		if len(i.Name) == 17 && strings.Trim(i.Name, "0123456789") == "" && !i.Dir {
			l.IndexFiles = append(l.IndexFiles, i)
		} else {
			l.Foreign = append(l.Foreign, filepath.Join(o.path(indexDir), i.Name))
		}
	}
	if l.IndexShape = o.IndexShape; l.IndexShape != (index.Shape{}) {
		return nil
	}
	l.IndexShape = index.Shape{Slots: index.DefaultSlots, Entries: index.DefaultEntries}
	for _, i := range l.IndexFiles {
		shape, ok, err := IndexShape(o.FS, filepath.Join(o.path(indexDir), i.Name))
		if err != nil {
			return err
		}
		if ok {
			l.IndexShape = shape
			break
		}
	}
	return nil
}
