// Package store owns a broker's data directory.
package store

import (
	"net/netip"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
)

// Options are what a store is opened with. Zero fields get their defaults.
type Options struct {
	Root              string // storePathRootDir
	CommitLogDir      string // storePathCommitLog; default Root/commitlog
	StoreHost         netip.AddrPort
	CommitLogFileSize int64
	QueueFileUnits    int // units of 20 bytes in a consume queue file; default 300,000
	MaxMessageSize    int
	SyncFlush         bool
	SyncFlushTimeout  time.Duration
	FlushInterval     time.Duration
	FileReservedTime  time.Duration
	DeleteWhen        string // hours, ';' separated
	IndexEnabled      bool
	IndexSlots        int
	IndexEntries      int
	DiskMaxUsedRatio  float64 // 0.75
	DiskForcibleRatio float64 // 0.85
	DiskWarningRatio  float64 // 0.90
	CheckCRCOnRecover bool
	// OnArrival is called by the dispatcher, in log order, once the messages can be read. It must not block; batch is reused.
	OnArrival func(batch []Arrival)
	Clock     clock.Clock
	Log       *xlog.Logger
}

// Store is an open data directory. All methods are safe for concurrent use.
type Store struct{}

// Open locks the directory and recovers. The caller must Close.
func Open(o Options) (*Store, error) { return nil, ErrClosed }

// Close flushes, lets the dispatcher catch up, and removes the abort file when everything is safe.
func (s *Store) Close() error { return ErrClosed }

// Batch collects messages to be appended together. It is reused after Reset and belongs to one goroutine.
type Batch struct{}

// NewBatch returns an empty batch for s.
func (s *Store) NewBatch() *Batch { return nil }

// Reset empties the batch.
func (b *Batch) Reset() {}

// Len is the number of messages added.
func (b *Batch) Len() int { return 0 }

// Add encodes m. On an error (ErrMessageTooLarge) nothing was added.
func (b *Batch) Add(m *Message) error { return ErrClosed }

// AddGroup encodes ms so that they get consecutive queue offsets in one commit log file: all or none.
// All must have the same topic and queue.
func (b *Batch) AddGroup(ms []Message) error { return ErrClosed }

// Result is where message i went, in the order added, after a successful Append.
func (b *Batch) Result(i int) AppendResult { return AppendResult{} }

// End is the log position after the batch's last record, after a successful Append.
func (b *Batch) End() int64 { return 0 }

// Append gives positions to all messages of b and writes them with one write. When it returns an error nothing of b is
// in the log. It does not wait for the disk: see AwaitSafe.
func (s *Store) Append(b *Batch) error { return ErrClosed }

// AwaitSafe calls done exactly once: with nil when everything below end is as safe as the flush mode (and later the
// replication) asks for, at once under async flush; with ErrFlushTimeout after the sync flush timeout; with ErrReadOnly
// when a sync failed. done must not block; it may run on the caller's goroutine.
func (s *Store) AwaitSafe(end int64, done func(error)) {}

// Get appends records to dst.
func (s *Store) Get(r *GetRequest, dst []byte) ([]byte, GetResult) { return dst, GetResult{} }

// Writable says whether appends are taken now, and if not why (ErrReadOnly, ErrDiskFull, ErrClosed).
func (s *Store) Writable() error { return ErrClosed }

// QueueRange is the first and the next queue offset; ok is false when there is no such queue.
func (s *Store) QueueRange(topic string, queueID int32) (min, max int64, ok bool) { return 0, 0, false }

// QueueStillInMemory says that the queue starts at 0 and its first message is still recent enough to be read from memory.
func (s *Store) QueueStillInMemory(topic string, queueID int32) bool { return false }

// OffsetByTime is the queue offset for a store time in ms.
func (s *Store) OffsetByTime(topic string, queueID int32, ms int64, b Boundary) (int64, error) {
	return 0, ErrClosed
}

// StoreTime is the store time in ms of one message of a queue, ErrNotFound when it is not there.
func (s *Store) StoreTime(topic string, queueID int32, offset int64) (int64, error) {
	return 0, ErrClosed
}

// Record appends the record at a log position to dst, ErrNotFound when none starts there.
func (s *Store) Record(phys int64, dst []byte) ([]byte, error) { return nil, ErrClosed }

// QueueUnit is one entry of a consume queue.
type QueueUnit struct {
	PhysicalOffset int64
	Size           int32
	TagsCode       int64
}

// QueueUnits reads up to max units of a queue from offset on.
func (s *Store) QueueUnits(topic string, queueID int32, offset int64, max int) ([]QueueUnit, error) {
	return nil, ErrClosed
}

// QueryKey finds records by key within [begin, end] ms.
func (s *Store) QueryKey(topic, key string, kind KeyKind, max int, begin, end int64) (QueryResult, error) {
	return QueryResult{}, ErrClosed
}

// Topics lists the topics that have consume queues on disk.
func (s *Store) Topics() []string { return nil }

// Queues lists the queue ids of a topic on disk.
func (s *Store) Queues(topic string) []int32 { return nil }

// DeleteTopic removes the topic's queues; its records stay in the log until retention removes them.
func (s *Store) DeleteTopic(topic string) error { return ErrClosed }

// CleanExpiredQueues removes queues whose messages are all gone; keep protects topics.
func (s *Store) CleanExpiredQueues(keep func(topic string) bool) error { return ErrClosed }

// DeleteExpired runs the commit log cleaner now, without regard to deleteWhen.
func (s *Store) DeleteExpired() error { return ErrClosed }

// Status is a snapshot of the store's figures.
type Status struct {
	MinPhys, MaxPhys, FlushedPhys, ConfirmedPhys, DispatchedPhys int64
	DiskRatio, QueueDiskRatio                                    float64
	EarliestStoreTime                                            int64
	PutTimes, PutBytes, PutFailures                              int64
	AppendLockHeldFor                                            time.Duration
	DirTotal, DirFree                                            int64
}

// Status takes the snapshot.
func (s *Store) Status() Status { return Status{} }
