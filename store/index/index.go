package index

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/store/fs"
)

// Options are what an index is opened with.
type Options struct {
	FS  fs.FS
	Dir string // the folder index
	// BadDir takes damaged files. Default: "bad" beside Dir.
	BadDir string
	// Slots and Entries of every file. Defaults 5,000,000 and 20,000,000.
	Slots, Entries int
	// AfterCrash: the last stop was not clean; the last files are checked entry by entry.
	AfterCrash bool
	Clock      clock.Clock    // names files
	Location   *time.Location // of the names. Default: local
	Log        *xlog.Logger
}

func (o Options) withDefaults() Options {
	if o.BadDir == "" {
		o.BadDir = filepath.Join(filepath.Dir(filepath.Clean(o.Dir)), "bad")
	}
	if o.Slots <= 0 {
		o.Slots = DefaultSlots
	}
	if o.Entries <= 0 {
		o.Entries = DefaultEntries
	}
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	if o.Location == nil {
		o.Location = time.Local
	}
	return o
}

// Entry is a key of a message.
type Entry struct {
	Hash           int32 // KeyHash or TagHash; not negative
	PhysicalOffset int64
	StoreTimestamp int64 // ms
}

// Index is all index files of a store.
type Index struct {
	o      Options
	shape  Shape
	report Report

	flushMu sync.Mutex

	mu struct {
		sync.Mutex
		files   []*file // oldest first
		endPhys int64   // all messages at or below this position are in; -1 for none
		flushed int64   // store time of the last entry of the last full file that is synced
		puts    uint64  // entries put so far
		seen    uint64  // puts at the last Flush
	}
}

// Put adds entries in log order. All entries of a message must be in one call. Messages that were put already, or lie
// before one that was, are ignored. On an error (of the disk) the call may be repeated with all messages not known to be
// in; some entries may then be there twice. It allocates nothing but a new file's state and slot pages touched first.
func (i *Index) Put(entries []Entry) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	done := i.mu.endPhys
	i.touchLocked(entries)
	for n := range entries {
		e := &entries[n]
		if e.PhysicalOffset <= done {
			continue
		}
		f, err := i.lastLocked()
		if err == nil {
			err = f.put(e)
		}
		if err != nil {
			return err
		}
		i.mu.puts++
		if n+1 == len(entries) || entries[n+1].PhysicalOffset != e.PhysicalOffset {
			i.mu.endPhys = e.PhysicalOffset
		}
	}
	return nil
}

// touchLocked reads the slots of entries. They lie all over 20 MB, and a processor waits for several of them at once when
// it meets them in a loop that does nothing else: 60 ns a key in a batch of 64, without it 170.
func (i *Index) touchLocked(entries []Entry) {
	if len(i.mu.files) == 0 {
		return
	}
	f := i.mu.files[len(i.mu.files)-1]
	var sum byte
	for n := range entries {
		slot := entries[n].Hash % f.shape.Slots
		if p := f.pages[slot/pageSlots]; p != nil {
			sum += p[slot%pageSlots*slotSize]
		}
	}
	f.touched = sum
}

// lastLocked is the file to write to.
func (i *Index) lastLocked() (*file, error) {
	var h Header
	var name int64
	if n := len(i.mu.files); n > 0 {
		last := i.mu.files[n-1]
		if !last.full() {
			return last, nil
		}
		if err := last.writeBuffer(); err != nil {
			return nil, err
		}
		h = last.h
		name, _ = parseName(last.name)
	}
	f, err := i.createFile(i.nextName(name), h)
	if err != nil {
		if err = i.o.FS.MkdirAll(i.o.Dir); err == nil {
			f, err = i.createFile(i.nextName(name), h)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("new index file: %w", err)
	}
	i.mu.files = append(slices.Clone(i.mu.files), f)
	return f, nil
}

// nextName is the time now, or what follows the last file's name if the clock stands still or was set back.
func (i *Index) nextName(last int64) string {
	name := strings.Replace(i.o.Clock.Now().In(i.o.Location).Format(nameLayout), ".", "", 1)
	if n, _ := parseName(name); n <= last {
		name = fmt.Sprintf("%0*d", nameLen, last+1)
	}
	return name
}

// EndPhys is the log position below which all messages that begin there are in the index with all their keys.
func (i *Index) EndPhys() int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.mu.endPhys + 1
}

// LastUpdate is the store time (ms) and log position of the last message in the index; zeros if there is none.
func (i *Index) LastUpdate() (ms, phys int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if n := len(i.mu.files); n > 0 {
		h := i.mu.files[n-1].h
		return h.EndTimestamp, h.EndPhyOffset
	}
	return 0, 0
}

// Headers lists the headers of all files, oldest first.
func (i *Index) Headers() []Header {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := make([]Header, 0, len(i.mu.files))
	for _, f := range i.mu.files {
		out = append(out, f.h)
	}
	return out
}

// DeleteBefore removes the files whose messages are all before log position minPhys, except the last one.
func (i *Index) DeleteBefore(minPhys int64) error {
	i.mu.Lock()
	n := 0
	for n < len(i.mu.files)-1 && i.mu.files[n].h.EndPhyOffset < minPhys {
		n++
	}
	old := i.mu.files[:n]
	i.mu.files = slices.Clone(i.mu.files[n:])
	i.mu.Unlock()
	var err error
	for _, f := range old {
		f.gone.Store(true)
		err = errors.Join(err, i.release(f))
	}
	return err
}

// Close writes and syncs everything and closes the files. The index is of no use afterwards.
func (i *Index) Close() error {
	err := i.Flush()
	i.mu.Lock()
	files := i.mu.files
	i.mu.files = nil
	i.mu.Unlock()
	for _, f := range files {
		err = errors.Join(err, i.release(f))
	}
	return err
}
