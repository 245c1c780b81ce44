package route

import "github.com/seedmq/seedmq/remoting/protocol"

// Unregister removes a broker at once. A broker that has registered on a newer session stays: the request is one of its past.
// removed is false when nothing was done.
func (t *Table) Unregister(id Identity, s Session) (n *Notice, removed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.mu.live[id.key()]
	if m == nil || m.Name != id.Name || s < m.session {
		return nil, false
	}
	t.log.Infof("broker %s[%d] at %s unregistered", m.Name, m.ID, m.Addr)
	return t.removeLocked(m), true
}

// CloseSession removes the brokers whose session ended.
func (t *Table) CloseSession(s Session) []*Notice {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []*Notice
	for m := range t.mu.sessions[s] {
		t.log.Infof("broker %s[%d] at %s: connection closed", m.Name, m.ID, m.Addr)
		out = appendNotice(out, t.removeLocked(m))
	}
	return out
}

// Expire removes the brokers that were silent for longer than their timeout, and returns their sessions for the caller to close.
func (t *Table) Expire() (closing []Session, notices []*Notice) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clk.Now()
	for _, m := range t.mu.live {
		if now.Sub(m.lastSeen) <= m.timeout {
			continue
		}
		t.log.Warnf("broker %s[%d] at %s was silent for more than %v", m.Name, m.ID, m.Addr, m.timeout)
		closing = append(closing, m.session)
		notices = appendNotice(notices, t.removeLocked(m))
	}
	return closing, notices
}

func appendNotice(list []*Notice, n *Notice) []*Notice {
	if n == nil {
		return list
	}
	return append(list, n)
}

// removeLocked takes m out of its broker group. The last member takes the group's topics along; where only slaves are left in
// acting-master mode, topics stay but cannot be written. A notice is returned when the smallest id left.
func (t *Table) removeLocked(m *member) *Notice {
	t.unlinkLocked(m)
	b := t.mu.brokers[m.Name]
	if b == nil || b.members[m.ID] != m {
		return nil
	}
	minID, _ := b.minID()
	delete(b.members, m.ID)
	t.invalidateBrokerLocked(b)
	if len(b.members) == 0 {
		for name := range b.topics {
			t.dropQueueLocked(b, name)
		}
		delete(t.mu.brokers, b.name)
		return nil
	}
	if !b.acting {
		return nil
	}
	if !b.hasMaster() {
		t.editPermsLocked(b, func(perm int32) int32 { return perm &^ protocol.PermWrite })
	}
	if m.ID != minID {
		return nil
	}
	return b.notice(m.Addr, "")
}

func (t *Table) editPermsLocked(b *broker, edit func(perm int32) int32) (topics int) {
	for name := range b.topics {
		tp := t.mu.topics[name]
		q, ok := tp.queues[b.name]
		if !ok {
			continue
		}
		q.Perm = edit(q.Perm)
		t.setQueueLocked(b, name, q)
		topics++
	}
	return topics
}
