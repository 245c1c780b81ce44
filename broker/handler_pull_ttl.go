package broker

import (
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/store"
)

// firstLive is where the messages of a queue from offset on begin that are not older than the topic's message.ttl.ms: offset itself if the
// topic has none. cold says that the disk would have to be read to tell, and hot that this must not be done.
func (b *Broker) firstLive(t *topic.Entry, queueID int32, offset int64, hot bool) (next int64, cold bool) {
	if t.Limits.TTL == 0 {
		return offset, false
	}
	oldest := clock.Millis(b.clk) - t.Limits.TTL.Milliseconds()
	return b.store.SkipOlder(t.Name(), queueID, offset, oldest, hot)
}

// passOver moves q behind messages that are too old to be delivered, and says whether that was the end of it: q was handed to a goroutine
// that may read the disk, or answered, since nothing is left in the queue. That answer is the one for messages
// which a filter dropped, and has the client come again at the end.
func (p *puller) passOver(q *pull, hot bool) (done bool) {
	next, cold := p.b.firstLive(q.topic, q.queueID, q.offset, hot)
	if cold {
		p.readCold(q)
		return true
	}
	n := next - q.offset
	if n <= 0 {
		return false
	}
	q.offset = next
	p.b.expired.Add(n)
	p.b.log.Limited(p.b.clk, "ttl "+q.group.Name(), time.Minute).Infof("group %s passes over %d messages of topic %s queue %d, which are older than %s allows",
		q.group.Name(), n, q.topic.Name(), q.queueID, topic.AttributeMessageTTLMs)
	res := store.GetResult{Status: store.GetNoMatched, NextBeginOffset: next}
	res.MinOffset, res.MaxOffset, _ = p.b.store.QueueRange(q.topic.Name(), q.queueID)
	if next < res.MaxOffset {
		return false
	}
	p.note(q, &res)
	code, remark := pullCode(res.Status, next)
	q.reply(code, remark, p.header(q, &res))
	return true
}

// youngOnly is f, or for a topic with a TTL a filter that also refuses what is too old now. Pops use it: they share a queue, and each message that
// none of them gets is passed over as one that their filter refuses.
func (b *Broker) youngOnly(t *topic.Entry, f store.Filter) store.Filter {
	if t.Limits.TTL == 0 {
		return f
	}
	return &youngFilter{inner: f, oldest: clock.Millis(b.clk) - t.Limits.TTL.Milliseconds(), expired: &b.expired}
}

// youngFilter refuses what was stored before a time, and counts what only it refuses.
type youngFilter struct {
	inner   store.Filter // nil: takes all
	oldest  int64        // ms
	expired *atomic.Int64
}

func (y *youngFilter) MatchTagsCode(code int64) bool {
	return y.inner == nil || y.inner.MatchTagsCode(code)
}

func (y *youngFilter) MatchRecord(rec []byte) bool {
	if y.inner != nil && !y.inner.MatchRecord(rec) {
		return false
	}
	if store.StoreTimeOf(rec) >= y.oldest {
		return true
	}
	y.expired.Add(1)
	return false
}

// limitsInfo adds what limits of topics did since the start, if they did anything: Java has no such keys.
func (b *Broker) limitsInfo(t map[string]string) {
	for key, n := range map[string]int64{"retentionHiddenMessages": b.retention.Hidden(), "ttlPassedOverMessages": b.expired.Load()} {
		if n > 0 {
			t[key] = itoa(n)
		}
	}
}
