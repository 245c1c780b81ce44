// Package offset owns the consumer offsets (config/consumerOffset.json): for each group, topic and queue the next offset to
// consume, the furthest offset pulled, and resets that a consumer has not yet been told of.
//
// A committed offset is lowered only by an explicit act: a reset or clone by an operator, a commit by somebody who is no member
// of the group, or a consumer that goes back on the connection that made the last commit (a seek). Each is logged. A lower
// commit from anybody else is an old owner who comes late; it is ignored and logged.
//
// All methods of Table are safe for concurrent use; none does I/O except Load and Save. Strings given are copied when kept.
package offset

import (
	"strings"
	"sync"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/configfile"
	"github.com/seedmq/seedmq/store/fs"
)

// Options are what a table is made of.
type Options struct {
	FS   fs.FS
	Path string // of consumerOffset.json
	// LightPath, if not empty, is of lmqConsumerOffset.json: see light.go.
	LightPath string
	// VersionStep: commits per step of the data version (consumerOffsetUpdateVersionStep); 0 is 500.
	VersionStep int64
	Clock       clock.Clock
	Log         *xlog.Logger
}

// Key names one queue of one group.
type Key struct {
	Group, Topic string
	QueueID      int32
}

// Origin says who commits.
type Origin struct {
	// Conn is the id of the committing connection, 0 for the broker itself.
	Conn uint64
	// Addr is for the log: who lowered an offset.
	Addr string
	// Explicit lets the commit lower the offset: an operator, or somebody who is no member of the group.
	Explicit bool
}

// Outcome says what became of a commit.
type Outcome uint8

// Outcomes of Commit.
const (
	Committed    Outcome = iota
	Lowered              // committed, and lower than before
	Unchanged            // the same offset again
	IgnoredLower         // lower, and not by an explicit act
	IgnoredReset         // a reset waits for the consumer: it does not know yet
)

// slot is one queue of a group.
type slot struct {
	offset   int64 // next to consume
	pulled   int64 // next to pull
	reset    int64 // offset that a pending reset asks for
	owner    uint64
	has      bool // offset is known
	hasPull  bool
	hasReset bool
}

// queues are the slots of one topic in one group, by queue id.
type queues map[int32]*slot

// Table holds all consumer offsets of a broker.
type Table struct {
	o     Options
	file  *configfile.Writer
	light *configfile.Writer // nil without LightPath

	mu      sync.RWMutex
	groups  map[string]map[string]queues // group → topic → queue
	version protocol.DataVersion
	commits int64 // since the last step of version
}

// New returns an empty table.
func New(o Options) *Table {
	if o.VersionStep <= 0 {
		o.VersionStep = 500
	}
	t := &Table{o: o, groups: map[string]map[string]queues{}}
	t.file = configfile.NewWriter(o.FS, o.Path, t.fileBody)
	if o.LightPath != "" {
		t.light = configfile.NewWriter(o.FS, o.LightPath, t.lightBody)
	}
	t.version.Timestamp = clock.Millis(o.Clock)
	return t
}

func (t *Table) slotLocked(k Key) *slot { return t.groups[k.Group][k.Topic][k.QueueID] }

func (t *Table) makeSlotLocked(k Key) *slot {
	topics := t.groups[k.Group]
	if topics == nil {
		topics = map[string]queues{}
		t.groups[strings.Clone(k.Group)] = topics
	}
	qs := topics[k.Topic]
	if qs == nil {
		qs = queues{}
		topics[strings.Clone(k.Topic)] = qs
	}
	s := qs[k.QueueID]
	if s == nil {
		s = &slot{}
		qs[k.QueueID] = s
	}
	return s
}

// Query returns the committed offset.
func (t *Table) Query(k Key) (int64, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if s := t.slotLocked(k); s != nil && s.has {
		return s.offset, true
	}
	return 0, false
}

// Commit sets the committed offset under the rules in the package comment.
func (t *Table) Commit(k Key, off int64, by Origin) Outcome {
	out, was := t.commit(k, off, by)
	switch out {
	case Lowered:
		t.o.Log.Infof("consumer offset lowered: group %s topic %s queue %d from %d to %d by %s", k.Group, k.Topic, k.QueueID, was, off, by.Addr)
	case IgnoredLower:
		t.o.Log.Limited(t.o.Clock, "lower "+k.Group, logEvery).Warnf("late commit ignored: group %s topic %s queue %d stands at %d, %s says %d",
			k.Group, k.Topic, k.QueueID, was, by.Addr, off)
	}
	return out
}

func (t *Table) commit(k Key, off int64, by Origin) (Outcome, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.makeSlotLocked(k)
	if s.hasReset && !by.Explicit {
		return IgnoredReset, s.offset
	}
	was, lower := s.offset, s.has && off < s.offset
	if lower && !by.Explicit && (by.Conn == 0 || s.owner != by.Conn) {
		return IgnoredLower, was
	}
	s.owner = by.Conn
	if s.has && was == off {
		return Unchanged, was
	}
	s.offset, s.has = off, true
	t.touchLocked()
	if lower {
		return Lowered, was
	}
	return Committed, was
}

// touchLocked notes a change of a committed offset.
func (t *Table) touchLocked() {
	t.file.Mark()
	if t.commits++; t.commits >= t.o.VersionStep {
		t.commits = 0
		t.version.Counter++
		t.version.Timestamp = clock.Millis(t.o.Clock)
	}
}

// Pulled notes how far a group has pulled a queue; figures of progress show it.
func (t *Table) Pulled(k Key, next int64) {
	t.mu.RLock()
	s := t.slotLocked(k)
	same := s != nil && s.hasPull && s.pulled == next
	t.mu.RUnlock()
	if same {
		return
	}
	t.mu.Lock()
	s = t.makeSlotLocked(k)
	s.pulled, s.hasPull = next, true
	t.mu.Unlock()
}

// QueryPulled returns how far the group has pulled.
func (t *Table) QueryPulled(k Key) (int64, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if s := t.slotLocked(k); s != nil && s.hasPull {
		return s.pulled, true
	}
	return 0, false
}

// DataVersion of the table.
func (t *Table) DataVersion() protocol.DataVersion {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.version
}
