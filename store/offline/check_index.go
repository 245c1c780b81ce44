package offline

import (
	"encoding/binary"
	"path/filepath"
	"slices"

	"github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/index"
)

const entriesAtOnce = 4096

// indexCheck is the part "index": it reads the entries of all files in order, beside the walk over the log.
type indexCheck struct {
	part    *Part
	o       Options
	shape   index.Shape
	files   []fs.Info
	limit   int64 // end of the log's last file
	entries int64

	file     fs.File
	info     fs.Info
	head     index.Header
	next     int32 // entry that buf goes on with
	buf      []index.Record
	slots    []int32
	used     int32
	last     index.Record
	unlinked int64
	raw      []byte

	missing, wrong, strange   int64
	firstMissing, firstBroken int64
	found                     []int32
}

func newIndexCheck(o Options, l *Layout) *indexCheck {
	c := &indexCheck{part: &Part{Name: "index"}, o: o, shape: l.IndexShape, files: l.IndexFiles}
	if n := len(l.LogFiles); n > 0 {
		c.limit = l.LogFiles[n-1].Start + l.LogFileSize
	}
	return c
}

func (c *indexCheck) close() {
	if c.file != nil {
		c.file.Close() // only read
		c.file = nil
	}
}

// peek is the next entry, false behind the last.
func (c *indexCheck) peek() (index.Record, bool, error) {
	for len(c.buf) == 0 {
		more, err := c.fill()
		if err != nil || !more {
			return index.Record{}, false, err
		}
	}
	return c.buf[0], true, nil
}

// fill reads the next entries, of this file or the next one.
func (c *indexCheck) fill() (bool, error) {
	if c.file != nil && c.next < c.head.IndexCount {
		return true, c.readEntries()
	}
	if c.file != nil {
		if err := c.endFile(); err != nil {
			return false, err
		}
	}
	if len(c.files) == 0 {
		return false, nil
	}
	c.info, c.files = c.files[0], c.files[1:]
	return true, c.openFile()
}

func (c *indexCheck) openFile() error {
	if c.info.Size != c.shape.FileSize() {
		c.part.note(Repairable, "file %s has %d bytes, not %d", c.info.Name, c.info.Size, c.shape.FileSize())
		return nil
	}
	f, err := c.o.FS.Open(filepath.Join(c.o.path(indexDir), c.info.Name))
	if err != nil {
		return err
	}
	var b [index.HeaderSize]byte
	if err := readFull(f, b[:], 0); err != nil {
		f.Close()
		return err
	}
	c.head = index.DecodeHeader(b[:])
	if n := c.head.IndexCount; n < 0 || n > c.shape.Entries {
		c.part.note(Repairable, "file %s: the header says that the next entry is %d of %d", c.info.Name, n, c.shape.Entries)
		return f.Close()
	}
	c.file, c.next, c.used, c.unlinked, c.last = f, 1, 0, 0, index.Record{}
	if c.slots == nil {
		c.slots = make([]int32, c.shape.Slots)
	}
	clear(c.slots)
	return nil
}

// readEntries reads a run of entries and plays them back.
func (c *indexCheck) readEntries() error {
	n := min(c.head.IndexCount-c.next, entriesAtOnce)
	if c.raw == nil {
		c.raw = make([]byte, entriesAtOnce*index.EntrySize)
	}
	raw := c.raw[:n*index.EntrySize]
	if err := readFull(c.file, raw, c.shape.EntryOffset(c.next)); err != nil {
		return err
	}
	c.buf = c.buf[:0]
	for off := 0; off < len(raw); off += index.EntrySize {
		r := index.DecodeRecord(raw[off:])
		c.entries++
		if r.Hash < 0 || r.PhysicalOffset < c.last.PhysicalOffset || r.PhysicalOffset >= c.limit || r.Seconds < 0 {
			c.unlinked++
			c.next++
			continue
		}
		if r.Previous != c.slots[r.Hash%c.shape.Slots] {
			c.unlinked++
		}
		if c.slots[r.Hash%c.shape.Slots] == 0 {
			c.used++
		}
		c.slots[r.Hash%c.shape.Slots] = c.next
		c.buf, c.last = append(c.buf, r), r
		c.next++
	}
	return nil
}

