package topic

import (
	"github.com/seedmq/seedmq/remoting/protocol"
)

// fileBody is topics.json. Java's names.
type fileBody struct {
	DataVersion      protocol.DataVersion            `json:"dataVersion"`
	TopicConfigTable map[string]protocol.TopicConfig `json:"topicConfigTable"`
}

// Load reads the table from disk; its topics win over the built-in ones of the same name. Call it once, before use. After
// configfile.ErrCorrupt the table holds the built-in topics and can be used.
func (t *Table) Load() error {
	var f fileBody
	if _, err := t.file.Load(&f); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	m := *t.snap.Load() // not yet in use by others
	for name, c := range f.TopicConfigTable {
		c.TopicName = name
		m[name] = t.newEntry(c, nil)
	}
	if f.DataVersion != (protocol.DataVersion{}) {
		t.version = f.DataVersion
	}
	return nil
}

// fileBody is the table as it goes to disk.
func (t *Table) fileBody() any {
	m, version := t.Snapshot()
	return &fileBody{DataVersion: version, TopicConfigTable: m}
}

// Save writes what is not on disk, which is nothing unless a write failed: each change is written at once.
func (t *Table) Save() error {
	if !t.file.Dirty() {
		return nil
	}
	return t.file.Flush()
}
