package mqadmin

import (
	"context"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

func modeCommands() []*command {
	b, cl := optBroker("broker address"), optCluster("clusterName", "masters of a cluster")
	b.group, cl.group = "G1", "G1"
	return []*command{
		{name: "setConsumeMode", class: "SetConsumeModeSubCommand", short: "Choose how a group takes the messages of a topic: PULL or POP", run: setConsumeMode,
			options: []option{b, cl, {short: "t", long: "topicName", arg: true, required: true, help: "topic name"}, optGroup("consumer group name"),
				{short: "m", long: "mode", arg: true, required: true, help: "PULL or POP"},
				{short: "q", long: "popShareQueueNum", arg: true, help: "with POP: how many other members' queues a member shares, 0 for all queues; default 0"}}},
	}
}

func setConsumeMode(ctx context.Context, c *call) error {
	m := protocol.SetMessageRequestModeRequestBody{Topic: c.str("t"), ConsumerGroup: c.str("g"), Mode: c.str("m")}
	var err error
	if m.PopShareQueueNum, err = c.int32("q", 0); err != nil {
		return err
	}
	if m.Mode != protocol.RequestModePull && m.Mode != protocol.RequestModePop {
		return usagef("-m must be PULL or POP")
	}
	masters := []string{c.str("b")}
	if masters[0] == "" {
		if masters, err = c.masters(ctx, c.str("c")); err != nil {
			return err
		}
	}
	for _, addr := range masters {
		if err := c.admin.SetRequestMode(ctx, addr, &m); err != nil {
			if c.has("b") {
				return err
			}
			c.trace(err)
			c.wait(ctx, time.Second)
			continue
		}
		c.printf("set consume mode to %s success.\n", addr)
	}
	c.printf("topic[%s] group[%s] consume mode[%s] popShareQueueNum[%d]", m.Topic, m.ConsumerGroup, m.Mode, m.PopShareQueueNum)
	return nil
}
