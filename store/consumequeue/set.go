package consumequeue

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/store/fs"
)

// Options are what a Set is opened with.
type Options struct {
	FS  fs.FS
	Dir string // the folder consumequeue
	// BadDir takes damaged files. Default: "bad" beside Dir.
	BadDir string
	// FileUnits is the number of units in a file. Default 300,000. All files have the same; others are damaged.
	FileUnits int
	// AfterCrash: the last stop was not clean, so that a queue's units may have holes.
	AfterCrash bool
	// SyncedPhys is, after a crash, the log position that the last successful Flush(true) is known to have reached; 0 if
	// that is not known. It helps to tell damage from what a crash leaves.
	SyncedPhys int64
	// CheckBytes is how much Open may read to find damage in the middle of files, besides looking at both ends of each.
	// Default 0, and 1 GiB after a crash; negative: nothing.
	CheckBytes int64
	// MaxOpenFiles bounds the handles that are kept open unused. Default 2,048.
	MaxOpenFiles int
	// BufferBytes is the memory for units not yet written above which buffers no longer grow. Default 64 MiB.
	BufferBytes int64
	// SnapshotFrom is the number of queues from which Close leaves a snapshot, which makes the next start fast. Default
	// 20,000; negative: never.
	SnapshotFrom int
	// Log gets a line for what Open finds damaged and for gaps in what is appended.
	Log *xlog.Logger
	// Clock bounds how often such lines come. Default: the system's.
	Clock clock.Clock
}

func (o Options) withDefaults() Options {
	if o.BadDir == "" {
		o.BadDir = filepath.Join(filepath.Dir(filepath.Clean(o.Dir)), "bad")
	}
	if o.FileUnits <= 0 {
		o.FileUnits = DefaultFileUnits
	}
	if o.MaxOpenFiles <= 0 {
		o.MaxOpenFiles = 2048
	}
	if o.BufferBytes <= 0 {
		o.BufferBytes = 64 << 20
	}
	if o.SnapshotFrom == 0 {
		o.SnapshotFrom = 20_000
	}
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	return o
}

const shardCount = 256 // creating a topic copies one of them

// Set is all consume queues of a store.
type Set struct {
	opt       Options
	fs        fs.FS
	fileUnits int64
	log       *xlog.Logger
	clock     clock.Clock
	files     *fileCache
	rings     ringPool

	seed   maphash.Seed
	shards [shardCount]atomic.Pointer[map[string]*topicQueues]

	appended atomic.Int64 // end of the highest record that Append was told of
	minPhys  atomic.Int64 // start of the log, as CorrectMin was told
	need     atomic.Int64 // see RebuildFrom

	mu struct { // creation and removal of queues
		sync.Mutex
		closed bool
		trash  int // folders moved out of the way so far
	}
	activeMu sync.Mutex
	active   []*Queue // have a ring, or units not yet synced

	flushMu     sync.Mutex
	flush       flushState
	interrupted atomic.Bool

	report Report
}

// topicQueues are the queues of one topic, sorted by id.
type topicQueues struct {
	name   string
	queues atomic.Pointer[[]*Queue]
}

func (t *topicQueues) find(id int32) *Queue {
	qs := *t.queues.Load()
	if uint(id) < uint(len(qs)) && qs[id].id == id {
		return qs[id] // ids without gaps, the usual case
	}
	i, ok := slices.BinarySearchFunc(qs, id, func(q *Queue, id int32) int { return int(int64(q.id) - int64(id)) })
	if !ok {
		return nil
	}
	return qs[i]
}

func newSet(o Options) *Set {
	o = o.withDefaults()
	s := &Set{opt: o, fs: o.FS, fileUnits: int64(o.FileUnits), log: o.Log, clock: o.Clock, seed: maphash.MakeSeed()}
	s.files = newFileCache(o.FS, s.fileBytes(), o.MaxOpenFiles)
	s.rings.limit = o.BufferBytes
	s.need.Store(math.MaxInt64)
	empty := map[string]*topicQueues{}
	for i := range s.shards {
		s.shards[i].Store(&empty)
	}
	return s
}

func (s *Set) fileBytes() int64 { return s.fileUnits * UnitSize }

func (s *Set) shard(topic string) *atomic.Pointer[map[string]*topicQueues] {
	return &s.shards[s.shardOf(topic)]
}

func (s *Set) shardOf(topic string) int { return int(maphash.String(s.seed, topic) % shardCount) }

// Queue finds a queue. It takes no lock and allocates nothing.
func (s *Set) Queue(topic string, id int32) (*Queue, bool) {
	t := (*s.shard(topic).Load())[topic]
	if t == nil {
		return nil, false
	}
	q := t.find(id)
	return q, q != nil
}

