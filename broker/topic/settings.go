package topic

import (
	"github.com/seedmq/seedmq/remoting/protocol"
)

// Settings are the configuration keys that decide which topics there are from the start and how topics are made on first send.
type Settings struct {
	ClusterName, BrokerName string
	AutoCreate              bool  // autoCreateTopicEnable
	DefaultQueues           int32 // defaultTopicQueueNums
	ClusterTopic            bool  // clusterTopicEnable
	BrokerTopic             bool  // brokerTopicEnable
	TraceTopic              bool  // traceTopicEnable
	TraceTopicName          string
	ReviveQueues            int32 // reviveQueueNum
	ScheduleQueues          int32 // number of delay levels; 18 is the least
	TimerTopic              bool  // timerWheelEnable
	Light                   bool  // enableLmq: every name of a light queue is a topic
}

const minScheduleQueues = 18

func config(name string, queues, perm int32) protocol.TopicConfig {
	c := protocol.NewTopicConfig(name)
	c.ReadQueueNums, c.WriteQueueNums, c.Perm = queues, queues, perm
	return c
}

// builtIns are the topics of a fresh broker, as Java's TopicConfigManager makes them.
func (s *Settings) builtIns() []protocol.TopicConfig {
	const rw = protocol.PermRead | protocol.PermWrite
	named := func(on bool) int32 {
		if on {
			return protocol.PermInherit | rw
		}
		return protocol.PermInherit
	}
	cs := []protocol.TopicConfig{
		config("SELF_TEST_TOPIC", 1, rw),
		config("BenchmarkTest", 1024, rw),
		config(s.ClusterName, 16, named(s.ClusterTopic)),
		config(s.BrokerName, 1, named(s.BrokerTopic)),
		config("OFFSET_MOVED_EVENT", 1, rw),
		config(protocol.TopicSchedule, max(minScheduleQueues, s.ScheduleQueues), rw),
		config(s.ClusterName+"_REPLY_TOPIC", 1, rw),
		config("rmq_sys_REVIVE_LOG_"+s.ClusterName, max(1, s.ReviveQueues), rw),
		config("rmq_sys_SYNC_BROKER_MEMBER_"+s.BrokerName, 1, protocol.PermInherit),
		config(protocol.TopicHalf, 1, rw),
		config(protocol.TopicOpHalf, 1, rw),
	}
	if s.AutoCreate {
		cs = append(cs, config(protocol.DefaultTopic, s.DefaultQueues, protocol.PermInherit|rw))
	}
	if s.TraceTopic {
		cs = append(cs, config(s.TraceTopicName, 1, rw))
	}
	if s.TimerTopic {
		cs = append(cs, config("rmq_sys_wheel_timer", 1, rw))
	}
	return cs
}

// IsBuiltIn says whether a name belongs to the broker: a system topic, or the topic of the cluster or broker name.
func (s *Settings) IsBuiltIn(name string) bool {
	return protocol.IsSystemTopic(name) || name == s.ClusterName || name == s.BrokerName || name == s.ClusterName+"_REPLY_TOPIC"
}
