package protocol

import "strings"

// Topics that the system owns.
const (
	DefaultTopic             = "TBW102" // template of topics created on first use
	TopicSchedule            = "SCHEDULE_TOPIC_XXXX"
	TopicBenchmark           = "BenchmarkTest"
	TopicHalf                = "RMQ_SYS_TRANS_HALF_TOPIC"
	TopicOpHalf              = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
	TopicTrace               = "RMQ_SYS_TRACE_TOPIC"
	TopicTransCheckMaxTime   = "TRANS_CHECK_MAX_TIME_TOPIC"
	TopicSelfTest            = "SELF_TEST_TOPIC"
	TopicOffsetMoved         = "OFFSET_MOVED_EVENT"
	TopicCheckpoint          = "CHECKPOINT_TOPIC"
	TopicTimer               = "rmq_sys_wheel_timer"
	SystemTopicPrefix        = "rmq_sys_"
	ReviveTopicPrefix        = "rmq_sys_REVIVE_LOG_" // + cluster
	ReplyTopicSuffix         = "REPLY_TOPIC"         // cluster + "_" + this
	RetryGroupTopicPrefix    = "%RETRY%"
	DLQGroupTopicPrefix      = "%DLQ%"
	LMQPrefix                = "%LMQ%"
	MockBrokerNamePrefix     = "__syslo__"
	OrderTopicConfigNS       = "ORDER_TOPIC_CONFIG" // KV namespace of ordered topics
	popRetrySeparatorV1      = "_"
	popRetrySeparatorV2      = "+"
	MultiDispatchSeparator   = ","
	LiteTopicSeparator       = "$"
	UniqueKeyQueryFlag       = "_UNIQUE_KEY_QUERY" // ext field of QUERY_MESSAGE
	systemGroupPrefix        = "CID_RMQ_SYS_"
	maxTopicLength           = 127
	maxRetryOrDLQTopicLength = 255
	maxGroupLength           = 120
)

// Groups that the system owns.
const (
	GroupTools           = "TOOLS_CONSUMER"
	GroupFilterSrv       = "FILTERSRV_CONSUMER"
	GroupSelfTestC       = "SELF_TEST_C_GROUP"
	GroupSelfTestP       = "SELF_TEST_P_GROUP"
	GroupClientInner     = "CLIENT_INNER_PRODUCER"
	GroupONSAPIOwner     = "CID_ONSAPI_OWNER"
	GroupONSAPIPerm      = "CID_ONSAPI_PERMISSION"
	GroupONSAPIPull      = "CID_ONSAPI_PULL"
	GroupONSHTTPProxy    = "CID_ONS-HTTP-PROXY"
	GroupMonitor         = "__MONITOR_CONSUMER"
	GroupSchedule        = "SCHEDULE_CONSUMER"
	GroupDefaultConsumer = "DEFAULT_CONSUMER"
	GroupDefaultProducer = "DEFAULT_PRODUCER"
	GroupTransaction     = "CID_RMQ_SYS_TRANS"
	GroupSystemTimer     = "CID_RMQ_SYS_TIMER"
)

// NameError says why a topic, group or property name is refused. Its text is Java's, for use as a reply's remark.
type NameError struct {
	Kind   string // "topic", "group", "property" ...
	Name   string
	Reason string
}

func (e *NameError) Error() string {
	name := e.Name
	if len(name) > 300 {
		name = name[:300] + "..."
	}
	if e.Reason == illegalCharacters || strings.HasPrefix(e.Kind, "property") && name != "" {
		return "The specified " + e.Kind + ": " + name + ", " + e.Reason
	}
	return "The specified " + e.Kind + " " + e.Reason + "."
}

const illegalCharacters = "contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"

// nameByte marks the bytes that topic and group names may hold.
var nameByte = func() (t [256]bool) {
	for _, c := range "%|_-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		t[c] = true
	}
	return t
}()

func legalName(s string) bool {
	for i := 0; i < len(s); i++ {
		if !nameByte[s[i]] {
			return false
		}
	}
	return true
}

// CheckTopic reports a topic name that is blank, too long (127 bytes; 255 for %RETRY% and %DLQ%) or has illegal
// characters. The error is a *NameError. Legal names cannot leave a directory: they hold neither dots nor slashes.
func CheckTopic(name string) error {
	if strings.TrimSpace(name) == "" {
		return &NameError{Kind: "topic", Reason: "is blank"}
	}
	if !legalName(name) {
		return &NameError{Kind: "topic", Name: name, Reason: illegalCharacters}
	}
	limit := maxTopicLength
	if IsRetryTopic(name) || IsDLQTopic(name) {
		limit = maxRetryOrDLQTopicLength
	}
	if len(name) > limit {
		return &NameError{Kind: "topic", Name: name, Reason: "is longer than topic max length"}
	}
	return nil
}

