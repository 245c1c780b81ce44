package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/mappedfile"
)

// commitLog is the sequence of log files and the place where the next record goes.
//
// mu is the append lock: it is held while a batch gets its positions and is written with one pwrite, which goes to the
// page cache. Readers never take it: they see a list of files and an end that are swapped in atomically.
type commitLog struct {
	fs       fs.FS
	dir      string
	fileSize int64
	pool     *mappedfile.Pool
	hot      int64 // how far behind the end reads go through the mapping

	files atomic.Pointer[[]*mappedfile.File] // without gaps, oldest first
	// end is the position after the last record. All below it can be read.
	end atomic.Int64
	// gone is the position below which no file is left on the disk. It follows the start of the list, which a file leaves
	// before it is removed.
	gone atomic.Int64
	// lastTime is the store time of the last record, ms.
	lastTime atomic.Int64
	// lockedAt is when the append lock was taken, UnixNano, 0 when it is free.
	lockedAt atomic.Int64

	began     int64         // end when the store was opened
	prepareAt atomic.Int64  // the filler is woken when the end passes this
	prepare   chan struct{} // wakes it

	mu struct {
		sync.Mutex
		torn []tornWrite // what a failed write may have left behind the end
	}
	// making is held while a file is made or added to the list, by the appender (under mu) and by the preparer.
	making struct {
		sync.Mutex
		spare *mappedfile.File // made ahead, follows the last file
	}
}

// tornWrite is a range of a file whose bytes must be zeroed before the log goes on.
type tornWrite struct {
	f   *mappedfile.File
	off int64
	n   int64
}

func (l *commitLog) list() []*mappedfile.File { return *l.files.Load() }

func (l *commitLog) setList(files []*mappedfile.File) { l.files.Store(&files) }

// start is the position of the first byte that is still there.
func (l *commitLog) start() int64 {
	if files := l.list(); len(files) > 0 {
		return files[0].Start()
	}
	return l.end.Load()
}

// fileOf is the file that a position lies in, or nil.
func (l *commitLog) fileOf(phys int64) *mappedfile.File {
	files := l.list()
	if len(files) == 0 || phys < files[0].Start() {
		return nil
	}
	if i := (phys - files[0].Start()) / l.fileSize; i < int64(len(files)) {
		return files[i]
	}
	return nil
}

// path is the name of the file that begins at a position.
func (l *commitLog) path(start int64) string {
	return filepath.Join(l.dir, fmt.Sprintf("%020d", start))
}

func (l *commitLog) options(start int64) mappedfile.Options {
	return mappedfile.Options{FS: l.fs, Path: l.path(start), Start: start, Size: l.fileSize, Pool: l.pool}
}

// create makes a file and its name durable.
func (l *commitLog) create(start int64) (*mappedfile.File, error) {
	f, err := mappedfile.Create(l.options(start))
	if err != nil {
		return nil, err
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return nil, errors.Join(err, f.Remove())
	}
	return f, nil
}

// fileForLocked is the file that pos lies in, the spare or a new one if pos is at the log's end.
func (l *commitLog) fileForLocked(pos int64) (*mappedfile.File, error) {
	if f := l.fileOf(pos); f != nil {
		return f, nil
	}
	l.making.Lock()
	defer l.making.Unlock()
	f, err := l.takeSpare()
	if err == nil && f == nil {
		if f, err = l.create(pos - pos%l.fileSize); err == nil {
			f.StartFill(pos % l.fileSize)
		}
	}
	if err != nil {
		return nil, err
	}
	l.setList(append(append([]*mappedfile.File(nil), l.list()...), f))
	l.wakePrepare()
	return f, nil
}

// makeSpare makes the file that begins at start ahead of need, and returns it; nil when the log has it by now.
func (l *commitLog) makeSpare(start int64) (*mappedfile.File, error) {
	l.making.Lock()
	defer l.making.Unlock()
	if l.making.spare != nil || l.fileOf(start) != nil {
		return l.making.spare, nil
	}
	if err := l.fs.MkdirAll(l.spareDir()); err != nil {
		return nil, err
	}
	o := l.options(start)
	o.Path = filepath.Join(l.spareDir(), filepath.Base(o.Path))
	f, err := mappedfile.Create(o)
	if err != nil {
		return nil, err
	}
	f.StartFill(0)
	l.making.spare = f
	return f, nil
}

