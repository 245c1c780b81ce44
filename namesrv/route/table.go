package route

import (
	"sync"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// DefaultTimeout is how long a broker that named no timeout may be silent.
const DefaultTimeout = 120 * time.Second

// masterID is the broker id of a master.
const masterID = 0

// Session numbers a connection. A greater number was opened later.
type Session uint64

// Identity names one broker process.
type Identity struct {
	Cluster, Name, Addr string
	ID                  int64
}

// Config is what may change while the table is in use.
type Config struct {
	// SupportActingMaster shows the slave with the smallest id as id 0 where there is no master.
	SupportActingMaster bool
	// DeleteMissing drops topics of a broker that are not in its full registration.
	DeleteMissing bool
	// OrderConf attaches the order configuration of a topic to its route.
	OrderConf bool
}

// Options make a Table.
type Options struct {
	Config Config
	Clock  clock.Clock  // nil: the system's
	Log    *xlog.Logger // nil: none
	// Order returns the order configuration of a topic, "" for none. It is called with the table locked.
	Order func(topic string) string
}

// Table is the route table. Make it with New.
type Table struct {
	clk   clock.Clock
	log   *xlog.Logger
	order func(topic string) string

	mu struct {
		sync.RWMutex
		config   Config
		brokers  map[string]*broker
		live     map[liveKey]*member
		sessions map[Session]map[*member]struct{}
		topics   map[string]*topic
		replies  map[replyKey][]byte // encoded routes, dropped by invalidateLocked
		zones    map[string]struct{} // zones that replies were built for
		cluster  []byte              // encoded ClusterInfo, nil after a change
	}
}

// broker is all members of one brokerName.
type broker struct {
	name, cluster, zone string
	acting              bool // enableActingMaster of the last registration
	members             map[int64]*member
	topics              map[string]struct{}
}

// member is one live broker process.
type member struct {
	Identity
	session  Session
	ha       string
	timeout  time.Duration
	lastSeen time.Time
	version  protocol.DataVersion
	filters  []string
}

type liveKey struct{ cluster, addr string }

func (i *Identity) key() liveKey { return liveKey{i.Cluster, i.Addr} }

// topic is the queues of one topic by broker name. An entry without queues does not exist.
type topic struct {
	queues  map[string]protocol.QueueData
	mapping map[string]*protocol.TopicQueueMappingInfo
}

// replyKey names a reply: zone is "" or lower case.
type replyKey struct{ topic, zone string }

// New returns an empty table.
func New(o Options) *Table {
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	if o.Order == nil {
		o.Order = func(string) string { return "" }
	}
	t := &Table{clk: o.Clock, log: o.Log, order: o.Order}
	t.mu.config = o.Config
	t.mu.brokers = map[string]*broker{}
	t.mu.live = map[liveKey]*member{}
	t.mu.sessions = map[Session]map[*member]struct{}{}
	t.mu.topics = map[string]*topic{}
	t.mu.replies = map[replyKey][]byte{}
	t.mu.zones = map[string]struct{}{}
	return t
}

// SetConfig replaces the configuration.
func (t *Table) SetConfig(c Config) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.config = c
	clear(t.mu.replies)
}

// Invalidate drops the replies of one topic: its order configuration changed.
func (t *Table) Invalidate(topic string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.invalidateLocked(topic)
}

func (t *Table) invalidateLocked(topic string) {
	delete(t.mu.replies, replyKey{topic, ""})
	for zone := range t.mu.zones {
		delete(t.mu.replies, replyKey{topic, zone})
	}
}

// invalidateBrokerLocked drops the replies that show b, after a change of its members, zone or mode.
func (t *Table) invalidateBrokerLocked(b *broker) {
	t.mu.cluster = nil
	for name := range b.topics {
		t.invalidateLocked(name)
	}
}

// minID is the smallest id of the live members; ok is false when there is none.
func (b *broker) minID() (id int64, ok bool) {
	for i := range b.members {
		if !ok || i < id {
			id, ok = i, true
		}
	}
	return id, ok
}

func (b *broker) hasMaster() bool { return b.members[masterID] != nil }

// setQueueLocked stores the queues of topic name on b and reports a change.
func (t *Table) setQueueLocked(b *broker, name string, q protocol.QueueData) {
	tp := t.mu.topics[name]
	if tp == nil {
		tp = &topic{queues: map[string]protocol.QueueData{}}
		t.mu.topics[name] = tp
	}
	b.topics[name] = struct{}{}
	if old, had := tp.queues[b.name]; had && old == q {
		return
	}
	tp.queues[b.name] = q
	t.invalidateLocked(name)
}

// dropQueueLocked removes topic name from b, and the topic when that was its last broker.
func (t *Table) dropQueueLocked(b *broker, name string) {
	delete(b.topics, name)
	t.invalidateLocked(name)
	tp := t.mu.topics[name]
	if tp == nil {
		return
	}
	delete(tp.queues, b.name)
	delete(tp.mapping, b.name)
	if len(tp.queues) == 0 {
		delete(t.mu.topics, name)
	}
}

// linkLocked puts m into its session and the live table.
func (t *Table) linkLocked(m *member) {
	t.mu.live[m.key()] = m
	s := t.mu.sessions[m.session]
	if s == nil {
		s = map[*member]struct{}{}
		t.mu.sessions[m.session] = s
	}
	s[m] = struct{}{}
}

func (t *Table) unlinkLocked(m *member) {
	if t.mu.live[m.key()] == m {
		delete(t.mu.live, m.key())
	}
	s := t.mu.sessions[m.session]
	delete(s, m)
	if len(s) == 0 {
		delete(t.mu.sessions, m.session)
	}
}

// moveLocked gives m a newer session.
func (t *Table) moveLocked(m *member, s Session) {
	if s <= m.session {
		return
	}
	t.unlinkLocked(m)
	m.session = s
	t.linkLocked(m)
}
