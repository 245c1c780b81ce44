package mqadmin

import (
	"context"
	"time"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func brokerCommands() []*command {
	choreOptions := []option{optBroker("broker address"), optCluster("cluster", "all brokers of a cluster; without -b and -c, all that the NameServer knows")}
	return []*command{
		{name: "brokerStatus", class: "BrokerStatusSubCommand", short: "Print a broker's runtime figures", json: true, run: brokerStatus,
			options: targetOptions("Broker address", "which cluster")},
		{name: "getBrokerConfig", class: "GetBrokerConfigCommand", short: "Print a broker's configuration", json: true, run: getBrokerConfig,
			options: []option{optBroker("broker address"), optCluster("clusterName", "masters and slaves of a cluster")}},
		{name: "updateBrokerConfig", class: "UpdateBrokerConfigSubCommand", short: "Change a key of a broker's configuration", run: updateBrokerConfig,
			options: []option{optBroker("broker address"), optCluster("clusterName", "masters of a cluster"),
				{short: "a", long: "updateAllBroker", arg: true, help: "with -c: slaves too"},
				{short: "k", long: "key", arg: true, required: true, help: "key"}, {short: "v", long: "value", arg: true, required: true, help: "value"}}},
		{name: "brokerConsumeStats", class: "BrokerConsumeStatsSubCommad", short: "Print the offsets of all groups of a broker", json: true, run: brokerConsumeStats,
			options: []option{{short: "b", long: "brokerAddr", arg: true, required: true, help: "broker address"},
				{short: "t", long: "timeoutMillis", arg: true, help: "request timeout in ms, default 50000"},
				{short: "l", long: "level", arg: true, help: "only queues that lag at least so much, default 0"},
				{short: "o", long: "order", arg: true, help: "true: orderly groups only"}}},
		{name: "cleanExpiredCQ", class: "CleanExpiredCQSubCommand", short: "Remove expired consume queues", options: choreOptions, run: chore(admin.CleanExpiredQueues)},
		{name: "cleanUnusedTopic", class: "CleanUnusedTopicCommand", short: "Remove the queues of topics that are gone", options: choreOptions, run: chore(admin.CleanUnusedTopics)},
		{name: "deleteExpiredCommitLog", class: "DeleteExpiredCommitLogSubCommand", short: "Delete expired commit log files now", options: choreOptions,
			run: chore(admin.DeleteExpiredCommitLog), failText: " command execute failed."},
	}
}

func brokerStatus(ctx context.Context, c *call) error {
	if addr := c.str("b"); addr != "" {
		info, err := c.admin.RuntimeInfo(ctx, addr)
		if err != nil {
			return err
		}
		if c.asJSON {
			return c.printJSON(info)
		}
		for _, k := range sortedKeys(info) {
			c.printf("%-32s: %s\n", k, info[k])
		}
		return nil
	}
	all, err := c.replicas(ctx, c.str("c"))
	if err != nil {
		return err
	}
	byAddr := map[string]map[string]string{}
	for _, r := range all {
		info, err := c.admin.RuntimeInfo(ctx, r.Addr)
		if err != nil {
			return err
		}
		byAddr[r.Addr] = info
		if c.asJSON {
			continue
		}
		for _, k := range sortedKeys(info) {
			c.printf("%-24s %-32s: %s\n", r.Addr, k, info[k])
		}
	}
	if c.asJSON {
		return c.printJSON(byAddr)
	}
	return nil
}

func printConfig(c *call, head string, conf map[string]string) {
	c.printf("============%s============\n", head)
	for _, k := range sortedKeys(conf) {
		c.printf("%-50s=  %s\n", k, conf[k])
	}
}

func getBrokerConfig(ctx context.Context, c *call) error {
	if addr := c.str("b"); addr != "" {
		conf, err := c.admin.BrokerConfig(ctx, addr)
		if err != nil {
			return err
		}
		if c.asJSON {
			return c.printJSON(conf)
		}
		printConfig(c, addr, conf)
		c.printf("\n")
		return nil
	}
	if !c.has("c") {
		return nil
	}
	all, err := c.replicas(ctx, c.str("c"))
	if err != nil {
		return err
	}
	byAddr := map[string]map[string]string{}
	master, group := "", ""
	for _, r := range all { // a group's master has the lowest id, so it comes first
		conf, err := c.admin.BrokerConfig(ctx, r.Addr)
		if err != nil {
			return err
		}
		byAddr[r.Addr] = conf
		if c.asJSON {
			continue
		}
		switch {
		case r.ID == 0:
			master, group = r.Addr, r.Broker
			printConfig(c, "Master: "+r.Addr, conf)
		case group != r.Broker:
			master, group = "NO_MASTER", r.Broker
			c.printf("============Master: NO_MASTER============\n")
			printConfig(c, "My Master: "+master+"=====Slave: "+r.Addr, conf)
		default:
			printConfig(c, "My Master: "+master+"=====Slave: "+r.Addr, conf)
		}
		c.printf("\n")
	}
	if c.asJSON {
		return c.printJSON(byAddr)
	}
	return nil
}

func updateBrokerConfig(ctx context.Context, c *call) error {
	kv := map[string]string{c.str("k"): c.str("v")}
	if addr := c.str("b"); addr != "" {
		if err := c.admin.UpdateBrokerConfig(ctx, addr, kv); err != nil {
			return err
		}
		c.printf("update broker config success, %s\n", addr)
		return nil
	}
	if !c.has("c") {
		return usagef("-b or -c is needed")
	}
	all, err := c.replicas(ctx, c.str("c"))
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.ID != 0 && !c.has("a") {
			continue
		}
		if err := c.admin.UpdateBrokerConfig(ctx, r.Addr, kv); err != nil {
			c.trace(err)
			continue
		}
		c.printf("update broker config success, %s\n", r.Addr)
	}
	return nil
}