// spareDir is where the spare file waits. A Java broker that somebody starts on a store in use recovers it before it finds
// it locked: it would remove a file of the log that has no record yet, which we would go on writing to.
func (l *commitLog) spareDir() string { return filepath.Clean(l.dir) + spareSuffix }

// spareSuffix makes the log's folder the one for the spare file, beside it.
const spareSuffix = ".spare"

// takeSpare brings the spare file, if there is one, into the log's folder, and makes its name durable. making is held.
func (l *commitLog) takeSpare() (*mappedfile.File, error) {
	f := l.making.spare
	if f == nil {
		return nil, nil
	}
	if err := f.Rename(l.path(f.Start())); err != nil {
		return nil, err
	}
	l.making.spare = nil
	if err := l.fs.SyncDir(l.dir); err != nil {
		return nil, errors.Join(err, f.Remove())
	}
	return f, nil
}

// dropSpares removes what an earlier process made ahead.
func (l *commitLog) dropSpares() error { return l.fs.RemoveAll(l.spareDir()) }

func (l *commitLog) wakePrepare() {
	select {
	case l.prepare <- struct{}{}:
	default:
	}
}

// errCold says that a read was not made because it would wait for the disk.
var errCold = errors.New("store: not in memory")

// read fills p from a position; all of it lies in one file. With hotOnly it returns errCold rather than wait for the
// disk. ErrNotFound when the file is gone.
func (l *commitLog) read(p []byte, phys int64, hotOnly bool) error {
	f := l.fileOf(phys)
	if f == nil || !f.Acquire() {
		return fmt.Errorf("position %d: %w", phys, ErrNotFound)
	}
	defer f.Release()
	off := phys - f.Start()
	if off+int64(len(p)) > f.Size() {
		return fmt.Errorf("%w: %d bytes at %d end behind their file", ErrCorrupt, len(p), phys)
	}
	if phys >= l.end.Load()-l.hot {
		return f.ReadHot(p, off)
	}
	if f.ReadResident(p, off) {
		return nil
	}
	err := f.ReadNoWait(p, off)
	if !errors.Is(err, fs.ErrWouldWait) {
		return err
	}
	if hotOnly {
		return errCold
	}
	return f.ReadAt(p, off)
}

// readUpTo is read of as many bytes of p as the log has from phys on within its file.
func (l *commitLog) readUpTo(p []byte, phys int64, hotOnly bool) ([]byte, error) {
	f := l.fileOf(phys)
	if f == nil {
		return nil, fmt.Errorf("position %d: %w", phys, ErrNotFound)
	}
	n := min(int64(len(p)), f.End()-phys, l.end.Load()-phys)
	if n <= 0 {
		return nil, fmt.Errorf("position %d: %w", phys, ErrNotFound)
	}
	return p[:n], l.read(p[:n], phys, hotOnly)
}

// sync makes everything in [from, to) durable.
func (l *commitLog) sync(from, to int64) error {
	for pos := from; pos < to; {
		f := l.fileOf(pos)
		if f == nil || !f.Acquire() {
			pos = pos - pos%l.fileSize + l.fileSize // removed by the cleaner: nothing to keep
			continue
		}
		err := f.Sync()
		f.Release()
		if err != nil {
			return err
		}
		pos = f.End()
	}
	return nil
}

// close gives the files back and removes the spare one.
func (l *commitLog) close() error {
	l.making.Lock()
	defer l.making.Unlock()
	var err error
	if l.making.spare != nil {
		err = l.making.spare.Remove()
		l.making.spare = nil
	}
	err = errors.Join(err, l.dropSpares())
	for _, f := range l.list() {
		f.Close()
	}
	return err
}
