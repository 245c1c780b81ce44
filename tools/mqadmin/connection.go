package mqadmin

import (
	"context"

	"github.com/seedmq/seedmq/remoting/protocol"
)

func connectionCommands() []*command {
	group := option{short: "g", long: "consumerGroup", arg: true, required: true, help: "consumer group name"}
	return []*command{
		{name: "consumerConnection", class: "ConsumerConnectionSubCommand", short: "Print the clients and subscriptions of a consumer group", json: true, run: consumerConnection,
			options: []option{group, optBroker("ask only this broker")}},
		{name: "producerConnection", class: "ProducerConnectionSubCommand", short: "Print the clients of a producer group", json: true, run: producerConnection,
			options: []option{{short: "g", long: "producerGroup", arg: true, required: true, help: "producer group name"}, optTopic("topic name")}},
		{name: "producer", class: "ProducerSubCommand", short: "Print all producers of a broker", json: true, run: producers,
			options: []option{{short: "b", long: "broker", arg: true, required: true, help: "broker address"}}},
	}
}

func consumerConnection(ctx context.Context, c *call) error {
	conn, err := c.admin.ConsumerConnection(ctx, c.str("g"), c.str("b"))
	if err != nil {
		return err
	}
	if c.asJSON {
		return c.printJSON(conn)
	}
	c.printf("%-36s %-22s %-10s %s\n", "#ClientId", "#ClientAddr", "#Language", "#Version")
	for _, cl := range conn.ConnectionSet {
		c.printf("%-36s %-22s %-10s %s\n", cl.ClientID, cl.ClientAddr, cl.Language, protocol.VersionName(cl.Version))
	}
	c.printf("\nBelow is subscription:\n%-20s %s\n", "#Topic", "#SubExpression")
	for _, topic := range sortedKeys(conn.SubscriptionTable) {
		c.printf("%-20s %s\n", conn.SubscriptionTable[topic].Topic, conn.SubscriptionTable[topic].SubString)
	}
	c.printf("\nConsumeType: %s\nMessageModel: %s\nConsumeFromWhere: %s\n", conn.ConsumeType, conn.MessageModel, conn.ConsumeFromWhere)
	return nil
}

func producerConnection(ctx context.Context, c *call) error {
	conn, err := c.admin.ProducerConnection(ctx, c.str("g"), c.str("t"))
	if err != nil {
		return err
	}
	if c.asJSON {
		return c.printJSON(conn)
	}
	for i, cl := range conn.ConnectionSet {
		c.printf("%04d  %-32s %-22s %-8s %s\n", i+1, cl.ClientID, cl.ClientAddr, cl.Language, protocol.VersionName(cl.Version))
	}
	return nil
}

func producers(ctx context.Context, c *call) error {
	table, err := c.admin.Producers(ctx, c.str("b"))
	if err != nil {
		return err
	}
	if c.asJSON {
		return c.printJSON(table)
	}
	for _, group := range sortedKeys(table.Data) {
		if len(table.Data[group]) == 0 {
			c.printf("producer group (%s) instances are empty\n", group)
		}
		for _, p := range table.Data[group] {
			c.printf("producer group (%s) instance : clientId=%s,remoteIP=%s, language=%s, version=%d, lastUpdateTimestamp=%d\n",
				group, p.ClientID, p.RemoteIP, p.Language, p.Version, p.LastUpdateTimestamp)
		}
	}
	return nil
}
