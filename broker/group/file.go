package group

import (
	"maps"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// Load reads the table from disk; its groups win over the built-in ones of the same name. Call it once, before use. After
// configfile.ErrCorrupt the table holds the built-in groups and can be used.
func (t *Table) Load() error {
	var f protocol.SubscriptionGroupWrapper // subscriptionGroup.json is the body of GET_ALL_SUBSCRIPTIONGROUP_CONFIG
	if _, err := t.file.Load(&f); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.snap.Load() // not yet in use by others
	for name, c := range f.SubscriptionGroupTable {
		c.GroupName = name
		s.groups[name] = &Entry{Config: c, System: IsBuiltIn(name)}
	}
	maps.Copy(s.forbidden, f.ForbiddenTable)
	if f.DataVersion != (protocol.DataVersion{}) {
		t.version = f.DataVersion
	}
	return nil
}

// fileBody is the table as it goes to disk.
func (t *Table) fileBody() any {
	groups, forbidden, version := t.Snapshot()
	return &protocol.SubscriptionGroupWrapper{DataVersion: version, ForbiddenTable: forbidden, SubscriptionGroupTable: groups}
}

// Save writes what is not on disk, which is nothing unless a write failed: each change is written at once.
func (t *Table) Save() error {
	if !t.file.Dirty() {
		return nil
	}
	return t.file.Flush()
}
