package mqadmin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func sendCommands() []*command {
	amount := option{short: "a", long: "amount", arg: true, help: "messages, default 100"}
	size := option{short: "s", long: "size", arg: true, help: "body size in bytes, default 128"}
	return []*command{
		{name: "sendMessage", class: "SendMessageCommand", short: "Send a message", failClass: classRuntime, json: true, run: sendMessage,
			options: []option{optTopic("topic name"), {short: "p", long: "body", arg: true, required: true, help: "body, as UTF-8"},
				{short: "k", long: "key", arg: true, help: "keys"}, {short: "c", long: "tags", arg: true, help: "tags"},
				{short: "b", long: "broker", arg: true, help: "broker name"}, {short: "i", long: "qid", arg: true, help: "queue id, with -b"},
				{short: "m", long: "msgTraceEnable", arg: true, help: "true: record a trace (not supported yet)"}}},
		{name: "sendMsgStatus", class: "SendMsgStatusCommand", short: "Send messages to a broker and print how that went", run: sendMsgStatus,
			options: []option{{short: "b", long: "brokerName", arg: true, required: true, help: "broker name, which is also the topic's"},
				{short: "s", long: "messageSize", arg: true, help: "body size in bytes, default 128"}, {short: "c", long: "count", arg: true, help: "messages, default 50"}}},
		{name: "checkMsgSendRT", class: "CheckMsgSendRTCommand", short: "Measure how long sends to a topic take", run: checkMsgSendRT,
			options: []option{optTopic("topic name"), amount, size}},
		{name: "clusterRT", class: "CLusterSendMsgRTCommand", short: "Measure how long sends to each broker take, for ever", run: clusterRT,
			options: []option{amount, size, optCluster("cluster", "only this cluster"), {short: "p", long: "print log", arg: true, help: "true: print as log lines"},
				{short: "m", long: "machine room", arg: true, help: "name of the machine room in them, default noname"},
				{short: "i", long: "interval", arg: true, help: "seconds between rounds, default 10"}}},
	}
}

// sendTo sends to the queue that broker and queue name; "" and negative leave the choice to the tool, which takes one by the clock.
func sendTo(ctx context.Context, c *call, m *admin.Outgoing, broker string, queue int32) (*admin.SendResult, error) {
	queues, route, err := c.admin.WriteQueues(ctx, m.Topic)
	if err != nil {
		return nil, err
	}
	q := protocol.MessageQueue{Topic: m.Topic, BrokerName: broker, QueueID: queue}
	if broker != "" {
		queues = slices.DeleteFunc(queues, func(q protocol.MessageQueue) bool { return q.BrokerName != broker })
	}
	if queue < 0 {
		if len(queues) == 0 {
			return nil, fmt.Errorf("broker %s has no queue of topic %s that can be written: %w", broker, m.Topic, admin.ErrNoBroker)
		}
		q = queues[int(c.env.Clock.Now().UnixMilli())%len(queues)]
	}
	addr, err := admin.MasterOf(route, q.BrokerName)
	if err != nil {
		return nil, err
	}
	return c.admin.Send(ctx, addr, q, m)
}

// toolGroup is the producer group of a probe: the time, as Java's tool has it, so that runs do not share one.
func (c *call) toolGroup() string { return strconv.FormatInt(c.env.Clock.Now().UnixMilli(), 10) }

func sendMessage(ctx context.Context, c *call) error {
	if c.has("i") && !c.has("b") {
		c.printf("Broker name must be set if the queue is chosen!")
		c.failed = true
		return nil
	}
	if c.isTrue("m", false) {
		c.warn("message traces are not supported yet: the message is sent without one")
	}
	queue, err := c.int32("i", -1)
	if err != nil {
		return err
	}
	m := &admin.Outgoing{Topic: c.str("t"), Group: c.toolGroup(), Body: []byte(c.values["p"]), Properties: protocol.Properties{protocol.PropertyWait: "true"}}
	if k := c.str("k"); k != "" {
		m.Properties[protocol.PropertyKeys] = k
	}
	if t := c.str("c"); t != "" {
		m.Properties[protocol.PropertyTags] = t
	}
	r, err := sendTo(ctx, c, m, c.str("b"), queue)
	if err != nil {
		return err
	}
	if c.asJSON {
		return c.printJSON(map[string]any{"broker": r.Queue.BrokerName, "queueId": r.Queue.QueueID, "queueOffset": r.QueueOffset,
			"status": r.Status, "msgId": r.ID, "offsetMsgId": r.OffsetID})
	}
	c.printf("%-32s  %-4s  %-20s    %s\n", "#Broker Name", "#QID", "#Send Result", "#MsgId")
	c.printf("%-32s  %-4d  %-20s    %s\n", r.Queue.BrokerName, r.Queue.QueueID, r.Status, r.ID)
	return nil
}

