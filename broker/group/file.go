package group

import (
	"encoding/json"
	"fmt"

	"github.com/seedmq/seedmq/broker/jsonkeep"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// fileBody is subscriptionGroup.json. Java's names.
type fileBody struct {
	DataVersion            protocol.DataVersion        `json:"dataVersion"`
	ForbiddenTable         map[string]map[string]int32 `json:"forbiddenTable"`
	SubscriptionGroupTable map[string]json.RawMessage  `json:"subscriptionGroupTable"`
}

// Load reads the table from disk; its groups win over the built-in ones of the same name. Call it once, before use. After
// configfile.ErrCorrupt the table holds the built-in groups and can be used.
func (t *Table) Load() error {
	var f fileBody
	if _, err := t.file.Load(&f); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.snap.Load() // not yet in use by others
	for name, raw := range f.SubscriptionGroupTable {
		e := &Entry{Config: protocol.NewSubscriptionGroupConfig(name), System: IsBuiltIn(name)}
		var err error
		if e.rest, err = jsonkeep.Split(raw, &e.Config); err != nil {
			return fmt.Errorf("subscriptionGroup.json: group %s: %w", name, err)
		}
		e.Config.GroupName = name
		s.groups[name] = e
	}
	for name, topics := range f.ForbiddenTable {
		s.forbidden[name] = topics
	}
	if f.DataVersion != (protocol.DataVersion{}) {
		t.version = f.DataVersion
	}
	return nil
}

// fileBody is the table as it goes to disk.
func (t *Table) fileBody() any {
	t.mu.Lock()
	s := t.snap.Load()
	f := fileBody{DataVersion: t.version, ForbiddenTable: s.forbidden,
		SubscriptionGroupTable: make(map[string]json.RawMessage, len(s.groups))}
	t.mu.Unlock()
	for name, e := range s.groups {
		raw, err := jsonkeep.Join(&e.Config, e.rest)
		if err != nil { // strings and numbers always encode
			panic(fmt.Sprintf("group %s: %v", name, err))
		}
		f.SubscriptionGroupTable[name] = raw
	}
	return &f
}
