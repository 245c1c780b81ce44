package pop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/seedmq/seedmq/store/fs"
)

// The journal is our own: Java takes no notice of it. It exists from a start to the next clean stop.
//
//	file    8 bytes magic, i64 since, then entries
//	entry   u32 length of what follows the checksum, u32 CRC32C of it, kind byte, fields as varints (signed: zigzag), strings with their length
//
// An entry that is cut off or damaged ends its file: a kill in the middle of a write. Entries say what is, not what changes, so reading one
// twice does no harm. Those of one queue may come in another order than things happened, because each turn writes its own at its end: offsets only
// grow, bits only come, within an epoch; an entry of an older epoch is void, and the first of a newer one voids what was before. Only the order info
// of a queue is replaced by the next; it is written under the queue's lock. When a file is full, the next one begins with the state of all queues, and then the old one is removed.

const (
	journalMagic  = "SMQPOP\x00\x01"
	journalHeader = 16
	journalPrefix = "journal-"
	// journalMax is when a file is full, beside the state of all queues with which it begins.
	journalMax = 32 << 20
	// maxEntry bounds one entry: names are short, and an ordered pop has 32 offsets.
	maxEntry = 64 << 10
)

// Kinds of entries. On disk, do not change.
const (
	entryQueue   = 1  // num, topic, group, queue id
	entryPoint   = 2  // num, epoch, start, popTime, invisible, reviveQueue, next, bits, state, count, offsets - start unless one after the other
	entryBits    = 3  // num, start, popTime, bits
	entryStored  = 4  // num, start, popTime, bits
	entryGone    = 5  // num, start, popTime
	entryNext    = 6  // num, epoch, next
	entryForget  = 7  // num, epoch
	entryOrder   = 8  // num, committed offset, order info as consumerOrderInfo.json has it
	entryRevived = 9  // revive queue, last done offset
	entryStoring = 10 // num, start, popTime: before the record is appended
	entrySwept   = 11 // num: nothing of the queue is open, and its offset is in the offset table's file
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errJournal: a journal of another program or version.
var errJournal = errors.New("pop: not a journal")

// journal appends entries to the newest file.
type journal struct {
	fs  fs.FS
	dir string

	mu    sync.Mutex
	file  fs.File // nil: closed, or not begun
	lazy  bool    // the first entry begins it
	no    int
	size  int64
	base  int64 // size after the state of all queues was written
	since int64
}

func (j *journal) name(no int) string {
	return filepath.Join(j.dir, fmt.Sprintf("%s%08d", journalPrefix, no))
}

// wait lets the first entry begin file no: a broker that nobody pops from has no journal.
func (j *journal) wait(no int, since int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lazy, j.no, j.since = true, no, since
}

// open begins file no.
func (j *journal) open(no int, since int64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.openLocked(no, since)
}

func (j *journal) openLocked(no int, since int64) error {
	if err := j.fs.MkdirAll(j.dir); err != nil {
		return fmt.Errorf("pop: journal: %w", err)
	}
	f, err := j.fs.Create(j.name(no))
	if err != nil {
		return fmt.Errorf("pop: journal: %w", err)
	}
	head := binary.BigEndian.AppendUint64([]byte(journalMagic), uint64(since))
	if _, err := f.WriteAt(head, 0); err != nil {
		return errors.Join(fmt.Errorf("pop: journal: %w", err), f.Close())
	}
	old := j.file
	j.file, j.lazy, j.no, j.size, j.base, j.since = f, false, no, journalHeader, journalHeader, since
	if old != nil {
		return old.Close()
	}
	return nil
}

// write appends whole entries. What could not be written is cut off, so that later entries can be read.
func (j *journal) write(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lazy {
		if err := j.openLocked(j.no, j.since); err != nil {
			return err
		}
	}
	if j.file == nil {
		return nil // the service stops: what is left is stored, not journalled
	}
	if _, err := j.file.WriteAt(b, j.size); err != nil {
		return fmt.Errorf("pop: journal: %w", err)
	}
	j.size += int64(len(b))
	return nil
}

func (j *journal) full() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file != nil && j.size-j.base > max(journalMax, j.base)
}

// settle notes that the file begins with the state of all queues.
func (j *journal) settle() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.base = j.size
}

