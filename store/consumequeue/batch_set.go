package consumequeue

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/store/fs"
)

// BatchOptions are what a BatchSet is opened with.
type BatchOptions struct {
	FS  fs.FS
	Dir string // the folder batchconsumequeue
	// BadDir takes damaged files. Default: "bad" beside Dir.
	BadDir string
	// FileUnits is the number of units in a file. Default 300,000. All files have the same; others are damaged.
	FileUnits int
	// AfterCrash: the last stop was not clean.
	AfterCrash bool
	// Log gets a line for what Open finds damaged. Clock bounds how often such lines come; default: the system's.
	Log   *xlog.Logger
	Clock clock.Clock
}

func (o BatchOptions) withDefaults() BatchOptions {
	if o.BadDir == "" {
		o.BadDir = filepath.Join(filepath.Dir(filepath.Clean(o.Dir)), "bad")
	}
	if o.FileUnits <= 0 {
		o.FileUnits = DefaultBatchFileUnits
	}
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	return o
}

// BatchSet is the queues of the topics with queue.type=BatchCQ: a unit is a record that holds several messages. The rules
// of Set hold: one dispatcher appends, in log order; TruncateToPhys and CorrectMin exclude it; everything else may be
// called at any time. There are few such queues and one unit for many messages, so that files are opened when they are
// needed and closed at once, and what was appended since the last Flush is a slice.
type BatchSet struct {
	opt       BatchOptions
	fileUnits int64
	count     atomic.Int64 // queues
	need      atomic.Int64 // see RebuildFrom
	minPhys   atomic.Int64 // start of the log, as CorrectMin was told

	mu struct {
		sync.RWMutex
		queues map[string]map[int32]*BatchQueue
		trash  int
	}
	flushMu sync.Mutex // one Flush at a time; failed is under it
	failed  error      // of a sync: final
}

