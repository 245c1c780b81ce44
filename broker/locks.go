package broker

import (
	"strings"
	"sync"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// lockTTL is how long a queue stays locked after its owner asked last. Clients ask every 20 s.
const lockTTL = 60 * time.Second

// queueLocks says which client of an ordered group has which queue. Safe for concurrent use; it does no I/O.
type queueLocks struct {
	clk clock.Clock

	mu     sync.Mutex
	groups map[string]map[protocol.MessageQueue]queueLock
}

type queueLock struct {
	client string
	until  int64 // ms
}

func newQueueLocks(c clock.Clock) *queueLocks {
	return &queueLocks{clk: c, groups: map[string]map[protocol.MessageQueue]queueLock{}}
}

// lock gives the client those of qs that are free, its own, or expired, and returns them. Strings are copied.
func (l *queueLocks) lock(group, client string, qs []protocol.MessageQueue) []protocol.MessageQueue {
	now := clock.Millis(l.clk)
	l.mu.Lock()
	defer l.mu.Unlock()
	locks := l.groups[group]
	if locks == nil {
		locks = map[protocol.MessageQueue]queueLock{}
		l.groups[strings.Clone(group)] = locks
	}
	client = strings.Clone(client)
	got := make([]protocol.MessageQueue, 0, len(qs))
	for _, q := range qs {
		if have, ok := locks[q]; ok && have.client != client && have.until > now {
			continue
		}
		locks[protocol.MessageQueue{BrokerName: strings.Clone(q.BrokerName), QueueID: q.QueueID, Topic: strings.Clone(q.Topic)}] =
			queueLock{client: client, until: now + lockTTL.Milliseconds()}
		got = append(got, q)
	}
	return got
}

// unlock frees those of qs that the client has.
func (l *queueLocks) unlock(group, client string, qs []protocol.MessageQueue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	locks := l.groups[group]
	for _, q := range qs {
		if locks[q].client == client {
			delete(locks, q)
		}
	}
	if len(locks) == 0 {
		delete(l.groups, group)
	}
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

// expire forgets what expired, so that the table does not grow with groups that are gone.
func (l *queueLocks) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := clock.Millis(l.clk)
	for name, locks := range l.groups {
		for q, k := range locks {
			if k.until <= now {
				delete(locks, q)
			}
		}
		if len(locks) == 0 {
			delete(l.groups, name)
		}
	}
}
