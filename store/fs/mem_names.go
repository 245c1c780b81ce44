package fs

import (
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
)

// Rename moves a file or folder.
func (m *Mem) Rename(oldName, newName string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.nodeLocked("rename", oldName)
	if err != nil {
		return err
	}
	if _, err := m.beginLocked(OpRename, oldName, 0, 0); err != nil {
		return err
	}
	from, to := clean(oldName), clean(newName)
	sets := []nameSet{{to, n}, {from, nil}}
	n.links++ // not to be freed between the two
	if n.dir {
		for _, name := range m.belowLocked(from) {
			sets = append(sets, nameSet{to + name[len(from):], m.mu.nodes[name]}, nameSet{name, nil})
		}
	}
	m.setLocked(sets...)
	n.links--
	return nil
}

// belowLocked lists the names under dir, sorted.
func (m *Mem) belowLocked(dir string) []string {
	var out []string
	prefix := strings.TrimSuffix(dir, "/") + "/"
	for name := range m.mu.nodes {
		if strings.HasPrefix(name, prefix) && name != "/" {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}

// Remove deletes a file or an empty folder.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.nodeLocked("remove", name)
	if err != nil {
		return err
	}
	if n.dir && len(m.belowLocked(clean(name))) > 0 {
		return pathError("remove", name, syscall.ENOTEMPTY)
	}
	if _, err := m.beginLocked(OpRemove, name, 0, 0); err != nil {
		return err
	}
	m.setLocked(nameSet{clean(name), nil})
	return nil
}

// RemoveAll deletes a folder and what is in it, deepest first, each as an operation of its own.
func (m *Mem) RemoveAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.killed {
		return pathError("remove", name, ErrKilled)
	}
	key := clean(name)
	if m.mu.nodes[key] == nil {
		return nil
	}
	names := append([]string{key}, m.belowLocked(key)...)
	for i := len(names) - 1; i >= 0; i-- {
		if _, err := m.beginLocked(OpRemove, names[i], 0, 0); err != nil {
			return err
		}
		m.setLocked(nameSet{names[i], nil})
	}
	return nil
}

// MkdirAll makes dir and what is missing above it. The names are durable at once, as the OS's MkdirAll syncs them.
func (m *Mem) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.killed {
		return pathError("mkdir", dir, ErrKilled)
	}
	return m.mkdirLocked(clean(dir), true)
}

// MakeDirs is MkdirAll without the syncs.
func (m *Mem) MakeDirs(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.killed {
		return pathError("mkdir", dir, ErrKilled)
	}
	return m.mkdirLocked(clean(dir), false)
}

func (m *Mem) mkdirLocked(key string, durable bool) error {
	if n := m.mu.nodes[key]; n != nil {
		if !n.dir {
			return pathError("mkdir", key, syscall.ENOTDIR)
		}
		return nil
	}
	if err := m.mkdirLocked(filepath.Dir(key), durable); err != nil {
		return err
	}
	if _, err := m.beginLocked(OpMkdir, key, 0, 0); err != nil {
		return err
	}
	m.setLocked(nameSet{key, &memNode{dir: true, modTime: m.mu.now()}})
	if durable {
		m.syncNamesLocked(filepath.Dir(key))
	}
	return nil
}

// List returns what is in dir, sorted by name.
func (m *Mem) List(dir string) ([]Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.nodeLocked("list", dir)
	if err != nil {
		return nil, err
	}
	if !n.dir {
		return nil, pathError("list", dir, syscall.ENOTDIR)
	}
	key := clean(dir)
	var out []Info
	for _, name := range m.belowLocked(key) {
		if filepath.Dir(name) == key {
			out = append(out, m.mu.nodes[name].info(name))
		}
	}
	return out, nil
}

// Stat describes a file or folder.
func (m *Mem) Stat(name string) (Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.nodeLocked("stat", name)
	if err != nil {
		return Info{}, err
	}
	return n.info(name), nil
}

func (n *memNode) info(name string) Info {
	return Info{Name: filepath.Base(name), Size: int64(len(n.data)), Dir: n.dir, ModTime: n.modTime}
}

// SyncDir makes the changes of names in dir durable. Changes made before them elsewhere become so too, as in a file
// system whose journal is one.
func (m *Mem) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.nodeLocked("syncdir", dir); err != nil {
		return err
	}
	if _, err := m.beginLocked(OpSyncDir, dir, 0, 0); err != nil {
		return err
	}
	m.syncNamesLocked(clean(dir))
	return nil
}

// syncNamesLocked makes durable all changes of names up to the last one in the folder key.
func (m *Mem) syncNamesLocked(key string) {
	last := -1
	for i, op := range m.mu.journal {
		for _, d := range op.dirs {
			if d == key {
				last = i
			}
		}
	}
	for _, op := range m.mu.journal[:last+1] {
		applyNames(m.mu.durable, op)
	}
	m.mu.journal = append([]nameOp(nil), m.mu.journal[last+1:]...)
}

func applyNames(names map[string]*memNode, op nameOp) {
	for _, s := range op.set {
		if s.node == nil {
			delete(names, s.name)
		} else {
			names[s.name] = s.node
		}
	}
}

// Lock takes the lock on name.
func (m *Mem) Lock(name string) (io.Closer, error) {
	f, err := m.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.locks[clean(name)] {
		m.unlinkLocked(f.(*memFile).n)
		return nil, pathError("lock", name, ErrLocked)
	}
	m.mu.locks[clean(name)] = true
	return &memLock{f.(*memFile)}, nil
}

type memLock struct{ *memFile }

func (l *memLock) Close() error {
	l.m.mu.Lock()
	delete(l.m.mu.locks, clean(l.name))
	l.m.mu.Unlock()
	return l.memFile.Close()
}

// Usage counts the bytes of all files against the capacity.
func (m *Mem) Usage(string) (Usage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.killed {
		return Usage{}, ErrKilled
	}
	if m.mu.capacity == 0 {
		return Usage{Total: 1 << 40, Free: 1 << 40}, nil
	}
	free := max(m.mu.capacity-m.mu.used, 0)
	return Usage{Total: m.mu.capacity, Free: free, UsedRatio: float64(m.mu.used) / float64(m.mu.used+free)}, nil
}
