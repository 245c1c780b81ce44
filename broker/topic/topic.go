// Package topic owns the topic table (config/topics.json): which topics there are, their queues and permissions.
//
// All methods of Table are safe for concurrent use. Reads take no lock and do not allocate: they look at an immutable
// snapshot. An Entry never changes; when its topic is changed or deleted it becomes stale, so a cached Entry is good as long as
// Stale is false. A change is on disk before the method that made it returns; changes that come together share a write.
package topic

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/configfile"
	"github.com/seedmq/seedmq/store/fs"
)

// Options are what a table is made of.
type Options struct {
	FS       fs.FS
	Path     string // of topics.json
	Settings Settings
	// OnChange is called after a change is on disk, without locks held, with the names that changed; registration hangs on it.
	OnChange func(names []string)
	Clock    clock.Clock
	Log      *xlog.Logger
}

// Entry is one topic at one time. It is immutable: read Config, never change it.
type Entry struct {
	Config protocol.TopicConfig
	// System says that clients may neither change nor delete the topic.
	System bool
	// MultiTags says that messages get the MULTI_TAGS flag; BatchCQ that the queues hold whole batches.
	MultiTags, BatchCQ bool
	// Light says that it is a light queue: its messages' records are those of other topics.
	Light bool
	// Limits are those that the topic's attributes set; none for most.
	Limits Limits

	stale atomic.Bool
}

// newEntry makes the entry that replaces old, which may be nil.
func (t *Table) newEntry(c protocol.TopicConfig, old *Entry) *Entry {
	if old != nil {
		if c.Unknown == nil {
			c.Unknown = old.Config.Unknown
		}
		old.stale.Store(true)
	}
	limits, err := limitsOf(&c)
	if err != nil {
		t.o.Log.Warnf("%v", err)
	}
	return &Entry{Config: c, System: t.o.Settings.IsBuiltIn(c.TopicName), MultiTags: c.TopicFilterType == protocol.FilterMultiTag,
		BatchCQ: c.Attributes[protocol.AttributeQueueType] == "BatchCQ", Light: t.o.Settings.Light && protocol.IsLMQ(c.TopicName), Limits: limits}
}

// Stale says that the topic was changed or deleted since: ask the table again.
func (e *Entry) Stale() bool { return e.stale.Load() }

// Name is the topic's name.
func (e *Entry) Name() string { return e.Config.TopicName }

// MaxQueues is the larger of both queue numbers: queue ids of sends and offsets must be below it.
func (e *Entry) MaxQueues() int32 { return max(e.Config.ReadQueueNums, e.Config.WriteQueueNums) }

// Readable and Writable say what the topic's permission allows.
func (e *Entry) Readable() bool { return protocol.PermReadable(e.Config.Perm) }

// Writable says whether the topic's permission allows sends.
func (e *Entry) Writable() bool { return protocol.PermWritable(e.Config.Perm) }

// Table is the topic table.
type Table struct {
	o    Options
	file *configfile.Writer
	snap atomic.Pointer[map[string]*Entry]
	// autoCreate is Settings.AutoCreate, until SetAutoCreate.
	autoCreate atomic.Bool

	mu      sync.Mutex // guards what follows and the swap of snap
	version protocol.DataVersion
}

// New returns a table with the built-in topics; Load adds those on disk.
func New(o Options) *Table {
	t := &Table{o: o}
	t.file = configfile.NewWriter(o.FS, o.Path, t.fileBody)
	t.version.Timestamp = clock.Millis(o.Clock)
	m := map[string]*Entry{}
	for _, c := range o.Settings.builtIns() {
		m[c.TopicName] = t.newEntry(c, nil)
	}
	t.snap.Store(&m)
	t.autoCreate.Store(o.Settings.AutoCreate)
	return t
}

// Get returns the topic, nil when there is none.
func (t *Table) Get(name string) *Entry {
	e := (*t.snap.Load())[name]
	if e == nil && t.o.Settings.Light {
		e = lightEntry(name)
	}
	return e
}

// Names lists all topics, sorted.
func (t *Table) Names() []string { return slices.Sorted(maps.Keys(*t.snap.Load())) }

// Len is the number of topics.
func (t *Table) Len() int { return len(*t.snap.Load()) }

// All lists all topics by name.
func (t *Table) All() []*Entry {
	m := *t.snap.Load()
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

// Snapshot is the table and its version at one moment, for registration and for GET_ALL_TOPIC_CONFIG. The map is the caller's.
func (t *Table) Snapshot() (map[string]protocol.TopicConfig, protocol.DataVersion) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := *t.snap.Load()
	out := make(map[string]protocol.TopicConfig, len(m))
	for name, e := range m {
		out[name] = e.Config
	}
	return out, t.version
}

// Update creates or changes a topic. The fields of c replace the old ones; what a newer version wrote beside them is kept.
func (t *Table) Update(c protocol.TopicConfig) error {
	return t.change(func(m map[string]*Entry) []string {
		m[c.TopicName] = t.newEntry(c, m[c.TopicName])
		return []string{c.TopicName}
	})
}

// UpdateAll is Update of several topics with one write.
func (t *Table) UpdateAll(cs []protocol.TopicConfig) error {
	return t.change(func(m map[string]*Entry) []string {
		names := make([]string, 0, len(cs))
		for _, c := range cs {
			m[c.TopicName] = t.newEntry(c, m[c.TopicName])
			names = append(names, c.TopicName)
		}
		return names
	})
}

// Ensure returns the topic of that name and makes it as c says when there is none.
func (t *Table) Ensure(c protocol.TopicConfig) (*Entry, error) {
	if e := t.Get(c.TopicName); e != nil {
		return e, nil
	}
	var made *Entry
	err := t.change(func(m map[string]*Entry) []string {
		if made = m[c.TopicName]; made != nil {
			return nil
		}
		made = t.newEntry(c, nil)
		m[c.TopicName] = made
		return []string{c.TopicName}
	})
	if err != nil {
		return nil, fmt.Errorf("create topic %s: %w", c.TopicName, err)
	}
	return made, nil
}

// Delete removes a topic and says whether it was there.
func (t *Table) Delete(name string) (bool, error) {
	was := false
	err := t.change(func(m map[string]*Entry) []string {
		e := m[name]
		if e == nil {
			return nil
		}
		was = true
		e.stale.Store(true)
		delete(m, name)
		return []string{name}
	})
	return was, err
}

// change runs edit on a copy of the table, makes it the table and waits until it is on disk. edit returns the names it
// changed; none means that nothing is to be done.
func (t *Table) change(edit func(m map[string]*Entry) []string) error {
	t.mu.Lock()
	m := maps.Clone(*t.snap.Load())
	names := edit(m)
	if len(names) == 0 {
		t.mu.Unlock()
		return nil
	}
	t.snap.Store(&m)
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
