package store

import (
	"github.com/seedmq/seedmq/store/consumequeue"
	"github.com/seedmq/seedmq/store/mappedfile"
)

// logView is the part of the log that a reader looks at: a mapping that it keeps for all records that lie there. It must
// be dropped in the end. It belongs to one goroutine.
type logView struct {
	f    *mappedfile.File // acquired; nil when nothing is shown
	view mappedfile.View
	from int64 // log position of the first byte shown
	mem  []byte
	seen byte // keeps touch from being left out by the compiler
}

// at returns the n bytes at log position phys if they are in memory and in one mapping, else nil. They are valid until
// the next call.
func (v *logView) at(l *commitLog, phys, n int64) []byte {
	if at := phys - v.from; at >= 0 && at+n <= int64(len(v.mem)) {
		return v.mem[at : at+n]
	}
	v.drop()
	f := l.fileOf(phys)
	if f == nil || !f.Acquire() {
		return nil
	}
	if !v.view.Show(f, phys-f.Start(), phys >= l.end.Load()-l.hot) {
		f.Release()
		return nil
	}
	from, _ := v.view.Range()
	v.f, v.mem, v.from = f, v.view.Bytes(), f.Start()+from
	if at := phys - v.from; at+n <= int64(len(v.mem)) {
		return v.mem[at : at+n]
	}
	return nil
}

func (v *logView) drop() {
	if v.f != nil {
		v.view.Drop()
		v.f.Release()
		v.f, v.mem = nil, nil
	}
}

// touchStep is how far apart touch reads: the processor's own prefetching does the rest.
const touchStep = 64

// touch reads a byte here and there of the records that will be copied next. Records of one queue lie apart in the log;
// a processor waits for several of them at once when it meets them in a loop that does nothing else.
func (v *logView) touch(units []consumequeue.Unit) {
	var sum byte
	for i := range units {
		at := units[i].PhysicalOffset - v.from
		end := min(at+int64(units[i].Size), int64(len(v.mem)))
		if at < 0 {
			continue
		}
		for ; at < end; at += touchStep {
			sum += v.mem[at]
		}
	}
	v.seen = sum
}
