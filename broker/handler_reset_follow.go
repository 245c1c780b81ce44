package broker

// How the live members of a group follow a reset.
//
// A pull of a queue with a pending reset is answered with PULL_OFFSET_MOVED and the new offset. Java's clients from 5.2 on obey at once.
// Older ones, and those of other languages, first wait for 10 s, as they do for a pushed 220. What they do at once is to give up queues that
// are no longer theirs, and to ask for the offset of queues that are new to them. So they are made to do that:
//
//	member                                 broker
//	  | <-- 40 members have changed --------- |  the member is leaving
//	  | --- 38 who are the members? --------> |  (once for each topic that it subscribes to)
//	  | <-- everyone but you ---------------- |  it drops its queues, with the messages that it has cached; its
//	  | --- 15 last commits ----------------> |  commits are ignored, for the reset is pending
//	  | <-- 40 members have changed --------- |  it has left, and is back
//	  | --- 38, 14 offset of each queue? ---> |
//	  | <-- the new offset ------------------ |
//	  | --- 11 pull from there -------------> |  the reset is no longer pending
//
// The other members see no change. A pull in between from the old offset is answered SYSTEM_BUSY, at which the client waits for 3 s and by
// then has dropped the queue. A client that does not come to ask, or holds on to a queue because its listener is busy, is made to
// leave again, a few times; its next pull is told PULL_OFFSET_MOVED when that did not help.

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/broker/clients"
	"github.com/seedmq/seedmq/broker/offset"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

const (
	// obeysVersion is the first of Java's clients that goes to the offset of PULL_OFFSET_MOVED at once (V5_2_0).
	obeysVersion = 453

	leaveAsks   = time.Second            // for so long, at most, a member is told that it is none
	leavePause  = 150 * time.Millisecond // between its last question and its return: it is dropping its queues
	leaveBusy   = 2 * time.Second        // for so long its pulls from old offsets are put off
	leaveRounds = 4
	leaveAgain  = 1500 * time.Millisecond // until the second round; each later one waits twice as long

	// standIn is who is in a group whose only member is leaving: an empty list would be no answer to a client.
	standIn = "RESET_IN_PROGRESS"
)

// followers are the members that are leaving to come back. The zero value is ready; safe for concurrent use.
type followers struct {
	n atomic.Int32 // entries: 0, nearly always, costs no lock

	mu      sync.Mutex
	members map[memberKey]*leave
}

type memberKey struct {
	conn  uint64
	group string
}

// leave is one member's absence.
type leave struct {
	asks  int   // questions that are still answered without it
	busy  int64 // ms: until when its pulls from old offsets are put off
	asked chan struct{}
}

// begin notes that a member is leaving, and returns what is closed once it has asked as often as it subscribes to topics.
func (f *followers) begin(k memberKey, asks int, busy int64) *leave {
	l := &leave{asks: max(1, asks), busy: busy, asked: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.members == nil {
		f.members = map[memberKey]*leave{}
	}
	if f.members[k] == nil {
		f.n.Add(1)
	}
	f.members[k] = l
	return l
}

// back ends the time of wrong answers.
func (f *followers) back(l *leave) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l.asks = 0
}

// end forgets the absence l, unless another has begun.
func (f *followers) end(k memberKey, l *leave) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.members[k] == l {
		delete(f.members, k)
		f.n.Add(-1)
	}
}

