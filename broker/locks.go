package broker

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// lockTTL is how long a queue stays locked after its owner asked last. Clients ask every 20 s.
const lockTTL = 60 * time.Second

// queueLocks says which client of an ordered group has which queue. Safe for concurrent use; it does no I/O.
//
// A lock ends when its owner gives it back, when the connection that asked for it last ends, or when nobody has asked for lockTTL.
// Whoever was refused a queue in the meantime is returned then, to be told to ask again.
type queueLocks struct {
	clk clock.Clock

	mu     sync.Mutex
	groups map[string]map[protocol.MessageQueue]queueLock
	conns  map[uint64]map[string]bool // by connection: the groups in which it may have locks
}

type queueLock struct {
	client string
	conn   uint64 // that asked last
	asked  int64  // ms: when it asked last
	until  int64  // ms
	// waiting is the connection that was refused last, 0 for none.
	waiting uint64
}

// waiters are connections that wait for a queue, by group.
type waiters map[string][]uint64

func (w *waiters) add(group string, k queueLock) {
	if k.waiting == 0 || slices.Contains((*w)[group], k.waiting) {
		return
	}
	if *w == nil {
		*w = waiters{}
	}
	(*w)[group] = append((*w)[group], k.waiting)
}

func newQueueLocks(c clock.Clock) *queueLocks {
	return &queueLocks{clk: c, groups: map[string]map[protocol.MessageQueue]queueLock{}, conns: map[uint64]map[string]bool{}}
}

// asker is who asks for locks.
type asker struct {
	conn   uint64
	client string
	// keeps says that the client does not give back the locks of queues that a rebalance took from it, as Go's does not. They show by
	// their absence when it renews those that it has.
	keeps bool
}

// lock gives the client those of qs that are free, its own, or expired, and returns them, and who waits for what became free.
// Strings are copied.
func (l *queueLocks) lock(by asker, group string, qs []protocol.MessageQueue) (got []protocol.MessageQueue, free waiters) {
	now := clock.Millis(l.clk)
	l.mu.Lock()
	defer l.mu.Unlock()
	got = make([]protocol.MessageQueue, 0, len(qs))
	if len(qs) == 0 {
		return got, nil
	}
	locks := l.groups[group]
	if locks == nil {
		group = strings.Clone(group)
		locks = map[protocol.MessageQueue]queueLock{}
		l.groups[group] = locks
	}
	l.linkLocked(by.conn, group)
	client := strings.Clone(by.client)
	all := by.keeps && renewal(locks, client, qs, now)
	for _, q := range qs {
		if have, ok := locks[q]; ok && have.client != client && have.until > now {
			have.waiting = by.conn
			locks[q] = have
			continue
		}
		locks[protocol.MessageQueue{BrokerName: strings.Clone(q.BrokerName), QueueID: q.QueueID, Topic: strings.Clone(q.Topic)}] =
			queueLock{client: client, conn: by.conn, asked: now, until: now + lockTTL.Milliseconds()}
		got = append(got, q)
	}
	if all {
		dropLeft(locks, group, client, now, &free)
	}
	return got, free
}

const (
	// leftAfter is how old a lock must be to count as left: a client that just got it may not have it in its list yet.
	leftAfter = 2 * time.Second
	// renewAfter tells a renewal of a client's only lock, every 20 s unless it is set otherwise, from questions in quick succession.
	renewAfter = 3 * time.Second
)

// renewal says whether qs is all that the client has, not one more.
func renewal(locks map[protocol.MessageQueue]queueLock, client string, qs []protocol.MessageQueue, now int64) bool {
	have, ok := locks[qs[0]]
	return len(qs) > 1 || ok && have.client == client && now-have.asked >= renewAfter.Milliseconds()
}

// dropLeft frees locks that the client did not renew with its others and somebody waits for.
func dropLeft(locks map[protocol.MessageQueue]queueLock, group, client string, now int64, free *waiters) {
	for q, k := range locks {
		if k.client == client && k.waiting != 0 && now-k.asked >= leftAfter.Milliseconds() {
			delete(locks, q)
			free.add(group, k)
		}
	}
}

func (l *queueLocks) linkLocked(conn uint64, group string) {
	groups := l.conns[conn]
	if groups == nil {
		groups = map[string]bool{}
		l.conns[conn] = groups
	}
	if !groups[group] {
		groups[strings.Clone(group)] = true
	}
}

// releaseGroup frees what a connection has in a group: its client leaves the group.
func (l *queueLocks) releaseGroup(conn uint64, group string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.releaseLocked(conn, group, new(waiters))
	if groups := l.conns[conn]; groups != nil {
		delete(groups, group)
		if len(groups) == 0 {
			delete(l.conns, conn)
		}
	}
}

// release frees what a connection has, because it ended. The owner may live on and come back over another connection; until then nobody
// can tell, and its queues must not stand still. It returns how many queues that is, and who waits for them.
func (l *queueLocks) release(conn uint64) (n int, free waiters) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for group := range l.conns[conn] {
		n += l.releaseLocked(conn, group, &free)
	}
	delete(l.conns, conn)
	return n, free
}

func (l *queueLocks) releaseLocked(conn uint64, group string, free *waiters) (n int) {
	locks := l.groups[group]
	for q, k := range locks {
		if k.conn == conn {
			delete(locks, q)
			free.add(group, k)
			n++
		}
	}
	if len(locks) == 0 {
		delete(l.groups, group)
	}
	return n
}

// unlock frees those of qs that the client has, and returns who waits for them.
func (l *queueLocks) unlock(group, client string, qs []protocol.MessageQueue) (free waiters) {
	l.mu.Lock()
	defer l.mu.Unlock()
	locks := l.groups[group]
	for _, q := range qs {
		if k, ok := locks[q]; ok && k.client == client {
			delete(locks, q)
			free.add(group, k)
		}
	}
	if len(locks) == 0 {
		delete(l.groups, group)
	}
	return free
}

// heldByGroup says whether the group has a lock that has not expired: it consumes in order.
func (l *queueLocks) heldByGroup(group string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := clock.Millis(l.clk)
	for _, k := range l.groups[group] {
		if k.until > now {
			return true
		}
	}
	return false
}

// expire forgets what expired, so that the table does not grow with groups that are gone, and returns who waits for it.
func (l *queueLocks) expire() (free waiters) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := clock.Millis(l.clk)
	for name, locks := range l.groups {
		for q, k := range locks {
			if k.until <= now {
				delete(locks, q)
				free.add(name, k)
			}
		}
		if len(locks) == 0 {
			delete(l.groups, name)
		}
	}
	return free
}
