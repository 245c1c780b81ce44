package mqadmin

import (
	"context"
	"fmt"
	"strings"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func queueCommands() []*command {
	return []*command{
		{name: "queryCq", class: "QueryConsumeQueueCommand", short: "Print entries of a consume queue", json: true, run: queryCq,
			options: []option{optTopic("topic name"), {short: "q", long: "queue", arg: true, required: true, help: "queue id"},
				{short: "i", long: "index", arg: true, required: true, help: "first entry"}, {short: "c", long: "count", arg: true, help: "entries, default 10"},
				{short: "b", long: "broker", arg: true, help: "broker address; default: the first master of the route"},
				{short: "g", long: "consumer", arg: true, help: "consumer group: print its filter too"}}},
	}
}

func queryCq(ctx context.Context, c *call) error {
	queue, err := c.int32("q", 0)
	if err != nil {
		return err
	}
	index, err := c.int64("i", 0)
	if err != nil {
		return err
	}
	count, err := c.int32("c", 10)
	if err != nil {
		return err
	}
	topic, addr := c.str("t"), c.str("b")
	if addr == "" {
		brokers, err := c.admin.TopicBrokers(ctx, topic)
		switch {
		case err != nil:
			return &bareError{err}
		case len(brokers) == 0:
			return &bareError{fmt.Errorf("topic %s: %w", topic, admin.ErrNoBroker)}
		}
		addr = brokers[0].Addr
	}
	r, err := c.admin.ConsumeQueue(ctx, addr, topic, queue, index, count, c.str("g"))
	if err != nil {
		return &bareError{err}
	}
	if c.asJSON {
		return c.printJSON(r)
	}
	return printQueue(c, r, index)
}

func printQueue(c *call, r *protocol.QueryConsumeQueueResponseBody, index int64) error {
	rule := strings.Repeat("=", 38)
	if r.SubscriptionData != nil {
		text, err := javaJSON(r.SubscriptionData)
		if err != nil {
			return err
		}
		c.printf("Subscription data: \n%s\n%s\n", text, rule)
	}
	if r.FilterData != "" {
		c.printf("Filter data: \n%s\n%s\n", r.FilterData, rule)
	}
	c.printf("Queue data: \nmax: %d, min: %d\n%s\n", r.MaxQueueIndex, r.MinQueueIndex, rule)
	for i, u := range r.QueueData {
		c.printf("idx: %d\nConsumeQueueData{physicOffset=%d, physicSize=%d, tagsCode=%d, extendDataJson='%s', bitMap='%s', eval=%t, msg='%s'}\n%s\n",
			index+int64(i), u.PhysicOffset, u.PhysicSize, u.TagsCode, javaString(u.ExtendDataJSON), javaString(u.BitMap), u.Eval, javaString(u.Msg), rule)
	}
	return nil
}
