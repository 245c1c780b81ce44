package offline

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/consumequeue"
	"github.com/seedmq/seedmq/store/fs"
)

const (
	readAtOnce = 1 << 20
	maxRecord  = 128 << 20 // beyond any that a broker accepts
	diskSector = 512
	// staleAge is how much older than the one before it (in ms) a record is that an earlier recovery left behind the end.
	staleAge = 1000
	// fillerTopic, or its beginning, is the topic of the records with which our recovery covers what was lost.
	fillerTopic = "SEEDMQ_DAMAGED"
)

// span is a range of log positions.
type span struct{ from, to int64 }

// hole is a place where good records lie behind something that is none.
type hole struct {
	span
	why error
}

// logResult is what a walk found.
type logResult struct {
	start, end   int64 // of the good part
	records      int64
	fillers      int64
	fillerBytes  int64
	holes        []hole
	endWhy       error // what stands at the end, if it is not zeros
	tail         span  // first to last byte behind end that is not zero
	lastTime     int64 // ms, of the newest record
	first, cutAt int64 // store time of the first record; position of a record that its file's end cuts off, or -1
}

// logReader reads the log's files as one row of bytes. What a file lacks of its length reads as zeros.
type logReader struct {
	fs    fs.FS
	dir   string
	size  int64
	files map[int64]LogFile // by start

	open  fs.File
	start int64 // of open
	buf   []byte
	at    int64 // position of buf[0]; -1: nothing read
}

func newLogReader(o Options, l *Layout) *logReader {
	r := &logReader{fs: o.FS, dir: o.CommitLogDir, size: l.LogFileSize, files: map[int64]LogFile{}, start: -1, at: -1}
	for _, f := range l.LogFiles {
		r.files[f.Start] = f
	}
	return r
}

func (r *logReader) close() {
	if r.open != nil {
		r.open.Close() // only read
		r.open, r.start = nil, -1
	}
}

func logFileName(dir string, start int64) string {
	return filepath.Join(dir, fmt.Sprintf("%020d", start))
}

// bytes returns n bytes at pos, fewer at the end of pos's file. They are valid until the next call.
func (r *logReader) bytes(pos int64, n int) ([]byte, error) {
	start := pos - pos%r.size
	n = int(min(int64(n), start+r.size-pos))
	if off := pos - r.at; r.at >= 0 && off >= 0 && off+int64(n) <= int64(len(r.buf)) {
		return r.buf[off:][:n], nil
	}
	if r.start != start {
		r.close()
		if _, ok := r.files[start]; ok {
			f, err := r.fs.Open(logFileName(r.dir, start))
			if err != nil {
				return nil, err
			}
			r.open = f
		}
		r.start = start
	}
	want := int(min(int64(max(n, readAtOnce)), start+r.size-pos))
	if cap(r.buf) < want {
		r.buf = make([]byte, want)
	}
	r.buf, r.at = r.buf[:want], pos
	if r.open == nil {
		clear(r.buf)
		return r.buf[:n], nil
	}
	if err := readFull(r.open, r.buf, pos-start); err != nil {
		r.at = -1
		return nil, err
	}
	return r.buf[:n], nil
}

var (
	errBlank = errors.New("end of file mark")
	errCut   = errors.New("the file ends inside the record")
)

// record decodes the good record at pos. errBlank at the mark that ends a file. badRecord tells other errors apart.
func (r *logReader) record(pos int64, v *protocol.MessageView) error {
	b, err := r.bytes(pos, protocol.BlankRecordSize)
	if err != nil {
		return err
	}
	if len(b) < protocol.BlankRecordSize {
		return badRecord{fmt.Errorf("%d bytes up to the end of the file", len(b))}
	}
	size, magic := int64(int32(binary.BigEndian.Uint32(b))), int32(binary.BigEndian.Uint32(b[protocol.PosMagic:]))
	left := r.size - pos%r.size
	switch {
	case magic == protocol.MagicBlank && size == left:
		return errBlank
	case magic != protocol.MagicV1 && magic != protocol.MagicV2:
		return badRecord{fmt.Errorf("magic %08x", uint32(magic))}
	case size > left && size <= maxRecord:
		return badRecord{errCut}
	case size < protocol.RecordOverheadV1 || size > left:
		return badRecord{fmt.Errorf("size %d", size)}
	}
	if b, err = r.bytes(pos, int(size)); err != nil {
		return err
	}
	if _, err := protocol.DecodeMessage(b, v); err != nil {
		return badRecord{err}
	}
	if err := checkRecord(pos, v); err != nil {
		return badRecord{err}
	}
	return nil
}

// badRecord is the error of bytes that are no good record.
type badRecord struct{ error }

func isBad(err error) bool { return errors.As(err, new(badRecord)) }