// chore runs housekeeping on one broker, a cluster's masters, or all masters, and prints the word success, or false when one refused.
func chore(what admin.Chore) func(context.Context, *call) error {
	return func(ctx context.Context, c *call) error {
		addrs := []string{c.str("b")}
		if !c.has("b") {
			var err error
			if addrs, err = c.masters(ctx, c.str("c")); err != nil {
				return err
			}
		}
		word := "success"
		for _, addr := range addrs {
			if err := c.admin.Do(ctx, addr, what); err != nil {
				c.trace(err)
				word = "false"
			}
		}
		c.printf("%s", word)
		return nil
	}
}

// lagRow is one queue of one group.
type lagRow struct {
	Topic          string `json:"topic"`
	Group          string `json:"group,omitempty"`
	Broker         string `json:"broker"`
	QueueID        int32  `json:"queueId"`
	BrokerOffset   int64  `json:"brokerOffset"`
	ConsumerOffset int64  `json:"consumerOffset"`
	ClientIP       string `json:"clientIp,omitempty"`
	Diff           int64  `json:"diff"`
	Inflight       int64  `json:"inflight"`
	LastTimestamp  int64  `json:"lastTimestamp"`
}

func brokerConsumeStats(ctx context.Context, c *call) error {
	timeout, err := c.int64("t", 0)
	if err != nil {
		return err
	}
	level, err := c.int64("l", 0)
	if err != nil {
		return err
	}
	list, err := c.admin.BrokerConsumeStats(ctx, c.str("b"), c.isTrue("o", false), time.Duration(timeout)*time.Millisecond)
	if err != nil {
		return err
	}
	rows := []lagRow{}
	for _, byGroup := range list.ConsumeStatsList {
		for _, group := range sortedKeys(byGroup) {
			for i := range byGroup[group] {
				rows = append(rows, lagRows(&byGroup[group][i], group, level)...)
			}
		}
	}
	if c.asJSON {
		return c.printJSON(map[string]any{"queues": rows, "totalDiff": list.TotalDiff})
	}
	c.printf("%-64s  %-64s  %-32s  %-4s  %-20s  %-20s  %-20s  %s\n", "#Topic", "#Group", "#Broker Name", "#QID", "#Broker Offset", "#Consumer Offset", "#Diff", "#LastTime")
	for _, r := range rows {
		c.printf("%-64s  %-64s  %-32s  %-4d  %-20d  %-20d  %-20d  %s\n",
			cut(r.Topic, 64), r.Group, cut(r.Broker, 32), r.QueueID, r.BrokerOffset, r.ConsumerOffset, r.Diff, c.dateTime(r.LastTimestamp))
	}
	c.printf("\nDiff Total: %d\n", list.TotalDiff)
	return nil
}

// lagRows are the queues of a group that lag by level or more and that the group has consumed from.
func lagRows(s *protocol.ConsumeStats, group string, level int64) []lagRow {
	var rows []lagRow
	for _, q := range s.OffsetTable.SortedQueues() {
		o := s.OffsetTable[q]
		diff := o.BrokerOffset - o.ConsumerOffset
		if diff < level || o.LastTimestamp <= 0 {
			continue
		}
		rows = append(rows, lagRow{Topic: q.Topic, Group: group, Broker: q.BrokerName, QueueID: q.QueueID, BrokerOffset: o.BrokerOffset,
			ConsumerOffset: o.ConsumerOffset, Diff: diff, LastTimestamp: o.LastTimestamp})
	}
	return rows
}
