package mqadmin

import (
	"context"
	"strings"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func progressCommands() []*command {
	return []*command{
		{name: "consumerProgress", class: "ConsumerProgressSubCommand", short: "Print what consumer groups have consumed and how far they lag", json: true, run: consumerProgress,
			options: []option{{short: "g", long: "groupName", arg: true, help: "consumer group; without it, one line for each group"},
				{short: "t", long: "topicName", arg: true, help: "only this topic"},
				{short: "s", long: "showClientIP", arg: true, help: "true: with the address of each queue's consumer"},
				optCluster("cluster", "cluster name or light queue parent topic")}},
		{name: "statsAll", class: "StatsAllSubCommand", short: "Print the traffic of topics and groups", json: true, run: statsAll,
			options: []option{{short: "a", long: "activeTopic", help: "only topics with traffic"}, {short: "t", long: "topic", arg: true, help: "only this topic"}}},
	}
}

func consumerProgress(ctx context.Context, c *call) error {
	if c.has("g") {
		return groupProgress(ctx, c)
	}
	return allProgress(ctx, c)
}

func groupProgress(ctx context.Context, c *call) error {
	group, showIP := c.str("g"), c.isTrue("s", false)
	stats, err := c.admin.ConsumeStats(ctx, group, c.str("t"))
	if err != nil {
		return err
	}
	var owners map[protocol.MessageQueue]string
	if showIP {
		owners = queueOwners(ctx, c, group)
	}
	rows := []lagRow{}
	var diff, inflight int64
	for _, q := range stats.OffsetTable.SortedQueues() {
		o := stats.OffsetTable[q]
		r := lagRow{Topic: q.Topic, Broker: q.BrokerName, QueueID: q.QueueID, BrokerOffset: o.BrokerOffset, ConsumerOffset: o.ConsumerOffset,
			ClientIP: owners[q], Diff: o.BrokerOffset - o.ConsumerOffset, Inflight: o.PullOffset - o.ConsumerOffset, LastTimestamp: o.LastTimestamp}
		diff, inflight = diff+r.Diff, inflight+r.Inflight
		rows = append(rows, r)
	}
	if c.asJSON {
		return c.printJSON(map[string]any{"queues": rows, "consumeTps": stats.ConsumeTps, "diffTotal": diff, "inflightTotal": inflight})
	}
	printGroupProgress(c, rows, showIP)
	c.printf("\nConsume TPS: %s\nConsume Diff Total: %d\nConsume Inflight Total: %d\n", javaFixed(stats.ConsumeTps, 2), diff, inflight)
	return nil
}

func printGroupProgress(c *call, rows []lagRow, showIP bool) {
	ip := func(s string) string { return "" }
	if showIP {
		ip = func(s string) string { return s + strings.Repeat(" ", max(0, 20-len(s))) + " " }
	}
	c.printf("%-64s  %-32s  %-4s  %-20s  %-20s  %s%-20s %-20s%s\n", "#Topic", "#Broker Name", "#QID", "#Broker Offset", "#Consumer Offset",
		ip("#Client IP"), "#Diff", "#Inflight", "#LastTime")
	for _, r := range rows {
		last, owner := "N/A", r.ClientIP
		if r.LastTimestamp != 0 {
			last = c.dateTime(r.LastTimestamp)
		}
		if owner == "" {
			owner = "N/A"
		}
		c.printf("%-64s  %-32s  %-4d  %-20d  %-20d  %s%-20d %-20d %s\n", cut(r.Topic, 64), cut(r.Broker, 32), r.QueueID, r.BrokerOffset, r.ConsumerOffset,
			ip(owner), r.Diff, r.Inflight, last)
	}
}

// queueOwners asks each client of the group which queues it has. A client that does not answer leaves its queues without an owner.
func queueOwners(ctx context.Context, c *call, group string) map[protocol.MessageQueue]string {
	owners := map[protocol.MessageQueue]string{}
	conn, err := c.admin.ConsumerConnection(ctx, group, "")
	if err != nil {
		return owners
	}
	for _, cl := range conn.ConnectionSet {
		info, err := c.admin.RunningInfo(ctx, group, cl.ClientID, false, "")
		if err != nil {
			continue
		}
		ip, _, _ := strings.Cut(cl.ClientID, "@")
		for q := range info.MQTable {
			owners[q] = ip
		}
	}
	return owners
}

// groupRow is one group's line among all groups.
type groupRow struct {
	Group   string `json:"group"`
	Count   int    `json:"count"`
	Version string `json:"version"`
	Type    string `json:"type"`
	Model   string `json:"model"`
	TPS     int64  `json:"tps"`
	Diff    int64  `json:"diffTotal"`
}

func allProgress(ctx context.Context, c *call) error {
	topics, err := c.admin.Topics(ctx)
	if err != nil {
		return err
	}
	var groups []string
	for _, t := range topics {
		if g, ok := protocol.GroupOfRetryTopic(t); ok {
			g, _, _ = strings.Cut(g, "+") // retry topics of pop mode: group+topic
			groups = append(groups, g)
		}
	}
	rows := make([]groupRow, len(groups))
	err = c.each(ctx, "groups", len(groups), func(ctx context.Context, i int) error {
		rows[i] = groupLine(ctx, c, groups[i])
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	if c.asJSON {
		return c.printJSON(rows)
	}
	c.printf("%-64s  %-6s  %-24s %-5s  %-14s  %-7s  %s\n", "#Group", "#Count", "#Version", "#Type", "#Model", "#TPS", "#Diff Total")
	for _, r := range rows {
		c.printf("%-64s  %-6d  %-24s %-5s  %-14s  %-7d  %d\n", cut(r.Group, 64), r.Count, r.Version, r.Type, r.Model, r.TPS, r.Diff)
	}
	return nil
}

// groupLine gathers what is known of a group; a group without offsets or clients has blanks, as in Java.
func groupLine(ctx context.Context, c *call, group string) groupRow {
	r := groupRow{Group: group, Version: "OFFLINE"}
	if s, err := c.admin.ConsumeStats(ctx, group, ""); err == nil {
		r.TPS, r.Diff = int64(s.ConsumeTps), admin.TotalLag(s)
	}
	conn, err := c.admin.ConsumerConnection(ctx, group, "")
	if err != nil || len(conn.ConnectionSet) == 0 {
		return r
	}
	r.Count = len(conn.ConnectionSet)
	oldest := conn.ConnectionSet[0].Version
	for _, cl := range conn.ConnectionSet {
		oldest = min(oldest, cl.Version)
	}
	r.Version = protocol.VersionName(oldest)
	r.Type = "PUSH"
	if conn.ConsumeType == protocol.ConsumeActively {
		r.Type = "PULL"
	} else {
		r.Model = string(conn.MessageModel)
	}
	return r
}

// statRow is the traffic of one topic in one group, or of one topic that no group consumes.
type statRow struct {
	Topic        string  `json:"topic"`
	Group        string  `json:"group"`
	Accumulation int64   `json:"accumulation"`
	InTPS        float64 `json:"inTps"`
	OutTPS       float64 `json:"outTps"`
	In24h        int64   `json:"inMsg24Hour"`
	Out24h       int64   `json:"outMsg24Hour"`
}

func statsAll(ctx context.Context, c *call) error {
	topics, err := c.admin.Topics(ctx)
	if err != nil {
		return err
	}
	var wanted []string
	for _, t := range topics {
		if !isRetryOrDead(t) && (!c.has("t") || t == c.str("t")) {
			wanted = append(wanted, t)
		}
	}
	byTopic := make([][]statRow, len(wanted))
	err = c.each(ctx, "topics", len(wanted), func(ctx context.Context, i int) error {
		rows, err := topicStats(ctx, c, wanted[i])
		if err == nil { // a topic that fails is left out, as in Java
			byTopic[i] = rows
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	rows := []statRow{}
	for _, part := range byTopic {
		for _, r := range part {
			if !c.has("a") || r.In24h > 0 || r.Out24h > 0 {
				rows = append(rows, r)
			}
		}
	}
	if c.asJSON {
		return c.printJSON(rows)
	}
	printStats(c, rows)
	return nil
}

func printStats(c *call, rows []statRow) {
	c.printf("%-64s  %-64s %12s %11s %11s %14s %14s\n", "#Topic", "#Consumer Group", "#Accumulation", "#InTPS", "#OutTPS", "#InMsg24Hour", "#OutMsg24Hour")
	for _, r := range rows {
		if r.Group == "" {
			c.printf("%-64s  %-64s %12d %11s %11s %14d %14s\n", cut(r.Topic, 64), "", 0, javaFixed(r.InTPS, 2), "", r.In24h, "NO_CONSUMER")
			continue
		}
		c.printf("%-64s  %-64s %12d %11s %11s %14d %14d\n", cut(r.Topic, 64), cut(r.Group, 64), r.Accumulation,
			javaFixed(r.InTPS, 2), javaFixed(r.OutTPS, 2), r.In24h, r.Out24h)
	}
}

func topicStats(ctx context.Context, c *call, topic string) ([]statRow, error) {
	brokers, err := c.admin.TopicBrokers(ctx, topic)
	if err != nil {
		return nil, err
	}
	groups, err := c.admin.TopicGroups(ctx, topic)
	if err != nil {
		return nil, err
	}
	in := statRow{Topic: topic}
	in.InTPS, in.In24h = sumStats(ctx, c, brokers, admin.StatTopicPut, topic)
	if len(groups) == 0 {
		return []statRow{in}, nil
	}
	rows := make([]statRow, 0, len(groups))
	for _, g := range groups {
		r := in
		r.Group = g
		r.OutTPS, r.Out24h = sumStats(ctx, c, brokers, admin.StatGroupGet, topic+"@"+g)
		if s, err := c.admin.ConsumeStats(ctx, g, topic); err == nil {
			r.Accumulation = max(0, admin.TotalLag(s))
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// sumStats adds up a statistic over brokers; one that has none counts as 0.
func sumStats(ctx context.Context, c *call, brokers []admin.Replica, name, key string) (tps float64, day int64) {
	for _, b := range brokers {
		s, err := c.admin.BrokerStats(ctx, b.Addr, name, key)
		if err != nil {
			continue
		}
		tps += s.StatsMinute.TPS
		for _, n := range []int64{s.StatsDay.Sum, s.StatsHour.Sum, s.StatsMinute.Sum} { // the longest that there is yet
			if n != 0 {
				day += n
				break
			}
		}
	}
	return tps, day
}
