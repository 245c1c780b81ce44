package topic

import (
	"encoding/json"
	"fmt"

	"github.com/seedmq/seedmq/broker/jsonkeep"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// fileBody is topics.json. Java's names.
type fileBody struct {
	DataVersion      protocol.DataVersion       `json:"dataVersion"`
	TopicConfigTable map[string]json.RawMessage `json:"topicConfigTable"`
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
	for name, raw := range f.TopicConfigTable {
		e := &Entry{Config: protocol.NewTopicConfig(name), System: t.o.Settings.IsBuiltIn(name)}
		var err error
		if e.rest, err = jsonkeep.Split(raw, &e.Config); err != nil {
			return fmt.Errorf("topics.json: topic %s: %w", name, err)
		}
		e.Config.TopicName = name
		m[name] = e
	}
	if f.DataVersion != (protocol.DataVersion{}) {
		t.version = f.DataVersion
	}
	return nil
}

// fileBody is the table as it goes to disk.
func (t *Table) fileBody() any {
	t.mu.Lock()
	m := *t.snap.Load()
	f := fileBody{DataVersion: t.version, TopicConfigTable: make(map[string]json.RawMessage, len(m))}
	t.mu.Unlock()
	for name, e := range m {
		raw, err := jsonkeep.Join(&e.Config, e.rest)
		if err != nil { // strings and numbers always encode
			panic(fmt.Sprintf("topic %s: %v", name, err))
		}
		f.TopicConfigTable[name] = raw
	}
	return &f
}
