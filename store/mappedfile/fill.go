package mappedfile

import "github.com/seedmq/seedmq/store/fs"

const (
	// FillPiece is how much one call of Fill writes: small, since the kernel lets one write at a time into a file.
	FillPiece = 256 << 10
	// claimAhead is how far a writer that overtook the filler pushes it ahead, so that they do not meet again soon.
	claimAhead = 1 << 20
)

var zeros [FillPiece]byte

// StartFill lets Fill write zeros from off on. Nothing beyond off may hold data.
func (f *File) StartFill(off int64) {
	f.fillMu.Lock()
	defer f.fillMu.Unlock()
	f.fillNext.Store(off)
	f.alloc = off
}

// Filled is the offset up to which the file is prepared.
func (f *File) Filled() int64 { return f.fillNext.Load() }

// claim keeps the filler away from everything below end.
func (f *File) claim(end int64) {
	f.fillMu.Lock()
	defer f.fillMu.Unlock()
	if end > f.fillNext.Load() {
		f.fillNext.Store(min(end+claimAhead, f.size))
	}
}

// Fill prepares one more piece and returns how much that was; 0 at the end of the file. Space is allocated in larger
// steps of alloc bytes: zeros written into allocated space cost a quarter. The writer waits while Fill runs only if it
// has caught up with it.
// Zeros pay for themselves: small writes into space that is only allocated cost 0.25 to 0.46 µs a KiB (the kernel makes
// small folios for them), the zeros in large pieces 0.10 and the same writes into them 0.07 to 0.10.
func (f *File) Fill(alloc int64) (int, error) {
	f.fillMu.Lock()
	defer f.fillMu.Unlock()
	off := f.fillNext.Load()
	n := min(FillPiece-off%FillPiece, f.size-off) // aligned: the kernel makes large folios then
	if n <= 0 {
		return 0, nil
	}
	if a, ok := f.f.(fs.Allocator); ok && off+n > f.alloc {
		length := min(max(alloc, n), f.size-off)
		if err := a.Allocate(off, length); err != nil {
			return 0, err
		}
		f.alloc = off + length
	}
	if _, err := f.f.WriteAt(zeros[:n], off); err != nil {
		return 0, err
	}
	f.fillNext.Store(off + n)
	return int(n), nil
}
