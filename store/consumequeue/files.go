package consumequeue

import (
	"errors"
	"os"
	"sync"

	"github.com/seedmq/seedmq/store/fs"
)

// fileKey names a queue file: start is its first unit.
type fileKey struct {
	q     *Queue
	start int64
}

// handle is an open file. Its users hold a reference; it is closed when it left the cache and the last of them is done.
type handle struct {
	key        fileKey
	file       fs.File
	refs       int
	cached     bool
	prev, next *handle // in the list of those that nobody uses, oldest first
}

// fileCache keeps at most max files open that nobody uses at the moment. Opening happens outside its lock.
type fileCache struct {
	fs   fs.FS
	size int64 // of every file, in bytes
	max  int

	mu struct {
		sync.Mutex
		open map[fileKey]*handle
		idle handle // ring of unused handles
		n    int    // its length
	}
}

func newFileCache(f fs.FS, size int64, limit int) *fileCache {
	c := &fileCache{fs: f, size: size, max: limit}
	c.mu.open = map[fileKey]*handle{}
	c.mu.idle.next, c.mu.idle.prev = &c.mu.idle, &c.mu.idle
	return c
}

// get opens a file for reading and writing; it must be given back. os.ErrNotExist when there is none.
func (c *fileCache) get(k fileKey) (*handle, error) {
	if h := c.lookup(k); h != nil {
		return h, nil
	}
	f, err := c.fs.OpenFile(k.q.fileName(k.start), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return c.add(k, f), nil
}

// create is get, and makes the file with its full length when there is none. made says so.
func (c *fileCache) create(k fileKey) (h *handle, made bool, err error) {
	if h, err = c.get(k); !errors.Is(err, os.ErrNotExist) {
		return h, false, err
	}
	name := k.q.fileName(k.start)
	f, err := c.fs.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if errors.Is(err, os.ErrNotExist) {
		if err = fs.MakeDirs(c.fs, k.q.dir()); err == nil {
			f, err = c.fs.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
		}
	}
	if err != nil {
		return nil, false, err
	}
	if err := f.Truncate(c.size); err != nil {
		return nil, false, errors.Join(err, f.Close(), c.fs.Remove(name))
	}
	return c.add(k, f), true, nil
}

func (c *fileCache) lookup(k fileKey) *handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.mu.open[k]
	if h != nil {
		c.useLocked(h)
	}
	return h
}

func (c *fileCache) useLocked(h *handle) {
	if h.refs == 0 {
		h.unlink()
		c.mu.n--
	}
	h.refs++
}

// add puts a newly opened file into the cache, unless another goroutine was faster; then f is closed.
func (c *fileCache) add(k fileKey, f fs.File) *handle {
	c.mu.Lock()
	h := c.mu.open[k]
	if h != nil {
		c.useLocked(h)
		c.mu.Unlock()
		f.Close() // nothing was written through it
		return h
	}
	h = &handle{key: k, file: f, refs: 1, cached: true}
	c.mu.open[k] = h
	c.mu.Unlock()
	return h
}

// put gives h back. When too many are idle, the one that was not used for longest is closed.
func (c *fileCache) put(h *handle) {
	c.mu.Lock()
	var victim *handle
	if h.refs--; h.refs == 0 {
		if !h.cached {
			victim = h
		} else {
			h.link(&c.mu.idle)
			if c.mu.n++; c.mu.n > c.max {
				victim = c.mu.idle.next
				c.forgetLocked(victim)
			}
		}
	}
	c.mu.Unlock()
	if victim != nil {
		victim.file.Close() // content was written with pwrite; an error could only repeat what Datasync tells
	}
}

// drop closes what is open of q's files that start in [from, to); what is in use, when its users are done.
func (c *fileCache) drop(q *Queue, from, to int64) {
	var victims []*handle
	c.mu.Lock()
	for start := from; start < to; start += q.set.fileUnits {
		if h := c.mu.open[fileKey{q, start}]; h != nil {
			if h.refs == 0 {
				victims = append(victims, h)
			}
			c.forgetLocked(h)
		}
	}
	c.mu.Unlock()
	for _, h := range victims {
		h.file.Close()
	}
}

// closeAll drops everything.
func (c *fileCache) closeAll() error {
	c.mu.Lock()
	var victims []*handle
	for _, h := range c.mu.open {
		if h.refs == 0 {
			victims = append(victims, h)
		}
		c.forgetLocked(h)
	}
	c.mu.Unlock()
	var err error
	for _, h := range victims {
		err = errors.Join(err, h.file.Close())
	}
	return err
}

// forgetLocked takes h out of the cache. The caller closes it if nobody uses it.
func (c *fileCache) forgetLocked(h *handle) {
	delete(c.mu.open, h.key)
	h.cached = false
	if h.refs == 0 {
		h.unlink()
		c.mu.n--
	}
}

// open is the number of open files, for tests.
func (c *fileCache) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.mu.open)
}

func (h *handle) link(ring *handle) {
	h.prev, h.next = ring.prev, ring
	h.prev.next, ring.prev = h, h
}

func (h *handle) unlink() {
	h.prev.next, h.next.prev = h.next, h.prev
	h.prev, h.next = nil, nil
}
