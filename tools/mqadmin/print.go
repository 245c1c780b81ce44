package mqadmin

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// pullBatch is how many messages one pull asks for.
const pullBatch = 32

func printCommands() []*command {
	charset := option{short: "c", long: "charsetName", arg: true, help: "character set of bodies, default UTF-8"}
	tags := option{short: "s", long: "subExpression", arg: true, help: "tags, as TagA || TagB"}
	begin := option{short: "b", long: "beginTimestamp", arg: true, help: "start: milliseconds or yyyy-MM-dd#HH:mm:ss:SSS"}
	end := option{short: "e", long: "endTimestamp", arg: true, help: "end: milliseconds or yyyy-MM-dd#HH:mm:ss:SSS"}
	return []*command{
		{name: "printMsg", class: "PrintMessageSubCommand", short: "Print the messages of a topic", run: printMsg,
			options: []option{optTopic("topic name"), charset, tags, begin, end,
				{short: "d", long: "printBody", arg: true, help: "false: without bodies"},
				{short: "l", long: "lmqParentTopic", arg: true, help: "parent topic of a light queue, used for the route"}}},
		{name: "printMsgByQueue", class: "PrintMessageByQueueCommand", short: "Print, or count by tag, the messages of a queue", run: printMsgByQueue,
			options: []option{optTopic("topic name"), {short: "a", long: "brokerName", arg: true, required: true, help: "broker name"},
				{short: "i", long: "queueId", arg: true, required: true, help: "queue id"}, charset, tags, begin, end,
				{short: "p", long: "print msg", arg: true, help: "true: print messages"}, {short: "d", long: "printBody", arg: true, help: "true: with bodies"},
				{short: "f", long: "calculate", arg: true, help: "true: count by tag"}}},
		{name: "consumeMessage", class: "ConsumeMessageCommand", short: "Pull and print messages", run: consumeMessage,
			options: []option{optTopic("topic name"), {short: "b", long: "brokerName", arg: true, help: "broker name"},
				{short: "i", long: "queueId", arg: true, help: "queue id, with -b"}, {short: "o", long: "offset", arg: true, help: "offset, with -i"},
				{short: "g", long: "consumerGroup", arg: true, help: "consumer group, default TOOLS_CONSUMER"},
				{short: "s", long: "beginTimestamp", arg: true, help: "start: milliseconds or yyyy-MM-dd#HH:mm:ss:SSS"}, end,
				{short: "c", long: "MessageNumber", arg: true, help: "at most so many messages, default 128"}}},
	}
}

// queueRange is part of a queue: offsets from min up to, and without, max.
type queueRange struct {
	queue    protocol.MessageQueue
	addr     string
	min, max int64
}

// span finds a queue's offsets, cut to the times that the options beginKey and endKey give.
func (c *call) span(ctx context.Context, route *protocol.TopicRouteData, q protocol.MessageQueue, beginKey, endKey string) (r queueRange, err error) {
	r.queue = q
	if r.addr, err = admin.MasterOf(route, q.BrokerName); err != nil {
		return r, err
	}
	if r.min, err = c.admin.MinOffset(ctx, r.addr, q); err != nil {
		return r, err
	}
	if r.max, err = c.admin.MaxOffset(ctx, r.addr, q); err != nil {
		return r, err
	}
	if err = c.searchInto(ctx, &r.min, r, beginKey); err != nil {
		return r, err
	}
	return r, c.searchInto(ctx, &r.max, r, endKey)
}

func (c *call) searchInto(ctx context.Context, to *int64, r queueRange, key string) error {
	if !c.has(key) {
		return nil
	}
	at, err := parseTime(c.str(key), c.env.Location)
	if err == nil {
		*to, err = c.admin.SearchOffset(ctx, r.addr, r.queue, at)
	}
	return err
}

// walk pulls a range and hands each batch to found. Other answers are lines on stdout, as is an error, which ends the walk.
func (c *call) walk(ctx context.Context, r queueRange, group, tags string, batch int32, found func([]*admin.Message) error) error {
	p := c.progress(r.queue.BrokerName+":"+r.queue.Topic, int(r.max-r.min))
	defer p.done()
	for offset := r.min; offset < r.max; {
		res, err := c.admin.Pull(ctx, r.addr, admin.PullRequest{Queue: r.queue, Group: group, Expression: tags, Offset: offset, Max: min(batch, int32(min(r.max-offset, pullBatch*32)))})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			c.trace(err)
			return nil
		}
		p.add(int(res.NextOffset - offset))
		stuck := res.NextOffset <= offset
		offset = res.NextOffset
		switch res.Status {
		case admin.PullFound:
			if err := found(res.Messages); err != nil {
				return err
			}
		case admin.PullNoMatchedMsg:
			c.printf("%s no matched msg. status=%s, offset=%d\n", r.queue, res.Status, offset)
		default:
			c.printf("%s print msg finished. status=%s, offset=%d\n", r.queue, res.Status, offset)
			return nil
		}
		if stuck { // a broker that does not move on would be asked for ever
			return nil
		}
	}
	return nil
}

