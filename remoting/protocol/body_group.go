package protocol

import "encoding/json"

// Values of GroupRetryPolicy.Type.
const (
	RetryPolicyCustomized  = "CUSTOMIZED"
	RetryPolicyExponential = "EXPONENTIAL"
)

// SubscriptionGroupConfig is what a broker keeps of a consumer group, on the wire and in subscriptionGroup.json.
type SubscriptionGroupConfig struct {
	Attributes                     map[string]string        `json:"attributes"`
	BrokerID                       int64                    `json:"brokerId"`
	ConsumeBroadcastEnable         bool                     `json:"consumeBroadcastEnable"`
	ConsumeEnable                  bool                     `json:"consumeEnable"`
	ConsumeFromMinEnable           bool                     `json:"consumeFromMinEnable"`
	ConsumeMessageOrderly          bool                     `json:"consumeMessageOrderly"`
	ConsumeTimeoutMinute           int32                    `json:"consumeTimeoutMinute"`
	GroupName                      string                   `json:"groupName"`
	GroupRetryPolicy               GroupRetryPolicy         `json:"groupRetryPolicy"`
	GroupSysFlag                   int32                    `json:"groupSysFlag"`
	NotifyConsumerIDsChangedEnable bool                     `json:"notifyConsumerIdsChangedEnable"`
	RetryMaxTimes                  int32                    `json:"retryMaxTimes"`
	RetryQueueNums                 int32                    `json:"retryQueueNums"`
	SubscriptionDataSet            []SimpleSubscriptionData `json:"subscriptionDataSet,omitempty"`
	WhichBrokerWhenConsumeSlowly   int64                    `json:"whichBrokerWhenConsumeSlowly"`

	// Unknown are members that this version does not know; they are written back as they were read.
	Unknown map[string]json.RawMessage `json:"-" java:"unknown"`
}

// NewSubscriptionGroupConfig returns Java's defaults.
func NewSubscriptionGroupConfig(name string) SubscriptionGroupConfig {
	return SubscriptionGroupConfig{
		Attributes: map[string]string{}, ConsumeBroadcastEnable: true, ConsumeEnable: true, ConsumeFromMinEnable: true,
		ConsumeTimeoutMinute: 15, GroupName: name, GroupRetryPolicy: GroupRetryPolicy{Type: RetryPolicyCustomized},
		NotifyConsumerIDsChangedEnable: true, RetryMaxTimes: 16, RetryQueueNums: 1, WhichBrokerWhenConsumeSlowly: 1,
	}
}

var groupConfigMembers = memberNames[SubscriptionGroupConfig]()

// UnmarshalJSON reads a group over the defaults and keeps unknown members.
func (c *SubscriptionGroupConfig) UnmarshalJSON(b []byte) error {
	type plain SubscriptionGroupConfig
	p := plain(NewSubscriptionGroupConfig(""))
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	p.Unknown = unknownMembers(b, groupConfigMembers)
	*c = SubscriptionGroupConfig(p)
	return nil
}

// MarshalJSON writes known and unknown members.
func (c SubscriptionGroupConfig) MarshalJSON() ([]byte, error) { return MarshalFast(c) }

// Clone returns a copy that shares nothing with c but the bytes of unknown members and the lists of its retry policy.
func (c SubscriptionGroupConfig) Clone() SubscriptionGroupConfig {
	c.Attributes = cloneMap(c.Attributes)
	c.Unknown = cloneMap(c.Unknown)
	c.SubscriptionDataSet = append([]SimpleSubscriptionData(nil), c.SubscriptionDataSet...)
	return c
}

// GroupRetryPolicy says how long a failed message of a group waits.
type GroupRetryPolicy struct {
	CustomizedRetryPolicy  *CustomizedRetryPolicy  `json:"customizedRetryPolicy,omitempty"`
	ExponentialRetryPolicy *ExponentialRetryPolicy `json:"exponentialRetryPolicy,omitempty"`
	Type                   string                  `json:"type"`
}

// CustomizedRetryPolicy lists the delays in ms.
type CustomizedRetryPolicy struct {
	Next []int64 `json:"next"`
}

// ExponentialRetryPolicy multiplies the delay (ms) on every try.
type ExponentialRetryPolicy struct {
	Initial    int64 `json:"initial"`
	Max        int64 `json:"max"`
	Multiplier int64 `json:"multiplier"`
}

// SimpleSubscriptionData is a subscription that an administrator fixed for a group.
type SimpleSubscriptionData struct {
	Expression     string `json:"expression"`
	ExpressionType string `json:"expressionType"`
	Topic          string `json:"topic"`
	Version        int64  `json:"version"`
}

// SubscriptionGroupWrapper is the reply of GET_ALL_SUBSCRIPTIONGROUP_CONFIG.
type SubscriptionGroupWrapper struct {
	DataVersion            DataVersion                        `json:"dataVersion"`
	ForbiddenTable         map[string]map[string]int32        `json:"forbiddenTable"`
	SubscriptionGroupTable map[string]SubscriptionGroupConfig `json:"subscriptionGroupTable"`
}

// SubscriptionGroupList is the body of UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST.
type SubscriptionGroupList struct {
	GroupConfigList []SubscriptionGroupConfig `json:"groupConfigList"`
}

// DeleteSubscriptionGroupListRequestBody is the body of DELETE_SUBSCRIPTION_GROUP_LIST.
type DeleteSubscriptionGroupListRequestBody struct {
	CleanOffset   bool     `json:"cleanOffset"`
	GroupNameList []string `json:"groupNameList"`
}

// GroupForbidden is the reply of UPDATE_AND_GET_GROUP_FORBIDDEN.
type GroupForbidden struct {
	Group    string `json:"group"`
	Readable bool   `json:"readable"`
	Topic    string `json:"topic"`
}

// GroupList is the reply of QUERY_TOPIC_CONSUME_BY_WHO.
type GroupList struct {
	GroupList []string `json:"groupList"`
}
