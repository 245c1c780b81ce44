package mappedfile

// View is a look at a part of a file's mapping, for many small reads without a search for each. The zero View shows
// nothing. It belongs to one goroutine.
type View struct {
	w   *window
	mem []byte
	off int64 // of mem in the file
}

// Show moves v to the part of f that has offset off, and says whether it is in memory: hot, or found so not long ago.
// The caller must have acquired f, and keeps it until v shows something else or is dropped.
func (v *View) Show(f *File, off int64, hot bool) bool {
	v.Drop()
	if f.osf == nil || off < 0 || off >= f.size {
		return false
	}
	idx := off / windowSize
	w := f.pool.get(f, int(idx), hot)
	if w == nil {
		return false
	}
	v.w, v.mem, v.off = w, w.mem, idx*windowSize
	return true
}

// Range is what of the file is shown: [from, to).
func (v *View) Range() (from, to int64) { return v.off, v.off + int64(len(v.mem)) }

// Bytes are those that are shown. They change where the file is written, and are gone with the next Show or Drop.
func (v *View) Bytes() []byte { return v.mem }

// Drop ends the look.
func (v *View) Drop() {
	if v.w != nil {
		v.w.release()
		v.w, v.mem = nil, nil
	}
}
