// Package group owns the subscription group table (config/subscriptionGroup.json): the settings of consumer groups, and which
// group may not read which topic.
//
// All methods of Table are safe for concurrent use. Reads take no lock and do not allocate. Entries are immutable; a change
// makes the old entry stale. A change is on disk before the method that made it returns.
package group

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/configfile"
	"github.com/seedmq/seedmq/store/fs"
)

// ErrNotFound: there is no such group and it may not be made.
var ErrNotFound = errors.New("group: not there, and not to be created")

// ForbidRead is the bit of a forbidden entry that stops pulls.
const ForbidRead = 2

// Options are what a table is made of.
type Options struct {
	FS         fs.FS
	Path       string // of subscriptionGroup.json
	AutoCreate bool   // autoCreateSubscriptionGroup
	AutoSystem bool   // enableCreateSysGroup: CID_RMQ_SYS_ groups are made even without AutoCreate
	Light      bool   // enableLmq: every name of a light queue is a group, too
	// OnChange is called after a change is on disk, without locks held.
	OnChange func(names []string)
	Clock    clock.Clock
	Log      *xlog.Logger
}

// Entry is one group's settings at one time. It is immutable: read Config, never change it.
type Entry struct {
	Config protocol.SubscriptionGroupConfig
	// System says that clients may neither change nor delete the group.
	System bool

	stale atomic.Bool
}

// Stale says that the group was changed or deleted since: ask the table again.
func (e *Entry) Stale() bool { return e.stale.Load() }

// Name is the group's name.
func (e *Entry) Name() string { return e.Config.GroupName }

// state is what readers see.
type state struct {
	groups    map[string]*Entry
	forbidden map[string]map[string]int32 // group → topic → bits
}

// Table is the subscription group table.
type Table struct {
	o    Options
	file *configfile.Writer
	snap atomic.Pointer[state]
	// autoCreate is Options.AutoCreate, until SetAutoCreate.
	autoCreate atomic.Bool

	mu      sync.Mutex
	version protocol.DataVersion
}

// builtIns are the groups that every broker knows.
var builtIns = [...]string{"TOOLS_CONSUMER", "FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "CID_ONS-HTTP-PROXY",
	"CID_ONSAPI_PULL", "CID_ONSAPI_PERMISSION", "CID_ONSAPI_OWNER", "CID_RMQ_SYS_TRANS"}

// IsBuiltIn says whether a group belongs to the broker.
func IsBuiltIn(name string) bool {
	return slices.Contains(builtIns[:], name) || strings.HasPrefix(name, systemPrefix)
}

const systemPrefix = "CID_RMQ_SYS_"

// New returns a table with the built-in groups; Load adds those on disk.
func New(o Options) *Table {
	t := &Table{o: o}
	t.file = configfile.NewWriter(o.FS, o.Path, t.fileBody)
	t.version.Timestamp = clock.Millis(o.Clock)
	s := &state{groups: map[string]*Entry{}, forbidden: map[string]map[string]int32{}}
	for _, name := range builtIns {
		c := protocol.NewSubscriptionGroupConfig(name)
		if strings.HasPrefix(name, "CID_ONS") {
			c.ConsumeBroadcastEnable = true
		}
		s.groups[name] = &Entry{Config: c, System: true}
	}
	t.snap.Store(s)
	t.autoCreate.Store(o.AutoCreate)
	return t
}

// Get returns the group, nil when there is none.
func (t *Table) Get(name string) *Entry {
	e := t.snap.Load().groups[name]
	if e == nil && t.o.Light {
		e = lightEntry(name)
	}
	return e
}

// GetOrCreate returns the group and makes it when that is allowed; else ErrNotFound. The name is copied. The caller has checked it.
func (t *Table) GetOrCreate(name string) (*Entry, error) {
	if e := t.Get(name); e != nil {
		return e, nil
	}
	system := strings.HasPrefix(name, systemPrefix)
	if !t.autoCreate.Load() && !(system && t.o.AutoSystem) {
		return nil, fmt.Errorf("%w: autoCreateSubscriptionGroup is false", ErrNotFound)
	}
	name = strings.Clone(name)
	var made *Entry
	err := t.change(func(s *state) []string {
		if made = s.groups[name]; made != nil {
			return nil
		}
		made = &Entry{Config: protocol.NewSubscriptionGroupConfig(name), System: system}
		s.groups[name] = made
		return []string{name}
	})
	return made, err
}

