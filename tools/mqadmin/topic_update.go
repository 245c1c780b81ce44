package mqadmin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// targetOptions are -b and -c where exactly one must be given.
func targetOptions(brokerHelp, clusterHelp string) []option {
	b, cl := optBroker(brokerHelp), optCluster("clusterName", clusterHelp)
	b.group, cl.group = "G1", "G1"
	return []option{b, cl}
}

func topicUpdateCommands() []*command {
	return []*command{
		{name: "updateTopic", class: "UpdateTopicSubCommand", short: "Create or change a topic", run: updateTopic,
			options: append(targetOptions("create topic to which broker", "create topic to which cluster"),
				option{short: "a", long: "attributes", arg: true, help: "attributes to change: +key=value,-key"},
				optTopic("topic name"),
				option{short: "r", long: "readQueueNums", arg: true, help: "queues to read, default 8"},
				option{short: "w", long: "writeQueueNums", arg: true, help: "queues to write, default 8"},
				option{short: "p", long: "perm", arg: true, help: "permission: 2 write, 4 read, 6 both (default)"},
				option{short: "o", long: "order", arg: true, help: "true: an ordered topic"},
				option{short: "u", long: "unit", arg: true, help: "true: a unit topic"},
				option{short: "s", long: "hasUnitSub", arg: true, help: "true: has unit subscriptions"})},
		{name: "updateTopicList", class: "UpdateTopicListSubCommand", short: "Create or change the topics of a JSON file", run: updateTopicList,
			options: append(targetOptions("create topics to which broker", "create topics to which cluster"),
				option{short: "f", long: "filename", arg: true, required: true, help: "JSON file with a list of topic configurations"})},
		{name: "updateTopicPerm", class: "UpdateTopicPermSubCommand", short: "Change a topic's permission", run: updateTopicPerm,
			options: []option{optBroker("master of the broker to change"), optCluster("clusterName", "cluster to change"), optTopic("topic name"),
				{short: "p", long: "perm", arg: true, required: true, help: "permission: 2 write, 4 read, 6 both"}}},
		{name: "deleteTopic", class: "DeleteTopicSubCommand", short: "Delete a topic from a cluster and the NameServers", run: deleteTopic,
			options: []option{optTopic("topic name"), {short: "c", long: "clusterName", arg: true, required: true, help: "delete topic from which cluster"}}},
		{name: "updateOrderConf", class: "UpdateOrderConfCommand", short: "Set, print or delete a topic's order configuration", run: updateOrderConf,
			options: []option{optTopic("topic name"), {short: "v", long: "orderConf", arg: true, help: "broker:queues;broker:queues, for put"},
				{short: "m", long: "method", arg: true, required: true, help: "put, get or delete"}}},
	}
}

func topicText(t *protocol.TopicConfig) string {
	return fmt.Sprintf("TopicConfig [topicName=%s, readQueueNums=%d, writeQueueNums=%d, perm=%s, topicFilterType=%s, topicSysFlag=%d, order=%t, attributes=%s]",
		t.TopicName, t.ReadQueueNums, t.WriteQueueNums, protocol.PermString(t.Perm), t.TopicFilterType, t.TopicSysFlag, t.Order, javaMap(t.Attributes))
}

func (c *call) topicConfig() (*protocol.TopicConfig, error) {
	t := &protocol.TopicConfig{TopicName: c.str("t"), TopicFilterType: "SINGLE_TAG", Order: c.isTrue("o", false)}
	var err error
	for _, f := range []struct {
		key string
		def int32
		to  *int32
	}{{"r", 8, &t.ReadQueueNums}, {"w", 8, &t.WriteQueueNums}, {"p", protocol.PermRead | protocol.PermWrite, &t.Perm}} {
		if *f.to, err = c.int32(f.key, f.def); err != nil {
			return nil, err
		}
	}
	if c.isTrue("u", false) {
		t.TopicSysFlag |= protocol.TopicSysFlagUnit
	}
	if c.isTrue("s", false) {
		t.TopicSysFlag |= protocol.TopicSysFlagUnitSub
	}
	t.Attributes, err = parseAttributes(c.str("a"))
	return t, err
}