func sendMsgStatus(ctx context.Context, c *call) error {
	size, err := c.int32("s", 128)
	if err != nil {
		return err
	}
	count, err := c.int32("c", 50)
	if err != nil {
		return err
	}
	broker := c.str("b")
	m := &admin.Outgoing{Topic: broker, Group: "PID_SMSC", Body: probeBody(16)}
	if _, err := sendTo(ctx, c, m, "", -1); err != nil { // not counted: it opens the connection
		return err
	}
	m.Body = probeBody(int(size))
	for range count {
		begin := c.env.Clock.Now()
		r, err := sendTo(ctx, c, m, "", -1)
		if err != nil {
			return err
		}
		c.printf("rt=%dms, SendResult=%s\n", c.env.Clock.Now().Sub(begin).Milliseconds(), sendResultText(r))
		c.flush()
	}
	return nil
}

func probeBody(size int) []byte { return bytes.Repeat([]byte{'a'}, max(size, 0)) }

func checkMsgSendRT(ctx context.Context, c *call) error {
	amount, err := c.int64("a", 100)
	if err != nil {
		return err
	}
	size, err := c.int64("s", 128)
	if err != nil {
		return err
	}
	topic := c.str("t")
	queues, route, err := c.admin.WriteQueues(ctx, topic)
	if err != nil {
		return err
	}
	m := &admin.Outgoing{Topic: topic, Group: c.toolGroup(), Body: probeBody(int(size)), Properties: protocol.Properties{protocol.PropertyWait: "true"}}
	c.printf("%-32s  %-4s  %-20s    %s\n", "#Broker Name", "#QID", "#Send Result", "#RT")
	var total int64
	for i := range amount {
		q := queues[int(i)%len(queues)]
		ms, err := c.timedSend(ctx, route, q, m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.failed = c.failed || err != nil
		if i > 0 { // the first one opens the connection
			total += ms
		}
		c.printf("%-32s  %-4d  %-20t    %d\n", q.BrokerName, q.QueueID, err == nil, ms)
		c.flush()
	}
	average := "NaN"
	if amount > 1 {
		average = javaFixed(float64(total)/float64(amount-1), 2)
	}
	c.printf("Avg RT: %s\n", average)
	return nil
}

// timedSend sends a message and says how many milliseconds that took.
func (c *call) timedSend(ctx context.Context, route *protocol.TopicRouteData, q protocol.MessageQueue, m *admin.Outgoing) (int64, error) {
	begin := c.env.Clock.Now()
	addr, err := admin.MasterOf(route, q.BrokerName)
	if err == nil {
		_, err = c.admin.Send(ctx, addr, q, m)
	}
	return c.env.Clock.Now().Sub(begin).Milliseconds(), err
}

// probe is the settings of clusterRT.
type probe struct {
	amount   int64
	body     []byte
	asLog    bool
	room     string
	interval time.Duration
}

func clusterRT(ctx context.Context, c *call) error {
	p := probe{asLog: c.isTrue("p", false), room: c.strOr("m", "noname")}
	var size, seconds int64
	var err error
	if p.amount, err = c.int64("a", 100); err != nil {
		return err
	}
	if size, err = c.int64("s", 128); err != nil {
		return err
	}
	if seconds, err = c.int64("i", 10); err != nil {
		return err
	}
	p.body, p.interval = probeBody(int(size)), time.Duration(max(seconds, 0))*time.Second
	if !p.asLog {
		c.printf("%-24s  %-24s  %-4s  %-8s  %-8s\n", "#Cluster Name", "#Broker Name", "#RT", "#successCount", "#failCount")
	}
	for {
		if err := p.round(ctx, c); err != nil {
			return err
		}
		if !c.wait(ctx, p.interval) {
			return nil
		}
	}
}

// round probes the master of each broker group once.
func (p *probe) round(ctx context.Context, c *call) error {
	all, err := c.admin.Replicas(ctx, c.str("c"))
	if errors.Is(err, admin.ErrNoCluster) {
		c.printf("cluster [%s] not exist", c.str("c"))
		c.failed = true
		return nil
	}
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.ID == 0 {
			if err := p.broker(ctx, c, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// broker sends to the topic that has the broker's name, which every broker has.
func (p *probe) broker(ctx context.Context, c *call, r admin.Replica) error {
	m := &admin.Outgoing{Topic: r.Broker, Group: c.toolGroup(), Body: p.body}
	queues, route, err := c.admin.WriteQueues(ctx, r.Broker)
	if err != nil {
		c.trace(err)
		return nil
	}
	var total, ok int64
	for i := range p.amount {
		ms, err := c.timedSend(ctx, route, queues[int(i)%len(queues)], m)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			ok++
		}
		if i > 0 || p.amount == 1 {
			total += ms
		}
	}
	rt := float64(total) / float64(max(1, p.amount-1))
	if p.asLog {
		at := c.env.Clock.Now().In(time.FixedZone("GMT+8", 8*3600)).Format("2006-01-02 15:04:05")
		c.printf("%s|%s|%s|%s|%s\n", at, p.room, r.Cluster, r.Broker, javaFixed(rt, 0))
		return nil
	}
	c.printf("%-24s  %-24s  %-8s  %-16d  %-16d\n", r.Cluster, r.Broker, javaFixed(rt, 2), ok, p.amount-ok)
	return nil
}