// Queue finds a queue.
func (s *BatchSet) Queue(topic string, id int32) (*BatchQueue, bool) {
	if s.count.Load() == 0 {
		return nil, false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	q := s.mu.queues[topic][id]
	return q, q != nil
}

// GetOrCreate finds a queue or makes an empty one. Nothing is on disk before its first units are written. ErrName when the
// names cannot be a folder's.
func (s *BatchSet) GetOrCreate(topic string, id int32) (*BatchQueue, error) {
	if q, ok := s.Queue(topic, id); ok {
		return q, nil
	}
	if err := checkName(topic, id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.mu.queues[topic][id]; q != nil {
		return q, nil
	}
	return s.addLocked(s.newQueue(topic, id)), nil
}

func (s *BatchSet) addLocked(q *BatchQueue) *BatchQueue {
	if s.mu.queues[q.topic] == nil {
		s.mu.queues[q.topic] = map[int32]*BatchQueue{}
	}
	s.mu.queues[q.topic][q.id] = q
	s.count.Add(1)
	return q
}

// Len is the number of queues.
func (s *BatchSet) Len() int { return int(s.count.Load()) }

// Topics lists the topics that have queues, sorted.
func (s *BatchSet) Topics() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Sorted(maps.Keys(s.mu.queues))
}

// Queues lists the queues of a topic by id.
func (s *BatchSet) Queues(topic string) []*BatchQueue {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []*BatchQueue
	for _, id := range slices.Sorted(maps.Keys(s.mu.queues[topic])) {
		out = append(out, s.mu.queues[topic][id])
	}
	return out
}

func (s *BatchSet) all() []*BatchQueue {
	if s.count.Load() == 0 {
		return nil
	}
	var out []*BatchQueue
	for _, topic := range s.Topics() {
		out = append(out, s.Queues(topic)...)
	}
	return out
}

// MaxPhys is the end of the highest record that any queue refers to; 0 when there is none.
func (s *BatchSet) MaxPhys() int64 {
	var m int64
	for _, q := range s.all() {
		m = max(m, q.MaxPhys())
	}
	return m
}

// RebuildFrom is Set.RebuildFrom.
func (s *BatchSet) RebuildFrom() int64 { return s.need.Load() }

func (s *BatchSet) needFrom(phys int64) {
	phys = max(phys, 0)
	for {
		old := s.need.Load()
		if old <= phys || s.need.CompareAndSwap(old, phys) {
			return
		}
	}
}

// each calls fn for all queues and joins their errors.
func (s *BatchSet) each(fn func(*BatchQueue) error) error {
	var errs error
	for _, q := range s.all() {
		if err := fn(q); err != nil {
			errs = errors.Join(errs, fmt.Errorf("batch consume queue %s/%d: %w", q.topic, q.id, err))
		}
	}
	return errs
}

// Flush writes every unit appended before the call to the files, and with sync also syncs them. A failed sync is final
// (ErrSync): what the disk holds is known again only after a restart.
func (s *BatchSet) Flush(sync bool) error {
	s.flushMu.Lock()
	defer s.flushMu.Unlock()
	if sync && s.failed != nil {
		return s.failed
	}
	err := s.each((*BatchQueue).write)
	if err != nil || !sync {
		return err
	}
	if err := s.each((*BatchQueue).sync); err != nil {
		s.failed = fmt.Errorf("%w: %w", ErrSync, err)
	}
	return s.failed
}

// TruncateToPhys removes all units of records that begin at or after log position p, and whatever else lies behind them in
// the files. Nothing may be appended meanwhile.
func (s *BatchSet) TruncateToPhys(p int64) error {
	err := s.each(func(q *BatchQueue) error { return q.truncate(p) })
	if err == nil && p <= s.need.Load() {
		s.need.Store(math.MaxInt64)
	}
	return err
}

// CorrectMin tells the queues where the log begins.
func (s *BatchSet) CorrectMin(minPhys int64) error {
	s.minPhys.Store(minPhys)
	return s.each(func(q *BatchQueue) error { return q.correctMin(minPhys) })
}

// DeleteBefore is CorrectMin, and then removes the files that have no message which the log still has, except the last
// file of each queue.
func (s *BatchSet) DeleteBefore(minPhys int64) error {
	if err := s.CorrectMin(minPhys); err != nil {
		return err
	}
	return s.each((*BatchQueue).deleteHead)
}

// BeginsLate is Set.BeginsLate.
func (s *BatchSet) BeginsLate(logStart int64) bool {
	for _, q := range s.all() {
		if q.beginsLate(logStart) {
			s.opt.Log.Errorf("batch consume queue %s/%d does not begin where the log does: its queues are made again", q.topic, q.id)
			return true
		}
	}
	return false
}

// DeleteTopic removes a topic's queues, with the rules of Set.DeleteTopic.
func (s *BatchSet) DeleteTopic(topic string) error {
	return s.remove(topic, func(int32) bool { return true }, filepath.Join(s.opt.Dir, topic))
}

// DeleteQueue removes one queue.
func (s *BatchSet) DeleteQueue(topic string, id int32) error {
	if qs := s.Queues(topic); len(qs) == 1 && qs[0].id == id {
		return s.DeleteTopic(topic)
	}
	return s.remove(topic, func(n int32) bool { return n == id }, filepath.Join(s.opt.Dir, topic, strconv.Itoa(int(id))))
}

// remove forgets queues and moves their folder out of the way, so that new ones can be made at once.
func (s *BatchSet) remove(topic string, which func(id int32) bool, dir string) error {
	s.mu.Lock()
	found := false
	for id, q := range s.mu.queues[topic] {
		if which(id) {
			found = true
			q.retire()
			delete(s.mu.queues[topic], id)
			s.count.Add(-1)
		}
	}
	if len(s.mu.queues[topic]) == 0 {
		delete(s.mu.queues, topic)
	}
	s.mu.trash++
	moved := filepath.Join(filepath.Clean(s.opt.Dir)+".deleted", strconv.Itoa(s.mu.trash))
	var err error
	if _, statErr := s.opt.FS.Stat(dir); !found || statErr != nil {
		moved = "" // never written: nothing to remove
	} else if err = fs.MakeDirs(s.opt.FS, filepath.Dir(moved)); err == nil {
		if err = s.opt.FS.Rename(dir, moved); err == nil {
			err = s.opt.FS.SyncDir(filepath.Dir(dir))
		}
	}
	s.mu.Unlock()
	if moved == "" || err != nil {
		return err
	}
	return s.opt.FS.RemoveAll(moved)
}

// Close writes and syncs everything. The set is of no use afterwards.
func (s *BatchSet) Close() error { return s.Flush(true) }