// leaving says whether the answer to who is in the group leaves out the one that asks.
func (f *followers) leaving(conn uint64, group string) bool {
	if f.n.Load() == 0 {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.members[memberKey{conn, group}]
	if l == nil || l.asks == 0 {
		return false
	}
	if l.asks--; l.asks == 0 {
		close(l.asked)
	}
	return true
}

// putOff says whether a pull from an old offset is put off.
func (f *followers) putOff(conn uint64, group string, now int64) bool {
	if f.n.Load() == 0 {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.members[memberKey{conn, group}]
	return l != nil && now < l.busy
}

// obeysAtOnce says whether a client goes to the offset of PULL_OFFSET_MOVED without waiting.
func obeysAtOnce(m *clients.Member) bool {
	return m.Language.String() == languageJava && m.Version >= obeysVersion
}

// followReset makes the members of a group follow a reset of queues of a topic.
func (b *Broker) followReset(group, topic string, keys []offset.Key) {
	if slow := b.slowMembers(group, topic); len(slow) > 0 {
		absent := b.leaveGroup(group, slow)
		err := b.jobs.Go("reset-follow", func(ctx context.Context) { b.comeBack(ctx, group, topic, keys, absent) })
		if err != nil {
			b.log.Debugf("reset of group %s: %v", group, err)
		}
	}
	b.held.WakeAll(topic) // held pulls carry the offsets from before
	b.popWaits.WakeAll(topic)
}

// followClone makes the members of a group that got the offsets of another follow them. A group without members has nobody to tell.
func (b *Broker) followClone(group, from, topic, who string) {
	if _, online := b.clients.Consumers(group); !online {
		return
	}
	var keys []offset.Key
	for id, off := range b.offsets.Queues(from, topic) {
		k := offset.Key{Group: group, Topic: topic, QueueID: id}
		b.offsets.Reset(k, off, who)
		keys = append(keys, k)
	}
	b.followReset(group, topic, keys)
}

// slowMembers are the push consumers of a group, and a topic, that do not obey at once; none when they may not be told.
func (b *Broker) slowMembers(group, topic string) []clients.Member {
	g, _ := b.clients.Consumers(group)
	if !b.notifyEnabled(group) || g.MessageModel == protocol.ModelBroadcasting || g.ConsumeType != protocol.ConsumePassively || g.Subscriptions[topic] == nil {
		return nil
	}
	return slices.DeleteFunc(g.Members, func(m clients.Member) bool { return obeysAtOnce(&m) })
}

// leaveGroup makes members ask who is in the group, and answers without them.
func (b *Broker) leaveGroup(group string, members []clients.Member) map[memberKey]*leave {
	g, _ := b.clients.Consumers(group)
	absent := make(map[memberKey]*leave, len(members))
	for i := range members {
		k := memberKey{members[i].Conn.ID(), group}
		absent[k] = b.followers.begin(k, len(g.Subscriptions), clock.Millis(b.clk)+leaveBusy.Milliseconds())
	}
	for i := range members {
		b.tellMember(group, members[i].Conn)
	}
	return absent
}

// comeBack lets absent members back in, and makes them leave again while the reset of a queue is pending.
func (b *Broker) comeBack(ctx context.Context, group, topic string, keys []offset.Key, absent map[memberKey]*leave) {
	again := leaveAgain
	for round := 1; ; round++ {
		b.awaitAsked(ctx, absent)
		b.pause(ctx, leavePause)
		for _, l := range absent {
			b.followers.back(l)
		}
		b.tellMembers(group)
		b.pause(ctx, again)
		for k, l := range absent {
			b.followers.end(k, l)
		}
		if ctx.Err() != nil || round == leaveRounds || !slices.ContainsFunc(keys, b.offsets.HasReset) {
			return
		}
		again *= 2
		slow := b.slowMembers(group, topic)
		if len(slow) == 0 {
			return
		}
		b.log.Infof("reset of group %s, topic %s: its members have not followed, round %d", group, topic, round+1)
		absent = b.leaveGroup(group, slow)
	}
}

// awaitAsked waits until all that are absent have asked, but not long.
func (b *Broker) awaitAsked(ctx context.Context, absent map[memberKey]*leave) {
	t := b.clk.NewTimer(leaveAsks)
	defer t.Stop()
	for _, l := range absent {
		select {
		case <-l.asked:
		case <-t.C():
			return
		case <-ctx.Done():
			return
		}
	}
}

func (b *Broker) pause(ctx context.Context, d time.Duration) {
	t := b.clk.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
	case <-ctx.Done():
	}
}

// withoutMember is a group's list for a member that is leaving.
func (b *Broker) withoutMember(ids []string, group string, conn uint64) []string {
	g, _ := b.clients.Consumers(group)
	for i := range g.Members {
		if g.Members[i].Conn.ID() == conn {
			ids = slices.DeleteFunc(ids, func(id string) bool { return id == g.Members[i].ClientID })
		}
	}
	if len(ids) == 0 {
		ids = append(ids, standIn)
	}
	return ids
}

// sentTo answers a pull of a queue that was reset to another offset. It returns false when the consumer is there already, with nothing
// from elsewhere in its hands: then the pull is served.
func (p *puller) sentTo(to int64, key offset.Key, q *pull, h *protocol.PullMessageRequestHeader) bool {
	consumed := int64(0) // clients do not say so when they have consumed up to 0
	if h.SysFlag&protocol.PullFlagCommitOffset != 0 {
		consumed = h.CommitOffset
	}
	if q.offset == to && consumed == to {
		p.b.offsets.TakeReset(key)
		return false
	}
	if p.b.followers.putOff(q.c.ID(), key.Group, clock.Millis(p.b.clk)) {
		fail(q.c, q.request(), refuse(protocol.RespSystemBusy, "the offset is being reset to %d", to))
		return true
	}
	next, pending := p.b.offsets.TakeReset(key)
	if !pending {
		return false
	}
	res := store.GetResult{NextBeginOffset: next}
	res.MinOffset, res.MaxOffset, _ = p.b.store.QueueRange(key.Topic, key.QueueID)
	q.reply(protocol.RespPullOffsetMoved, "OFFSET_RESET", p.header(q, &res))
	return true
}
