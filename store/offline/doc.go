// Package offline is what operators do with a store that no broker has open: check it, make queues and index again from
// the log, and cut the log.
//
// Check only reads. It is written against the file formats and not on top of package store, so that it does not share
// its mistakes. Rebuild and Cut leave a store that looks like one after a crash, and then have package store recover it,
// as a broker's start would; killed at any moment, the next start (or the same command again) finishes the work.
//
// The sizes of the store's files are found from the files themselves (see Look). While a function runs it holds the
// store's lock, so that no broker, ours or Java's, can open it. Functions are not safe for concurrent use on one store.
package offline

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/index"
)

// Options say which store, and what cannot be found out from its files. Zero fields get their defaults.
type Options struct {
	Root         string // storePathRootDir
	CommitLogDir string // storePathCommitLog; default Root/commitlog

	// Sizes that replace those found from the files, which damage may have made impossible to find.
	LogFileSize    int64       // bytes
	QueueFileUnits int         // units of 20 bytes
	BatchFileUnits int         // units of 46 bytes
	IndexShape     index.Shape // slots and entries
	// DelayLevels is messageDelayLevel, where it is not the default: the queues of delayed messages keep the times of
	// delivery. Default: what the queues say, else Java's 18 levels.
	DelayLevels []time.Duration

	FS    fs.FS // default the operating system's
	Clock clock.Clock
	Log   *xlog.Logger
	// Progress, if not nil, is told now and then how many bytes of the log were read, of how many.
	Progress func(done, total int64)
}

func (o Options) withDefaults() Options {
	if o.CommitLogDir == "" {
		o.CommitLogDir = filepath.Join(o.Root, "commitlog")
	}
	if o.FS == nil {
		o.FS = fs.OS{}
	}
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	return o
}

func (o Options) path(name string) string { return filepath.Join(o.Root, name) }

// Names in a store's root.
const (
	lockName  = "lock"
	abortName = "abort"
	checkName = "checkpoint"
	queueDir  = "consumequeue"
	batchDir  = "batchconsumequeue"
	indexDir  = "index"
	tornDir   = "torn"
	badDir    = "bad"
)

type noLock struct{}

func (noLock) Close() error { return nil }

// lock takes the store's lock: store.ErrLocked when a broker has it. Without write a missing lock file is not made, for
// then no broker ever was there; nor can one be on a disk that is mounted read-only.
func lock(o Options, write bool) (io.Closer, error) {
	name := o.path(lockName)
	if _, err := o.FS.Stat(name); errors.Is(err, os.ErrNotExist) && !write {
		return noLock{}, nil
	}
	l, err := o.FS.Lock(name)
	switch {
	case errors.Is(err, fs.ErrLocked):
		return nil, fmt.Errorf("%w: %s; stop the broker first", store.ErrLocked, o.Root)
	case errors.Is(err, syscall.EROFS) && !write:
		return noLock{}, nil
	}
	return l, err
}