// GetOrCreate finds a queue or makes an empty one whose first message will have the offset next. Nothing is on disk
// before the first Append. The name must fit into one folder name (ErrName).
func (s *Set) GetOrCreate(topic string, id int32, next int64) (*Queue, error) {
	if q, ok := s.Queue(topic, id); ok {
		return q, nil
	}
	if err := checkName(topic, id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if q, ok := s.Queue(topic, id); ok {
		return q, nil
	}
	q := s.newQueue(topic, id)
	q.startAt(next)
	s.insertLocked(q)
	return q, nil
}

func checkName(topic string, id int32) error {
	if id < 0 || !TopicFits(topic) {
		return fmt.Errorf("%w: topic %q, queue %d", ErrName, topic, id)
	}
	return nil
}

// TopicFits says that a folder can have the topic's name.
func TopicFits(topic string) bool {
	return topic != "" && topic != "." && topic != ".." && len(topic) <= 255 && !strings.ContainsAny(topic, "/\\\x00")
}

// insertLocked makes q known. It copies what readers may be looking at.
func (s *Set) insertLocked(q *Queue) {
	shard := s.shard(q.topic.name)
	old := *shard.Load()
	if t := old[q.topic.name]; t != nil {
		q.topic = t
		have := *t.queues.Load()
		i, _ := slices.BinarySearchFunc(have, q.id, func(q *Queue, id int32) int { return int(int64(q.id) - int64(id)) })
		grown := slices.Insert(slices.Clone(have), i, q)
		t.queues.Store(&grown)
		return
	}
	q.topic.queues.Store(&[]*Queue{q})
	grown := make(map[string]*topicQueues, len(old)+1)
	for name, t := range old {
		grown[name] = t
	}
	grown[q.topic.name] = q.topic
	shard.Store(&grown)
}

// Topics lists the topics that have queues, sorted.
func (s *Set) Topics() []string {
	var out []string
	for i := range s.shards {
		for name := range *s.shards[i].Load() {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Queues lists the queues of a topic by id. The slice must not be changed.
func (s *Set) Queues(topic string) []*Queue {
	t := (*s.shard(topic).Load())[topic]
	if t == nil {
		return nil
	}
	return *t.queues.Load()
}

// all lists every queue, in no order.
func (s *Set) all() []*Queue {
	var out []*Queue
	for i := range s.shards {
		for _, t := range *s.shards[i].Load() {
			out = append(out, *t.queues.Load()...)
		}
	}
	return out
}

// Len is the number of queues.
func (s *Set) Len() int {
	n := 0
	for i := range s.shards {
		for _, t := range *s.shards[i].Load() {
			n += len(*t.queues.Load())
		}
	}
	return n
}

// MaxPhys is the end of the highest record that any queue refers to; 0 when there is none.
func (s *Set) MaxPhys() int64 {
	var m int64
	for _, q := range s.all() {
		m = max(m, q.MaxPhys())
	}
	return m
}

// RebuildFrom is the log position from which the log must be dispatched again because units are missing that queues once
// had; the largest int64 if none are known to be. Open finds damaged files, and Append a gap behind what TruncateToPhys
// left. TruncateToPhys at or below the position settles it, so that a recovery ends when
//
//	for from := start; ; from = set.RebuildFrom() { TruncateToPhys(from); dispatch from there; if RebuildFrom() is the largest: break }
func (s *Set) RebuildFrom() int64 { return s.need.Load() }

// needFrom lowers RebuildFrom to the end of the last record that a queue still has.
func (s *Set) needFrom(phys int64) {
	phys = max(phys, 0)
	for {
		old := s.need.Load()
		if old <= phys || s.need.CompareAndSwap(old, phys) {
			return
		}
	}
}

// DeleteTopic removes a topic's queues. The caller makes sure that nothing is appended to them; what still reads them
// gets ErrNotFound or ErrRemoved. A topic that is not there is no error.
func (s *Set) DeleteTopic(topic string) error {
	s.mu.Lock()
	shard := s.shard(topic)
	old := *shard.Load()
	t := old[topic]
	if t == nil {
		s.mu.Unlock()
		return nil
	}
	less := make(map[string]*topicQueues, len(old))
	for name, other := range old {
		if other != t {
			less[name] = other
		}
	}
	shard.Store(&less)
	for _, q := range *t.queues.Load() {
		q.retire()
	}
	moved, err := s.trashLocked(filepath.Join(s.opt.Dir, topic))
	s.mu.Unlock()
	return errors.Join(err, s.empty(moved))
}

// DeleteQueue removes one queue, with the rules of DeleteTopic.
func (s *Set) DeleteQueue(topic string, id int32) error {
	qs := s.Queues(topic)
	if len(qs) == 1 && qs[0].id == id {
		return s.DeleteTopic(topic)
	}
	s.mu.Lock()
	q, ok := s.Queue(topic, id)
	if !ok {
		s.mu.Unlock()
		return nil
	}
	less := slices.DeleteFunc(slices.Clone(*q.topic.queues.Load()), func(o *Queue) bool { return o == q })
	q.topic.queues.Store(&less)
	q.retire()
	moved, err := s.trashLocked(q.dir())
	s.mu.Unlock()
	return errors.Join(err, s.empty(moved))
}

// trashLocked renames a folder, so that a new queue of the same name can be made at once, and makes that durable.
func (s *Set) trashLocked(dir string) (moved string, err error) {
	if _, err := s.fs.Stat(dir); err != nil {
		return "", nil //nolint:nilerr // never written: nothing to remove
	}
	if err := fs.MakeDirs(s.fs, s.trashDir()); err != nil {
		return "", err
	}
	s.mu.trash++
	moved = filepath.Join(s.trashDir(), strconv.Itoa(s.mu.trash))
	if err := s.fs.Rename(dir, moved); err != nil {
		return "", err
	}
	return moved, s.fs.SyncDir(filepath.Dir(dir))
}

func (s *Set) trashDir() string { return filepath.Clean(s.opt.Dir) + ".deleted" }

func (s *Set) empty(moved string) error {
	if moved == "" {
		return nil
	}
	return s.fs.RemoveAll(moved)
}

// Close writes and syncs everything, unless Interrupt was called, and closes all files. The set is of no use afterwards.
func (s *Set) Close() error {
	_, err := s.Flush(true)
	if err == nil {
		err = s.saveSnapshot()
	} else if err == ErrInterrupted { //nolint:errorlint // nothing else went wrong
		err = nil
	}
	s.mu.Lock()
	s.mu.closed = true
	s.mu.Unlock()
	return errors.Join(err, s.files.closeAll())
}
