package mqadmin

import (
	"context"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// purgeCommands are ours: Java's tool has none of them.
func purgeCommands() []*command {
	return []*command{
		{name: "purgeTopic", class: "-", short: "Take the messages that a topic or queue has now away from consumers", json: true, run: purgeTopic,
			options: []option{optTopic("topic name"), optBroker("broker address"),
				optCluster("clusterName", "masters of a cluster; without -b and -c, of all that the topic's route names"),
				{short: "q", long: "queueId", arg: true, help: "only this queue, of each broker"},
				{short: "s", long: "timestamp", arg: true, help: "only what was stored before: milliseconds, or yyyy-MM-dd#HH:mm:ss:SSS"},
				{short: "y", long: "yes", help: "do it; without, the messages are only counted"}}},
	}
}

// purgedRow is a queue in the list.
type purgedRow struct {
	Broker string `json:"broker"`
	protocol.PurgedQueue
}

func purgeTopic(ctx context.Context, c *call) error {
	p := admin.Purge{Topic: c.str("t"), Preview: !c.has("y")}
	if c.has("q") {
		n, err := c.int32("q", 0)
		if err != nil {
			return err
		}
		p.QueueID = protocol.Some(n)
	}
	if c.has("s") {
		at, err := parseTime(c.str("s"), c.env.Location)
		if err != nil {
			return err
		}
		p.Before = protocol.Some(at)
	}
	addrs, err := purgeBrokers(ctx, c)
	if err != nil {
		return err
	}
	rows, err := purgeAll(ctx, c, addrs, p)
	if err != nil {
		return err
	}
	return c.printPurged(rows, p.Preview)
}

// purgeBrokers are those that the command line names.
func purgeBrokers(ctx context.Context, c *call) ([]string, error) {
	switch {
	case c.has("b"):
		return []string{c.str("b")}, nil
	case c.has("c"):
		return c.masters(ctx, c.str("c"))
	}
	brokers, err := c.admin.TopicBrokers(ctx, c.str("t"))
	var addrs []string
	for _, b := range brokers {
		addrs = append(addrs, b.Addr)
	}
	return addrs, err
}

// purgeAll purges at each broker. One that does not have the topic is only a failure when none has it.
func purgeAll(ctx context.Context, c *call, addrs []string, p admin.Purge) ([]purgedRow, error) {
	rows := []purgedRow{}
	var missing error
	for _, addr := range addrs {
		queues, err := c.admin.PurgeTopic(ctx, addr, p)
		if admin.IsNoTopic(err) {
			missing = err
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, q := range queues {
			rows = append(rows, purgedRow{addr, q})
		}
	}
	if len(rows) == 0 {
		return nil, missing
	}
	return rows, nil
}

func (c *call) printPurged(rows []purgedRow, preview bool) error {
	if c.asJSON {
		return c.printJSON(rows)
	}
	last, total := "#Purged", int64(0)
	if preview {
		last = "#To purge"
	}
	c.printf("%-24s  %5s  %18s  %18s  %18s\n", "#Broker", "#QID", "#Min Offset", "#Max Offset", last)
	for _, r := range rows {
		c.printf("%-24s  %5d  %18d  %18d  %18d\n", r.Broker, r.QueueID, r.MinOffset, r.MaxOffset, r.Messages)
		total += r.Messages
	}
	if preview {
		c.printf("\n%d messages would be purged. Nothing was changed; give -y to purge them.\n", total)
		return nil
	}
	c.printf("\npurge of %d messages of topic %s success.\n", total, c.str("t"))
	return nil
}
