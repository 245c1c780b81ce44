package fs

import (
	"io"
	"os"
	"syscall"
)

// memFile is an open file of a Mem.
type memFile struct {
	m        *Mem
	n        *memNode
	name     string
	writable bool
	closed   bool // under m.mu
}

func (f *memFile) Name() string { return f.name }

func (f *memFile) Close() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return pathError("close", f.name, os.ErrClosed)
	}
	f.closed = true
	f.m.unlinkLocked(f.n)
	return nil
}

func (f *memFile) usableLocked(op string) error {
	if f.m.mu.killed {
		return pathError(op, f.name, ErrKilled)
	}
	if f.closed {
		return pathError(op, f.name, os.ErrClosed)
	}
	return nil
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usableLocked("read"); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, pathError("read", f.name, syscall.EINVAL)
	}
	if off >= int64(len(f.n.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.n.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usableLocked("write"); err != nil {
		return 0, err
	}
	if !f.writable || off < 0 {
		return 0, pathError("write", f.name, syscall.EBADF)
	}
	fault, err := f.m.beginLocked(OpWrite, f.name, off, len(p))
	if err != nil {
		p = p[:min(max(fault.Short, 0), len(p))]
	}
	if grow := off + int64(len(p)) - int64(len(f.n.data)); grow > 0 && f.m.mu.capacity > 0 {
		if room := max(f.m.mu.capacity-f.m.mu.used, 0); grow > room {
			p = p[:max(int64(len(p))-(grow-room), 0)]
			if err == nil {
				err = pathError("write", f.name, syscall.ENOSPC)
			}
		}
	}
	if len(p) > 0 {
		if end := off + int64(len(p)); end > int64(len(f.n.data)) {
			f.m.resizeLocked(f.n, end)
		}
		copy(f.n.data[off:], p)
		f.n.dirty = append(f.n.dirty, span{off, off + int64(len(p))})
		f.n.modTime = f.m.mu.now()
	}
	return len(p), err
}

// resizeLocked sets the length; the change is not durable.
func (m *Mem) resizeLocked(n *memNode, size int64) {
	old := int64(len(n.data))
	m.mu.used += size - old
	if size <= old {
		n.data = n.data[:size:size]
	} else {
		n.data = append(n.data, make([]byte, size-old)...)
	}
	n.dirty = append(n.dirty, span{min(old, size), max(old, size)})
	n.modTime = m.mu.now()
}

func (f *memFile) Truncate(size int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usableLocked("truncate"); err != nil {
		return err
	}
	if !f.writable || size < 0 {
		return pathError("truncate", f.name, syscall.EINVAL)
	}
	if _, err := f.m.beginLocked(OpTruncate, f.name, size, 0); err != nil {
		return err
	}
	if grow := size - int64(len(f.n.data)); grow > 0 && f.m.mu.capacity > 0 && f.m.mu.used+grow > f.m.mu.capacity {
		return pathError("truncate", f.name, syscall.ENOSPC)
	}
	f.m.resizeLocked(f.n, size)
	return nil
}

func (f *memFile) Sync() error { return f.Datasync() }

func (f *memFile) Datasync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usableLocked("sync"); err != nil {
		return err
	}
	if _, err := f.m.beginLocked(OpSync, f.name, 0, 0); err != nil {
		return err
	}
	f.n.sync()
	return nil
}

// sync copies what is dirty into what survives.
func (n *memNode) sync() {
	n.synced = resize(n.synced, len(n.data))
	for _, s := range n.dirty {
		s.end = min(s.end, int64(len(n.data)))
		if s.off < s.end {
			copy(n.synced[s.off:s.end], n.data[s.off:s.end])
		}
	}
	n.dirty = n.dirty[:0]
}

func resize(b []byte, n int) []byte {
	if n <= len(b) {
		return b[:n:n]
	}
	return append(b, make([]byte, n-len(b))...)
}

func (f *memFile) StartWrite(off, n int64) error { return nil }

func (f *memFile) Stat() (Info, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.usableLocked("stat"); err != nil {
		return Info{}, err
	}
	return f.n.info(f.name), nil
}

// ReadAtNoWait is ReadAt, unless SetCold says that the range is not in memory.
func (f *memFile) ReadAtNoWait(p []byte, off int64) (int, error) {
	f.m.mu.Lock()
	cold := f.m.mu.cold
	f.m.mu.Unlock()
	if cold != nil && cold(f.name, off) {
		return 0, pathError("read", f.name, ErrWouldWait)
	}
	return f.ReadAt(p, off)
}