// SetAutoCreate says from now on whether groups are made on their first use (autoCreateSubscriptionGroup).
func (t *Table) SetAutoCreate(on bool) { t.autoCreate.Store(on) }

// All lists all groups by name.
func (t *Table) All() []*Entry {
	m := t.snap.Load().groups
	out := make([]*Entry, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[name])
	}
	return out
}

// DataVersion changes with every change of the table.
func (t *Table) DataVersion() protocol.DataVersion {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version
}

// Snapshot is the table, the forbidden table and their version at one moment. The maps are the caller's, their values are not.
func (t *Table) Snapshot() (map[string]protocol.SubscriptionGroupConfig, map[string]map[string]int32, protocol.DataVersion) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.snap.Load()
	groups := make(map[string]protocol.SubscriptionGroupConfig, len(s.groups))
	for name, e := range s.groups {
		groups[name] = e.Config
	}
	return groups, maps.Clone(s.forbidden), t.version
}

// Update creates or changes a group; what a newer version wrote beside its fields is kept.
func (t *Table) Update(c protocol.SubscriptionGroupConfig) error {
	return t.change(func(s *state) []string {
		if old := s.groups[c.GroupName]; old != nil {
			if c.Unknown == nil {
				c.Unknown = old.Config.Unknown
			}
			old.stale.Store(true)
		}
		s.groups[c.GroupName] = &Entry{Config: c, System: IsBuiltIn(c.GroupName)}
		return []string{c.GroupName}
	})
}

// Delete removes a group with its forbidden entries and says whether it was there.
func (t *Table) Delete(name string) (bool, error) {
	was := false
	err := t.change(func(s *state) []string {
		e := s.groups[name]
		if e == nil {
			return nil
		}
		was = true
		e.stale.Store(true)
		delete(s.groups, name)
		delete(s.forbidden, name)
		return []string{name}
	})
	return was, err
}

// Forbidden is the bit set of a group for a topic: bit index ForbidRead set means that the group may not read it.
func (t *Table) Forbidden(group, topic string) int32 { return t.snap.Load().forbidden[group][topic] }

// MayRead says whether the group may read the topic.
func (t *Table) MayRead(group, topic string) bool {
	return t.Forbidden(group, topic)&(1<<ForbidRead) == 0
}

// SetForbidden sets or clears one bit of a group for a topic.
func (t *Table) SetForbidden(group, topic string, bit uint, on bool) error {
	return t.change(func(s *state) []string {
		old := s.forbidden[group][topic]
		bits := old &^ (1 << bit)
		if on {
			bits = old | 1<<bit
		}
		if bits == old {
			return nil
		}
		topics := maps.Clone(s.forbidden[group])
		if topics == nil {
			topics = map[string]int32{}
		}
		topics[topic] = bits
		if bits == 0 {
			delete(topics, topic)
		}
		s.forbidden[group] = topics
		if len(topics) == 0 {
			delete(s.forbidden, group)
		}
		return []string{group}
	})
}

// change runs edit on a copy of the table, makes it the table and waits until it is on disk. edit must not write into the
// inner maps. It returns the names it changed; none means that nothing is to be done.
func (t *Table) change(edit func(s *state) []string) error {
	t.mu.Lock()
	old := t.snap.Load()
	s := &state{groups: maps.Clone(old.groups), forbidden: maps.Clone(old.forbidden)}
	names := edit(s)
	if len(names) == 0 {
		t.mu.Unlock()
		return nil
	}
	t.snap.Store(s)
	t.version.Timestamp = clock.Millis(t.o.Clock)
	t.version.Counter++
	t.file.Mark()
	t.mu.Unlock()
	if err := t.file.Flush(); err != nil {
		return err
	}
	if t.o.OnChange != nil {
		t.o.OnChange(names)
	}
	return nil
}
