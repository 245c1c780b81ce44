package store

import (
	"fmt"
	"sync/atomic"

	"github.com/seedmq/seedmq/conf/xlog"
)

// confirmOffset is the position below which records may be seen by consumers. It never goes back. Under async flush it
// follows the appends, under sync flush the syncs.
type confirmOffset struct{ pos atomic.Int64 }

func (c *confirmOffset) get() int64 { return c.pos.Load() }

func (c *confirmOffset) advance(to int64) { advance(&c.pos, to) }

// advance raises p to at least to.
func advance(p *atomic.Int64, to int64) {
	for {
		old := p.Load()
		if old >= to || p.CompareAndSwap(old, to) {
			return
		}
	}
}

// writeState says whether appends are taken.
//
//	open <-> diskFull      by use of the disk, and by a write that found no space
//	any  --> readOnly      a write or sync failed; until the next start
//	any  --> closed
type writeState struct {
	log      *xlog.Logger
	closed   atomic.Bool
	readOnly atomic.Pointer[error]
	diskFull atomic.Pointer[error]
}

// err is nil when appends are taken.
func (w *writeState) err() error {
	if w.closed.Load() {
		return ErrClosed
	}
	if p := w.readOnly.Load(); p != nil {
		return *p
	}
	if p := w.diskFull.Load(); p != nil {
		return *p
	}
	return nil
}

// setReadOnly stops appends for good. The first cause stays.
func (w *writeState) setReadOnly(cause error) {
	err := fmt.Errorf("%w: %w", ErrReadOnly, cause)
	if w.readOnly.CompareAndSwap(nil, &err) {
		w.log.Errorf("the store takes no more messages until it is started again: %v", cause)
	}
}

// setDiskFull says whether there is room.
func (w *writeState) setDiskFull(full bool, why string) {
	if !full {
		if w.diskFull.Swap(nil) != nil {
			w.log.Warnf("there is room on the disk again, the store takes messages")
		}
		return
	}
	err := fmt.Errorf("%w: %s", ErrDiskFull, why)
	if w.diskFull.CompareAndSwap(nil, &err) {
		w.log.Errorf("the store takes no messages until there is room on the disk: %s", why)
	}
}