// endFile compares slots and header with what the entries make of them.
func (c *indexCheck) endFile() error {
	defer c.close()
	const atOnce = 16384
	var bad int64
	for first := int32(0); first < c.shape.Slots; first += atOnce {
		b := make([]byte, 4*min(atOnce, c.shape.Slots-first))
		if err := readFull(c.file, b, c.shape.SlotOffset(first)); err != nil {
			return err
		}
		for i := range int32(len(b) / 4) {
			if int32(binary.BigEndian.Uint32(b[4*i:])) != c.slots[first+i] {
				bad++
			}
		}
	}
	if c.unlinked > 0 || bad > 0 {
		c.part.note(Repairable, "file %s: %d entries and %d slots are damaged", c.info.Name, c.unlinked, bad)
	}
	if c.head.IndexCount > 1 && c.unlinked == 0 && c.head.EndPhyOffset != c.last.PhysicalOffset {
		c.part.note(Repairable, "file %s: its header ends at %d, its entries at %d", c.info.Name, c.head.EndPhyOffset, c.last.PhysicalOffset)
	}
	return nil
}

// record compares the entries of one record. Entries before it belong to none.
func (c *indexCheck) record(pos, logStart int64, want *derived) error {
	if err := c.skipTo(pos, logStart); err != nil {
		return err
	}
	c.found = c.found[:0]
	for {
		r, ok, err := c.peek()
		if err != nil {
			return err
		}
		if !ok || r.PhysicalOffset != pos {
			break
		}
		c.found, c.buf = append(c.found, r.Hash), c.buf[1:]
	}
	if want.scrapped || !want.indexed && len(c.found) == 0 || sameKeys(c.found, want) {
		return nil
	}
	if len(c.found) == 0 {
		if c.missing == 0 {
			c.firstMissing = pos
		}
		c.missing++
		return nil
	}
	if c.wrong == 0 {
		c.firstBroken = pos
	}
	c.wrong++
	return nil
}

// sameKeys compares, with and without the tag's hash. The order does not matter.
func sameKeys(found []int32, want *derived) bool {
	if slices.Equal(found, want.keys) || want.tagged && slices.Equal(found, want.keys[:len(want.keys)-1]) {
		return true
	}
	a, b := slices.Sorted(slices.Values(found)), slices.Sorted(slices.Values(want.keys))
	return slices.Equal(a, b)
}

// skipTo passes the entries before pos. Those below the log's start belong to files of the log that are deleted.
func (c *indexCheck) skipTo(pos, logStart int64) error {
	for {
		r, ok, err := c.peek()
		if err != nil || !ok || r.PhysicalOffset >= pos {
			return err
		}
		if r.PhysicalOffset >= logStart {
			c.strange++
		}
		c.buf = c.buf[1:]
	}
}

// finish sums up, once the log was walked.
func (c *indexCheck) finish(l *Layout, log *logResult) error {
	defer c.close()
	if len(l.IndexFiles) == 0 {
		c.part.Summary = "there is none"
		if _, err := c.o.FS.Stat(c.o.path(indexDir)); err == nil && c.missing > 0 {
			c.part.note(Repairable, "the folder is empty, %d messages of the log have keys", c.missing)
		} else if c.missing > 0 {
			c.part.note(Good, "%d messages of the log have keys (messageIndexEnable is off, or the index was removed)", c.missing)
		}
		return nil
	}
	var behind int64
	for {
		r, ok, err := c.peek()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if r.PhysicalOffset >= log.end {
			behind++
		} else if r.PhysicalOffset >= log.start {
			c.strange++
		}
		c.buf = c.buf[1:]
	}
	c.part.Summary = plural(int64(len(l.IndexFiles)), "file") + ", " + plural(c.entries, "entry")
	if c.missing > 0 {
		c.part.note(Repairable, "%d messages with keys are not in it, the first at position %d", c.missing, c.firstMissing)
	}
	if c.wrong > 0 {
		c.part.note(Repairable, "the keys of %d messages differ from the log, first at position %d", c.wrong, c.firstBroken)
	}
	if c.strange > 0 {
		c.part.note(Repairable, "%d entries point to no message", c.strange)
	}
	if behind > 0 {
		c.part.note(Repairable, "%d entries point behind the log's end %d", behind, log.end)
	}
	return nil
}