func printMsg(ctx context.Context, c *call) error {
	topic := c.str("t")
	routeTopic := topic
	if c.has("l") {
		routeTopic = c.str("l")
	}
	route, err := c.admin.Route(ctx, routeTopic)
	if err != nil {
		return err
	}
	withBody, charset := c.isTrue("d", true), c.strOr("c", "UTF-8")
	for _, q := range admin.ReadQueues(route, topic) {
		r, err := c.span(ctx, route, q, "b", "e")
		if err != nil {
			return err
		}
		c.printf("minOffset=%d, maxOffset=%d, %s\n", r.min, r.max, q)
		err = c.walk(ctx, r, "", c.strOr("s", "*"), pullBatch, func(msgs []*admin.Message) error {
			return printAll(c, msgs, charset, withBody)
		})
		if err != nil {
			return err
		}
		c.printf("%s\n", strings.Repeat("-", 56))
	}
	return nil
}

func printAll(c *call, msgs []*admin.Message, charset string, withBody bool) error {
	for _, m := range msgs {
		if err := printMessage(c, m, charset, withBody); err != nil {
			return err
		}
	}
	return nil
}

func printMsgByQueue(ctx context.Context, c *call) error {
	queue, err := c.int32("i", 0)
	if err != nil {
		return err
	}
	q := protocol.MessageQueue{Topic: c.str("t"), BrokerName: c.str("a"), QueueID: queue}
	route, err := c.admin.Route(ctx, q.Topic)
	if err != nil {
		return err
	}
	r, err := c.span(ctx, route, q, "b", "e")
	if err != nil {
		return err
	}
	printing, counting := c.isTrue("p", false), c.isTrue("f", false)
	counts := map[string]int{}
	err = c.walk(ctx, r, "", c.strOr("s", "*"), pullBatch, func(msgs []*admin.Message) error {
		for _, m := range msgs {
			if tag := m.Properties[protocol.PropertyTags]; tag != "" {
				counts[tag]++
			}
		}
		if !printing {
			return nil
		}
		return printAll(c, msgs, c.strOr("c", "UTF-8"), c.isTrue("d", false))
	})
	if counting {
		printCounts(c, counts)
	}
	return err
}

func printCounts(c *call, counts map[string]int) {
	tags := sortedKeys(counts)
	slices.SortStableFunc(tags, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	for _, t := range tags {
		c.printf("Tag: %-30s Count: %d\n", t, counts[t])
	}
}

func consumeMessage(ctx context.Context, c *call) error {
	count, err := c.int64("c", 128)
	if err != nil {
		return err
	}
	if complaint, err := consumeComplaint(c, count); err != nil || complaint != "" {
		c.printf("%s", complaint)
		c.failed = true
		return err
	}
	topic := c.str("t")
	route, err := c.admin.Route(ctx, topic)
	if err != nil {
		return err
	}
	if c.has("i") {
		return consumeQueue(ctx, c, route, topic, count)
	}
	for _, q := range admin.ReadQueues(route, topic) {
		if c.has("b") && q.BrokerName != c.str("b") {
			continue
		}
		r, err := c.span(ctx, route, q, "s", "e")
		if err != nil {
			return err
		}
		if r.max-r.min > count {
			c.printf("The older %d message of the %d queue will be provided\n", count, q.QueueID)
			r.max = r.min + count
		}
		count -= r.max - r.min
		if err := consumeRange(ctx, c, r); err != nil || count <= 0 {
			return err
		}
	}
	return nil
}

// consumeComplaint is what is wrong with the options, in Java's words, or "".
func consumeComplaint(c *call, count int64) (string, error) {
	switch {
	case count <= 0:
		return "Please input a positive messageNumber!", nil
	case c.has("i") && !c.has("b"):
		return "Please set the brokerName before queueId!", nil
	case c.has("o") && !c.has("i"):
		return "Please set queueId before offset!", nil
	}
	now := c.env.Clock.Now().UnixMilli()
	var at [2]int64
	for i, f := range []struct{ key, word string }{{"s", "beginTimestamp"}, {"e", "endTimestamp"}} {
		if !c.has(f.key) {
			continue
		}
		var err error
		if at[i], err = parseTime(c.str(f.key), c.env.Location); err != nil {
			return "", err
		}
		if at[i] > now {
			return "Please set the " + f.word + " before now!", nil
		}
	}
	if at[0] > at[1] && c.has("s") && c.has("e") {
		return "Please make sure that the beginTimestamp is less than or equal to the endTimestamp", nil
	}
	return "", nil
}

func consumeQueue(ctx context.Context, c *call, route *protocol.TopicRouteData, topic string, count int64) error {
	queue, err := c.int32("i", 0)
	if err != nil {
		return err
	}
	offset, err := c.int64("o", 0)
	if err != nil {
		return err
	}
	r, err := c.span(ctx, route, protocol.MessageQueue{Topic: topic, BrokerName: c.str("b"), QueueID: queue}, "s", "e")
	if err != nil {
		return err
	}
	if offset > r.max {
		c.printf("%s no matched msg, offset=%d\n", r.queue, offset)
		return nil
	}
	r.min = max(r.min, offset)
	if r.max-r.min > count {
		c.printf("The oldler %d message will be provided\n", count)
		r.max = r.min + count
	}
	return consumeRange(ctx, c, r)
}

func consumeRange(ctx context.Context, c *call, r queueRange) error {
	return c.walk(ctx, r, c.str("g"), "*", pullBatch*32, func(msgs []*admin.Message) error {
		c.printf("Consume ok\n")
		return printAll(c, msgs, "UTF-8", true)
	})
}
