package consumequeue

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seedmq/seedmq/store/fs"
)

// Report is what Open found.
type Report struct {
	Queues int
	// Damaged files were moved to BadDir, with the later files of their queue; their units must be made again.
	Damaged []Damage
	// RebuildFrom is what Set.RebuildFrom was after Open.
	RebuildFrom int64
	// Ignored are paths that do not belong there. They were left alone; a Java broker may refuse to start because of them.
	Ignored []string
}

// Damage is a file that was put aside.
type Damage struct {
	Topic   string
	QueueID int32
	File    string
	Reason  string
}

// Open reads the folder o.Dir; it may be missing. It returns ErrUnsupported, with everything untouched, if another kind
// of store is there. Damaged files are put aside: see Report. Everything is opened lazily afterwards.
func Open(o Options) (*Set, error) {
	s := newSet(o)
	if ok, err := s.takeSnapshot(); err != nil || ok {
		return s, err
	}
	list, err := s.fs.List(s.opt.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := refuseRocksDB(s.opt.Dir, list); err != nil {
		return nil, err
	}
	if err := s.fs.RemoveAll(s.trashDir()); err != nil {
		return nil, err
	}
	l := loader{s: s}
	l.budget.Store(checkBudget(s.opt))
	if err := inParallel(len(list), func(i int) error { return l.loadTopic(list[i]) }); err != nil {
		return nil, err
	}
	l.install()
	return s, nil
}

// Report is what Open found. It does not change afterwards.
func (s *Set) Report() Report { return s.report }

func refuseRocksDB(dir string, list []fs.Info) error {
	for _, i := range list {
		if !i.Dir && (i.Name == "CURRENT" || strings.HasPrefix(i.Name, "MANIFEST-") || strings.HasSuffix(i.Name, ".sst")) {
			return fmt.Errorf("%w: %s holds a RocksDB database (storeType defaultRocksDB)", ErrUnsupported, dir)
		}
	}
	return nil
}

// crashCheckBytes is how much Open reads after a crash to look into the middle of files, if the caller does not say.
const crashCheckBytes = 1 << 30

func checkBudget(o Options) int64 {
	if o.CheckBytes == 0 && o.AfterCrash {
		return crashCheckBytes
	}
	return o.CheckBytes
}

// loader collects what Open's workers find.
type loader struct {
	s      *Set
	budget atomic.Int64 // see checker
	mu     struct {
		sync.Mutex
		topics []*topicQueues
		report Report
	}
}

func (l *loader) ignore(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.report.Ignored = append(l.mu.report.Ignored, path)
}

func (l *loader) loadTopic(info fs.Info) error {
	dir := filepath.Join(l.s.opt.Dir, info.Name)
	if !info.Dir {
		l.ignore(dir)
		return nil
	}
	list, err := l.s.fs.List(dir)
	if err != nil {
		return err
	}
	t := &topicQueues{name: info.Name}
	var qs []*Queue
	for _, i := range list {
		id, ok := parseQueueID(i.Name)
		if !ok || !i.Dir {
			l.ignore(filepath.Join(dir, i.Name))
			continue
		}
		q := l.s.newQueue(info.Name, id)
		q.topic = t
		if err := l.loadQueue(q); err != nil {
			return fmt.Errorf("open consume queue %s/%d: %w", info.Name, id, err)
		}
		qs = append(qs, q)
	}
	if len(qs) == 0 {
		return nil
	}
	sortByID(qs)
	t.queues.Store(&qs)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.topics = append(l.mu.topics, t)
	l.mu.report.Queues += len(qs)
	return nil
}

// loadQueue finds out where q begins and ends, and puts damaged files aside.
func (l *loader) loadQueue(q *Queue) error {
	starts, err := l.listFiles(q)
	if err != nil {
		return err
	}
	if len(starts) == 0 { // every queue on disk has a file
		l.s.needFrom(0)
		_ = l.s.fs.Remove(q.dir()) // so that the next start does not ask again; what is not empty stays
	}
	c := checker{q: q, lastPhys: noPhys, minPhys: noPhys, crashed: l.s.opt.AfterCrash, synced: l.s.opt.SyncedPhys, budget: &l.budget}
	from := int64(0)
	if len(starts) > 0 {
		from = starts[0].start
	}
	for i, f := range starts {
		c.last = i == len(starts)-1
		err := c.check(f)
		if errors.Is(err, ErrCorrupt) {
			if err := l.putAside(q, starts[i:], err); err != nil {
				return err
			}
			starts = starts[:i]
			l.s.needFrom(c.lastPhys)
			break
		}
		if err != nil {
			return err
		}
	}
	c.apply(starts, from)
	if n := l.s.fileUnits; l.s.opt.AfterCrash && len(starts) > 0 && c.end == starts[len(starts)-1].start+n {
		l.s.needFrom(c.lastPhys) // the file behind it was not made yet, or it is gone
	}
	return nil
}

type queueFile struct{ start, size int64 }

func (l *loader) listFiles(q *Queue) ([]queueFile, error) {
	list, err := l.s.fs.List(q.dir())
	if err != nil {
		return nil, err
	}
	var out []queueFile
	for _, i := range list {
		start, ok := parseFileName(i.Name)
		if !ok || i.Dir {
			l.ignore(filepath.Join(q.dir(), i.Name))
			continue
		}
		out = append(out, queueFile{start, i.Size})
	}
	return out, nil
}

// putAside moves files to BadDir; empty ones are removed.
func (l *loader) putAside(q *Queue, files []queueFile, why error) error {
	dir := filepath.Join(l.s.opt.BadDir, "consumequeue", q.topic.name, strconv.Itoa(int(q.id)))
	for _, f := range files {
		name := q.fileName(f.start)
		l.s.log.Errorf("consume queue file %s is damaged and will be made again from the log: %v", name, why)
		l.mu.Lock()
		l.mu.report.Damaged = append(l.mu.report.Damaged, Damage{Topic: q.topic.name, QueueID: q.id, File: name, Reason: why.Error()})
		l.mu.Unlock()
		if f.size == 0 || errors.Is(why, errNoUnits) {
			if err := l.s.fs.Remove(name); err != nil {
				return err
			}
			why = errFollows
			continue
		}
		if err := fs.MakeDirs(l.s.fs, dir); err != nil {
			return err
		}
		if err := l.s.fs.Rename(name, freeName(l.s.fs, filepath.Join(dir, fileName(f.start)))); err != nil {
			return err
		}
		why = errFollows
	}
	return l.s.fs.SyncDir(q.dir())
}

var errFollows = errors.New("it follows a damaged one")

// freeName adds a number to name until nothing is there.
func freeName(f fs.FS, name string) string {
	free := name
	for i := 1; ; i++ {
		if _, err := f.Stat(free); err != nil {
			return free
		}
		free = name + "." + strconv.Itoa(i)
	}
}

// install makes everything found known to the set.
func (l *loader) install() {
	s := l.s
	maps := map[int]map[string]*topicQueues{}
	for _, t := range l.mu.topics {
		shard := s.shardOf(t.name)
		if maps[shard] == nil {
			maps[shard] = map[string]*topicQueues{}
		}
		maps[shard][t.name] = t
	}
	for shard, m := range maps {
		s.shards[shard].Store(&m)
	}
	if s.opt.AfterCrash {
		// A killed process may have made files and folders without syncing their names. What comes next finds them there and
		// would not sync them either.
		for _, q := range s.all() {
			s.namesChanged(q)
		}
	}
	l.mu.report.RebuildFrom = s.RebuildFrom()
	s.report = l.mu.report
	s.appended.Store(min(s.MaxPhys(), s.report.RebuildFrom))
	s.flush.written = s.appended.Load()
}