// parseAttributes reads +k=v,-k into a map whose keys keep their sign.
func parseAttributes(list string) (map[string]string, error) {
	out := map[string]string{}
	for _, item := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		key, value, hasValue := strings.Cut(item, "=")
		switch {
		case strings.HasPrefix(key, "+") && hasValue, strings.HasPrefix(key, "-") && !hasValue:
			out[key] = value
		default:
			return nil, &javaError{class: classRuntime, text: fmt.Sprintf("attribute %q is neither of the form +key=value nor -key", item)}
		}
	}
	return out, nil
}

func updateTopic(ctx context.Context, c *call) error {
	t, err := c.topicConfig()
	if err != nil {
		return err
	}
	if addr := c.str("b"); addr != "" {
		if err := c.admin.UpdateTopic(ctx, addr, t, c.str("a")); err != nil {
			return err
		}
		if t.Order {
			if err := orderOnBroker(ctx, c, t, addr); err != nil {
				c.trace(err)
			}
		}
		c.printf("create topic to %s success.\n%s\n", addr, topicText(t))
		return nil
	}
	masters, err := c.masters(ctx, c.str("c"))
	if err != nil {
		return err
	}
	for _, addr := range masters {
		if err := c.admin.UpdateTopic(ctx, addr, t, c.str("a")); err != nil {
			return err
		}
		c.printf("create topic to %s success.\n", addr)
	}
	if t.Order {
		if err := orderOnCluster(ctx, c, t); err != nil {
			return err
		}
	}
	c.printf("%s\n", topicText(t))
	return nil
}

// orderOnBroker adds one broker to the topic's order configuration, which the NameServers keep.
func orderOnBroker(ctx context.Context, c *call, t *protocol.TopicConfig, addr string) error {
	all, err := c.admin.Replicas(ctx, "")
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(r admin.Replica) bool { return r.Addr == addr })
	if at < 0 {
		return fmt.Errorf("broker %s is not registered: %w", addr, admin.ErrNoBroker)
	}
	conf := fmt.Sprintf("%s:%d", all[at].Broker, t.WriteQueueNums)
	old, err := c.admin.GetKV(ctx, protocol.OrderTopicConfigNS, t.TopicName)
	if err != nil && !admin.IsCode(err, protocol.RespQueryNotFound) {
		return err
	}
	if err := c.admin.PutKV(ctx, protocol.OrderTopicConfigNS, t.TopicName, mergeOrder(old, conf)); err != nil {
		return err
	}
	c.printf("set broker orderConf. isOrder=%t, orderConf=[%s]\n", t.Order, conf)
	return nil
}

// mergeOrder replaces or adds the entry of one broker.
func mergeOrder(list, entry string) string {
	name, _, _ := strings.Cut(entry, ":")
	var out []string
	for _, e := range strings.FieldsFunc(list, func(r rune) bool { return r == ';' }) {
		if !strings.HasPrefix(e, name+":") {
			out = append(out, e)
		}
	}
	return strings.Join(append(out, entry), ";")
}

func orderOnCluster(ctx context.Context, c *call, t *protocol.TopicConfig) error {
	all, err := c.admin.Replicas(ctx, c.str("c"))
	if errors.Is(err, admin.ErrNoCluster) {
		return nil
	}
	if err != nil {
		return err
	}
	var conf []string
	for _, r := range all {
		if e := fmt.Sprintf("%s:%d", r.Broker, t.WriteQueueNums); !slices.Contains(conf, e) {
			conf = append(conf, e)
		}
	}
	text := strings.Join(conf, ";")
	if err := c.admin.PutKV(ctx, protocol.OrderTopicConfigNS, t.TopicName, text); err != nil {
		return err
	}
	c.printf("set cluster orderConf. isOrder=%t, orderConf=[%s]\n", t.Order, text)
	return nil
}

// readList reads a JSON list from the file of -f. ok is false when there is nothing to do.
func readList[T any](c *call) (list []T, ok bool, err error) {
	name := c.str("f")
	b, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		c.printf("the file path %s does not exists\n", name)
		c.failed = true
		return nil, false, nil
	}
	if err == nil {
		err = protocol.UnmarshalFast(b, &list)
	}
	if err != nil {
		return nil, false, fmt.Errorf("file %s: %w", name, err)
	}
	return list, len(list) > 0, nil
}

