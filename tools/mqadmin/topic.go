package mqadmin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// Options that many commands have, spelled as Java spells them.
func optTopic(help string) option {
	return option{short: "t", long: "topic", arg: true, required: true, help: help}
}

func optCluster(long, help string) option {
	return option{short: "c", long: long, arg: true, help: help}
}

func optBroker(help string) option {
	return option{short: "b", long: "brokerAddr", arg: true, help: help}
}

func topicCommands() []*command {
	return []*command{
		{name: "topicList", class: "TopicListSubCommand", short: "List the topics that the NameServer knows", json: true, run: topicList,
			options: []option{{short: "c", long: "clusterModel", help: "with cluster and consumer groups"}}},
		{name: "topicRoute", class: "TopicRouteSubCommand", short: "Print the route of a topic", json: true, run: topicRoute,
			options: []option{optTopic("topic name"), {short: "l", long: "list", help: "Use list format to print data"}}},
		{name: "topicStatus", class: "TopicStatusSubCommand", short: "Print the offsets of a topic's queues", json: true, run: topicStatus,
			options: []option{optTopic("topic name"), optCluster("cluster", "cluster name or light queue parent topic, used for the route")}},
		{name: "topicClusterList", class: "TopicClusterSubCommand", short: "List the clusters of a topic", json: true, run: topicClusterList,
			options: []option{optTopic("topic name")}},
		{name: "allocateMQ", class: "AllocateMQSubCommand", short: "Show how consumers would share a topic's queues", run: allocateMQ,
			options: []option{optTopic("topic name"), {short: "i", long: "ipList", arg: true, required: true, help: "consumer addresses, comma separated"}}},
	}
}

func topicList(ctx context.Context, c *call) error {
	topics, err := c.admin.Topics(ctx)
	if err != nil {
		return err
	}
	if c.has("c") {
		return topicListClusters(ctx, c, topics)
	}
	if c.asJSON {
		return c.printJSON(topics)
	}
	for _, t := range topics {
		c.printf("%s\n", t)
	}
	return nil
}

type topicRow struct {
	Cluster string   `json:"cluster"`
	Topic   string   `json:"topic"`
	Groups  []string `json:"groups"`
}