// CheckGroup reports a group name that is blank, longer than 120 bytes or has illegal characters. The error is a *NameError.
func CheckGroup(name string) error {
	if strings.TrimSpace(name) == "" {
		return &NameError{Kind: "group", Reason: "is blank"}
	}
	if !legalName(name) {
		return &NameError{Kind: "group", Name: name, Reason: illegalCharacters}
	}
	if len(name) > maxGroupLength {
		return &NameError{Kind: "group", Name: name, Reason: "is longer than group max length 120"}
	}
	return nil
}

// IsSystemTopic reports whether a topic is one of the built-in ones. Topics named after the cluster and the broker
// are system topics too, which only the broker knows.
func IsSystemTopic(name string) bool {
	switch name {
	case DefaultTopic, TopicSchedule, TopicBenchmark, TopicHalf, TopicTrace, TopicOpHalf, TopicTransCheckMaxTime,
		TopicSelfTest, TopicOffsetMoved, TopicCheckpoint:
		return true
	}
	return strings.HasPrefix(name, SystemTopicPrefix)
}

// SystemTopics lists the built-in topics, sorted.
func SystemTopics() []string {
	return []string{
		TopicBenchmark, TopicCheckpoint, TopicOffsetMoved, TopicHalf, TopicOpHalf, TopicTrace, TopicSchedule, TopicSelfTest,
		DefaultTopic, TopicTransCheckMaxTime,
	}
}

// IsForbiddenTopic reports whether clients may not send to a topic (reply code NO_PERMISSION).
func IsForbiddenTopic(name string) bool {
	switch name {
	case TopicSchedule, TopicHalf, TopicOpHalf, TopicTransCheckMaxTime, TopicSelfTest, TopicOffsetMoved:
		return true
	}
	return false
}

// IsSystemGroup reports whether a consumer or producer group is one of the built-in ones.
func IsSystemGroup(name string) bool {
	switch name {
	case GroupTools, GroupFilterSrv, GroupSelfTestC, GroupSelfTestP, GroupClientInner, GroupONSAPIOwner, GroupONSAPIPerm,
		GroupONSAPIPull, GroupONSHTTPProxy, GroupMonitor, GroupSchedule, GroupDefaultConsumer:
		return true
	}
	return strings.HasPrefix(name, systemGroupPrefix)
}

// RetryTopic names the topic that holds a group's retried messages.
func RetryTopic(group string) string { return RetryGroupTopicPrefix + group }

// DLQTopic names the topic that holds a group's dead messages.
func DLQTopic(group string) string { return DLQGroupTopicPrefix + group }

// IsRetryTopic reports whether a topic holds retried messages.
func IsRetryTopic(name string) bool { return strings.HasPrefix(name, RetryGroupTopicPrefix) }

// IsDLQTopic reports whether a topic holds dead messages.
func IsDLQTopic(name string) bool { return strings.HasPrefix(name, DLQGroupTopicPrefix) }

// GroupOfRetryTopic returns the group that a retry topic belongs to; ok is false for any other topic.
func GroupOfRetryTopic(topic string) (group string, ok bool) {
	return strings.CutPrefix(topic, RetryGroupTopicPrefix)
}

// GroupOfDLQTopic returns the group that a dead-letter topic belongs to; ok is false for any other topic.
func GroupOfDLQTopic(topic string) (group string, ok bool) {
	return strings.CutPrefix(topic, DLQGroupTopicPrefix)
}

// PopRetryTopicV1 names the topic of messages retried in pop mode, in the old form.
func PopRetryTopicV1(group, topic string) string {
	return RetryGroupTopicPrefix + group + popRetrySeparatorV1 + topic
}

// PopRetryTopicV2 names the topic of messages retried in pop mode, in the unambiguous form.
func PopRetryTopicV2(group, topic string) string {
	return RetryGroupTopicPrefix + group + popRetrySeparatorV2 + topic
}

// IsLMQ reports whether a name is a light message queue.
func IsLMQ(name string) bool { return strings.HasPrefix(name, LMQPrefix) }
