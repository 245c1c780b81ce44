package mqadmin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func optGroup(help string) option {
	return option{short: "g", long: "groupName", arg: true, required: true, help: help}
}

func groupCommands() []*command {
	return []*command{
		{name: "updateSubGroup", class: "UpdateSubGroupSubCommand", short: "Create or change a consumer group", run: updateSubGroup,
			options: []option{optBroker("create group on which broker"), optCluster("clusterName", "create group on the masters of which cluster"), optGroup("consumer group name"),
				{short: "s", long: "consumeEnable", arg: true, help: "the group may consume, default true"},
				{short: "m", long: "consumeFromMinEnable", arg: true, help: "start at the oldest message, default false"},
				{short: "d", long: "consumeBroadcastEnable", arg: true, help: "broadcast consumption allowed, default false"},
				{short: "o", long: "consumeMessageOrderly", arg: true, help: "orderly consumption, default false"},
				{short: "q", long: "retryQueueNums", arg: true, help: "queues of the retry topic, default 1"},
				{short: "r", long: "retryMaxTimes", arg: true, help: "retries before a message is dead, default 16"},
				{short: "p", long: "groupRetryPolicy", arg: true, help: "retry policy as JSON"},
				{short: "i", long: "brokerId", arg: true, help: "broker id to consume from, default 0"},
				{short: "w", long: "whichBrokerWhenConsumeSlowly", arg: true, help: "broker id for consumers that lag, default 1"},
				{short: "a", long: "notifyConsumerIdsChanged", arg: true, help: "tell members of changes, default true"},
				{long: "attributes", arg: true, help: "attributes to change: +key=value,-key"}}},
		{name: "updateSubGroupList", class: "UpdateSubGroupListSubCommand", short: "Create or change the consumer groups of a JSON file", run: updateSubGroupList,
			options: append(targetOptions("create groups on which broker", "create groups on the masters of which cluster"),
				option{short: "f", long: "filename", arg: true, required: true, help: "JSON file with a list of group configurations"})},
		{name: "deleteSubGroup", class: "DeleteSubscriptionGroupCommand", short: "Delete a consumer group", run: deleteSubGroup,
			options: []option{optBroker("delete group from which broker"), optCluster("clusterName", "delete group, and its retry and dead letter topics, from which cluster"),
				optGroup("consumer group name"), {short: "r", long: "removeOffset", arg: true, help: "true: its offsets too"}}},
		{name: "getConsumerConfig", class: "GetConsumerConfigSubCommand", short: "Print a consumer group's configuration", json: true, run: getConsumerConfig,
			options: []option{optGroup("consumer group name")}},
	}
}

// groupField is one line of getConsumerConfig, and one part of the group's text.
type groupField struct{ name, value string }

func groupFields(g *protocol.SubscriptionGroupConfig) []groupField {
	policy := g.GroupRetryPolicy
	exp, cust := "null", "null"
	typ := "CUSTOMIZED"
	if policy.Type != "" {
		typ = policy.Type
	}
	if p := policy.ExponentialRetryPolicy; p != nil {
		exp = fmt.Sprintf("ExponentialRetryPolicy{initial=%d, max=%d, multiplier=%d}", p.Initial, p.Max, p.Multiplier)
	}
	if p := policy.CustomizedRetryPolicy; p != nil {
		cust = "CustomizedRetryPolicy{next=" + strings.ReplaceAll(fmt.Sprint(p.Next), " ", ", ") + "}"
	}
	subs := ""
	if g.SubscriptionDataSet != nil {
		b, err := plainJSON(g.SubscriptionDataSet)
		if err == nil {
			subs = string(b)
		}
	}
	return []groupField{
		{"groupName", g.GroupName}, {"consumeEnable", boolText(g.ConsumeEnable)}, {"consumeFromMinEnable", boolText(g.ConsumeFromMinEnable)},
		{"consumeBroadcastEnable", boolText(g.ConsumeBroadcastEnable)}, {"consumeMessageOrderly", boolText(g.ConsumeMessageOrderly)},
		{"retryQueueNums", fmt.Sprint(g.RetryQueueNums)}, {"retryMaxTimes", fmt.Sprint(g.RetryMaxTimes)},
		{"groupRetryPolicy", fmt.Sprintf("GroupRetryPolicy{type=%s, exponentialRetryPolicy=%s, customizedRetryPolicy=%s}", typ, exp, cust)},
		{"brokerId", fmt.Sprint(g.BrokerID)}, {"whichBrokerWhenConsumeSlowly", fmt.Sprint(g.WhichBrokerWhenConsumeSlowly)},
		{"notifyConsumerIdsChangedEnable", boolText(g.NotifyConsumerIDsChangedEnable)}, {"groupSysFlag", fmt.Sprint(g.GroupSysFlag)},
		{"consumeTimeoutMinute", fmt.Sprint(g.ConsumeTimeoutMinute)}, {"subscriptionDataSet", subs}, {"attributes", javaMap(g.Attributes)},
	}
}

func groupText(g *protocol.SubscriptionGroupConfig) string {
	s := "SubscriptionGroupConfig{"
	for i, f := range groupFields(g) {
		if i > 0 {
			s += ", "
		}
		if f.name == "subscriptionDataSet" && f.value == "" {
			f.value = "null"
		}
		s += f.name + "=" + f.value
	}
	return s + "}"
}

