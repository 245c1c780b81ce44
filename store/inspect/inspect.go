// Package inspect prints the files of a store in words, for people and for tests. It only reads.
//
// File finds out from a file's place in the store what it is; the other functions print one kind each. Every function
// writes one line per thing, goes on behind what is damaged as far as it can, and ends with a line that sums up. What is
// damaged is said in the text and is no error; an error is one of reading or of writing.
package inspect

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/index"
)

// Kind is what a file holds.
type Kind uint8

// Kinds of files.
const (
	Unknown Kind = iota
	CommitLogFile
	ConsumeQueueFile
	IndexFile
	CheckpointFile
	TableFile // JSON
	TimerWheelFile
	TimerLogFile
	TimerCheckFile
	TextFile
	BatchQueueFile
)

var kindNames = [...]string{"unknown", "commit log", "consume queue", "index", "checkpoint", "table", "timer wheel", "timer log",
	"timer checkpoint", "text", "batch consume queue"}

// String is the kind in words.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// Options say what to print. Zero fields get their defaults.
type Options struct {
	// From is the first thing to print: a log position, a queue offset, or the number of an index entry or timer slot.
	From int64
	// Limit is how many things to print; 0 is no limit. What is counted and checked does not depend on it.
	Limit int
	// Bodies prints what messages hold.
	Bodies bool
	// Index is the shape of index files. Default: Java's.
	Index index.Shape
	// Location is the time zone of what is printed. Default: local.
	Location *time.Location
}

func (o Options) withDefaults() Options {
	if o.Index == (index.Shape{}) {
		o.Index = index.Shape{Slots: index.DefaultSlots, Entries: index.DefaultEntries}
	}
	if o.Location == nil {
		o.Location = time.Local
	}
	return o
}

// KindOf tells from its path what a file of a store holds.
func KindOf(path string) Kind {
	name := filepath.Base(path)
	up := filepath.Base(filepath.Dir(path))
	if isDigits(name) {
		switch {
		case up == "commitlog":
			return CommitLogFile
		case up == "index":
			return IndexFile
		case up == "timerlog":
			return TimerLogFile
		case len(name) == 20 && isDigits(up) && filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(path)))) == "batchconsumequeue":
			return BatchQueueFile
		case len(name) == 20 && isDigits(up):
			return ConsumeQueueFile
		case len(name) == 20:
			return CommitLogFile // another folder than the usual one
		case len(name) == 17:
			return IndexFile
		}
	}
	switch strings.TrimSuffix(name, ".bak") {
	case "checkpoint":
		return CheckpointFile
	case "timerwheel":
		return TimerWheelFile
	case "timercheck":
		return TimerCheckFile
	case "timermetrics", "transactionMetrics":
		return TableFile
	case "abort", "lock", "brokerIdentity", "brokerIdentity-temp":
		return TextFile
	}
	if strings.Contains(name, ".json") {
		return TableFile
	}
	return Unknown
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// File prints the file at path.
func File(w io.Writer, f fs.FS, path string, o Options) error {
	kind := KindOf(path)
	if kind == Unknown {
		return fmt.Errorf("%s: not a file of a store that is known", path)
	}
	file, err := f.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	p := newPrinter(w, o)
	p.line("%s: %s, %d bytes", path, kind, info.Size)
	in := input{file, info.Size, number(info.Name)}
	switch kind {
	case CommitLogFile:
		err = commitLog(p, in)
	case ConsumeQueueFile:
		err = consumeQueue(p, in)
	case BatchQueueFile:
		err = batchQueue(p, in)
	case IndexFile:
		err = indexFile(p, in)
	case TimerLogFile:
		err = timerLog(p, in)
	case TimerWheelFile:
		err = timerWheel(p, in)
	default:
		err = small(p, in, kind)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return p.flush()
}

// number is the number that a file is named after, 0 if it is not.
func number(name string) int64 {
	n, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// input is an open file, and the position of its first byte in the sequence that it belongs to.
type input struct {
	r     io.ReaderAt
	size  int64
	start int64
}

// read fills b from off on as far as the file goes, the rest with zeros.
func (in input) read(b []byte, off int64) error {
	n, err := in.r.ReadAt(b, off)
	clear(b[n:])
	if err == io.EOF {
		return nil
	}
	return err
}

// printer writes lines and remembers the first error of writing.
type printer struct {
	o       Options
	w       *bufio.Writer
	printed int
	err     error
}

func newPrinter(w io.Writer, o Options) *printer {
	return &printer{o: o.withDefaults(), w: bufio.NewWriter(w)}
}

func (p *printer) line(format string, a ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", a...)
	}
}

// item is line for one thing of many: it minds From and Limit.
func (p *printer) item(at int64, format string, a ...any) {
	if at < p.o.From || p.o.Limit > 0 && p.printed >= p.o.Limit {
		return
	}
	p.printed++
	p.line(format, a...)
}

func (p *printer) flush() error {
	if p.err != nil {
		return p.err
	}
	return p.w.Flush()
}

const timeLayout = "2006-01-02 15:04:05.000"

// time is a time in ms in words, with the number.
func (p *printer) time(ms int64) string {
	if ms <= 0 || ms > 1<<45 {
		return strconv.FormatInt(ms, 10)
	}
	return time.UnixMilli(ms).In(p.o.Location).Format(timeLayout)
}
