package offset

import (
	"errors"
	"os"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// A Java broker with enableLmq keeps all offsets in lmqConsumerOffset.json, those of groups with names of light queues in a table
// of their own, and looks at consumerOffset.json no more: whoever turns the key on loses all offsets, and whoever turns it off
// has those of that day. With Options.LightPath both files are written, and the newer one counts when they are read.

// lightFile is lmqConsumerOffset.json.
type lightFile struct {
	fileBody
	// LmqOffsetTable has the offset in queue 0 for each topic@group.
	LmqOffsetTable map[string]int64 `json:"lmqOffsetTable"`
}

// loadLight puts into f what lmqConsumerOffset.json has: all, unless consumerOffset.json is newer, which a broker without light
// queues has written since.
func (t *Table) loadLight(f *fileBody) error {
	var l lightFile
	if _, err := t.light.Load(&l); err != nil {
		return err
	}
	newer, err := t.plainIsNewer()
	if err != nil {
		return err
	}
	if !newer && l.OffsetTable != nil {
		*f = l.fileBody
	}
	if f.OffsetTable == nil {
		f.OffsetTable = map[string]map[int32]int64{}
	}
	for key, offset := range l.LmqOffsetTable {
		f.OffsetTable[key] = map[int32]int64{0: offset}
	}
	return nil
}

// plainIsNewer says that consumerOffset.json was written after lmqConsumerOffset.json.
func (t *Table) plainIsNewer() (bool, error) {
	plain, err := t.o.FS.Stat(t.o.Path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	light, err := t.o.FS.Stat(t.o.LightPath)
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	return plain.ModTime.After(light.ModTime), err
}

// saveBoth writes both files, the one that counts last.
func (t *Table) saveBoth() error {
	if !t.file.Dirty() && !t.light.Dirty() {
		return nil
	}
	if t.file.Dirty() {
		t.light.Mark()
	}
	return errors.Join(t.file.Flush(), t.light.Flush())
}

// lightBody is the table as it goes to lmqConsumerOffset.json.
func (t *Table) lightBody() any {
	t.mu.RLock()
	defer t.mu.RUnlock()
	f := &lightFile{fileBody: fileBody{DataVersion: t.version, OffsetTable: t.allLocked(committed),
		PullOffsetTable: t.allLocked(pulled), ResetOffsetTable: t.allLocked(resets)}, LmqOffsetTable: map[string]int64{}}
	for key, queues := range f.OffsetTable {
		_, group, _ := strings.Cut(key, "@")
		if !protocol.IsLMQ(group) {
			continue
		}
		if offset, ok := queues[0]; ok && len(queues) == 1 {
			f.LmqOffsetTable[key] = offset
			delete(f.OffsetTable, key)
		}
	}
	return f
}
