package mqadmin

import (
	"context"
	"strings"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func offsetCommands() []*command {
	group := option{short: "g", long: "group", arg: true, required: true, help: "consumer group"}
	force := option{short: "f", long: "force", arg: true, help: "false: only backwards; default true"}
	cluster := optCluster("cluster", "cluster name or light queue parent topic")
	return []*command{
		{name: "resetOffsetByTime", class: "ResetOffsetByTimeCommand", short: "Move a group's offsets to a point in time", json: true, run: resetOffsetByTime,
			options: []option{group, optTopic("topic name"),
				{short: "s", long: "timestamp", arg: true, required: true, help: "now, milliseconds, or yyyy-MM-dd#HH:mm:ss:SSS"}, force, cluster,
				{short: "b", long: "broker", arg: true, help: "broker address, with -q"}, {short: "q", long: "queue", arg: true, help: "queue id, with -b"},
				{short: "o", long: "offset", arg: true, help: "the offset itself, with -b and -q"}, optPreview}},
		{name: "skipAccumulatedMessage", class: "SkipAccumulationSubCommand", short: "Move a group's offsets to the end", json: true, run: skipAccumulated,
			options: []option{group, optTopic("topic name"), force, cluster, optPreview}},
		{name: "cloneGroupOffset", class: "CloneGroupOffsetCommand", short: "Give a group the offsets of another", json: true, run: cloneGroupOffset,
			options: []option{{short: "s", long: "srcGroup", arg: true, required: true, help: "group to copy from"},
				{short: "d", long: "destGroup", arg: true, required: true, help: "group to copy to"}, optTopic("topic whose route gives the brokers"),
				{short: "o", long: "offline", arg: true, help: "ignored"}, optPreview}},
	}
}

func resetOffsetByTime(ctx context.Context, c *call) error {
	at := c.env.Clock.Now().UnixMilli()
	text := c.str("s")
	if text != "now" {
		var err error
		if at, err = parseTime(text, c.env.Location); err != nil {
			return err
		}
	}
	if c.has("preview") {
		return previewReset(ctx, c, at)
	}
	if c.has("b") && c.has("q") {
		return resetQueue(ctx, c, text, at)
	}
	group, topic, force := c.str("g"), c.str("t"), c.isTrue("f", true)
	offsets, err := c.admin.ResetOffsets(ctx, topic, group, at, force)
	if admin.IsCode(err, protocol.RespConsumerNotOnline) {
		c.printf("reset consumer offset by specified consumerGroup[%s], topic[%s], force[%t], timestamp(string)[%s], timestamp(long)[%d]\n",
			group, topic, force, text, at)
		return resetOffline(ctx, c, topic, group, at, force, "#resetOffset")
	}
	if err != nil {
		return err
	}
	if !c.asJSON {
		c.printf("start reset consumer offset by specified, group[%s], topic[%s], force[%t], timestamp(string)[%s], timestamp(long)[%d]\n",
			group, topic, force, text, at)
	}
	return printOffsets(c, offsets)
}

func resetQueue(ctx context.Context, c *call, text string, at int64) error {
	group, topic, addr := c.str("g"), c.str("t"), c.str("b")
	queue, err := c.int32("q", 0)
	if err != nil {
		return err
	}
	c.printf("start reset consumer offset by specified, group[%s], topic[%s], queueId[%d], broker[%s], timestamp(string)[%s], timestamp(long)[%d]\n",
		group, topic, queue, addr, text, at)
	var offset int64
	if c.has("o") {
		offset, err = c.int64("o", 0)
	} else {
		offset, err = c.admin.SearchOffset(ctx, addr, protocol.MessageQueue{Topic: topic, QueueID: queue}, at)
	}
	if err != nil {
		return err
	}
	c.printf("reset consumer offset to %d\n", offset)
	if offset <= 0 {
		return nil
	}
	return c.admin.ResetQueueOffset(ctx, addr, topic, group, queue, offset)
}

func skipAccumulated(ctx context.Context, c *call) error {
	if c.has("preview") {
		return previewReset(ctx, c, admin.LatestTime)
	}
	group, topic, force := c.str("g"), c.str("t"), c.isTrue("f", true)
	offsets, err := c.admin.ResetOffsets(ctx, topic, group, admin.LatestTime, force)
	if admin.IsCode(err, protocol.RespConsumerNotOnline) {
		return resetOffline(ctx, c, topic, group, admin.LatestTime, force, "#rollbackOffset")
	}
	if err != nil {
		return err
	}
	return printOffsets(c, offsets)
}

// resetOffline is for brokers that cannot reset a group without clients: the tool computes and commits the offsets itself.
func resetOffline(ctx context.Context, c *call, topic, group string, at int64, force bool, lastColumn string) error {
	rows, err := c.admin.ResetOffsetsOffline(ctx, topic, group, at, force)
	cells := []any{"#brokerName", "#queueId", "#brokerOffset", "#consumerOffset", "#timestampOffset", lastColumn}
	c.printf(strings.TrimSuffix(strings.Repeat("%-20s  ", len(cells)), "  ")+"\n", cells...)
	for _, r := range rows {
		c.printf("%-20s  %-20d  %-20d  %-20d  %-20d  %-20d\n", cut(r.Queue.BrokerName, 32), r.Queue.QueueID, r.BrokerOffset, r.ConsumerOffset,
			r.TimestampOffset, r.RollbackOffset)
	}
	return err
}

// offsetRow is where one queue was moved to.
type offsetRow struct {
	Broker  string `json:"broker"`
	QueueID int32  `json:"queueId"`
	Offset  int64  `json:"offset"`
}

func printOffsets(c *call, offsets protocol.MessageQueueMap[int64]) error {
	if c.asJSON {
		rows := make([]offsetRow, 0, len(offsets))
		for _, q := range offsets.SortedQueues() {
			rows = append(rows, offsetRow{q.BrokerName, q.QueueID, offsets[q]})
		}
		return c.printJSON(rows)
	}
	c.printf("%-40s  %-40s  %-40s\n", "#brokerName", "#queueId", "#offset")
	for _, q := range offsets.SortedQueues() {
		c.printf("%-40s  %-40d  %-40d\n", cut(q.BrokerName, 32), q.QueueID, offsets[q])
	}
	return nil
}

func cloneGroupOffset(ctx context.Context, c *call) error {
	from, to, topic := c.str("s"), c.str("d"), c.str("t")
	if c.has("preview") {
		moves, err := c.admin.PreviewClone(ctx, from, to, topic)
		if err != nil {
			return err
		}
		return c.printMoves(moves)
	}
	if err := c.admin.CloneOffsets(ctx, from, to, topic); err != nil {
		return err
	}
	if c.asJSON {
		return c.printJSON(map[string]string{"srcGroup": from, "destGroup": to, "topic": topic})
	}
	c.printf("clone group offset success. srcGroup[%s], destGroup=[%s], topic[%s]", from, to, topic)
	return nil
}
