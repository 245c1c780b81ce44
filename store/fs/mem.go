package fs

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// ErrKilled is what every operation on a Mem returns after a fault of kind Kill, as if the process were gone.
var ErrKilled = errors.New("fs: killed")

// OpKind is a kind of operation that changes the disk.
type OpKind uint8

// Kinds of operations that a Hook sees.
const (
	OpWrite OpKind = iota
	OpSync
	OpTruncate
	OpCreate
	OpRename
	OpRemove
	OpSyncDir
	OpMkdir
)

// String is the kind in one word.
func (k OpKind) String() string {
	return [...]string{"write", "sync", "truncate", "create", "rename", "remove", "syncdir", "mkdir"}[k]
}

// Op is an operation about to happen. N counts them from 1.
type Op struct {
	N    int64
	Kind OpKind
	Name string
	Off  int64 // of a write
	Len  int   // of a write
}

// Fault is what a Hook wants to happen instead. The zero value lets the operation go on.
type Fault struct {
	// Err is returned by the operation.
	Err error
	// Short is how many bytes of a failing write reach the file all the same.
	Short int
	// Kill stops the whole file system: the operation, after Short bytes, and all later ones return ErrKilled.
	Kill bool
}

// Mem is a file system in memory. It remembers for every file what was synced and what was only written, and for every
// folder which names were synced; Crash makes of it what a disk could hold after the power failed.
type Mem struct {
	mu struct {
		sync.Mutex
		nodes    map[string]*memNode // live names
		durable  map[string]*memNode // names that a crash cannot undo
		journal  []nameOp            // what leads from durable to nodes, in order
		locks    map[string]bool
		ops      int64
		killed   bool
		hook     func(Op) Fault
		capacity int64
		used     int64
		now      func() time.Time
		cold     func(name string, off int64) bool
	}
}

type memNode struct {
	dir     bool
	data    []byte // what readers see
	synced  []byte // what survives
	dirty   []span // where data may differ from synced
	modTime time.Time
	links   int // live names and open files, for the accounting of space
}

type span struct{ off, end int64 }

// nameOp is a change of names not yet synced: name now means node, or nothing if nil.
type nameOp struct {
	dirs []string // folders to sync
	set  []nameSet
}

type nameSet struct {
	name string
	node *memNode
}

// NewMem returns an empty file system whose files are stamped with now (nil: a fixed time).
func NewMem(now func() time.Time) *Mem {
	m := &Mem{}
	if now == nil {
		now = func() time.Time { return time.Unix(1_700_000_000, 0) }
	}
	root := &memNode{dir: true}
	m.mu.nodes = map[string]*memNode{"/": root}
	m.mu.durable = map[string]*memNode{"/": root}
	m.mu.locks = map[string]bool{}
	m.mu.now = now
	return m
}

var _ FS = (*Mem)(nil)

// SetHook has every changing operation shown to hook before it happens; nil removes it. The hook must not use m.
func (m *Mem) SetHook(hook func(Op) Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.hook = hook
}

// SetCapacity limits the bytes of all files; writes beyond it fail with ENOSPC. 0 is no limit.
func (m *Mem) SetCapacity(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.capacity = n
}

// SetCold says what ReadAtNoWait refuses; nil: nothing.
func (m *Mem) SetCold(cold func(name string, off int64) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.cold = cold
}

// Ops is the number of changing operations so far.
func (m *Mem) Ops() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.ops
}

// Chtimes sets a file's modification time.
func (m *Mem) Chtimes(name string, t time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.nodeLocked("chtimes", name)
	if err != nil {
		return err
	}
	n.modTime = t
	return nil
}

// beginLocked counts an operation and asks the hook.
func (m *Mem) beginLocked(kind OpKind, name string, off int64, n int) (Fault, error) {
	if m.mu.killed {
		return Fault{}, pathError(kind.String(), name, ErrKilled)
	}
	m.mu.ops++
	var f Fault
	if m.mu.hook != nil {
		f = m.mu.hook(Op{N: m.mu.ops, Kind: kind, Name: name, Off: off, Len: n})
	}
	if f.Kill {
		m.mu.killed = true
		f.Err = ErrKilled
	}
	if f.Err != nil {
		return f, pathError(kind.String(), name, f.Err)
	}
	return f, nil
}

func pathError(op, name string, err error) error { return &os.PathError{Op: op, Path: name, Err: err} }

func clean(name string) string { return filepath.Clean("/" + name) }

func (m *Mem) nodeLocked(op, name string) (*memNode, error) {
	if m.mu.killed {
		return nil, pathError(op, name, ErrKilled)
	}
	n := m.mu.nodes[clean(name)]
	if n == nil {
		return nil, pathError(op, name, os.ErrNotExist)
	}
	return n, nil
}

// setLocked makes a change of names and remembers it until dirs are synced.
func (m *Mem) setLocked(sets ...nameSet) {
	op := nameOp{set: sets}
	for _, s := range sets {
		if old := m.mu.nodes[s.name]; old != nil {
			m.unlinkLocked(old)
		}
		if s.node == nil {
			delete(m.mu.nodes, s.name)
		} else {
			m.mu.nodes[s.name] = s.node
			s.node.links++
		}
		op.dirs = append(op.dirs, filepath.Dir(s.name))
	}
	m.mu.journal = append(m.mu.journal, op)
}

func (m *Mem) unlinkLocked(n *memNode) {
	if n.links--; n.links == 0 {
		m.mu.used -= int64(len(n.data))
	}
}

// Open opens a file for reading.
func (m *Mem) Open(name string) (File, error) { return m.OpenFile(name, os.O_RDONLY, 0) }

// Create makes or empties a file.
func (m *Mem) Create(name string) (File, error) {
	return m.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
}

// OpenFile opens or makes a file.
func (m *Mem) OpenFile(name string, flag int, _ os.FileMode) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.killed {
		return nil, pathError("open", name, ErrKilled)
	}
	key := clean(name)
	n := m.mu.nodes[key]
	switch {
	case n == nil && flag&os.O_CREATE == 0:
		return nil, pathError("open", name, os.ErrNotExist)
	case n != nil && flag&os.O_EXCL != 0:
		return nil, pathError("open", name, os.ErrExist)
	case n != nil && n.dir && flag&os.O_RDWR != 0:
		return nil, pathError("open", name, syscall.EISDIR)
	case n == nil:
		if up := m.mu.nodes[filepath.Dir(key)]; up == nil || !up.dir {
			return nil, pathError("open", name, os.ErrNotExist)
		}
		if _, err := m.beginLocked(OpCreate, name, 0, 0); err != nil {
			return nil, err
		}
		n = &memNode{modTime: m.mu.now()}
		m.setLocked(nameSet{key, n})
	case flag&os.O_TRUNC != 0 && len(n.data) > 0:
		if _, err := m.beginLocked(OpTruncate, name, 0, 0); err != nil {
			return nil, err
		}
		m.resizeLocked(n, 0)
	}
	n.links++
	return &memFile{m: m, n: n, name: name, writable: flag&os.O_RDWR != 0}, nil
}