func topicListClusters(ctx context.Context, c *call, topics []string) error {
	info, err := c.admin.Cluster(ctx)
	if err != nil {
		return err
	}
	topics = slices.DeleteFunc(topics, isRetryOrDead)
	rows := make([]topicRow, len(topics))
	err = c.each(ctx, "topics", len(topics), func(ctx context.Context, i int) error {
		rows[i] = topicRow{Topic: topics[i], Groups: []string{}}
		route, err := c.admin.Route(ctx, topics[i])
		if err != nil {
			return ctx.Err() // a topic that has just gone is a row with blanks, as in Java
		}
		if cl := admin.ClustersOf(info, route); len(cl) > 0 {
			rows[i].Cluster = cl[0]
		}
		if groups, err := c.admin.TopicGroups(ctx, topics[i]); err == nil && groups != nil {
			rows[i].Groups = groups
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	if c.asJSON {
		return c.printJSON(rows)
	}
	c.printf("%-20s  %-48s  %-48s\n", "#Cluster Name", "#Topic", "#Consumer Group")
	for _, r := range rows {
		if len(r.Groups) == 0 {
			r.Groups = []string{""}
		}
		for _, g := range r.Groups {
			c.printf("%-20s  %-64s  %-64s\n", cut(r.Cluster, 20), cut(r.Topic, 64), cut(g, 64))
		}
	}
	return nil
}

func isRetryOrDead(topic string) bool {
	return protocol.IsRetryTopic(topic) || protocol.IsDLQTopic(topic)
}

func topicRoute(ctx context.Context, c *call) error {
	route, err := c.admin.Route(ctx, c.str("t"))
	switch {
	case err != nil:
		return err
	case c.asJSON:
		return c.printJSON(route)
	case c.has("l"):
		printRouteTable(c, route)
		return nil
	}
	text, err := javaJSON(route)
	c.printf("%s\n", text)
	return err
}

func printRouteTable(c *call, route *protocol.TopicRouteData) {
	const row = "%-45s %-32s %-50s %-10s %-11s %-5s\n"
	queues := map[string]protocol.QueueData{}
	for _, q := range route.QueueDatas {
		queues[q.BrokerName] = q
	}
	brokers := slices.Clone(route.BrokerDatas)
	slices.SortFunc(brokers, func(a, b protocol.BrokerData) int { return strings.Compare(a.BrokerName, b.BrokerName) })
	c.printf(row, "#ClusterName", "#BrokerName", "#BrokerAddrs", "#ReadQueue", "#WriteQueue", "#Perm")
	var read, write int32
	for i := range brokers {
		b := &brokers[i]
		q := queues[b.BrokerName]
		read, write = read+q.ReadQueueNums, write+q.WriteQueueNums
		c.printf(row, b.Cluster, b.BrokerName, addrsText(b.BrokerAddrs), fmt.Sprint(q.ReadQueueNums), fmt.Sprint(q.WriteQueueNums), fmt.Sprint(q.Perm))
	}
	c.printf("%s\n", strings.Repeat("-", 158))
	c.printf(row, "Total:", fmt.Sprint(len(brokers)), "", fmt.Sprint(read), fmt.Sprint(write), "")
}

// addrsText is Java's text of the map from broker id to address.
func addrsText(addrs map[int64]string) string {
	ids := make([]int64, 0, len(addrs))
	for id := range addrs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = fmt.Sprintf("%d=%s", id, addrs[id])
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

type queueStatus struct {
	Broker     string `json:"broker"`
	QueueID    int32  `json:"queueId"`
	MinOffset  int64  `json:"minOffset"`
	MaxOffset  int64  `json:"maxOffset"`
	LastUpdate int64  `json:"lastUpdateTimestamp"`
}

func topicStatus(ctx context.Context, c *call) error {
	stats, err := c.admin.TopicStats(ctx, c.str("t"))
	if err != nil {
		return err
	}
	var rows []queueStatus
	for _, q := range stats.OffsetTable.SortedQueues() {
		o := stats.OffsetTable[q]
		rows = append(rows, queueStatus{q.BrokerName, q.QueueID, o.MinOffset, o.MaxOffset, o.LastUpdateTimestamp})
	}
	if c.asJSON {
		return c.printJSON(map[string]any{"queues": rows, "putTps": stats.TopicPutTps})
	}
	c.printf("%-32s  %-4s  %-20s  %-20s    %s\n", "#Broker Name", "#QID", "#Min Offset", "#Max Offset", "#Last Updated")
	for _, r := range rows {
		last := ""
		if r.LastUpdate > 0 {
			last = c.dateTimeMillis(r.LastUpdate)
		}
		c.printf("%-32s  %-4d  %-20d  %-20d    %s\n", cut(r.Broker, 32), r.QueueID, r.MinOffset, r.MaxOffset, last)
	}
	c.printf("\nTopic Put TPS: %s\n", javaDouble(stats.TopicPutTps))
	return nil
}

func topicClusterList(ctx context.Context, c *call) error {
	clusters, err := c.admin.TopicClusters(ctx, c.str("t"))
	if err != nil {
		return err
	}
	if c.asJSON {
		return c.printJSON(clusters)
	}
	for _, cl := range clusters {
		c.printf("%s\n", cl)
	}
	return nil
}

func allocateMQ(ctx context.Context, c *call) error {
	queues, err := c.admin.SubscribeQueues(ctx, c.str("t"))
	if err != nil {
		return err
	}
	ips := strings.Split(c.str("i"), ",")
	result := map[string][]protocol.MessageQueue{}
	for i, q := range queues {
		ip := strings.TrimSpace(ips[i%len(ips)])
		result[ip] = append(result[ip], q)
	}
	return c.printJSON(map[string]any{"result": result})
}

// masters lists the masters of a cluster. An unknown cluster is a line on stdout and no brokers: that is all that Java makes of it.
func (c *call) masters(ctx context.Context, cluster string) ([]string, error) {
	addrs, err := c.admin.Masters(ctx, cluster)
	return addrs, c.noCluster(err)
}

// replicas is masters with the slaves.
func (c *call) replicas(ctx context.Context, cluster string) ([]admin.Replica, error) {
	all, err := c.admin.Replicas(ctx, cluster)
	return all, c.noCluster(err)
}

func (c *call) noCluster(err error) error {
	if errors.Is(err, admin.ErrNoCluster) {
		c.printf("[error] Make sure the specified clusterName exists or the name server connected to is correct.")
		c.failed = true
		return nil
	}
	return err
}
