package offset

import (
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// fileBody is consumerOffset.json. Java's names; queue ids are quoted here, which Java reads too.
type fileBody struct {
	DataVersion      protocol.DataVersion       `json:"dataVersion"`
	OffsetTable      map[string]map[int32]int64 `json:"offsetTable"`
	PullOffsetTable  map[string]map[int32]int64 `json:"pullOffsetTable,omitempty"`
	ResetOffsetTable map[string]map[int32]int64 `json:"resetOffsetTable,omitempty"`
	// GroupTopicMap is an index that readers can make themselves. It is read so that it is not kept as an unknown field, which
	// would be out of date; it is never written.
	GroupTopicMap map[string][]string `json:"groupTopicMap,omitempty"`
}

func committed(qs queues) map[int32]int64 {
	return pick(qs, func(s *slot) (int64, bool) { return s.offset, s.has })
}

func pulled(qs queues) map[int32]int64 {
	return pick(qs, func(s *slot) (int64, bool) { return s.pulled, s.hasPull })
}

func resets(qs queues) map[int32]int64 {
	return pick(qs, func(s *slot) (int64, bool) { return s.reset, s.hasReset })
}

func pick(qs queues, get func(*slot) (int64, bool)) map[int32]int64 {
	out := make(map[int32]int64, len(qs))
	for id, s := range qs {
		if v, ok := get(s); ok {
			out[id] = v
		}
	}
	return out
}

// Load reads the table from disk. Call it once, before use. After configfile.ErrCorrupt the table is empty and can be used.
func (t *Table) Load() error {
	var f fileBody
	if _, err := t.file.Load(&f); err != nil {
		return err
	}
	if t.light != nil {
		if err := t.loadLight(&f); err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fillLocked(f.OffsetTable, func(s *slot, v int64) { s.offset, s.has = v, true })
	t.fillLocked(f.PullOffsetTable, func(s *slot, v int64) { s.pulled, s.hasPull = v, true })
	t.fillLocked(f.ResetOffsetTable, func(s *slot, v int64) { s.reset, s.hasReset = v, true })
	if f.DataVersion != (protocol.DataVersion{}) {
		t.version = f.DataVersion
	}
	return nil
}

func (t *Table) fillLocked(from map[string]map[int32]int64, set func(*slot, int64)) {
	for key, qs := range from {
		topic, group, ok := strings.Cut(key, "@") // topics cannot have an '@'
		if !ok {
			continue
		}
		for id, v := range qs {
			set(t.makeSlotLocked(Key{Group: group, Topic: topic, QueueID: id}), v)
		}
	}
}

// Save writes the table when something changed since the last time. The broker calls it every flushConsumerOffsetInterval and
// at stop.
func (t *Table) Save() error {
	if t.light != nil {
		return t.saveBoth()
	}
	if !t.file.Dirty() {
		return nil
	}
	return t.file.Flush()
}

// fileBody is the table as it goes to disk.
func (t *Table) fileBody() any {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return &fileBody{DataVersion: t.version, OffsetTable: t.allLocked(committed),
		PullOffsetTable: t.allLocked(pulled), ResetOffsetTable: t.allLocked(resets)}
}