func (c *call) groupConfig() (*protocol.SubscriptionGroupConfig, error) {
	g := &protocol.SubscriptionGroupConfig{
		GroupName: c.str("g"), ConsumeEnable: c.isTrue("s", true), ConsumeFromMinEnable: c.isTrue("m", false),
		ConsumeBroadcastEnable: c.isTrue("d", false), ConsumeMessageOrderly: c.isTrue("o", false),
		NotifyConsumerIDsChangedEnable: c.isTrue("a", true), ConsumeTimeoutMinute: 15,
	}
	g.GroupRetryPolicy.Type = "CUSTOMIZED"
	var err error
	if g.RetryQueueNums, err = c.int32("q", 1); err != nil {
		return nil, err
	}
	if g.RetryMaxTimes, err = c.int32("r", 16); err != nil {
		return nil, err
	}
	if g.BrokerID, err = c.int64("i", 0); err != nil {
		return nil, err
	}
	if g.WhichBrokerWhenConsumeSlowly, err = c.int64("w", 1); err != nil {
		return nil, err
	}
	if c.has("p") {
		if err := json.Unmarshal([]byte(c.str("p")), &g.GroupRetryPolicy); err != nil {
			return nil, fmt.Errorf("retry policy: %w", err)
		}
	}
	g.Attributes, err = parseAttributes(c.str("attributes"))
	return g, err
}

func updateSubGroup(ctx context.Context, c *call) error {
	g, err := c.groupConfig()
	if err != nil {
		return err
	}
	if addr := c.str("b"); addr != "" {
		if err := c.admin.UpdateGroup(ctx, addr, g); err != nil {
			return err
		}
		c.printf("create subscription group to %s success.\n%s", addr, groupText(g))
		return nil
	}
	if !c.has("c") {
		return usagef("-b or -c is needed")
	}
	masters, err := c.masters(ctx, c.str("c"))
	if err != nil {
		return err
	}
	for _, addr := range masters {
		if err := c.admin.UpdateGroup(ctx, addr, g); err != nil {
			c.trace(err)
			c.wait(ctx, time.Second)
			continue
		}
		c.printf("create subscription group to %s success.\n", addr)
	}
	c.printf("%s", groupText(g))
	return nil
}

func updateSubGroupList(ctx context.Context, c *call) error {
	groups, ok, err := readList[protocol.SubscriptionGroupConfig](c)
	if err != nil || !ok {
		return err
	}
	if addr := c.str("b"); addr != "" {
		if err := c.admin.UpdateGroups(ctx, addr, groups); err != nil {
			return err
		}
		c.printf("submit batch of group config to %s success, please check the result later.\n", addr)
		return nil
	}
	masters, err := c.masters(ctx, c.str("c"))
	if err != nil {
		return err
	}
	for _, addr := range masters {
		if err := c.admin.UpdateGroups(ctx, addr, groups); err != nil {
			return err
		}
		c.printf("submit batch of subscription group config to %s success, please check the result later.\n", addr)
	}
	writeUsage(c.out, c.cmd.name, c.cmd.allOptions())
	return nil
}

func deleteSubGroup(ctx context.Context, c *call) error {
	group, clean := c.str("g"), c.isTrue("r", false)
	if addr := c.str("b"); addr != "" {
		if err := c.admin.DeleteGroup(ctx, addr, group, clean); err != nil {
			return err
		}
		c.printf("delete subscription group [%s] from broker [%s] success.\n", group, addr)
		return nil
	}
	if !c.has("c") {
		return usagef("-b or -c is needed")
	}
	cluster := c.str("c")
	masters, err := c.masters(ctx, cluster)
	if err != nil {
		return err
	}
	for _, addr := range masters {
		if err := c.admin.DeleteGroup(ctx, addr, group, clean); err != nil {
			return err
		}
		c.printf("delete subscription group [%s] from broker [%s] in cluster [%s] success.\n", group, addr, cluster)
	}
	for _, topic := range []string{protocol.RetryTopic(group), protocol.DLQTopic(group)} {
		for _, addr := range masters {
			if err := c.admin.DeleteTopicOnBroker(ctx, addr, topic); err != nil {
				c.trace(err)
			}
		}
		if err := c.admin.DeleteTopicOnNameServers(ctx, cluster, topic); err != nil {
			c.trace(err)
		}
	}
	return nil
}

func getConsumerConfig(ctx context.Context, c *call) error {
	all, err := c.admin.Replicas(ctx, "")
	if err != nil && !errors.Is(err, admin.ErrNoCluster) {
		return err
	}
	type block struct {
		Cluster string                           `json:"cluster"`
		Broker  string                           `json:"broker"`
		Config  protocol.SubscriptionGroupConfig `json:"config"`
	}
	blocks := []block{}
	for _, r := range all {
		if r.ID != 0 {
			continue
		}
		groups, err := c.admin.Groups(ctx, r.Addr)
		if err != nil {
			return err
		}
		if g, ok := groups[c.str("g")]; ok {
			blocks = append(blocks, block{r.Cluster, r.Broker, g})
		}
	}
	if c.asJSON {
		return c.printJSON(blocks)
	}
	for _, b := range blocks {
		c.printf("%s%s:%s%s\n", equals29, b.Cluster, b.Broker, equals29)
		for _, f := range groupFields(&b.Config) {
			c.printf("%-40s=  %s\n", f.name, f.value)
		}
	}
	return nil
}

const equals29 = "============================="