// DropJournal removes the journal in dir and returns how many files it had. It is for a store that another broker had open since the journal was
// written: that one may have gone back in a queue, or made a topic anew, and what the journal says would skip messages.
func DropJournal(f fs.FS, dir string) (int, error) {
	j := journal{fs: f, dir: dir}
	nos, err := j.files()
	for _, no := range nos {
		err = errors.Join(err, f.Remove(j.name(no)))
	}
	return len(nos), err
}

// files lists the numbers of the files, oldest first.
func (j *journal) files() ([]int, error) {
	list, err := j.fs.List(j.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("pop: journal: %w", err)
	}
	var out []int
	for _, f := range list {
		var no int
		if rest, ok := strings.CutPrefix(filepath.Base(f.Name), journalPrefix); ok {
			if _, err := fmt.Sscanf(rest, "%d", &no); err == nil && no >= 0 {
				out = append(out, no)
			}
		}
	}
	return out, nil
}

// remove deletes the files before no.
func (j *journal) remove(before int) error {
	nos, err := j.files()
	for _, no := range nos {
		if no < before {
			err = errors.Join(err, j.fs.Remove(j.name(no)))
		}
	}
	return err
}

// close ends the journal, and deletes it when everything in it is stored.
func (j *journal) close(everything bool) error {
	j.mu.Lock()
	f, no := j.file, j.no
	j.file, j.lazy = nil, false
	j.mu.Unlock()
	if f == nil {
		return nil
	}
	err := f.Close()
	if everything {
		err = errors.Join(err, j.remove(no+1))
	}
	return err
}

// entries is a buffer of entries.
type entries struct {
	b  []byte
	at int
}

func (e *entries) begin(kind byte) {
	e.at = len(e.b)
	e.b = append(e.b, 0, 0, 0, 0, 0, 0, 0, 0, kind)
}

func (e *entries) end() {
	body := e.b[e.at+8:]
	binary.BigEndian.PutUint32(e.b[e.at:], uint32(len(body)))
	binary.BigEndian.PutUint32(e.b[e.at+4:], crc32.Checksum(body, castagnoli))
}

func (e *entries) num(n uint64) { e.b = binary.AppendUvarint(e.b, n) }
func (e *entries) int(n int64)  { e.b = binary.AppendVarint(e.b, n) }
func (e *entries) text(s string) {
	e.num(uint64(len(s)))
	e.b = append(e.b, s...)
}

func (e *entries) queue(q *queue) {
	e.begin(entryQueue)
	e.num(q.num)
	e.text(q.key.topic)
	e.text(q.key.group)
	e.int(int64(q.key.id))
	e.end()
}

func (e *entries) point(q *queue, p *point) {
	e.begin(entryPoint)
	e.num(q.num)
	e.num(q.epoch)
	for _, v := range [...]int64{p.StartOffset, p.PopTime, p.Invisible, int64(p.reviveQueue), p.next, int64(p.Bits), int64(p.written)} {
		e.int(v)
	}
	state := p.state
	if state == held && p.tried {
		state = storing
	}
	e.num(uint64(state))
	if p.listed {
		e.num(1)
	} else {
		e.num(0)
	}
	e.num(uint64(p.Count))
	for _, d := range p.Diffs {
		e.num(uint64(d))
	}
	e.end()
}

func (e *entries) of(kind byte, q *queue, p *point) {
	e.begin(kind)
	e.num(q.num)
	e.int(p.StartOffset)
	e.int(p.PopTime)
	if kind == entryBits {
		e.int(int64(p.Bits))
	} else if kind == entryStored {
		e.int(int64(p.written))
	}
	e.end()
}

func (e *entries) next(q *queue, next int64) {
	e.begin(entryNext)
	e.num(q.num)
	e.num(q.epoch)
	e.int(next)
	e.end()
}

func (e *entries) swept(q *queue) {
	e.begin(entrySwept)
	e.num(q.num)
	e.end()
}

func (e *entries) forget(q *queue) {
	e.begin(entryForget)
	e.num(q.num)
	e.num(q.epoch)
	e.end()
}

func (e *entries) order(q *queue, committed int64, info []byte) {
	e.begin(entryOrder)
	e.num(q.num)
	e.int(committed)
	e.num(uint64(len(info)))
	e.b = append(e.b, info...)
	e.end()
}

func (e *entries) revived(queue int32, done int64) {
	e.begin(entryRevived)
	e.num(uint64(queue))
	e.int(done)
	e.end()
}
