package configfile

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/fs"
)

// Writer owns one table: it writes it when it changed, once for all changes that came together, and keeps the top-level
// fields that it read and that our table does not know, so that a newer Java finds them again.
//
// Mark after each change, then either Flush at once (topics, groups) or from a periodic job (offsets). Safe for
// concurrent use.
type Writer struct {
	fs       fs.FS
	path     string
	snapshot func() any
	changes  atomic.Uint64 // changes marked

	mu struct {
		sync.Mutex
		written uint64                     // changes that are on disk
		unknown map[string]json.RawMessage // fields of the file that the table's type lacks
	}
}

// NewWriter returns the owner of the table at path. snapshot is called by Flush, not under any lock of the caller unless
// the caller holds it; what it returns is encoded before Flush returns and must not change meanwhile.
func NewWriter(f fs.FS, path string, snapshot func() any) *Writer {
	return &Writer{fs: f, path: path, snapshot: snapshot}
}

// Load is the package's Load of this table, and remembers the fields that into has no place for.
func (w *Writer) Load(into any) (Source, error) {
	src, text, err := load(w.fs, w.path, into)
	if err != nil || src == None {
		return src, err
	}
	unknown, err := unknownFields(text, into)
	if err != nil {
		return src, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.unknown = unknown
	return src, nil
}

// Mark says that the table changed.
func (w *Writer) Mark() { w.changes.Add(1) }

// Dirty says that there is a change that is not on disk.
func (w *Writer) Dirty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.written != w.changes.Load()
}

// Flush returns when every change marked before it is on disk. Calls at the same time share one write. After an error
// the changes count as not written.
func (w *Writer) Flush() error {
	want := w.changes.Load()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.written >= want {
		return nil
	}
	now := w.changes.Load() // before the snapshot: what comes between the two is written, and written again later
	v, err := w.withUnknownLocked(w.snapshot())
	if err != nil {
		return fmt.Errorf("save %s: %w", w.path, err)
	}
	if err := Save(w.fs, w.path, v); err != nil {
		return err
	}
	w.mu.written = now
	return nil
}

// Save marks a change and writes it.
func (w *Writer) Save() error {
	w.Mark()
	return w.Flush()
}

func (w *Writer) withUnknownLocked(v any) (any, error) {
	if len(w.mu.unknown) == 0 {
		return v, nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	for name, value := range w.mu.unknown {
		if _, ok := fields[name]; !ok {
			fields[name] = value
		}
	}
	return fields, nil
}

// unknownFields are the top-level fields of text that the struct behind into does not name; none for other types.
func unknownFields(text []byte, into any) (map[string]json.RawMessage, error) {
	t := reflect.TypeOf(into)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, nil
	}
	strict, err := protocol.NormalizeJSON(text)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(strict, &fields); err != nil {
		return nil, err
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		for have := range fields {
			if strings.EqualFold(have, name) { // as encoding/json matches
				delete(fields, have)
			}
		}
	}
	return fields, nil
}