// checkRecord looks at what a record's layout does not show: that it stands where it was stored, its body's checksum, and
// sectors of zeros in topic and properties.
func checkRecord(pos int64, v *protocol.MessageView) error {
	if v.PhysicalOffset != pos {
		return fmt.Errorf("the record was stored at %d", v.PhysicalOffset)
	}
	if v.QueueID < 0 || v.QueueOffset < 0 || v.QueueOffset > consumequeue.MaxOffset || v.StoreTimestamp < 0 {
		return errors.New("a field has a value that cannot be")
	}
	if !consumequeue.TopicFits(v.Topic) {
		return fmt.Errorf("topic %q cannot name a folder", v.Topic)
	}
	if len(v.Body) > 0 {
		if err := v.CheckBody(); err != nil {
			return err
		}
	}
	p := v.Properties
	if strings.IndexByte(v.Topic, 0) >= 0 || p != "" && p[len(p)-1] == 0 {
		return errors.New("zeros in topic or properties")
	}
	for at := diskSector - int((pos+int64(v.Size)-int64(len(p)))%diskSector); at+diskSector <= len(p); at += diskSector {
		if strings.Count(p[at:at+diskSector], "\x00") == diskSector {
			return errors.New("a sector of zeros in the properties")
		}
	}
	return nil
}

func isFiller(v *protocol.MessageView) bool {
	return v.SysFlag&protocol.SysFlagTransactionMask == protocol.SysFlagTransactionRollback && strings.HasPrefix(fillerTopic, v.Topic)
}

// walk calls fn for every good record, in order, goes on behind holes, and finds the log's end. known is the position up
// to which queues have units: behind it an old record is a leftover, as Java's recovery leaves them.
func (r *logReader) walk(l *Layout, known int64, progress func(done, total int64), fn func(v *protocol.MessageView) error) (logResult, error) {
	res := logResult{cutAt: -1}
	if len(l.LogFiles) == 0 {
		return res, nil
	}
	defer r.close()
	limit := l.LogFiles[len(l.LogFiles)-1].Start + r.size
	res.start = l.LogFiles[0].Start
	pos, told := res.start, int64(0)
	var v protocol.MessageView
	for pos < limit {
		err := r.good(pos, known, res.lastTime, &v)
		switch {
		case err == nil:
			if err := res.take(&v, fn); err != nil {
				return res, err
			}
			pos += int64(v.Size)
		case err == errBlank:
			pos += r.size - pos%r.size
		case isBad(err):
			if errors.Is(err, errCut) && len(l.LogFiles) == 1 {
				res.cutAt = pos
			}
			next, ok, err2 := r.find(pos, limit, known, res.lastTime)
			if err2 != nil {
				return res, err2
			}
			if !ok {
				return r.endAt(res, pos, limit, err)
			}
			res.holes = append(res.holes, hole{span{pos, next}, err})
			pos = next
		default:
			return res, err
		}
		if progress != nil && pos-told >= 16<<20 {
			told = pos
			progress(pos-res.start, limit-res.start)
		}
	}
	res.end = pos
	return res, nil
}

func (res *logResult) take(v *protocol.MessageView, fn func(v *protocol.MessageView) error) error {
	if res.records == 0 {
		res.first = v.StoreTimestamp
	}
	res.records++
	res.lastTime = max(res.lastTime, v.StoreTimestamp)
	if isFiller(v) {
		res.fillers++
		res.fillerBytes += int64(v.Size)
	}
	return fn(v)
}

// good is record, and refuses leftovers.
func (r *logReader) good(pos, known, lastTime int64, v *protocol.MessageView) error {
	err := r.record(pos, v)
	if err == nil && pos >= known && v.StoreTimestamp < lastTime-staleAge {
		return badRecord{errors.New("the record is older than those before it")}
	}
	return err
}

// find looks for the next good record behind pos.
func (r *logReader) find(pos, limit, known, lastTime int64) (int64, bool, error) {
	pattern := []byte{0xDA, 0xA3, 0x20} // how the magics of records begin
	var v protocol.MessageView
	for pos++; pos < limit; {
		b, err := r.bytes(pos, readAtOnce)
		if err != nil {
			return 0, false, err
		}
		i := -1
		if len(b) > protocol.PosMagic {
			i = bytes.Index(b[protocol.PosMagic:], pattern)
		}
		if i < 0 {
			if fileEnd := pos + r.size - pos%r.size; pos+int64(len(b)) >= fileEnd {
				pos = fileEnd
			} else {
				pos += int64(len(b) - protocol.PosMagic - len(pattern) + 1)
			}
			continue
		}
		pos += int64(i)
		err = r.good(pos, known, lastTime, &v)
		if err == nil {
			return pos, true, nil
		}
		if !isBad(err) && err != errBlank {
			return 0, false, err
		}
		pos++
	}
	return 0, false, nil
}

// endAt finds what is behind the log's end that is not zeros.
func (r *logReader) endAt(res logResult, pos, limit int64, why error) (logResult, error) {
	res.end = pos
	for at := pos; at < limit; {
		b, err := r.bytes(at, readAtOnce)
		if err != nil {
			return res, err
		}
		if used := bytes.TrimRight(b, "\x00"); len(used) > 0 {
			if res.tail.to == 0 {
				res.tail.from = at + int64(len(b)-len(bytes.TrimLeft(b, "\x00")))
			}
			res.tail.to = at + int64(len(used))
		}
		at += int64(len(b))
	}
	if res.tail.from == pos && res.tail.to > 0 {
		res.endWhy = why
	}
	return res, nil
}
