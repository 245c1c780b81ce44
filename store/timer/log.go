package timer

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/seedmq/seedmq/store/fs"
)

// ErrCorrupt marks damaged data.
var ErrCorrupt = errors.New("timer: corrupt")

// errGone: a position whose file was deleted, or that was never written.
var errGone = errors.New("timer: not in the timer log")

func dirOf(name string) string { return filepath.Dir(name) }

// timerLog is the timer log. Units are gathered in tail and written together.
type timerLog struct {
	fs   fs.FS
	dir  string
	size int64 // of a file
	end  int64 // position after the last unit, written or not
	tail []byte
	from int64 // position of tail

	mu struct {
		sync.Mutex
		files    []*logFile // by position
		unsynced map[*logFile]struct{}
	}
	window []byte // of the last read, at windowAt
	at     int64
}

type logFile struct {
	start int64
	f     fs.File
}

// load opens the files that are there. Their length wins over size. ErrCorrupt when they do not fit together.
func (l *timerLog) load() error {
	l.mu.unsynced = map[*logFile]struct{}{}
	infos, err := l.fs.List(l.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var starts []int64
	for _, info := range infos {
		var start int64
		if n, err := fmt.Sscanf(info.Name, "%020d", &start); n != 1 || err != nil || info.Dir || len(info.Name) != 20 {
			continue
		}
		if len(starts) == 0 && info.Size >= UnitSize+blankSize {
			l.size = info.Size
		}
		if info.Size != l.size || start < 0 || start%l.size != 0 || start > math.MaxInt64/2 || len(starts) > 0 && start != starts[len(starts)-1]+l.size {
			return fmt.Errorf("%w: timer log file %s of %d bytes", ErrCorrupt, info.Name, info.Size)
		}
		starts = append(starts, start)
	}
	for _, start := range starts {
		f, err := l.fs.OpenFile(l.name(start), os.O_RDWR, 0o644)
		if err != nil {
			return err
		}
		l.mu.files = append(l.mu.files, &logFile{start, f})
	}
	return nil
}

func (l *timerLog) name(start int64) string { return filepath.Join(l.dir, fmt.Sprintf("%020d", start)) }

// start is the position of the oldest file.
func (l *timerLog) start() int64 {
	if len(l.mu.files) == 0 {
		return l.end
	}
	return l.mu.files[0].start
}

// add takes one more unit and returns its position. It is not in its file before write.
func (l *timerLog) add(u *Unit) (pos int64, err error) {
	if left := l.size - l.end%l.size; left < UnitSize+blankSize {
		l.tail = appendBlank(l.tail, left)
		if err := l.write(); err != nil {
			l.tail = l.tail[:len(l.tail)-blankSize]
			return 0, err
		}
		l.end += left
		l.from = l.end
	}
	pos = l.end
	l.tail = u.Append(l.tail)
	l.end += UnitSize
	return pos, nil
}

// write writes the tail. After an error it can be tried again.
func (l *timerLog) write() error {
	if len(l.tail) == 0 {
		return nil
	}
	f, err := l.fileFor(l.from)
	if err != nil {
		return err
	}
	if _, err := f.f.WriteAt(l.tail, l.from-f.start); err != nil {
		return err
	}
	l.mu.Lock()
	l.mu.unsynced[f] = struct{}{}
	l.mu.Unlock()
	l.from += int64(len(l.tail))
	l.tail = l.tail[:0]
	l.window = l.window[:0]
	return nil
}

// fileFor returns the file to write pos to, made if it is a new one.
func (l *timerLog) fileFor(pos int64) (*logFile, error) {
	if f := l.fileOf(pos); f != nil {
		return f, nil
	}
	start := pos / l.size * l.size
	file, err := openSized(l.fs, l.name(start), l.size)
	if err != nil {
		return nil, err
	}
	f := &logFile{start, file}
	l.mu.Lock()
	l.mu.files = append(l.mu.files, f)
	l.mu.Unlock()
	return f, nil
}

func (l *timerLog) fileOf(pos int64) *logFile {
	files := l.mu.files
	if len(files) == 0 || pos < files[0].start {
		return nil
	}
	if i := int((pos - files[0].start) / l.size); i < len(files) {
		return files[i]
	}
	return nil
}

// windowSize is how much is read at a time.
const windowSize = 16 << 10

// read reads the unit at pos. Chains are walked backwards, so that what is read ends with the unit.
func (l *timerLog) read(pos int64, u *Unit) error {
	if pos < 0 || pos+UnitSize > l.end {
		return fmt.Errorf("%w: position %d", errGone, pos)
	}
	if pos >= l.from {
		return u.Decode(l.tail[pos-l.from:], pos)
	}
	if pos < l.at || pos+UnitSize > l.at+int64(len(l.window)) {
		if err := l.fill(pos); err != nil {
			return err
		}
	}
	return u.Decode(l.window[pos-l.at:], pos)
}

func (l *timerLog) fill(pos int64) error {
	f := l.fileOf(pos)
	if f == nil {
		return fmt.Errorf("%w: position %d", errGone, pos)
	}
	if l.window == nil {
		l.window = make([]byte, 0, windowSize)
	}
	l.window = l.window[:0]
	from := max(f.start, pos+UnitSize-windowSize)
	buf := l.window[:pos+UnitSize-from]
	if _, err := f.f.ReadAt(buf, from-f.start); err != nil && err != io.EOF {
		return err
	}
	l.window, l.at = buf, from
	return nil
}

// scan calls fn for every unit from the file that has from on, and returns the position after the last one. A unit that is
// damaged or was never written ends the scan.
func (l *timerLog) scan(from int64, fn func(pos int64, u *Unit)) (end int64, err error) {
	buf := make([]byte, UnitSize*1024)
	end = l.start()
	if n := len(l.mu.files); n > 0 {
		from = min(from, l.mu.files[n-1].start)
	}
	for _, f := range l.mu.files {
		if f.start+l.size <= from {
			end = f.start + l.size
			continue
		}
		done, whole, err := l.scanFile(f, buf, fn)
		if err != nil {
			return 0, err
		}
		if end = done; !whole {
			break
		}
	}
	return end, nil
}

// scanFile scans one file; whole says that it goes on in the next.
func (l *timerLog) scanFile(f *logFile, buf []byte, fn func(pos int64, u *Unit)) (end int64, whole bool, err error) {
	var u Unit
	for off := int64(0); l.size-off >= blankSize; {
		part := buf[:min(int64(len(buf)), l.size-off)]
		if _, err := f.f.ReadAt(part, off); err != nil && err != io.EOF {
			return 0, false, err
		}
		for len(part) >= blankSize {
			pos := f.start + off
			if isBlank(part) {
				return f.start + l.size, true, nil
			}
			if len(part) < UnitSize && l.size-off >= UnitSize {
				break // read on
			}
			if u.Decode(part, pos) != nil {
				return pos, false, nil
			}
			fn(pos, &u)
			part, off = part[UnitSize:], off+UnitSize
		}
	}
	return f.start + l.size, true, nil
}

// cut makes end the log's end: later files are deleted, and the rest of the last one is emptied, so that no later scan takes
// what stands there for units.
func (l *timerLog) cut(end int64) error {
	for len(l.mu.files) > 0 {
		f := l.mu.files[len(l.mu.files)-1]
		if f.start < end {
			break
		}
		if err := errors.Join(f.f.Close(), l.fs.Remove(l.name(f.start))); err != nil {
			return err
		}
		l.mu.files = l.mu.files[:len(l.mu.files)-1]
	}
	l.end, l.from, l.tail, l.window = end, end, l.tail[:0], nil
	f := l.fileOf(end)
	if f == nil {
		return nil
	}
	if err := zeroFrom(f.f, end-f.start, l.size); err != nil {
		return err
	}
	return f.f.Datasync()
}

// zeroFrom overwrites what is not zero.
func zeroFrom(f fs.File, off, size int64) error {
	buf, zeros := make([]byte, 1<<16), make([]byte, 1<<16)
	for ; off < size; off += int64(len(buf)) {
		part := buf[:min(int64(len(buf)), size-off)]
		if _, err := f.ReadAt(part, off); err != nil && err != io.EOF {
			return err
		}
		if allZero(part) {
			continue
		}
		if _, err := f.WriteAt(zeros[:len(part)], off); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes all files.
func (l *timerLog) remove() error {
	err := l.close()
	l.end, l.from, l.tail, l.window = 0, 0, nil, nil
	return errors.Join(err, l.fs.RemoveAll(l.dir))
}

// takeUnsynced returns the files to be synced.
func (l *timerLog) takeUnsynced() []*logFile {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]*logFile, 0, len(l.mu.unsynced))
	for f := range l.mu.unsynced {
		list = append(list, f)
	}
	clear(l.mu.unsynced)
	return list
}

func (l *timerLog) giveBack(list []*logFile) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range list {
		if slices.Contains(l.mu.files, f) {
			l.mu.unsynced[f] = struct{}{}
		}
	}
}

func (l *timerLog) close() error {
	var errs []error
	for _, f := range l.mu.files {
		errs = append(errs, f.f.Close())
	}
	l.mu.files = nil
	return errors.Join(errs...)
}

// removeOldest deletes the oldest file. A flush that is under way may still sync it.
func (l *timerLog) removeOldest() error {
	l.mu.Lock()
	f := l.mu.files[0]
	l.mu.files = slices.Clone(l.mu.files[1:])
	delete(l.mu.unsynced, f)
	l.mu.Unlock()
	l.window = l.window[:0]
	return errors.Join(f.f.Close(), l.fs.Remove(l.name(f.start)))
}
