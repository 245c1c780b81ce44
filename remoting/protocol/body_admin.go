package protocol

// ConsumerConnection is the reply of GET_CONSUMER_CONNECTION_LIST.
type ConsumerConnection struct {
	ConnectionSet     []Connection                `json:"connectionSet"`
	ConsumeFromWhere  string                      `json:"consumeFromWhere,omitempty"`
	ConsumeType       string                      `json:"consumeType,omitempty"`
	MessageModel      string                      `json:"messageModel,omitempty"`
	SubscriptionTable map[string]SubscriptionData `json:"subscriptionTable"`
}

// ProducerConnection is the reply of GET_PRODUCER_CONNECTION_LIST.
type ProducerConnection struct {
	ConnectionSet []Connection `json:"connectionSet"`
}

// ProducerTableInfo is the reply of GET_ALL_PRODUCER_INFO: group → producers.
type ProducerTableInfo struct {
	Data map[string][]ProducerInfo `json:"data"`
}

// ProducerInfo is one producer of ProducerTableInfo.
type ProducerInfo struct {
	ClientID            string   `json:"clientId"`
	Language            Language `json:"language"`
	LastUpdateTimestamp int64    `json:"lastUpdateTimestamp"` // ms
	RemoteIP            string   `json:"remoteIP"`
	Version             int32    `json:"version"`
}

// QuerySubscriptionResponseBody is the reply of QUERY_SUBSCRIPTION_BY_CONSUMER.
type QuerySubscriptionResponseBody struct {
	Group            string            `json:"group"`
	SubscriptionData *SubscriptionData `json:"subscriptionData,omitempty"`
	Topic            string            `json:"topic"`
}

// QueryConsumeTimeSpanBody is the reply of QUERY_CONSUME_TIME_SPAN.
type QueryConsumeTimeSpanBody struct {
	ConsumeTimeSpanSet []QueueTimeSpan `json:"consumeTimeSpanSet"`
}

// QueueTimeSpan says between which store times (ms) a queue's messages lie, and which was consumed last.
type QueueTimeSpan struct {
	ConsumeTimestamp int64        `json:"consumeTimeStamp"`
	DelayTime        int64        `json:"delayTime"`
	MaxTimestamp     int64        `json:"maxTimeStamp"`
	MessageQueue     MessageQueue `json:"messageQueue"`
	MinTimestamp     int64        `json:"minTimeStamp"`
}

// BrokerStatsData is the reply of VIEW_BROKER_STATS_DATA.
type BrokerStatsData struct {
	StatsDay    BrokerStatsItem `json:"statsDay"`
	StatsHour   BrokerStatsItem `json:"statsHour"`
	StatsMinute BrokerStatsItem `json:"statsMinute"`
}

// BrokerStatsItem is one period of BrokerStatsData.
type BrokerStatsItem struct {
	AvgPerTime float64 `json:"avgpt"`
	Sum        int64   `json:"sum"`
	TPS        float64 `json:"tps"`
}

// QueryConsumeQueueResponseBody is the reply of QUERY_CONSUME_QUEUE.
type QueryConsumeQueueResponseBody struct {
	FilterData       string             `json:"filterData,omitempty"`
	MaxQueueIndex    int64              `json:"maxQueueIndex"`
	MinQueueIndex    int64              `json:"minQueueIndex"`
	QueueData        []ConsumeQueueData `json:"queueData"`
	SubscriptionData *SubscriptionData  `json:"subscriptionData,omitempty"`
}

// ConsumeQueueData is one unit of a ConsumeQueue.
type ConsumeQueueData struct {
	BitMap         string `json:"bitMap,omitempty"`
	Eval           bool   `json:"eval"`
	ExtendDataJSON string `json:"extendDataJson,omitempty"`
	Msg            string `json:"msg,omitempty"`
	PhysicOffset   int64  `json:"physicOffset"`
	PhysicSize     int32  `json:"physicSize"`
	TagsCode       int64  `json:"tagsCode"`
}

// CheckRocksdbCqWriteResult is the reply of CHECK_ROCKSDB_CQ_WRITE_PROGRESS.
type CheckRocksdbCqWriteResult struct {
	CheckResult string `json:"checkResult,omitempty"`
	CheckStatus int32  `json:"checkStatus"` // 0 ok, 1 not ok, 2 running, 3 error
}

// ColdDataFlowCtrInfo is the reply of GET_COLD_DATA_FLOW_CTR_INFO.
type ColdDataFlowCtrInfo struct {
	CGColdReadThreshold     int64            `json:"cgColdReadThreshold"`
	ConfigTable             map[string]int64 `json:"configTable"`
	GlobalAcc               int64            `json:"globalAcc"`
	GlobalColdReadThreshold int64            `json:"globalColdReadThreshold"`
	RuntimeTable            map[string]any   `json:"runtimeTable"`
}

// UserInfo is the body of the AUTH_*_USER requests.
type UserInfo struct {
	Password   string `json:"password,omitempty"`
	UserStatus string `json:"userStatus,omitempty"` // enable, disable
	UserType   string `json:"userType,omitempty"`   // Super, Normal
	Username   string `json:"username,omitempty"`
}

// ACLInfo is the body of the AUTH_*_ACL requests.
type ACLInfo struct {
	Policies []ACLPolicy `json:"policies"`
	Subject  string      `json:"subject,omitempty"` // User:name
}

// ACLPolicy is one policy of a subject.
type ACLPolicy struct {
	Entries    []ACLPolicyEntry `json:"entries"`
	PolicyType string           `json:"policyType,omitempty"` // Custom, Default
}

// ACLPolicyEntry allows or denies actions on a resource.
type ACLPolicyEntry struct {
	Actions   []string `json:"actions"`
	Decision  string   `json:"decision,omitempty"` // Allow, Deny
	Resource  string   `json:"resource,omitempty"` // Topic:name
	SourceIPs []string `json:"sourceIps,omitempty"`
}
