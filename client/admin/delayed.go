package admin

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// DelayedMessage is a message that waits for its time.
type DelayedMessage struct {
	*Message
	RealTopic string
	RealQueue int32
	// Level is its delay level, 0 for a timed message.
	Level int32
	// DueMs is when it is delivered, 0 when that is not known. Of a timed message that rolled on an Apache broker, the end of its second.
	DueMs int64
}

// Delayed lists the messages of the broker at addr that wait at now, those with a delay level first, each kind in the order in which
// they came, as long as fn says yes. Recalled ones are left out, except those with a level. It works on Apache's brokers, too.
func (c *Client) Delayed(ctx context.Context, addr string, now time.Time, fn func(*DelayedMessage) bool) error {
	more := true
	each := func(m *DelayedMessage) bool { more = fn(m); return more }
	if err := c.levelled(ctx, addr, each); err != nil || !more {
		return err
	}
	return c.timed(ctx, addr, now.UnixMilli(), each)
}

// levelled lists messages with a level: queue level-1 of the schedule topic, from the level's offset on.
func (c *Client) levelled(ctx context.Context, addr string, fn func(*DelayedMessage) bool) error {
	reply, err := c.broker(ctx, addr, request{code: protocol.ReqGetAllDelayOffset})
	if err != nil {
		return err
	}
	var offsets struct {
		OffsetTable map[int32]int64 `json:"offsetTable"`
	}
	if err := protocol.UnmarshalFast(reply.Body, &offsets); err != nil {
		return fmt.Errorf("delay offsets of %s: %w", addr, err)
	}
	topic, err := c.TopicConfig(ctx, addr, protocol.TopicSchedule)
	if err != nil {
		return err
	}
	conf, err := c.BrokerConfig(ctx, addr)
	if err != nil {
		return err
	}
	delays := strings.Fields(conf["messageDelayLevel"])
	more := true
	for queue := int32(0); queue < topic.ReadQueueNums && more; queue++ {
		err := c.scanQueue(ctx, addr, protocol.MessageQueue{Topic: protocol.TopicSchedule, QueueID: queue}, offsets.OffsetTable[queue+1], func(m *Message) bool {
			d := newDelayed(m)
			d.Level = queue + 1
			if int(queue) < len(delays) {
				d.DueMs = m.StoreTimestamp + levelMs(delays[queue])
			}
			more = fn(d)
			return more
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// levelMs is the delay of one word of messageDelayLevel, 0 for what is none.
func levelMs(word string) int64 {
	unit := map[byte]int64{'s': 1000, 'm': 60_000, 'h': 3_600_000, 'd': 86_400_000}[word[len(word)-1]]
	n, err := strconv.ParseInt(word[:len(word)-1], 10, 32)
	if err != nil {
		return 0
	}
	return n * unit
}

func newDelayed(m *Message) *DelayedMessage {
	d := &DelayedMessage{Message: m, RealTopic: m.Properties[protocol.PropertyRealTopic]}
	queue, _ := strconv.ParseInt(m.Properties[protocol.PropertyRealQueueID], 10, 32)
	d.RealQueue = int32(queue)
	return d
}

// waiting is a timed message while the queue is read: what comes later may supersede or delete it.
type waiting struct{ topic, key, out string }

// timed lists timed messages. The queue is read twice: a later record says whether an earlier one was recalled or rolled.
func (c *Client) timed(ctx context.Context, addr string, now int64, fn func(*DelayedMessage) bool) error {
	q := protocol.MessageQueue{Topic: protocol.TopicTimer}
	recalled, newest := map[waiting]bool{}, map[waiting]int64{}
	id := func(m *Message, key string) waiting {
		return waiting{m.Properties[protocol.PropertyRealTopic], key, m.Properties[protocol.PropertyTimerOutMs]}
	}
	begin, err := c.MinOffset(ctx, addr, q)
	if err != nil {
		return err
	}
	err = c.scanQueue(ctx, addr, q, begin, func(m *Message) bool {
		if key := m.Properties[protocol.PropertyTimerDelUniqKey]; key != "" {
			recalled[id(m, key)] = true
		} else if m.Properties[protocol.PropertyTimerRollTimes] != "" {
			newest[id(m, m.Properties[protocol.PropertyUniqKey])] = m.QueueOffset
		}
		return true
	})
	if err != nil {
		return err
	}
	return c.scanQueue(ctx, addr, q, begin, func(m *Message) bool {
		d, key := newDelayed(m), m.Properties[protocol.PropertyUniqKey]
		at, rolled := newest[id(m, key)]
		d.DueMs = timedDue(m)
		if m.Properties[protocol.PropertyTimerDelUniqKey] != "" || d.DueMs <= now || rolled && at != m.QueueOffset ||
			recalled[id(m, key)] || recalled[id(m, d.RealTopic+"+"+key)] {
			return true
		}
		return fn(d)
	})
}

// timedDue is when a timed message is due: what it asks for, within the second after TIMER_OUT_MS.
func timedDue(m *Message) int64 {
	p := m.Properties
	out, err := strconv.ParseInt(p[protocol.PropertyTimerOutMs], 10, 64)
	if err != nil {
		return 0
	}
	number := func(name string, unit, base int64) int64 {
		n, err := strconv.ParseInt(p[name], 10, 64)
		if err != nil {
			return 0
		}
		return base + n*unit
	}
	for _, ms := range []int64{number(protocol.PropertyTimerDelaySec, 1000, m.StoreTimestamp), number(protocol.PropertyTimerDelayMs, 1, m.StoreTimestamp),
		number(protocol.PropertyTimerDeliverMs, 1, 0)} {
		if ms > out && ms <= out+1000 {
			return ms
		}
	}
	return out + 1000
}

// scanQueue reads a queue from an offset to the end that it has now, or until fn says no.
func (c *Client) scanQueue(ctx context.Context, addr string, q protocol.MessageQueue, offset int64, fn func(*Message) bool) error {
	end, err := c.MaxOffset(ctx, addr, q)
	if err != nil {
		return err
	}
	for offset < end {
		r, err := c.Pull(ctx, addr, PullRequest{Queue: q, Offset: offset, Max: 32})
		if err != nil {
			return err
		}
		for _, m := range r.Messages {
			if !fn(m) {
				return nil
			}
		}
		if r.NextOffset <= offset {
			return nil
		}
		offset = r.NextOffset
	}
	return nil
}

// Handle is what recalls m, of the broker with that name.
func (m *DelayedMessage) Handle(broker string) string {
	h := protocol.RecallHandle{Topic: m.RealTopic, Broker: broker, UniqKey: m.Properties[protocol.PropertyUniqKey]}
	if h.Level = m.Level > 0; h.Level {
		h.DeliverMs = m.CommitLogOffset
	} else {
		out, _ := strconv.ParseInt(m.Properties[protocol.PropertyTimerOutMs], 10, 64)
		h.DeliverMs = out + 1
	}
	return string(h.Append(nil))
}

// DelayedByID reads a delayed message by the broker's id.
func (c *Client) DelayedByID(ctx context.Context, id string) (m *DelayedMessage, addr string, err error) {
	host, offset, err := protocol.ParseOffsetMsgID(id)
	if err != nil {
		return nil, "", err
	}
	msg, err := c.View(ctx, host.String(), protocol.TopicTimer, offset)
	if err != nil {
		return nil, "", err
	}
	d := newDelayed(msg)
	switch {
	case d.RealTopic != "" && msg.Topic == protocol.TopicSchedule:
		d.Level = msg.QueueID + 1
	case d.RealTopic != "" && msg.Topic == protocol.TopicTimer:
		d.DueMs = timedDue(msg)
	default:
		return nil, "", fmt.Errorf("message %s of topic %s is no delayed message", id, msg.Topic)
	}
	return d, host.String(), nil
}

// Recall recalls the message of a handle at the broker addr, and returns its UNIQ_KEY.
func (c *Client) Recall(ctx context.Context, addr, topic, handle string) (string, error) {
	h := &protocol.RecallMessageRequestHeader{Topic: topic, RecallHandle: handle}
	reply, err := c.broker(ctx, addr, request{code: protocol.ReqRecallMessage, header: h})
	if err != nil {
		return "", err
	}
	var out protocol.RecallMessageResponseHeader
	if err := out.DecodeExt(reply.Ext); err != nil {
		return "", err
	}
	return out.MsgID, nil
}

// BrokerAt is the name of the broker at addr.
func (c *Client) BrokerAt(ctx context.Context, addr string) (string, error) {
	info, err := c.Cluster(ctx)
	if err != nil {
		return "", err
	}
	for name, b := range info.BrokerAddrTable {
		for _, a := range b.BrokerAddrs {
			if a == addr {
				return name, nil
			}
		}
	}
	return "", fmt.Errorf("no NameServer knows a broker at %s", addr)
}

// BrokerNamed is the address of the master of a broker name.
func (c *Client) BrokerNamed(ctx context.Context, name string) (string, error) {
	info, err := c.Cluster(ctx)
	if err != nil {
		return "", err
	}
	if b, ok := info.BrokerAddrTable[name]; ok && b.BrokerAddrs[0] != "" {
		return b.BrokerAddrs[0], nil
	}
	return "", fmt.Errorf("no NameServer knows a master of broker %s", name)
}
