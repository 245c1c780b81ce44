package fs

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sort"
)

// sector is what a disk writes in one piece.
const sector = 512

// Kill stops the file system: all operations return ErrKilled from now on.
func (m *Mem) Kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.killed = true
}

// Reboot returns what a new process finds after this one was killed but the machine went on: all that was written, of
// which a later Crash still loses what was not synced.
// m is of no use afterwards.
func (m *Mem) Reboot() *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.killed = true
	c := NewMem(m.mu.now)
	c.mu.capacity = m.mu.capacity
	made := map[*memNode]*memNode{}
	twin := func(n *memNode) *memNode {
		if n == nil {
			return nil
		}
		if made[n] == nil {
			d := *n
			d.links = 0 // whoever had it open is gone
			d.data, d.synced, d.dirty = slices.Clone(n.data), slices.Clone(n.synced), slices.Clone(n.dirty)
			made[n] = &d
		}
		return made[n]
	}
	for name, n := range m.mu.nodes {
		d := twin(n)
		if c.mu.nodes[name] = d; d.links == 0 {
			c.mu.used += int64(len(d.data))
		}
		d.links++
	}
	for name, n := range m.mu.durable {
		c.mu.durable[name] = twin(n)
	}
	for _, op := range m.mu.journal {
		op.set = slices.Clone(op.set)
		for i := range op.set {
			op.set[i].node = twin(op.set[i].node)
		}
		c.mu.journal = append(c.mu.journal, op)
	}
	return c
}

// Crash returns what could be on the disk after the power failed now: everything synced; of the writes that were not,
// sectors that seed chooses; and of the changes of names that were not, a beginning that seed chooses. m is of no use
// afterwards.
func (m *Mem) Crash(seed uint64) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.killed = true
	rng := rand.New(rand.NewPCG(seed, 0x5eed))
	names := make(map[string]*memNode, len(m.mu.durable))
	for name, n := range m.mu.durable {
		names[name] = n
	}
	for _, op := range m.mu.journal[:rng.IntN(len(m.mu.journal)+1)] {
		applyNames(names, op)
	}
	mode := rng.IntN(4) // all, nothing, or some of what was not synced
	return m.copyLocked(names, func(n *memNode) []byte { return n.survive(rng, mode) })
}

// survive decides which sectors of n reached the disk.
func (n *memNode) survive(rng *rand.Rand, mode int) []byte {
	switch mode {
	case 0:
		return n.data
	case 1:
		return n.synced
	}
	size := len(n.synced)
	if len(n.dirty) > 0 && rng.IntN(2) == 0 {
		size = len(n.data)
	}
	out := resize(append([]byte(nil), n.synced...), size)
	for _, s := range n.dirty {
		for off := s.off; off < s.end; off = off/sector*sector + sector {
			end := min(off/sector*sector+sector, s.end, int64(len(n.data)), int64(size))
			if rng.IntN(2) == 0 && off < end {
				copy(out[off:end], n.data[off:end])
			}
		}
	}
	return out
}

func (m *Mem) copyLocked(names map[string]*memNode, content func(*memNode) []byte) *Mem {
	c := NewMem(m.mu.now)
	c.mu.capacity = m.mu.capacity
	made := map[*memNode]*memNode{}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	sort.Strings(sorted) // the same seed gives the same disk
	for _, name := range sorted {
		if name == "/" || c.mu.nodes[filepath.Dir(name)] == nil {
			continue // in a folder whose name did not survive
		}
		n := names[name]
		d := made[n]
		if d == nil {
			d = &memNode{dir: n.dir, modTime: n.modTime}
			d.data = append([]byte(nil), content(n)...)
			d.synced = append([]byte(nil), d.data...)
			made[n] = d
			c.mu.used += int64(len(d.data))
		}
		d.links++
		c.mu.nodes[name], c.mu.durable[name] = d, d
	}
	return c
}
