package mqadmin

import (
	"context"
	"fmt"
	"time"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// transactionCommands are ours: Java's tool has none of them.
func transactionCommands() []*command {
	id := option{short: "i", long: "msgId", arg: true, required: true, help: "the broker's id of the message, as halfMessages prints it"}
	return []*command{
		{name: "halfMessages", class: "-", short: "List the open transactions, or those that were given up", json: true, run: halfMessages,
			options: []option{optBroker("broker address"), optCluster("clusterName", "masters of a cluster; without -b and -c, of all that the NameServer knows"),
				{short: "d", long: "discarded", help: "those that were given up after too many checks"},
				{short: "g", long: "producerGroup", arg: true, help: "only those of a producer group"},
				{short: "m", long: "maxNum", arg: true, help: "at most so many of each broker, default 64"}}},
		{name: "resumeCheck", class: "-", short: "Ask for the outcome of a transaction now; one that was given up is opened again", run: resumeCheck,
			options: []option{id}},
		{name: "endTransaction", class: "-", short: "Commit or roll back a transaction in its producer's stead", run: endTransaction,
			options: []option{id, {short: "o", long: "outcome", arg: true, required: true, help: "commit or rollback"}}},
	}
}

// halfRow is a transaction in the list.
type halfRow struct {
	Broker  string `json:"broker"`
	ID      string `json:"msgId"`
	UniqKey string `json:"transactionId"`
	Group   string `json:"producerGroup"`
	Topic   string `json:"topic"`
	QueueID int32  `json:"queueId"`
	Checks  int    `json:"checks"`
	Born    int64  `json:"bornTimestamp"`
	Keys    string `json:"keys"`
}

func halfMessages(ctx context.Context, c *call) error {
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
	list := c.admin.HalfMessages
	if c.has("d") {
		list = c.admin.GivenUp
	}
	rows := []halfRow{}
	for _, addr := range addrs {
		ms, err := list(ctx, addr, int(max(0, most)))
		if err != nil {
			return err
		}
		for _, m := range ms {
			if c.str("g") == "" || c.str("g") == m.Group {
				rows = append(rows, halfRow{addr, m.OffsetID(), m.Properties[protocol.PropertyUniqKey], m.Group, m.RealTopic, m.RealQueue, m.Checks,
					m.BornTimestamp, m.Properties[protocol.PropertyKeys]})
			}
		}
	}
	if c.asJSON {
		return c.printJSON(rows)
	}
	c.printf("%-32s  %-24s  %-24s  %4s  %6s  %-23s  %s\n", "#Message Id", "#Producer Group", "#Topic", "#QID", "#Check", "#Born", "#Keys")
	for _, r := range rows {
		c.printf("%-32s  %-24s  %-24s  %4d  %6d  %-23s  %s\n", r.ID, r.Group, r.Topic, r.QueueID, r.Checks, c.dateTimeMillis(r.Born), r.Keys)
	}
	return nil
}

// half reads the message that -i names.
func (c *call) half(ctx context.Context) (*admin.HalfMessage, string, error) {
	m, addr, err := c.admin.HalfMessage(ctx, c.str("i"))
	if err == nil && m.RealTopic == "" {
		err = fmt.Errorf("message %s is no half message: it has no property %s", c.str("i"), protocol.PropertyRealTopic)
	}
	return m, addr, err
}

func resumeCheck(ctx context.Context, c *call) error {
	m, addr, err := c.half(ctx)
	if err != nil {
		return err
	}
	if err := c.admin.ResumeCheck(ctx, addr, m.RealTopic, c.str("i")); err != nil {
		return err
	}
	if m.Topic == protocol.TopicHalf {
		c.printf("a producer of group %s is asked about transaction %s\n", m.Group, m.Properties[protocol.PropertyUniqKey])
		return nil
	}
	c.printf("transaction %s is open again; it was given up after %d checks, born %s\n", m.Properties[protocol.PropertyUniqKey], m.Checks,
		time.UnixMilli(m.BornTimestamp).In(c.env.Location).Format(time.DateTime))
	return nil
}

func endTransaction(ctx context.Context, c *call) error {
	outcome := c.str("o")
	if outcome != "commit" && outcome != "rollback" {
		return fmt.Errorf("the outcome is %q: it must be commit or rollback", outcome)
	}
	m, addr, err := c.half(ctx)
	if err != nil {
		return err
	}
	if m.Topic != protocol.TopicHalf {
		return fmt.Errorf("message %s is of topic %s: open it again with resumeCheck before it is ended", c.str("i"), m.Topic)
	}
	if err := c.admin.EndTransaction(ctx, addr, m, outcome == "commit"); err != nil {
		return err
	}
	c.printf("%s of transaction %s to topic %s success.\n", outcome, m.Properties[protocol.PropertyUniqKey], m.RealTopic)
	return nil
}
