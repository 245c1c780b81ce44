package route

import (
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// Registration is what a broker says of itself. The table keeps its strings and mappings, but not its maps and slices.
type Registration struct {
	Identity
	Session      Session
	HAAddr, Zone string
	// Timeout is how long the broker may be silent; 0 stands for DefaultTimeout.
	Timeout time.Duration
	// ActingMaster is enableActingMaster; brokers before 5.0 do not send it.
	ActingMaster protocol.Opt[bool]
	Version      protocol.DataVersion
	Topics       map[string]protocol.TopicConfig
	Mappings     map[string]*protocol.TopicQueueMappingInfo
	// Filters are the filter servers of brokers before 5.1.
	Filters []string
}

// Verdict says what became of a registration.
type Verdict uint8

// Verdicts.
const (
	// Accepted: the table says now what the registration said.
	Accepted Verdict = iota
	// Stale: a newer registration is in the table; nothing changed. The broker is told success, as RocketMQ does.
	Stale
	// Incomplete: one topic of a broker id that is not registered yet. The broker must register all topics first.
	Incomplete
)

func (v Verdict) String() string { return [...]string{"accepted", "stale", "incomplete"}[v] }

// Registered is the outcome of Register.
type Registered struct {
	Verdict Verdict
	// HAAddr and MasterAddr are those of the live master, for slaves.
	HAAddr, MasterAddr string
	Notice             *Notice // nil: nobody to tell
}

// Notice tells the members of a broker group that their smallest id changed.
type Notice struct {
	Targets     []string // addresses to tell
	Name        string
	MinID       int64
	MinAddr     string
	OfflineAddr string // who left, "" when somebody joined
	HAAddr      string // replication address of who joined
}

// Register applies r.
func (t *Table) Register(r *Registration) Registered {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.mu.brokers[r.Name]
	if b == nil {
		b = &broker{name: r.Name, cluster: r.Cluster, members: map[int64]*member{}, topics: map[string]struct{}{}}
	}
	sameAddr, sameID := t.mu.live[r.key()], b.members[r.ID]
	if sameAddr == nil && sameID != nil && sameID.Addr == r.Addr {
		sameAddr = sameID // its cluster changed
	}
	if t.staleLocked(r, sameAddr, sameID) {
		return Registered{Verdict: Stale}
	}
	if sameID == nil && len(r.Topics) == 1 {
		return Registered{Verdict: Incomplete}
	}
	if sameAddr != nil && (sameAddr.ID != r.ID || sameAddr.Name != r.Name) {
		t.log.Infof("broker %s[%d] at %s is now %s[%d]", sameAddr.Name, sameAddr.ID, r.Addr, r.Name, r.ID)
		t.removeLocked(sameAddr)
	}
	t.mu.brokers[r.Name] = b
	return t.acceptLocked(b, sameID, sameAddr, r)
}

// staleLocked decides whether something newer is in the table already.
//
//   - Another address holds the id: the greater stateVersion wins (a controller counts it up at each election), then the
//     newer session. RocketMQ lets the last to speak win, so that two masters of one name take turns.
//   - The same address: a registration of an older session is one that a reconnect has overtaken, unless its data is newer.
func (t *Table) staleLocked(r *Registration, sameAddr, sameID *member) bool {
	if sameID != nil && sameID.Addr != r.Addr {
		switch old, now := sameID.version.StateVersion, r.Version.StateVersion; {
		case old > now:
			t.log.Warnf("broker %s[%d] at %s ignored: %s is registered with state version %d > %d", r.Name, r.ID, r.Addr, sameID.Addr, old, now)
			if sameAddr != nil && sameAddr.session <= r.Session {
				t.removeLocked(sameAddr)
			}
			return true
		case old == now && r.Session < sameID.session:
			t.log.Warnf("broker %s[%d] at %s ignored: %s registered later under the same name and id", r.Name, r.ID, r.Addr, sameID.Addr)
			return true
		}
	}
	if sameAddr == nil || r.Session >= sameAddr.session || newer(&r.Version, &sameAddr.version) {
		return false
	}
	sameAddr.lastSeen = t.clk.Now()
	return true
}

// newer reports whether a was made after b by the same broker.
func newer(a, b *protocol.DataVersion) bool {
	if a.StateVersion != b.StateVersion {
		return a.StateVersion > b.StateVersion
	}
	if a.Timestamp != b.Timestamp {
		return a.Timestamp > b.Timestamp
	}
	return a.Counter > b.Counter
}

// acceptLocked makes r the registration of its id. prevID held the id, prevAddr the address (as another member or this one).
func (t *Table) acceptLocked(b *broker, prevID, prevAddr *member, r *Registration) Registered {
	prevMin, hadMembers := b.minID()
	m := &member{Identity: r.Identity, session: r.Session, ha: r.HAAddr, timeout: r.Timeout, lastSeen: t.clk.Now(),
		version: r.Version, filters: append([]string(nil), r.Filters...)}
	if m.timeout <= 0 {
		m.timeout = DefaultTimeout
	}
	sameMember := prevID != nil && prevID == prevAddr
	if sameMember {
		m.session = max(m.session, prevID.session)
	}
	if prevID != nil {
		t.unlinkLocked(prevID)
	} else {
		t.log.Infof("broker %s[%d] of %s registered at %s", r.Name, r.ID, r.Cluster, r.Addr)
	}
	t.describeLocked(b, r, !sameMember)
	b.members[r.ID] = m
	t.linkLocked(m)

	all := prevID == nil || prevAddr == nil || prevAddr.version != r.Version
	t.publishLocked(b, r, all, prevID == nil)

	res := Registered{}
	if master := b.members[masterID]; master != nil && r.ID != masterID {
		res.HAAddr, res.MasterAddr = master.ha, master.Addr
	}
	if hadMembers && r.ID < prevMin {
		res.Notice = b.notice("", r.HAAddr)
	}
	return res
}

// describeLocked takes over what a registration says of the whole broker group.
func (t *Table) describeLocked(b *broker, r *Registration, membersChange bool) {
	acting := r.ActingMaster.Or(false)
	alone := len(b.members) == 0 || len(b.members) == 1 && b.members[r.ID] != nil
	if membersChange || b.acting != acting || b.zone != r.Zone || (alone && b.cluster != r.Cluster) || len(r.Filters) > 0 {
		t.invalidateBrokerLocked(b)
	}
	b.acting, b.zone = acting, r.Zone
	if alone {
		b.cluster = r.Cluster
	}
}

// publishLocked puts the topics of r into the table. Only a master does, or a prime slave: the one with the smallest id.
// all says that every topic may differ; otherwise only those are added that the table does not have.
func (t *Table) publishLocked(b *broker, r *Registration, all, first bool) {
	minID, _ := b.minID()
	prime := r.ActingMaster.OK && r.ID != masterID && r.ID == minID
	if r.ID != masterID && !prime {
		return
	}
	// A table of one topic is an addition, never the whole: a broker has system topics.
	if t.mu.config.DeleteMissing && len(r.Mappings) == 0 && len(r.Topics) != 1 {
		for name := range b.topics {
			if _, stays := r.Topics[name]; !stays {
				t.dropQueueLocked(b, name)
			}
		}
	}
	for name, c := range r.Topics {
		if _, has := b.topics[name]; has && !all {
			continue
		}
		q := protocol.QueueData{BrokerName: b.name, ReadQueueNums: c.ReadQueueNums, WriteQueueNums: c.WriteQueueNums,
			Perm: c.Perm, TopicSysFlag: c.TopicSysFlag}
		if prime && b.acting {
			q.Perm &^= protocol.PermWrite
		}
		t.setQueueLocked(b, name, q)
	}
	if all || first {
		t.mapLocked(r.Mappings)
	}
}

// mapLocked stores the mappings of static topics, under the broker that each names.
func (t *Table) mapLocked(mappings map[string]*protocol.TopicQueueMappingInfo) {
	for name, info := range mappings {
		tp := t.mu.topics[name]
		if tp == nil || info == nil {
			continue
		}
		if tp.mapping == nil {
			tp.mapping = map[string]*protocol.TopicQueueMappingInfo{}
		}
		tp.mapping[info.BrokerName] = info
		t.invalidateLocked(name)
	}
}

// notice describes the members of b after a change, nil when nobody is left to tell.
func (b *broker) notice(offline, ha string) *Notice {
	minID, ok := b.minID()
	if !ok {
		return nil
	}
	n := &Notice{Name: b.name, MinID: minID, MinAddr: b.members[minID].Addr, OfflineAddr: offline, HAAddr: ha}
	for id, m := range b.members {
		if offline != "" || len(b.members) == 1 || id != minID {
			n.Targets = append(n.Targets, m.Addr)
		}
	}
	return n
}

// Heartbeat says that a broker is alive: it was heard on session s. A newer session takes the broker over, so that the end of
// the older one does not remove it. known is false for a broker that is not registered.
func (t *Table) Heartbeat(cluster, addr string, s Session) (v protocol.DataVersion, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.mu.live[liveKey{cluster, addr}]
	if m == nil {
		return protocol.DataVersion{}, false
	}
	m.lastSeen = t.clk.Now()
	t.moveLocked(m, s)
	return m.version, true
}