func updateTopicList(ctx context.Context, c *call) error {
	topics, ok, err := readList[protocol.TopicConfig](c)
	if err != nil || !ok {
		return err
	}
	if addr := c.str("b"); addr != "" {
		if err := c.admin.UpdateTopics(ctx, addr, topics); err != nil {
			return err
		}
		c.printf("submit batch of topic config to %s success, please check the result later.\n", addr)
		return nil
	}
	masters, err := c.masters(ctx, c.str("c"))
	if err != nil {
		return err
	}
	for _, addr := range masters {
		if err := c.admin.UpdateTopics(ctx, addr, topics); err != nil {
			return err
		}
		c.printf("submit batch of topic config to %s success, please check the result later.\n", addr)
	}
	writeUsage(c.out, c.cmd.name, c.cmd.allOptions())
	return nil
}

func updateTopicPerm(ctx context.Context, c *call) error {
	topic := c.str("t")
	perm, err := c.int32("p", 0)
	if err != nil {
		return err
	}
	route, err := c.admin.Route(ctx, topic)
	if err != nil {
		return err
	}
	if len(route.QueueDatas) == 0 {
		return fmt.Errorf("topic %s has no queues: %w", topic, admin.ErrNoBroker)
	}
	q := route.QueueDatas[0]
	addr := c.str("b")
	if addr != "" {
		at := slices.IndexFunc(route.BrokerDatas, func(b protocol.BrokerData) bool { return b.BrokerAddrs[0] == addr })
		if at < 0 {
			c.printf("updateTopicPerm error broker not exit or broker is not master!.\n")
			c.failed = true
			return nil
		}
		if i := slices.IndexFunc(route.QueueDatas, func(q protocol.QueueData) bool { return q.BrokerName == route.BrokerDatas[at].BrokerName }); i >= 0 {
			q = route.QueueDatas[i]
		}
	}
	if perm == q.Perm {
		c.printf("new perm equals to the old one!\n")
		return nil
	}
	t := &protocol.TopicConfig{TopicName: topic, ReadQueueNums: q.ReadQueueNums, WriteQueueNums: q.WriteQueueNums, Perm: perm,
		TopicFilterType: "SINGLE_TAG", TopicSysFlag: q.TopicSysFlag}
	return setPerm(ctx, c, t, q.Perm)
}

func setPerm(ctx context.Context, c *call, t *protocol.TopicConfig, old int32) error {
	addrs := []string{c.str("b")}
	switch {
	case c.has("b"):
	case c.has("c"):
		var err error
		if addrs, err = c.masters(ctx, c.str("c")); err != nil {
			return err
		}
	default:
		return usagef("-b or -c is needed")
	}
	for _, addr := range addrs {
		if err := c.admin.UpdateTopic(ctx, addr, t, ""); err != nil {
			return err
		}
		c.printf("update topic perm from %d to %d in %s success.\n", old, t.Perm, addr)
	}
	if c.has("b") {
		c.printf("%s.\n", topicText(t))
	}
	return nil
}

func deleteTopic(ctx context.Context, c *call) error {
	topic, cluster := c.str("t"), c.str("c")
	masters, err := c.masters(ctx, cluster)
	if err != nil {
		return err
	}
	for _, addr := range masters {
		if err := c.admin.DeleteTopicOnBroker(ctx, addr, topic); err != nil {
			return err
		}
	}
	c.printf("delete topic [%s] from cluster [%s] success.\n", topic, cluster)
	if err := c.admin.DeleteTopicOnNameServers(ctx, cluster, topic); err != nil {
		return err
	}
	c.printf("delete topic [%s] from NameServer success.\n", topic)
	return nil
}

func updateOrderConf(ctx context.Context, c *call) error {
	topic, ns := c.str("t"), protocol.OrderTopicConfigNS
	switch method := c.str("m"); {
	case method == "get":
		conf, err := c.admin.GetKV(ctx, ns, topic)
		if err != nil {
			return err
		}
		c.printf("get orderConf success. topic=[%s], orderConf=[%s] ", topic, conf)
	case method == "put" && c.has("v"):
		if err := c.admin.PutKV(ctx, ns, topic, c.str("v")); err != nil {
			return err
		}
		c.printf("update orderConf success. topic=[%s], orderConf=[%s]", topic, c.str("v"))
	case method == "put":
		return &javaError{class: "java.lang.Exception", text: "please set orderConf with option -v."}
	case method == "delete":
		if err := c.admin.DeleteKV(ctx, ns, topic); err != nil {
			return err
		}
		c.printf("delete orderConf success. topic=[%s]", topic)
	default:
		return usagef("method %s is none of get, put, delete", method)
	}
	return nil
}
