package protocol

// LiteSubscriptionCtlRequestBody is the body of LITE_SUBSCRIPTION_CTL.
type LiteSubscriptionCtlRequestBody struct {
	SubscriptionSet []LiteSubscription `json:"subscriptionSet"`
}

// LiteSubscription changes what a client subscribes to. Action: PARTIAL_ADD, PARTIAL_REMOVE, COMPLETE_ADD, COMPLETE_REMOVE.
type LiteSubscription struct {
	Action       string   `json:"action"`
	ClientID     string   `json:"clientId"`
	Group        string   `json:"group"`
	LiteTopicSet []string `json:"liteTopicSet"`
	Topic        string   `json:"topic"`
	Version      int64    `json:"version"`
}

// GetBrokerLiteInfoResponseBody is the reply of GET_BROKER_LITE_INFO.
type GetBrokerLiteInfoResponseBody struct {
	CqTableSize           int32               `json:"cqTableSize"`
	CurrentLmqNum         int32               `json:"currentLmqNum"`
	EventMapSize          int32               `json:"eventMapSize"`
	GroupMeta             map[string][]string `json:"groupMeta,omitempty"`
	LiteSubscriptionCount int32               `json:"liteSubscriptionCount"`
	MaxLmqNum             int32               `json:"maxLmqNum"`
	OffsetTableSize       int32               `json:"offsetTableSize"`
	OrderInfoCount        int32               `json:"orderInfoCount"`
	StoreType             string              `json:"storeType,omitempty"`
	TopicMeta             map[string]int32    `json:"topicMeta,omitempty"`
}

// GetParentTopicInfoResponseBody is the reply of GET_PARENT_TOPIC_INFO.
type GetParentTopicInfoResponseBody struct {
	Groups         []string `json:"groups,omitempty"`
	LiteTopicCount int32    `json:"liteTopicCount"`
	LmqNum         int32    `json:"lmqNum"`
	Topic          string   `json:"topic"`
	TTL            int32    `json:"ttl"`
}

// GetLiteTopicInfoResponseBody is the reply of GET_LITE_TOPIC_INFO.
type GetLiteTopicInfoResponseBody struct {
	LiteTopic        string        `json:"liteTopic"`
	ParentTopic      string        `json:"parentTopic"`
	ShardingToBroker bool          `json:"shardingToBroker"`
	Subscriber       []ClientGroup `json:"subscriber"`
	TopicOffset      *TopicOffset  `json:"topicOffset,omitempty"`
}

// ClientGroup is a client in a group.
type ClientGroup struct {
	ClientID string `json:"clientId"`
	Group    string `json:"group"`
}

// GetLiteClientInfoResponseBody is the reply of GET_LITE_CLIENT_INFO.
type GetLiteClientInfoResponseBody struct {
	ClientID        string   `json:"clientId"`
	Group           string   `json:"group"`
	LastAccessTime  int64    `json:"lastAccessTime"`
	LastConsumeTime int64    `json:"lastConsumeTime"`
	LiteTopicCount  int32    `json:"liteTopicCount"`
	LiteTopicSet    []string `json:"liteTopicSet"`
	ParentTopic     string   `json:"parentTopic"`
}

// GetLiteGroupInfoResponseBody is the reply of GET_LITE_GROUP_INFO.
type GetLiteGroupInfoResponseBody struct {
	EarliestUnconsumedTimestamp int64          `json:"earliestUnconsumedTimestamp"`
	Group                       string         `json:"group"`
	LagCountTopK                []LiteLagInfo  `json:"lagCountTopK,omitempty"`
	LagTimestampTopK            []LiteLagInfo  `json:"lagTimestampTopK,omitempty"`
	LiteTopic                   string         `json:"liteTopic,omitempty"`
	LiteTopicOffsetWrapper      *OffsetWrapper `json:"liteTopicOffsetWrapper,omitempty"`
	ParentTopic                 string         `json:"parentTopic"`
	TotalLagCount               int64          `json:"totalLagCount"`
}

// LiteLagInfo is how far a lite topic's consumption lags behind.
type LiteLagInfo struct {
	EarliestUnconsumedTimestamp int64  `json:"earliestUnconsumedTimestamp"`
	LagCount                    int64  `json:"lagCount"`
	LiteTopic                   string `json:"liteTopic"`
}
