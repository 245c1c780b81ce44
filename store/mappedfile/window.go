package mappedfile

import (
	"sync"
	"sync/atomic"

	"github.com/edsrzf/mmap-go"

	"github.com/seedmq/seedmq/store/fs"
)

const (
	// windowSize is how much of a file one mapping shows.
	windowSize = 4 << 20
	// askEvery is after how many reads of a window that was not in memory it is asked again whether it is.
	askEvery = 64
)

// window is a mapped part of a file all of which was in memory when it was mapped. refs counts readers, plus 1 while it
// is in the pool; at 0 it is unmapped.
type window struct {
	mem  mmap.MMap
	f    *File
	idx  int
	refs atomic.Int32
	used atomic.Int64 // sweep in which it was used last
}

func (w *window) acquire() bool {
	for {
		n := w.refs.Load()
		if n == 0 {
			return false
		}
		if w.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (w *window) release() {
	if w.refs.Add(-1) == 0 {
		_ = w.mem.Unmap() // fails only for memory that is not mapped
	}
}

// Pool bounds the mappings of all files of a store. Safe for concurrent use.
type Pool struct {
	sweep atomic.Int64
	mu    struct {
		sync.Mutex
		list []*window
	}
	max int
}

// NewPool returns a pool that maps at most bytes (at least one window).
func NewPool(bytes int64) *Pool { return &Pool{max: int(max(bytes/windowSize, 1))} }

// Mapped is the number of mapped bytes.
func (p *Pool) Mapped() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	var n int64
	for _, w := range p.mu.list {
		n += int64(len(w.mem))
	}
	return n
}

// Sweep unmaps what was not used since the last but one call.
func (p *Pool) Sweep() {
	now := p.sweep.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	keep := p.mu.list[:0]
	for _, w := range p.mu.list {
		if w.used.Load() < now-1 {
			w.drop()
		} else {
			keep = append(keep, w)
		}
	}
	clear(p.mu.list[len(keep):])
	p.mu.list = keep
}

// drop takes w out of its file; the caller takes it out of the list.
func (w *window) drop() {
	w.f.windows[w.idx].CompareAndSwap(w, nil)
	w.release()
}

// get returns an acquired window; nil when it is not all in memory, unless it is known to be hot, or cannot be mapped.
func (p *Pool) get(f *File, idx int, hot bool) *window {
	if w := f.windows[idx].Load(); w != nil && w.acquire() {
		if now := p.sweep.Load(); w.used.Load() != now {
			w.used.Store(now)
		}
		return w
	}
	if !hot && f.asked[idx].Add(1)%askEvery != 1 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := f.windows[idx].Load(); w != nil && w.acquire() {
		return w
	}
	off := int64(idx) * windowSize
	mem, err := mmap.MapRegion(f.osf, int(min(windowSize, f.size-off)), mmap.RDONLY, 0, off)
	if err != nil {
		return nil // out of address space or mappings: the caller reads by pread
	}
	if !hot && !resident(mem) {
		_ = mem.Unmap() // fails only for memory that is not mapped
		return nil
	}
	f.asked[idx].Store(0)
	for len(p.mu.list) >= p.max {
		p.evictLocked()
	}
	w := &window{mem: mem, f: f, idx: idx}
	w.used.Store(p.sweep.Load())
	w.refs.Store(2)
	f.windows[idx].Store(w)
	p.mu.list = append(p.mu.list, w)
	return w
}

// evictLocked drops the window that was not used for longest; of equal ones the oldest.
func (p *Pool) evictLocked() {
	oldest := 0
	for i, w := range p.mu.list {
		if w.used.Load() < p.mu.list[oldest].used.Load() {
			oldest = i
		}
	}
	p.mu.list[oldest].drop()
	p.mu.list = append(p.mu.list[:oldest], p.mu.list[oldest+1:]...)
}

// dropWindows unmaps all windows of f.
func (f *File) dropWindows() {
	if f.osf == nil {
		return
	}
	p := f.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	keep := p.mu.list[:0]
	for _, w := range p.mu.list {
		if w.f == f {
			w.drop()
		} else {
			keep = append(keep, w)
		}
	}
	clear(p.mu.list[len(keep):])
	p.mu.list = keep
}

// Forget gives back the memory of what was written to [off, off+n) and has reached the disk, mappings that lie in it
// included. It is a hint: what cannot be given back stays.
func (f *File) Forget(off, n int64) {
	forgetter, ok := f.f.(fs.Forgetter)
	if !ok {
		return
	}
	for i := (off + windowSize - 1) / windowSize; (i+1)*windowSize <= off+n && i < int64(len(f.windows)); i++ {
		f.pool.forget(f, int(i))
	}
	_ = forgetter.Forget(off, n)
}

// forget unmaps window idx of f.
func (p *Pool) forget(f *File, idx int) {
	if f.windows[idx].Load() == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, w := range p.mu.list {
		if w.f == f && w.idx == idx {
			w.drop()
			p.mu.list = append(p.mu.list[:i], p.mu.list[i+1:]...)
			return
		}
	}
}

// ReadHot copies from the mapping what was written recently. It stops a scheduler thread if the bytes are not in memory.
// The caller must have acquired f.
func (f *File) ReadHot(p []byte, off int64) error {
	if f.readWindows(p, off, true) {
		return nil
	}
	return f.ReadAt(p, off)
}

// ReadResident copies from the mapping if the bytes were in memory when they were mapped, not long ago; false if not,
// and then p may have been changed. The caller must have acquired f.
func (f *File) ReadResident(p []byte, off int64) bool { return f.readWindows(p, off, false) }

func (f *File) readWindows(p []byte, off int64, hot bool) bool {
	if f.osf == nil || off < 0 || off+int64(len(p)) > f.size {
		return false
	}
	for len(p) > 0 {
		w := f.pool.get(f, int(off/windowSize), hot)
		if w == nil {
			return false
		}
		n := copy(p, w.mem[off%windowSize:])
		w.release()
		p, off = p[n:], off+int64(n)
	}
	return true
}
