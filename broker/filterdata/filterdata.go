// Package filterdata keeps what consumer groups filter by other than tags, in config/consumerFilter.json as Java keeps it, so that
// either broker can go on with the other's file.
//
// The filters that pulls use are compiled with the subscriptions (package clients); this table is the record of them: since when a
// group has its expression, when its last member went, and which bits of Java's bloom filter are its own. Table is safe for
// concurrent use; it has one lock, under which nothing else is done.
package filterdata

import (
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/configfile"
	"github.com/seedmq/seedmq/store/fs"
)

// keepDead is for how long the data of a group without members is kept: Java's filterDataCleanTimeSpan.
const keepDead = 24 * time.Hour

// deadBefore is for how long members are thought to be gone when the table is loaded.
const deadBefore = 30 * time.Second

// Data is what one group filters one topic by. The fields stand in the order of Java's file.
type Data struct {
	Bloom          *Bloom `json:"bloomFilterData"`
	BornTime       int64  `json:"bornTime"`      // ms: since when the group has this expression
	ClientVersion  int64  `json:"clientVersion"` // subVersion of the subscription
	ConsumerGroup  string `json:"consumerGroup"`
	DeadTime       int64  `json:"deadTime"` // ms: when the last member went; 0 while one is there
	Expression     string `json:"expression"`
	ExpressionType string `json:"expressionType"`
	Topic          string `json:"topic"`
}

// Dead says whether the group has no members that want this.
func (d *Data) Dead() bool { return d.DeadTime >= d.BornTime }

// body is consumerFilter.json.
type body struct {
	FilterDataByTopic map[string]*topicData `json:"filterDataByTopic"`
}

type topicData struct {
	GroupFilterData map[string]*Data `json:"groupFilterData"`
	Topic           string           `json:"topic"`
}

// Options are what a table is made of.
type Options struct {
	FS    fs.FS
	Path  string
	Clock clock.Clock
	Log   *xlog.Logger
}

// Table is all filter data of a broker.
type Table struct {
	o    Options
	file *configfile.Writer

	mu     sync.Mutex
	topics map[string]*topicData
}

// New returns an empty table.
func New(o Options) *Table {
	t := &Table{o: o, topics: map[string]*topicData{}}
	t.file = configfile.NewWriter(o.FS, o.Path, t.snapshot)
	return t
}

// Load reads the table from disk. Call it once, before use. After configfile.ErrCorrupt the table is empty and can be used; so it is
// after a file whose bloom filter is another one, which Java ignores as a whole too.
func (t *Table) Load() error {
	var f body
	if _, err := t.file.Load(&f); err != nil {
		return err
	}
	now := clock.Millis(t.o.Clock)
	for topic, of := range f.FilterDataByTopic {
		if of == nil {
			delete(f.FilterDataByTopic, topic)
			continue
		}
		of.Topic = topic
		for group, d := range of.GroupFilterData {
			switch {
			case d == nil:
				delete(of.GroupFilterData, group)
				continue
			case !d.Bloom.fits():
				t.o.Log.Warnf("%s was written with another bloom filter: it is ignored, heartbeats make it anew", t.o.Path)
				return nil
			case d.DeadTime == 0:
				d.DeadTime = max(d.BornTime, now-deadBefore.Milliseconds())
			}
			d.Topic, d.ConsumerGroup = topic, group
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.FilterDataByTopic != nil {
		t.topics = f.FilterDataByTopic
	}
	return nil
}

// Register notes what a member of a group wants of a topic; its expression is one that can be compiled. What is older than what the
// table has is ignored. Tags are not kept here.
func (t *Table) Register(group string, s *protocol.SubscriptionData) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.getLocked(s.Topic, group)
	switch {
	case old == nil || s.SubVersion > old.ClientVersion && (old.Expression != s.SubString || old.ExpressionType != s.ExpressionType):
		t.putLocked(&Data{Bloom: bloomOf(group, s.Topic), BornTime: clock.Millis(t.o.Clock), ClientVersion: s.SubVersion,
			ConsumerGroup: strings.Clone(group), Expression: strings.Clone(s.SubString), ExpressionType: strings.Clone(s.ExpressionType),
			Topic: strings.Clone(s.Topic)})
	case s.SubVersion > old.ClientVersion || s.SubVersion == old.ClientVersion && old.Dead():
		d := *old
		d.ClientVersion, d.DeadTime = s.SubVersion, 0
		t.putLocked(&d)
	}
}

// Refused notes that a member's newest expression cannot be compiled: what the group had before is forgotten, as in Java.
func (t *Table) Refused(group string, s *protocol.SubscriptionData) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.getLocked(s.Topic, group); old != nil && s.SubVersion > old.ClientVersion {
		t.dropLocked(s.Topic, group)
	}
}

// Get is what the group filters the topic by.
func (t *Table) Get(topic, group string) (Data, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d := t.getLocked(topic, group); d != nil {
		return *d, true
	}
	return Data{}, false
}

// Sweep marks what is not wanted any more as dead, and drops what is dead for a day. Call it every few seconds. wanted may take
// locks.
func (t *Table) Sweep(wanted func(topic, group string) bool) {
	now := clock.Millis(t.o.Clock)
	for _, d := range t.all() {
		switch {
		case !d.Dead() && !wanted(d.Topic, d.ConsumerGroup):
			t.replace(d, now)
		case d.Dead() && now-d.DeadTime >= keepDead.Milliseconds():
			t.replace(d, 0)
		}
	}
}

// all lists the data; they are not changed, but replaced.
func (t *Table) all() (list []*Data) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, of := range t.topics {
		for _, d := range of.GroupFilterData {
			list = append(list, d)
		}
	}
	return list
}

// replace makes d dead since a time, or drops it for 0, unless somebody has changed it meanwhile.
func (t *Table) replace(d *Data, dead int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.getLocked(d.Topic, d.ConsumerGroup) != d {
		return
	}
	if dead == 0 {
		t.dropLocked(d.Topic, d.ConsumerGroup)
		return
	}
	c := *d
	c.DeadTime = max(dead, c.BornTime)
	t.putLocked(&c)
}

func (t *Table) getLocked(topic, group string) *Data {
	if of := t.topics[topic]; of != nil {
		return of.GroupFilterData[group]
	}
	return nil
}

func (t *Table) putLocked(d *Data) {
	of := t.topics[d.Topic]
	if of == nil {
		of = &topicData{Topic: d.Topic}
		t.topics[d.Topic] = of
	}
	if of.GroupFilterData == nil {
		of.GroupFilterData = map[string]*Data{}
	}
	of.GroupFilterData[d.ConsumerGroup] = d
	t.file.Mark()
}

func (t *Table) dropLocked(topic, group string) {
	of := t.topics[topic]
	delete(of.GroupFilterData, group)
	if len(of.GroupFilterData) == 0 {
		delete(t.topics, topic)
	}
	t.file.Mark()
}

// snapshot is the table as it goes to disk.
func (t *Table) snapshot() any {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := &body{FilterDataByTopic: make(map[string]*topicData, len(t.topics))}
	for topic, of := range t.topics {
		b.FilterDataByTopic[topic] = &topicData{Topic: topic, GroupFilterData: maps.Clone(of.GroupFilterData)}
	}
	return b
}

// Save writes what changed since the last time.
func (t *Table) Save() error { return t.file.Flush() }
