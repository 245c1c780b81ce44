package fs

// HasData looks for a byte that is not zero.
func (f *memFile) HasData(off int64) bool {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	for i := max(off, 0); i < int64(len(f.n.data)); i++ {
		if f.n.data[i] != 0 {
			return true
		}
	}
	return false
}
