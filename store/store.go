package store

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/run"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/store/checkpoint"
	"github.com/seedmq/seedmq/store/consumequeue"
	"github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/index"
)

// logEvery is how often a recurring trouble is written to the log.
const logEvery = 10 * time.Second

// Options are what a store is opened with. Zero fields get their defaults.
type Options struct {
	Root              string // storePathRootDir
	CommitLogDir      string // storePathCommitLog; default Root/commitlog
	StoreHost         netip.AddrPort
	CommitLogFileSize int64 // default 1 GiB
	QueueFileUnits    int   // units of 20 bytes in a consume queue file; default 300,000
	BatchFileUnits    int   // units of 46 bytes in a batch consume queue file; default 300,000
	MaxMessageSize    int   // bytes of a body; default 4 MiB
	SyncFlush         bool
	SyncFlushTimeout  time.Duration // default 5 s
	FlushInterval     time.Duration // of the async flush; default 500 ms
	FileReservedTime  time.Duration // default 72 h
	DeleteWhen        string        // hours, ';' separated; default "04"
	IndexEnabled      bool
	IndexSlots        int     // default 5,000,000
	IndexEntries      int     // default 20,000,000
	DiskMaxUsedRatio  float64 // above it expired files go at any hour; default 0.75
	DiskForcibleRatio float64 // above it the oldest files go even if not expired; default 0.85
	DiskWarningRatio  float64 // above it no messages are taken; default 0.90
	KeepUnexpired     bool    // files never go before they are expired, however full the disk is
	CheckCRCOnRecover bool
	// BatchTopic says whether a topic has the attribute queue.type=BatchCQ. It is asked once the store is open; until then, and
	// when it is nil, config/topics.json is.
	BatchTopic func(topic string) bool
	// Light turns on light queues (enableLmq, enableMultiDispatch): a message whose property INNER_MULTI_DISPATCH names light
	// queues enters them too.
	Light bool
	// OnArrival is called by the dispatcher, in log order, once the messages can be read. It must not block; batch is reused.
	OnArrival func(batch []Arrival)
	// NotOurs is called at the end of Open when this program did not have the store open last, or has closed it since: files kept beside
	// the store for a start after a kill are void. A kill before it has returned makes the next Open call it again. An error ends Open.
	NotOurs func() error
	Clock   clock.Clock
	Log     *xlog.Logger

	// FS is the file system; default the operating system's.
	FS fs.FS
	// Schedule says when expired files are deleted; default: during the hours of DeleteWhen.
	Schedule Schedule
	// DelayLevels are the delays of levels 1, 2, …; needed when queues are made again from the log. Default: Java's 18.
	DelayLevels []time.Duration
	// FillRate bounds the bytes per second with which files are zeroed ahead under sync flush; default 256 MiB.
	FillRate int64
	// NoPrepare turns off making and zeroing files ahead.
	NoPrepare bool
	// HotBytes is how far behind the log's end everything is taken to be in memory; default 64 MiB. Further back the
	// kernel is asked.
	HotBytes int64
	// MapBytes bounds the memory mappings; default 256 MiB.
	MapBytes int64

	// KeepBytes is how much of the log's end stays in memory while the log grows: what is further back is given back to
	// the system. Negative: never give back. Default: three eighths of the memory where free memory returns to the host of
	// a virtual machine, and never elsewhere.
	KeepBytes int64

	hours bool // Schedule was made from DeleteWhen
}

// Store is an open data directory. All methods are safe for concurrent use.
type Store struct {
	o     Options
	fs    fs.FS
	group *run.Group
	lock  interface{ Close() error }

	log      commitLog
	queues   *queueTable
	cq       *consumequeue.Set
	bq       *consumequeue.BatchSet
	batches  batchTopics
	index    *index.Index // nil: not kept
	check    *checkpoint.File
	state    writeState
	confirm  confirmOffset
	flush    flusher
	forget   forgetter
	dispatch dispatcher
	room     room
	clean    cleaner
	jan      janitor
	limits   atomic.Pointer[limits]

	dropped droppedTopics
	raised  raisedMins
	mended  []LogRange // set by the recovery
	// ours says that it was this program that had the store open and did not close it.
	ours bool
	// farBehind is how many bytes behind the log's end a reader counts as slow.
	farBehind int64

	putTimes, putBytes, putFailures atomic.Int64

	closing sync.Once
	closed  error // of the first Close
}

// Open locks the directory and recovers. The caller must Close. ErrLocked when another process has it, ErrUnsupported
// when it is of another kind or has log files of several sizes; then nothing was changed. The sizes of files that are
// there win over those in o.
func Open(o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := newStore(o)
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.release())
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func newStore(o Options) *Store {
	s := &Store{o: o, fs: o.FS, group: run.NewGroup()}
	s.queues = newQueueTable(s.isBatchTopic)
	s.log.fs, s.log.dir, s.log.fileSize, s.log.hot = o.FS, o.CommitLogDir, o.CommitLogFileSize, o.HotBytes
	s.log.setList(nil)
	s.log.prepare = make(chan struct{}, 1)
	s.state.log = o.Log
	s.flush.s, s.flush.wake = s, make(chan struct{}, 1)
	s.dispatch.s, s.dispatch.wake, s.dispatch.scan.l = s, make(chan struct{}, 1), &s.log
	s.limits.Store(limitsOf(&s.o))
	s.forget.init(s)
	s.clean.init(s)
	s.raised.init(s)
	s.jan.s = s
	return s
}

// start launches the goroutines.
func (s *Store) start() error {
	parts := map[string]func(context.Context){
		"store flush": s.flush.run, "store dispatch": s.dispatch.run, "store janitor": s.jan.run, "store clean": s.clean.run,
	}
	if !s.o.NoPrepare {
		parts["store prepare"] = s.prepare
	}
	if s.o.KeepBytes > 0 {
		s.forget.began(s.log.end.Load())
		parts["store forget"] = s.forget.run
	}
	for name, fn := range parts {
		if err := s.group.Go(name, fn); err != nil {
			return err
		}
	}
	return nil
}

// Close flushes, lets the dispatcher catch up, and removes the abort file when everything is safe.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closed = s.close() })
	return s.closed
}

// Writable says whether appends are taken now, and if not why (ErrReadOnly, ErrDiskFull, ErrClosed).
func (s *Store) Writable() error { return s.state.err() }

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
func (s *Store) Status() Status {
	st := Status{
		MinPhys: s.log.start(), MaxPhys: s.log.end.Load(), FlushedPhys: s.flush.flushed.Load(),
		ConfirmedPhys: s.confirm.get(), DispatchedPhys: s.dispatch.pos.Load(),
		PutTimes: s.putTimes.Load(), PutBytes: s.putBytes.Load(), PutFailures: s.putFailures.Load(),
		EarliestStoreTime: s.earliestStoreTime(),
	}
	if u, err := s.fs.Usage(s.log.dir); err == nil {
		st.DiskRatio, st.DirTotal, st.DirFree = u.UsedRatio, u.Total, u.Free
	}
	if u, err := s.fs.Usage(s.o.Root); err == nil {
		st.QueueDiskRatio = u.UsedRatio
	}
	if at := s.log.lockedAt.Load(); at > 0 {
		st.AppendLockHeldFor = max(s.o.Clock.Now().Sub(time.Unix(0, at)), 0)
	}
	return st
}

// earliestStoreTime is the store time of the oldest record, -1 when there is none.
func (s *Store) earliestStoreTime() int64 {
	t, err := s.storeTimeAt(s.log.start())
	if err != nil {
		return -1
	}
	return t
}
