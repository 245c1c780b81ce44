package index

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/seedmq/seedmq/store/fs"
)

// Report is what Open found.
type Report struct {
	// Damaged files were moved to BadDir, with all later ones. To have them made again the log must be dispatched from
	// RebuildFrom, which is the largest int64 if nothing is damaged.
	Damaged     []Damage
	RebuildFrom int64
	Ignored     []string // paths that do not belong there
	// Dropped is the number of entries of the last files that a crash left incomplete.
	Dropped int
}

// Damage is a file that was put aside.
type Damage struct{ File, Reason string }

// Open reads the folder o.Dir; it may be missing. Damaged files are put aside: see Report.
func Open(o Options) (*Index, error) {
	o = o.withDefaults()
	i := &Index{o: o, shape: Shape{int32(o.Slots), int32(o.Entries)}}
	i.mu.endPhys = -1
	i.report.RebuildFrom = math.MaxInt64
	if err := i.load(); err != nil {
		for _, f := range i.mu.files {
			f.f.Close() // the error to tell is the first
		}
		return nil, fmt.Errorf("open index: %w", err)
	}
	return i, nil
}

// Report is what Open found. It does not change afterwards.
func (i *Index) Report() Report { return i.report }

func (i *Index) load() error {
	list, err := i.o.FS.List(i.o.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var found []fs.Info
	for _, info := range list {
		if _, ok := parseName(info.Name); !ok || info.Dir {
			i.report.Ignored = append(i.report.Ignored, i.path(info.Name))
			continue
		}
		found = append(found, info)
	}
	for n, info := range found {
		// The last one, and the one before it, may not have been synced when a crash came.
		replay := i.o.AfterCrash && n >= len(found)-2
		f, err := i.loadFile(info, replay)
		if errors.Is(err, ErrCorrupt) {
			return i.putAside(found[n:], err)
		}
		if err != nil {
			return err
		}
		i.mu.files = append(i.mu.files, f)
		if replay {
			// The last message may lack keys, in this file or in one that is gone; it will be put again as a whole.
			if err := i.dropLast(f); err != nil {
				return err
			}
		} else if !f.empty() {
			i.mu.endPhys = f.h.EndPhyOffset
		}
		if f.full() {
			i.mu.flushed = f.h.EndTimestamp
		} else if n < len(found)-1 && replay {
			return i.putAside(found[n+1:], fmt.Errorf("%w: it follows a file that the crash left incomplete", ErrCorrupt))
		}
	}
	return nil
}

// loadFile opens a file if it can be one.
func (i *Index) loadFile(info fs.Info, replay bool) (*file, error) {
	if info.Size != i.shape.FileSize() {
		return nil, fmt.Errorf("%w: it has %d bytes, not %d", ErrCorrupt, info.Size, i.shape.FileSize())
	}
	f, err := i.openFile(info.Name)
	if err != nil {
		return nil, err
	}
	if replay {
		err = i.replay(f)
	} else {
		err = f.checkEnds()
	}
	if err == nil && len(i.mu.files) > 0 && !f.empty() && f.h.BeginPhyOffset < i.mu.endPhys {
		err = fmt.Errorf("%w: it begins at %d, before the end of the file before it", ErrCorrupt, f.h.BeginPhyOffset)
	}
	if err != nil {
		f.f.Close()
		return nil, err
	}
	return f, nil
}

// checkEnds looks at the header and at the first and the last entry.
func (f *file) checkEnds() error {
	if err := f.shape.check(f.h); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if f.empty() {
		return nil
	}
	first, err := f.entry(1)
	if err != nil {
		return err
	}
	last, err := f.entry(f.h.IndexCount - 1)
	if err != nil {
		return err
	}
	if first.PhysicalOffset != f.h.BeginPhyOffset || last.PhysicalOffset != f.h.EndPhyOffset || first.Hash < 0 || last.Hash < 0 {
		return fmt.Errorf("%w: the header says [%d, %d], the entries [%d, %d]", ErrCorrupt,
			f.h.BeginPhyOffset, f.h.EndPhyOffset, first.PhysicalOffset, last.PhysicalOffset)
	}
	return nil
}

// putAside moves files to BadDir; empty ones are removed.
func (i *Index) putAside(files []fs.Info, why error) error {
	if n := len(i.mu.files); n > 0 {
		// The last message may go on in the damaged file.
		i.mu.endPhys = min(i.mu.endPhys, max(i.mu.files[n-1].h.EndPhyOffset-1, -1))
	}
	i.report.RebuildFrom = i.mu.endPhys + 1
	dir := filepath.Join(i.o.BadDir, "index")
	for _, info := range files {
		name := i.path(info.Name)
		i.o.Log.Errorf("index file %s is damaged and must be made again from the log: %v", name, why)
		i.report.Damaged = append(i.report.Damaged, Damage{name, why.Error()})
		why = errors.New("it follows a damaged one")
		if info.Size == 0 {
			if err := i.o.FS.Remove(name); err != nil {
				return err
			}
			continue
		}
		if err := i.o.FS.MkdirAll(dir); err != nil {
			return err
		}
		if err := i.o.FS.Rename(name, freeName(i.o.FS, filepath.Join(dir, info.Name))); err != nil {
			return err
		}
	}
	return i.o.FS.SyncDir(i.o.Dir)
}

// freeName adds a number to name until nothing is there.
func freeName(f fs.FS, name string) string {
	free := name
	for n := 1; ; n++ {
		if _, err := f.Stat(free); err != nil {
			return free
		}
		free = name + "." + strconv.Itoa(n)
	}
}
