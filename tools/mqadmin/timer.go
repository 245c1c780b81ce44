package mqadmin

import (
	"context"
	"errors"
	"fmt"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// timerCommands are ours: Java's tool has none of them.
func timerCommands() []*command {
	return []*command{
		{name: "listDelayed", class: "-", short: "List the messages that wait for their time", json: true, run: listDelayed,
			options: []option{optBroker("broker address"), optCluster("clusterName", "masters of a cluster; without -b and -c, of all that the NameServer knows"),
				{short: "t", long: "topic", arg: true, help: "only those for a topic"},
				{short: "m", long: "maxNum", arg: true, help: "at most so many of each broker, default 64"}}},
		{name: "recallMessage", class: "-", short: "Recall a message that waits for its time", run: recallMessage,
			options: []option{{short: "i", long: "msgId", arg: true, help: "the broker's id of the message, as listDelayed prints it"},
				{short: "r", long: "recallHandle", arg: true, help: "or the handle that its sender got"}}},
	}
}

// delayedRow is a message in the list.
type delayedRow struct {
	Broker  string `json:"broker"`
	ID      string `json:"msgId"`
	UniqKey string `json:"uniqKey"`
	Topic   string `json:"topic"`
	QueueID int32  `json:"queueId"`
	Level   int32  `json:"level"` // 0: a timed message
	Due     int64  `json:"dueTimestamp"`
	Stored  int64  `json:"storeTimestamp"`
	Keys    string `json:"keys"`
	Tags    string `json:"tags"`
}

func listDelayed(ctx context.Context, c *call) error {
	most, err := c.int32("m", 64)
	if err != nil {
		return err
	}
	addrs := []string{c.str("b")}
	if addrs[0] == "" {
		if addrs, err = c.admin.Masters(ctx, c.str("c")); err != nil {
			return c.noCluster(err)
		}
	}
	rows := []delayedRow{}
	for _, addr := range addrs {
		left := most
		err := c.admin.Delayed(ctx, addr, c.env.Clock.Now(), func(m *admin.DelayedMessage) bool {
			if left <= 0 {
				return false
			}
			if c.str("t") == "" || c.str("t") == m.RealTopic {
				left--
				p := m.Properties
				rows = append(rows, delayedRow{addr, m.OffsetID(), p[protocol.PropertyUniqKey], m.RealTopic, m.RealQueue, m.Level, m.DueMs,
					m.StoreTimestamp, p[protocol.PropertyKeys], p[protocol.PropertyTags]})
			}
			return left > 0
		})
		if err != nil {
			return err
		}
	}
	if c.asJSON {
		return c.printJSON(rows)
	}
	c.printf("%-32s  %-24s  %4s  %6s  %-23s  %-23s  %-12s  %s\n", "#Message Id", "#Topic", "#QID", "#Level", "#Due", "#Stored", "#Tags", "#Keys")
	for _, r := range rows {
		level := "-"
		if r.Level > 0 {
			level = fmt.Sprint(r.Level)
		}
		c.printf("%-32s  %-24s  %4d  %6s  %-23s  %-23s  %-12s  %s\n", r.ID, r.Topic, r.QueueID, level, c.dateTimeMillis(r.Due), c.dateTimeMillis(r.Stored), r.Tags, r.Keys)
	}
	return nil
}

func recallMessage(ctx context.Context, c *call) error {
	id, handle := c.str("i"), c.str("r")
	var addr, topic string
	switch {
	case (id == "") == (handle == ""):
		return errors.New("either -i or -r is needed")
	case id != "":
		m, at, err := c.admin.DelayedByID(ctx, id)
		if err != nil {
			return err
		}
		name, err := c.admin.BrokerAt(ctx, at)
		if err != nil {
			return err
		}
		addr, topic, handle = at, m.RealTopic, m.Handle(name)
	default:
		h, err := protocol.ParseRecallHandle(handle)
		if err != nil {
			return err
		}
		if addr, err = c.admin.BrokerNamed(ctx, h.Broker); err != nil {
			return err
		}
		topic = h.Topic
	}
	key, err := c.admin.Recall(ctx, addr, topic, handle)
	if err != nil {
		return err
	}
	c.printf("recall of message %s of topic %s success.\n", key, topic)
	return nil
}
