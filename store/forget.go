package store

import (
	"context"
	"sync/atomic"
)

// forgetStep is in what pieces memory is given back; a whole number of mappings.
const forgetStep = 16 << 20

// forgetter gives back the page cache of the log that lies further back than Options.KeepBytes, while the log grows.
//
// Without it every append takes memory that was never used, until there is none. On a virtual machine that gives free
// memory back to its host, that costs 1.5 µs a KiB where reusing what was just given back costs 0.1: there, the rate of
// sends fell to a third. Elsewhere the kernel does well by itself, and nothing is forgotten.
type forgetter struct {
	s    *Store
	keep int64        // 0: never forget
	next atomic.Int64 // the log's end at which there is something to do
	done int64        // forgotten up to here; belongs to the goroutine
	wake chan struct{}
}

func (f *forgetter) init(s *Store) {
	f.s, f.keep, f.wake = s, s.o.KeepBytes, make(chan struct{}, 1)
}

// began is told where the log ends at the start: what is older is the kernel's to keep.
func (f *forgetter) began(end int64) {
	f.done = end - end%forgetStep
	f.next.Store(f.done + f.keep + forgetStep)
}

// appended is told of the log's new end.
func (f *forgetter) appended(end int64) {
	if f.keep > 0 && end >= f.next.Load() {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
}

// run is the forgetter's goroutine.
func (f *forgetter) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		// Only what is durable: memory that is still to be written out cannot be given back.
		end := min(f.s.log.end.Load()-f.keep, f.s.flush.flushed.Load())
		for f.done+forgetStep <= end && ctx.Err() == nil {
			f.forget(f.done, f.done+forgetStep)
			f.done += forgetStep
		}
		f.next.Store(f.done + f.keep + forgetStep)
	}
}

func (f *forgetter) forget(from, to int64) {
	for from < to {
		file := f.s.log.fileOf(from)
		if file == nil || !file.Acquire() {
			return
		}
		n := min(to, file.End()) - from
		file.Forget(from-file.Start(), n)
		file.Release()
		from += n
	}
}
