package protocol

//go:generate go run ./internal/headergen

// A field without "optional" must be there, or decoding is a *FieldError. A plain number or bool that is "optional" is
// always written and reads as zero when absent: fields that some release or some client leaves out. An Opt tells the two apart.

// SendMessageRequestHeader: request header of SEND_MESSAGE (10). Its strings alias the frame (see Command).
type SendMessageRequestHeader struct {
	ProducerGroup         string     `rmq:"producerGroup"`
	Topic                 string     `rmq:"topic"`
	DefaultTopic          string     `rmq:"defaultTopic,optional"`
	DefaultTopicQueueNums int32      `rmq:"defaultTopicQueueNums,optional"`
	QueueID               int32      `rmq:"queueId"`
	SysFlag               int32      `rmq:"sysFlag"`
	BornTimestamp         int64      `rmq:"bornTimestamp"`
	Flag                  int32      `rmq:"flag,optional"`
	Properties            string     `rmq:"properties,optional"`
	ReconsumeTimes        Opt[int32] `rmq:"reconsumeTimes,optional"`
	UnitMode              Opt[bool]  `rmq:"unitMode,optional"`
	Batch                 Opt[bool]  `rmq:"batch,optional"`
	MaxReconsumeTimes     Opt[int32] `rmq:"maxReconsumeTimes,optional"`
}

// SendMessageResponseHeader: reply header of SEND_MESSAGE (10).
type SendMessageResponseHeader struct {
	MsgID         string `rmq:"msgId"`
	QueueID       int32  `rmq:"queueId"`
	QueueOffset   int64  `rmq:"queueOffset"`
	TransactionID string `rmq:"transactionId,optional"`
	BatchUniqID   string `rmq:"batchUniqId,optional"`
	RecallHandle  string `rmq:"recallHandle,optional"`
	MsgRegion     string `rmq:"MSG_REGION,optional"`
	TraceOn       string `rmq:"TRACE_ON,optional"`
}

// PullMessageRequestHeader: request header of PULL_MESSAGE (11). Its strings alias the frame (see Command).
type PullMessageRequestHeader struct {
	ConsumerGroup        string     `rmq:"consumerGroup"`
	Topic                string     `rmq:"topic"`
	QueueID              int32      `rmq:"queueId"`
	QueueOffset          int64      `rmq:"queueOffset"`
	MaxMsgNums           int32      `rmq:"maxMsgNums"`
	SysFlag              int32      `rmq:"sysFlag"`
	CommitOffset         int64      `rmq:"commitOffset,optional"`
	SuspendTimeoutMillis int64      `rmq:"suspendTimeoutMillis,optional"`
	Subscription         string     `rmq:"subscription,optional"`
	SubVersion           int64      `rmq:"subVersion,optional"`
	ExpressionType       string     `rmq:"expressionType,optional"`
	MaxMsgBytes          Opt[int32] `rmq:"maxMsgBytes,optional"`
	RequestSource        Opt[int32] `rmq:"requestSource,optional"`
	ProxyFrowardClientID string     `rmq:"proxyFrowardClientId,optional"`
	LiteTopic            string     `rmq:"liteTopic,optional"`
}

// PullMessageResponseHeader: reply header of PULL_MESSAGE (11).
type PullMessageResponseHeader struct {
	SuggestWhichBrokerID int64      `rmq:"suggestWhichBrokerId"`
	NextBeginOffset      int64      `rmq:"nextBeginOffset"`
	MinOffset            int64      `rmq:"minOffset"`
	MaxOffset            int64      `rmq:"maxOffset"`
	OffsetDelta          Opt[int64] `rmq:"offsetDelta,optional"`
	TopicSysFlag         Opt[int32] `rmq:"topicSysFlag,optional"`
	GroupSysFlag         Opt[int32] `rmq:"groupSysFlag,optional"`
	ForbiddenType        Opt[int32] `rmq:"forbiddenType,optional"`
}

// QueryMessageRequestHeader: request header of QUERY_MESSAGE (12).
type QueryMessageRequestHeader struct {
	Topic          string    `rmq:"topic"`
	Key            string    `rmq:"key"`
	MaxNum         int32     `rmq:"maxNum"`
	BeginTimestamp int64     `rmq:"beginTimestamp"`
	EndTimestamp   int64     `rmq:"endTimestamp"`
	IndexType      string    `rmq:"indexType,optional"`
	LastKey        string    `rmq:"lastKey,optional"`
	UniqueKeyQuery Opt[bool] `rmq:"_UNIQUE_KEY_QUERY,optional"`
}

// QueryMessageResponseHeader: reply header of QUERY_MESSAGE (12).
type QueryMessageResponseHeader struct {
	IndexLastUpdateTimestamp int64 `rmq:"indexLastUpdateTimestamp"`
	IndexLastUpdatePhyoffset int64 `rmq:"indexLastUpdatePhyoffset"`
}

// QueryConsumerOffsetRequestHeader: request header of QUERY_CONSUMER_OFFSET (14). Its strings alias the frame (see Command).
type QueryConsumerOffsetRequestHeader struct {
	ConsumerGroup     string    `rmq:"consumerGroup"`
	Topic             string    `rmq:"topic"`
	QueueID           int32     `rmq:"queueId"`
	SetZeroIfNotFound Opt[bool] `rmq:"setZeroIfNotFound,optional"`
}

// QueryConsumerOffsetResponseHeader: reply header of QUERY_CONSUMER_OFFSET (14).
type QueryConsumerOffsetResponseHeader struct {
	Offset int64 `rmq:"offset"`
}

// UpdateConsumerOffsetRequestHeader: request header of UPDATE_CONSUMER_OFFSET (15). Its strings alias the frame (see Command).
type UpdateConsumerOffsetRequestHeader struct {
	ConsumerGroup string `rmq:"consumerGroup"`
	Topic         string `rmq:"topic"`
	QueueID       int32  `rmq:"queueId"`
	CommitOffset  int64  `rmq:"commitOffset"`
}

// UpdateAndCreateTopicRequestHeader: request header of UPDATE_AND_CREATE_TOPIC (17).
type UpdateAndCreateTopicRequestHeader struct {
	Topic           string     `rmq:"topic"`
	DefaultTopic    string     `rmq:"defaultTopic,optional"`
	ReadQueueNums   int32      `rmq:"readQueueNums"`
	WriteQueueNums  int32      `rmq:"writeQueueNums"`
	Perm            int32      `rmq:"perm"`
	TopicFilterType string     `rmq:"topicFilterType,optional"`
	TopicSysFlag    Opt[int32] `rmq:"topicSysFlag,optional"`
	Order           bool       `rmq:"order,optional"`
	Attributes      string     `rmq:"attributes,optional"`
	Force           Opt[bool]  `rmq:"force,optional"`
}

// GetAllTopicConfigRequestHeader: request header of GET_ALL_TOPIC_CONFIG (21).
type GetAllTopicConfigRequestHeader struct {
	TopicSeq    int32      `rmq:"topicSeq,optional"`
	DataVersion string     `rmq:"dataVersion,optional"`
	MaxTopicNum Opt[int32] `rmq:"maxTopicNum,optional"`
}

// GetAllTopicConfigResponseHeader: reply header of GET_ALL_TOPIC_CONFIG (21).
type GetAllTopicConfigResponseHeader struct {
	TotalTopicNum int32 `rmq:"totalTopicNum,optional"`
}

// GetBrokerConfigResponseHeader: reply header of GET_BROKER_CONFIG (26).
type GetBrokerConfigResponseHeader struct {
	Version string `rmq:"version"`
}

// SearchOffsetByTimestampRequestHeader: request header of SEARCH_OFFSET_BY_TIMESTAMP (29).
type SearchOffsetByTimestampRequestHeader struct {
	Topic        string `rmq:"topic"`
	QueueID      int32  `rmq:"queueId"`
	Timestamp    int64  `rmq:"timestamp"`
	BoundaryType string `rmq:"boundaryType,optional"`
	LiteTopic    string `rmq:"liteTopic,optional"`
}

// SearchOffsetByTimestampResponseHeader is laid out as QueryConsumerOffsetResponseHeader.
type SearchOffsetByTimestampResponseHeader = QueryConsumerOffsetResponseHeader

// GetMaxOffsetRequestHeader: request header of GET_MAX_OFFSET (30).
type GetMaxOffsetRequestHeader struct {
	Topic     string    `rmq:"topic"`
	QueueID   int32     `rmq:"queueId"`
	Committed Opt[bool] `rmq:"committed,optional"`
}

// GetMaxOffsetResponseHeader is laid out as QueryConsumerOffsetResponseHeader.
type GetMaxOffsetResponseHeader = QueryConsumerOffsetResponseHeader

// GetMinOffsetRequestHeader: request header of GET_MIN_OFFSET (31).
type GetMinOffsetRequestHeader struct {
	Topic   string `rmq:"topic"`
	QueueID int32  `rmq:"queueId"`
}

// GetMinOffsetResponseHeader is laid out as QueryConsumerOffsetResponseHeader.
type GetMinOffsetResponseHeader = QueryConsumerOffsetResponseHeader

// GetEarliestMsgStoreTimeRequestHeader: request header of GET_EARLIEST_MSG_STORETIME (32).
type GetEarliestMsgStoreTimeRequestHeader struct {
	Topic   string `rmq:"topic"`
	QueueID int32  `rmq:"queueId"`
}

// GetEarliestMsgStoreTimeResponseHeader: reply header of GET_EARLIEST_MSG_STORETIME (32).
type GetEarliestMsgStoreTimeResponseHeader struct {
	Timestamp int64 `rmq:"timestamp"`
}

// ViewMessageByIDRequestHeader: request header of VIEW_MESSAGE_BY_ID (33).
type ViewMessageByIDRequestHeader struct {
	Topic  string `rmq:"topic,optional"`
	Offset int64  `rmq:"offset"`
}

// HeartBeatResponseHeader: reply header of HEART_BEAT (34).
type HeartBeatResponseHeader struct {
	SupportHeartbeatV2 Opt[bool] `rmq:"IS_SUPPORT_HEART_BEAT_V2,optional"`
	SubChange          Opt[bool] `rmq:"IS_SUB_CHANGE,optional"`
}

// UnregisterClientRequestHeader: request header of UNREGISTER_CLIENT (35).
type UnregisterClientRequestHeader struct {
	ClientID      string `rmq:"clientID"`
	ProducerGroup string `rmq:"producerGroup,optional"`
	ConsumerGroup string `rmq:"consumerGroup,optional"`
}

// ConsumerSendMsgBackRequestHeader: request header of CONSUMER_SEND_MSG_BACK (36).
type ConsumerSendMsgBackRequestHeader struct {
	Offset            int64      `rmq:"offset"`
	Group             string     `rmq:"group"`
	DelayLevel        int32      `rmq:"delayLevel"`
	OriginMsgID       string     `rmq:"originMsgId,optional"`
	OriginTopic       string     `rmq:"originTopic,optional"`
	UnitMode          Opt[bool]  `rmq:"unitMode,optional"`
	MaxReconsumeTimes Opt[int32] `rmq:"maxReconsumeTimes,optional"`
}

// EndTransactionRequestHeader: request header of END_TRANSACTION (37).
type EndTransactionRequestHeader struct {
	Topic                string    `rmq:"topic,optional"`
	ProducerGroup        string    `rmq:"producerGroup"`
	TranStateTableOffset int64     `rmq:"tranStateTableOffset"`
	CommitLogOffset      int64     `rmq:"commitLogOffset"`
	CommitOrRollback     int32     `rmq:"commitOrRollback"`
	FromTransactionCheck Opt[bool] `rmq:"fromTransactionCheck,optional"`
	MsgID                string    `rmq:"msgId,optional"`
	TransactionID        string    `rmq:"transactionId,optional"`
}

// GetConsumerListByGroupRequestHeader: request header of GET_CONSUMER_LIST_BY_GROUP (38).
type GetConsumerListByGroupRequestHeader struct {
	ConsumerGroup string `rmq:"consumerGroup"`
}

// CheckTransactionStateRequestHeader: request header of CHECK_TRANSACTION_STATE (39).
type CheckTransactionStateRequestHeader struct {
	Topic                string `rmq:"topic,optional"`
	TranStateTableOffset int64  `rmq:"tranStateTableOffset"`
	CommitLogOffset      int64  `rmq:"commitLogOffset"`
	MsgID                string `rmq:"msgId,optional"`
	TransactionID        string `rmq:"transactionId,optional"`
	OffsetMsgID          string `rmq:"offsetMsgId,optional"`
}

// NotifyConsumerIDsChangedRequestHeader: request header of NOTIFY_CONSUMER_IDS_CHANGED (40).
type NotifyConsumerIDsChangedRequestHeader struct {
	ConsumerGroup string `rmq:"consumerGroup"`
}

// PutKVConfigRequestHeader: request header of PUT_KV_CONFIG (100).
type PutKVConfigRequestHeader struct {
	Namespace string `rmq:"namespace"`
	Key       string `rmq:"key"`
	Value     string `rmq:"value"`
}

// GetKVConfigRequestHeader: request header of GET_KV_CONFIG (101).
type GetKVConfigRequestHeader struct {
	Namespace string `rmq:"namespace"`
	Key       string `rmq:"key"`
}

// GetKVConfigResponseHeader: reply header of GET_KV_CONFIG (101).
type GetKVConfigResponseHeader struct {
	Value string `rmq:"value,optional"`
}

// DeleteKVConfigRequestHeader: request header of DELETE_KV_CONFIG (102).
type DeleteKVConfigRequestHeader struct {
	Namespace string `rmq:"namespace"`
	Key       string `rmq:"key"`
}

// RegisterBrokerRequestHeader: request header of REGISTER_BROKER (103).
type RegisterBrokerRequestHeader struct {
	BrokerName             string     `rmq:"brokerName"`
	BrokerAddr             string     `rmq:"brokerAddr"`
	ClusterName            string     `rmq:"clusterName"`
	HaServerAddr           string     `rmq:"haServerAddr"`
	BrokerID               int64      `rmq:"brokerId"`
	HeartbeatTimeoutMillis Opt[int64] `rmq:"heartbeatTimeoutMillis,optional"`
	EnableActingMaster     Opt[bool]  `rmq:"enableActingMaster,optional"`
	Compressed             Opt[bool]  `rmq:"compressed,optional"`
	BodyCRC32              Opt[int32] `rmq:"bodyCrc32,optional"`
}

// RegisterBrokerResponseHeader: reply header of REGISTER_BROKER (103).
type RegisterBrokerResponseHeader struct {
	HaServerAddr string `rmq:"haServerAddr,optional"`
	MasterAddr   string `rmq:"masterAddr,optional"`
}

// UnregisterBrokerRequestHeader: request header of UNREGISTER_BROKER (104).
type UnregisterBrokerRequestHeader struct {
	BrokerName  string `rmq:"brokerName"`
	BrokerAddr  string `rmq:"brokerAddr"`
	ClusterName string `rmq:"clusterName"`
	BrokerID    int64  `rmq:"brokerId"`
}

// GetRouteInfoByTopicRequestHeader: request header of GET_ROUTEINFO_BY_TOPIC (105).
type GetRouteInfoByTopicRequestHeader struct {
	Topic                  string    `rmq:"topic"`
	AcceptStandardJsonOnly Opt[bool] `rmq:"acceptStandardJsonOnly,optional"`
}

// GetAllSubscriptionGroupConfigRequestHeader: request header of GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201).
type GetAllSubscriptionGroupConfigRequestHeader struct {
	GroupSeq    int32      `rmq:"groupSeq,optional"`
	DataVersion string     `rmq:"dataVersion,optional"`
	MaxGroupNum Opt[int32] `rmq:"maxGroupNum,optional"`
}

// GetAllSubscriptionGroupConfigResponseHeader: reply header of GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201).
type GetAllSubscriptionGroupConfigResponseHeader struct {
	TotalGroupNum int32 `rmq:"totalGroupNum,optional"`
}

// GetTopicStatsInfoRequestHeader: request header of GET_TOPIC_STATS_INFO (202).
type GetTopicStatsInfoRequestHeader struct {
	Topic string `rmq:"topic"`
}

// GetConsumerConnectionListRequestHeader: request header of GET_CONSUMER_CONNECTION_LIST (203).
type GetConsumerConnectionListRequestHeader struct {
	ConsumerGroup string `rmq:"consumerGroup"`
}

// GetProducerConnectionListRequestHeader: request header of GET_PRODUCER_CONNECTION_LIST (204).
type GetProducerConnectionListRequestHeader struct {
	ProducerGroup string `rmq:"producerGroup"`
}

// WipeWritePermOfBrokerRequestHeader: request header of WIPE_WRITE_PERM_OF_BROKER (205).
type WipeWritePermOfBrokerRequestHeader struct {
	BrokerName string `rmq:"brokerName"`
}

// WipeWritePermOfBrokerResponseHeader: reply header of WIPE_WRITE_PERM_OF_BROKER (205).
type WipeWritePermOfBrokerResponseHeader struct {
	WipeTopicCount int32 `rmq:"wipeTopicCount"`
}

// DeleteSubscriptionGroupRequestHeader: request header of DELETE_SUBSCRIPTIONGROUP (207).
type DeleteSubscriptionGroupRequestHeader struct {
	GroupName   string    `rmq:"groupName"`
	CleanOffset Opt[bool] `rmq:"cleanOffset,optional,alias=removeOffset"`
}

// GetConsumeStatsRequestHeader: request header of GET_CONSUME_STATS (208).
type GetConsumeStatsRequestHeader struct {
	ConsumerGroup string `rmq:"consumerGroup"`
	Topic         string `rmq:"topic,optional"`
	TopicList     string `rmq:"topicList,optional"`
}

// DeleteTopicInBrokerRequestHeader: request header of DELETE_TOPIC_IN_BROKER (215).
type DeleteTopicInBrokerRequestHeader struct {
	Topic string `rmq:"topic"`
}

// DeleteTopicInNamesrvRequestHeader: request header of DELETE_TOPIC_IN_NAMESRV (216).
type DeleteTopicInNamesrvRequestHeader struct {
	Topic       string `rmq:"topic"`
	ClusterName string `rmq:"clusterName,optional"`
}

// RegisterTopicInNamesrvRequestHeader: request header of REGISTER_TOPIC_IN_NAMESRV (217).
type RegisterTopicInNamesrvRequestHeader struct {
	Topic string `rmq:"topic"`
}

// GetKVListByNamespaceRequestHeader: request header of GET_KVLIST_BY_NAMESPACE (219).
type GetKVListByNamespaceRequestHeader struct {
	Namespace string `rmq:"namespace"`
}

// ResetConsumerClientOffsetRequestHeader: request header of RESET_CONSUMER_CLIENT_OFFSET (220).
type ResetConsumerClientOffsetRequestHeader struct {
	Group     string     `rmq:"group"`
	Topic     string     `rmq:"topic"`
	QueueID   Opt[int32] `rmq:"queueId,optional"`
	Offset    Opt[int64] `rmq:"offset,optional"`
	Timestamp int64      `rmq:"timestamp"`
	IsForce   bool       `rmq:"isForce,optional"`
}

// GetConsumerStatusFromClientRequestHeader: request header of GET_CONSUMER_STATUS_FROM_CLIENT (221).
type GetConsumerStatusFromClientRequestHeader struct {
	Topic      string `rmq:"topic"`
	Group      string `rmq:"group"`
	ClientAddr string `rmq:"clientAddr,optional"`
}

// InvokeBrokerToResetOffsetRequestHeader: request header of INVOKE_BROKER_TO_RESET_OFFSET (222).
type InvokeBrokerToResetOffsetRequestHeader struct {
	Group     string     `rmq:"group"`
	Topic     string     `rmq:"topic"`
	QueueID   Opt[int32] `rmq:"queueId,optional"`
	Offset    Opt[int64] `rmq:"offset,optional"`
	Timestamp int64      `rmq:"timestamp"`
	IsForce   bool       `rmq:"isForce,optional"`
}

// InvokeBrokerToGetConsumerStatusRequestHeader: request header of INVOKE_BROKER_TO_GET_CONSUMER_STATUS (223).
type InvokeBrokerToGetConsumerStatusRequestHeader struct {
	Topic      string `rmq:"topic"`
	Group      string `rmq:"group"`
	ClientAddr string `rmq:"clientAddr,optional"`
}

// GetTopicsByClusterRequestHeader: request header of GET_TOPICS_BY_CLUSTER (224).
type GetTopicsByClusterRequestHeader struct {
	Cluster string `rmq:"cluster"`
}

// QueryTopicConsumeByWhoRequestHeader: request header of QUERY_TOPIC_CONSUME_BY_WHO (300).
type QueryTopicConsumeByWhoRequestHeader struct {
	Topic string `rmq:"topic"`
}

// QueryConsumeTimeSpanRequestHeader: request header of QUERY_CONSUME_TIME_SPAN (303).
type QueryConsumeTimeSpanRequestHeader struct {
	Topic string `rmq:"topic"`
	Group string `rmq:"group"`
}

// GetConsumerRunningInfoRequestHeader: request header of GET_CONSUMER_RUNNING_INFO (307).
type GetConsumerRunningInfoRequestHeader struct {
	ConsumerGroup string    `rmq:"consumerGroup"`
	ClientID      string    `rmq:"clientId"`
	JstackEnable  Opt[bool] `rmq:"jstackEnable,optional"`
}

// QueryCorrectionOffsetRequestHeader: request header of QUERY_CORRECTION_OFFSET (308).
type QueryCorrectionOffsetRequestHeader struct {
	FilterGroups string `rmq:"filterGroups,optional"`
	CompareGroup string `rmq:"compareGroup"`
	Topic        string `rmq:"topic"`
}

// ConsumeMessageDirectlyRequestHeader: request header of CONSUME_MESSAGE_DIRECTLY (309).
type ConsumeMessageDirectlyRequestHeader struct {
	ConsumerGroup string     `rmq:"consumerGroup"`
	ClientID      string     `rmq:"clientId,optional"`
	MsgID         string     `rmq:"msgId,optional"`
	BrokerName    string     `rmq:"brokerName,optional"`
	Topic         string     `rmq:"topic,optional"`
	TopicSysFlag  Opt[int32] `rmq:"topicSysFlag,optional"`
	GroupSysFlag  Opt[int32] `rmq:"groupSysFlag,optional"`
}

// SendMessageV2RequestHeader: request header of SEND_MESSAGE_V2 (310). Its strings alias the frame (see Command).
type SendMessageV2RequestHeader struct {
	ProducerGroup         string     `rmq:"a"`
	Topic                 string     `rmq:"b"`
	DefaultTopic          string     `rmq:"c,optional"`
	DefaultTopicQueueNums int32      `rmq:"d,optional"`
	QueueID               int32      `rmq:"e"`
	SysFlag               int32      `rmq:"f"`
	BornTimestamp         int64      `rmq:"g"`
	Flag                  int32      `rmq:"h,optional"`
	Properties            string     `rmq:"i,optional"`
	ReconsumeTimes        Opt[int32] `rmq:"j,optional"`
	UnitMode              Opt[bool]  `rmq:"k,optional"`
	MaxReconsumeTimes     Opt[int32] `rmq:"l,optional"`
	Batch                 Opt[bool]  `rmq:"m,optional"`
	BrokerName            string     `rmq:"n,optional"`
}

// SendMessageV2ResponseHeader is laid out as SendMessageResponseHeader.
type SendMessageV2ResponseHeader = SendMessageResponseHeader

// CloneGroupOffsetRequestHeader: request header of CLONE_GROUP_OFFSET (314).
type CloneGroupOffsetRequestHeader struct {
	SrcGroup  string    `rmq:"srcGroup"`
	DestGroup string    `rmq:"destGroup"`
	Topic     string    `rmq:"topic,optional"`
	Offline   Opt[bool] `rmq:"offline,optional"`
}

// ViewBrokerStatsDataRequestHeader: request header of VIEW_BROKER_STATS_DATA (315).
type ViewBrokerStatsDataRequestHeader struct {
	StatsName string `rmq:"statsName"`
	StatsKey  string `rmq:"statsKey"`
}

// GetBrokerConsumeStatsRequestHeader: request header of GET_BROKER_CONSUME_STATS (317).
type GetBrokerConsumeStatsRequestHeader struct {
	IsOrder bool `rmq:"isOrder,optional"`
}

// SendBatchMessageRequestHeader is laid out as SendMessageV2RequestHeader.
type SendBatchMessageRequestHeader = SendMessageV2RequestHeader

// SendBatchMessageResponseHeader is laid out as SendMessageResponseHeader.
type SendBatchMessageResponseHeader = SendMessageResponseHeader

// QueryConsumeQueueRequestHeader: request header of QUERY_CONSUME_QUEUE (321).
type QueryConsumeQueueRequestHeader struct {
	Topic         string     `rmq:"topic,optional"`
	QueueID       Opt[int32] `rmq:"queueId,optional"`
	Index         Opt[int64] `rmq:"index,optional"`
	Count         Opt[int32] `rmq:"count,optional"`
	ConsumerGroup string     `rmq:"consumerGroup,optional"`
}

// QueryDataVersionRequestHeader: request header of QUERY_DATA_VERSION (322).
type QueryDataVersionRequestHeader struct {
	BrokerName  string `rmq:"brokerName"`
	BrokerAddr  string `rmq:"brokerAddr"`
	ClusterName string `rmq:"clusterName"`
	BrokerID    int64  `rmq:"brokerId"`
}

// QueryDataVersionResponseHeader: reply header of QUERY_DATA_VERSION (322).
type QueryDataVersionResponseHeader struct {
	Changed bool `rmq:"changed"`
}

// ResumeCheckHalfMessageRequestHeader: request header of RESUME_CHECK_HALF_MESSAGE (323).
type ResumeCheckHalfMessageRequestHeader struct {
	Topic string `rmq:"topic,optional"`
	MsgID string `rmq:"msgId,optional"`
}

// SendReplyMessageRequestHeader is laid out as SendMessageRequestHeader.
type SendReplyMessageRequestHeader = SendMessageRequestHeader

// SendReplyMessageResponseHeader is laid out as SendMessageResponseHeader.
type SendReplyMessageResponseHeader = SendMessageResponseHeader

// SendReplyMessageV2RequestHeader is laid out as SendMessageV2RequestHeader.
type SendReplyMessageV2RequestHeader = SendMessageV2RequestHeader

// SendReplyMessageV2ResponseHeader is laid out as SendMessageResponseHeader.
type SendReplyMessageV2ResponseHeader = SendMessageResponseHeader

// PushReplyMessageToClientRequestHeader: request header of PUSH_REPLY_MESSAGE_TO_CLIENT (326).
type PushReplyMessageToClientRequestHeader struct {
	ProducerGroup         string     `rmq:"producerGroup"`
	Topic                 string     `rmq:"topic"`
	DefaultTopic          string     `rmq:"defaultTopic"`
	DefaultTopicQueueNums int32      `rmq:"defaultTopicQueueNums"`
	QueueID               int32      `rmq:"queueId"`
	SysFlag               int32      `rmq:"sysFlag"`
	BornTimestamp         int64      `rmq:"bornTimestamp"`
	Flag                  int32      `rmq:"flag"`
	Properties            string     `rmq:"properties,optional"`
	ReconsumeTimes        Opt[int32] `rmq:"reconsumeTimes,optional"`
	UnitMode              Opt[bool]  `rmq:"unitMode,optional"`
	BornHost              string     `rmq:"bornHost"`
	StoreHost             string     `rmq:"storeHost"`
	StoreTimestamp        int64      `rmq:"storeTimestamp"`
}

// AddWritePermOfBrokerRequestHeader: request header of ADD_WRITE_PERM_OF_BROKER (327).
type AddWritePermOfBrokerRequestHeader struct {
	BrokerName string `rmq:"brokerName"`
}

// AddWritePermOfBrokerResponseHeader: reply header of ADD_WRITE_PERM_OF_BROKER (327).
type AddWritePermOfBrokerResponseHeader struct {
	AddTopicCount int32 `rmq:"addTopicCount"`
}

// QueryTopicsByConsumerRequestHeader: request header of QUERY_TOPICS_BY_CONSUMER (343).
type QueryTopicsByConsumerRequestHeader struct {
	Group string `rmq:"group"`
}

// QuerySubscriptionByConsumerRequestHeader: request header of QUERY_SUBSCRIPTION_BY_CONSUMER (345).
type QuerySubscriptionByConsumerRequestHeader struct {
	Group string `rmq:"group"`
	Topic string `rmq:"topic,optional"`
}

// GetTopicConfigRequestHeader: request header of GET_TOPIC_CONFIG (351).
type GetTopicConfigRequestHeader struct {
	Topic string `rmq:"topic"`
}

// GetSubscriptionGroupConfigRequestHeader: request header of GET_SUBSCRIPTIONGROUP_CONFIG (352).
type GetSubscriptionGroupConfigRequestHeader struct {
	Group string `rmq:"group"`
}

// UpdateAndGetGroupForbiddenRequestHeader: request header of UPDATE_AND_GET_GROUP_FORBIDDEN (353).
type UpdateAndGetGroupForbiddenRequestHeader struct {
	Group    string    `rmq:"group"`
	Topic    string    `rmq:"topic"`
	Readable Opt[bool] `rmq:"readable,optional"`
}

// CheckRocksDBCQWriteProgressRequestHeader: request header of CHECK_ROCKSDB_CQ_WRITE_PROGRESS (354).
type CheckRocksDBCQWriteProgressRequestHeader struct {
	Topic          string     `rmq:"topic"`
	CheckStoreTime Opt[int64] `rmq:"checkStoreTime,optional"`
}

// ExportRocksDBConfigToJSONRequestHeader: request header of EXPORT_ROCKSDB_CONFIG_TO_JSON (355).
type ExportRocksDBConfigToJSONRequestHeader struct {
	ConfigType string `rmq:"configType"`
}

// LitePullMessageRequestHeader is laid out as PullMessageRequestHeader.
type LitePullMessageRequestHeader = PullMessageRequestHeader

// LitePullMessageResponseHeader is laid out as PullMessageResponseHeader.
type LitePullMessageResponseHeader = PullMessageResponseHeader

// RecallMessageRequestHeader: request header of RECALL_MESSAGE (370).
type RecallMessageRequestHeader struct {
	ProducerGroup string `rmq:"producerGroup,optional"`
	Topic         string `rmq:"topic"`
	RecallHandle  string `rmq:"recallHandle"`
}

// RecallMessageResponseHeader: reply header of RECALL_MESSAGE (370).
type RecallMessageResponseHeader struct {
	MsgID     string `rmq:"msgId"`
	MsgRegion string `rmq:"MSG_REGION,optional"`
}

// UpdateAndCreateStaticTopicRequestHeader: request header of UPDATE_AND_CREATE_STATIC_TOPIC (513).
type UpdateAndCreateStaticTopicRequestHeader struct {
	Topic           string     `rmq:"topic"`
	DefaultTopic    string     `rmq:"defaultTopic"`
	ReadQueueNums   int32      `rmq:"readQueueNums"`
	WriteQueueNums  int32      `rmq:"writeQueueNums"`
	Perm            int32      `rmq:"perm"`
	TopicFilterType string     `rmq:"topicFilterType"`
	TopicSysFlag    Opt[int32] `rmq:"topicSysFlag,optional"`
	Order           bool       `rmq:"order"`
	Attributes      string     `rmq:"attributes,optional"`
	Force           Opt[bool]  `rmq:"force,optional"`
}

// GetBrokerMemberGroupRequestHeader: request header of GET_BROKER_MEMBER_GROUP (901).
type GetBrokerMemberGroupRequestHeader struct {
	ClusterName string `rmq:"clusterName"`
	BrokerName  string `rmq:"brokerName"`
}

// BrokerHeartbeatRequestHeader: request header of BROKER_HEARTBEAT (904).
type BrokerHeartbeatRequestHeader struct {
	ClusterName           string     `rmq:"clusterName"`
	BrokerAddr            string     `rmq:"brokerAddr"`
	BrokerName            string     `rmq:"brokerName"`
	BrokerID              Opt[int64] `rmq:"brokerId,optional"`
	Epoch                 Opt[int32] `rmq:"epoch,optional"`
	MaxOffset             Opt[int64] `rmq:"maxOffset,optional"`
	ConfirmOffset         Opt[int64] `rmq:"confirmOffset,optional"`
	HeartbeatTimeoutMills Opt[int64] `rmq:"heartbeatTimeoutMills,optional"`
	ElectionPriority      Opt[int32] `rmq:"electionPriority,optional"`
}

// NotifyMinBrokerIDChangeRequestHeader: request header of NOTIFY_MIN_BROKER_ID_CHANGE (905).
type NotifyMinBrokerIDChangeRequestHeader struct {
	MinBrokerID       Opt[int64] `rmq:"minBrokerId,optional"`
	BrokerName        string     `rmq:"brokerName,optional"`
	MinBrokerAddr     string     `rmq:"minBrokerAddr,optional"`
	OfflineBrokerAddr string     `rmq:"offlineBrokerAddr,optional"`
	HaBrokerAddr      string     `rmq:"haBrokerAddr,optional"`
}

// ExchangeBrokerHAInfoRequestHeader: request header of EXCHANGE_BROKER_HA_INFO (906).
type ExchangeBrokerHAInfoRequestHeader struct {
	MasterHaAddress   string     `rmq:"masterHaAddress,optional"`
	MasterFlushOffset Opt[int64] `rmq:"masterFlushOffset,optional"`
	MasterAddress     string     `rmq:"masterAddress,optional"`
}

// ExchangeBrokerHAInfoResponseHeader is laid out as ExchangeBrokerHAInfoRequestHeader.
type ExchangeBrokerHAInfoResponseHeader = ExchangeBrokerHAInfoRequestHeader

// ResetMasterFlushOffsetRequestHeader: request header of RESET_MASTER_FLUSH_OFFSET (908).
type ResetMasterFlushOffsetRequestHeader struct {
	MasterFlushOffset int64 `rmq:"masterFlushOffset"`
}

// ControllerElectMasterRequestHeader: request header of CONTROLLER_ELECT_MASTER (1002).
type ControllerElectMasterRequestHeader struct {
	ClusterName    string     `rmq:"clusterName"`
	BrokerName     string     `rmq:"brokerName"`
	BrokerID       int64      `rmq:"brokerId"`
	DesignateElect bool       `rmq:"designateElect"`
	InvokeTime     Opt[int64] `rmq:"invokeTime,optional"`
}

// ControllerElectMasterResponseHeader: reply header of CONTROLLER_ELECT_MASTER (1002).
type ControllerElectMasterResponseHeader struct {
	MasterBrokerID    Opt[int64] `rmq:"masterBrokerId,optional"`
	MasterAddress     string     `rmq:"masterAddress,optional"`
	MasterEpoch       Opt[int32] `rmq:"masterEpoch,optional"`
	SyncStateSetEpoch Opt[int32] `rmq:"syncStateSetEpoch,optional"`
}

// ControllerGetMetadataInfoResponseHeader: reply header of CONTROLLER_GET_METADATA_INFO (1005).
type ControllerGetMetadataInfoResponseHeader struct {
	Group                   string    `rmq:"group,optional"`
	ControllerLeaderID      string    `rmq:"controllerLeaderId,optional"`
	ControllerLeaderAddress string    `rmq:"controllerLeaderAddress,optional"`
	IsLeader                Opt[bool] `rmq:"isLeader,optional"`
	Peers                   string    `rmq:"peers,optional"`
}

// CleanBrokerDataRequestHeader: request header of CLEAN_BROKER_DATA (1011).
type CleanBrokerDataRequestHeader struct {
	ClusterName                string     `rmq:"clusterName,optional"`
	BrokerName                 string     `rmq:"brokerName"`
	BrokerControllerIdsToClean string     `rmq:"brokerControllerIdsToClean,optional"`
	IsCleanLivingBroker        Opt[bool]  `rmq:"isCleanLivingBroker,optional"`
	InvokeTime                 Opt[int64] `rmq:"invokeTime,optional"`
}

// SetCommitLogReadModeRequestHeader: request header of SET_COMMITLOG_READ_MODE (2004).
type SetCommitLogReadModeRequestHeader struct {
	ReadAheadMode string `rmq:"READ_AHEAD_MODE"`
}

// AuthCreateUserRequestHeader: request header of AUTH_CREATE_USER (3001).
type AuthCreateUserRequestHeader struct {
	Username string `rmq:"username,optional"`
}

// AuthUpdateUserRequestHeader: request header of AUTH_UPDATE_USER (3002).
type AuthUpdateUserRequestHeader struct {
	Username string `rmq:"username,optional"`
}

// AuthDeleteUserRequestHeader: request header of AUTH_DELETE_USER (3003).
type AuthDeleteUserRequestHeader struct {
	Username string `rmq:"username,optional"`
}

// AuthGetUserRequestHeader: request header of AUTH_GET_USER (3004).
type AuthGetUserRequestHeader struct {
	Username string `rmq:"username,optional"`
}

// AuthListUserRequestHeader: request header of AUTH_LIST_USER (3005).
type AuthListUserRequestHeader struct {
	Filter string `rmq:"filter,optional"`
}

// AuthCreateACLRequestHeader: request header of AUTH_CREATE_ACL (3006).
type AuthCreateACLRequestHeader struct {
	Subject string `rmq:"subject,optional"`
}

// AuthUpdateACLRequestHeader: request header of AUTH_UPDATE_ACL (3007).
type AuthUpdateACLRequestHeader struct {
	Subject string `rmq:"subject,optional"`
}

// AuthDeleteACLRequestHeader: request header of AUTH_DELETE_ACL (3008).
type AuthDeleteACLRequestHeader struct {
	Subject    string `rmq:"subject,optional"`
	PolicyType string `rmq:"policyType,optional"`
	Resource   string `rmq:"resource,optional"`
}

// AuthGetACLRequestHeader: request header of AUTH_GET_ACL (3009).
type AuthGetACLRequestHeader struct {
	Subject string `rmq:"subject,optional"`
}

// AuthListACLRequestHeader: request header of AUTH_LIST_ACL (3010).
type AuthListACLRequestHeader struct {
	SubjectFilter  string `rmq:"subjectFilter,optional"`
	ResourceFilter string `rmq:"resourceFilter,optional"`
}

// SwitchTimerEngineRequestHeader: request header of SWITCH_TIMER_ENGINE (5001).
type SwitchTimerEngineRequestHeader struct {
	EngineType string `rmq:"E_T"`
}

// PopMessageRequestHeader: request header of POP_MESSAGE (200050). Its strings alias the frame (see Command).
type PopMessageRequestHeader struct {
	ConsumerGroup string    `rmq:"consumerGroup"`
	Topic         string    `rmq:"topic"`
	QueueID       int32     `rmq:"queueId"`
	MaxMsgNums    int32     `rmq:"maxMsgNums"`
	InvisibleTime int64     `rmq:"invisibleTime"`
	PollTime      int64     `rmq:"pollTime"`
	BornTime      int64     `rmq:"bornTime"`
	InitMode      int32     `rmq:"initMode,optional"`
	ExpType       string    `rmq:"expType,optional"`
	Exp           string    `rmq:"exp,optional"`
	Order         Opt[bool] `rmq:"order,optional"`
	AttemptID     string    `rmq:"attemptId,optional"`
}

// PopMessageResponseHeader: reply header of POP_MESSAGE (200050).
type PopMessageResponseHeader struct {
	PopTime         int64  `rmq:"popTime,optional"`
	InvisibleTime   int64  `rmq:"invisibleTime,optional"`
	ReviveQid       int32  `rmq:"reviveQid,optional"`
	RestNum         int64  `rmq:"restNum,optional"`
	StartOffsetInfo string `rmq:"startOffsetInfo,optional"`
	MsgOffsetInfo   string `rmq:"msgOffsetInfo,optional"`
	OrderCountInfo  string `rmq:"orderCountInfo,optional"`
}

// AckMessageRequestHeader: request header of ACK_MESSAGE (200051). Its strings alias the frame (see Command).
type AckMessageRequestHeader struct {
	ConsumerGroup string `rmq:"consumerGroup"`
	Topic         string `rmq:"topic"`
	QueueID       int32  `rmq:"queueId"`
	ExtraInfo     string `rmq:"extraInfo"`
	Offset        int64  `rmq:"offset"`
	LiteTopic     string `rmq:"liteTopic,optional"`
}

// PeekMessageRequestHeader: request header of PEEK_MESSAGE (200052).
type PeekMessageRequestHeader struct {
	Topic         string `rmq:"topic"`
	QueueID       int32  `rmq:"queueId"`
	MaxMsgNums    int32  `rmq:"maxMsgNums"`
	ConsumerGroup string `rmq:"consumerGroup"`
}

// PeekMessageResponseHeader is laid out as PopMessageResponseHeader.
type PeekMessageResponseHeader = PopMessageResponseHeader

// ChangeMessageInvisibleTimeRequestHeader: request header of CHANGE_MESSAGE_INVISIBLETIME (200053).
type ChangeMessageInvisibleTimeRequestHeader struct {
	ConsumerGroup string    `rmq:"consumerGroup"`
	Topic         string    `rmq:"topic"`
	QueueID       int32     `rmq:"queueId"`
	ExtraInfo     string    `rmq:"extraInfo"`
	Offset        int64     `rmq:"offset"`
	InvisibleTime int64     `rmq:"invisibleTime"`
	LiteTopic     string    `rmq:"liteTopic,optional"`
	Suspend       Opt[bool] `rmq:"suspend,optional"`
}

// ChangeMessageInvisibleTimeResponseHeader: reply header of CHANGE_MESSAGE_INVISIBLETIME (200053).
type ChangeMessageInvisibleTimeResponseHeader struct {
	PopTime       int64 `rmq:"popTime,optional"`
	InvisibleTime int64 `rmq:"invisibleTime,optional"`
	ReviveQid     int32 `rmq:"reviveQid,optional"`
}

// NotificationRequestHeader: request header of NOTIFICATION (200054).
type NotificationRequestHeader struct {
	ConsumerGroup  string    `rmq:"consumerGroup"`
	Topic          string    `rmq:"topic"`
	QueueID        int32     `rmq:"queueId"`
	PollTime       int64     `rmq:"pollTime"`
	BornTime       int64     `rmq:"bornTime"`
	Order          Opt[bool] `rmq:"order,optional"`
	AttemptID      string    `rmq:"attemptId,optional"`
	ExpType        string    `rmq:"expType,optional"`
	Exp            string    `rmq:"exp,optional"`
	IsLiteConsumer Opt[bool] `rmq:"isLiteConsumer,optional"`
	ClientID       string    `rmq:"clientId,optional"`
}

// NotificationResponseHeader: reply header of NOTIFICATION (200054).
type NotificationResponseHeader struct {
	HasMsg      bool      `rmq:"hasMsg"`
	PollingFull Opt[bool] `rmq:"pollingFull,optional"`
}

// PollingInfoRequestHeader: request header of POLLING_INFO (200055).
type PollingInfoRequestHeader struct {
	ConsumerGroup string `rmq:"consumerGroup"`
	Topic         string `rmq:"topic"`
	QueueID       int32  `rmq:"queueId"`
}

// PollingInfoResponseHeader: reply header of POLLING_INFO (200055).
type PollingInfoResponseHeader struct {
	PollingNum int32 `rmq:"pollingNum"`
}

// PopLiteMessageRequestHeader: request header of POP_LITE_MESSAGE (200070).
type PopLiteMessageRequestHeader struct {
	ClientID      string `rmq:"clientId"`
	ConsumerGroup string `rmq:"consumerGroup"`
	Topic         string `rmq:"topic"`
	MaxMsgNum     int32  `rmq:"maxMsgNum"`
	InvisibleTime int64  `rmq:"invisibleTime"`
	PollTime      int64  `rmq:"pollTime"`
	BornTime      int64  `rmq:"bornTime"`
	AttemptID     string `rmq:"attemptId,optional"`
}

// PopLiteMessageResponseHeader: reply header of POP_LITE_MESSAGE (200070).
type PopLiteMessageResponseHeader struct {
	PopTime         int64  `rmq:"popTime,optional"`
	InvisibleTime   int64  `rmq:"invisibleTime,optional"`
	ReviveQid       int32  `rmq:"reviveQid,optional"`
	StartOffsetInfo string `rmq:"startOffsetInfo,optional"`
	MsgOffsetInfo   string `rmq:"msgOffsetInfo,optional"`
	OrderCountInfo  string `rmq:"orderCountInfo,optional"`
}

// NotifyUnsubscribeLiteRequestHeader: request header of NOTIFY_UNSUBSCRIBE_LITE (200073).
type NotifyUnsubscribeLiteRequestHeader struct {
	LiteTopic     string `rmq:"liteTopic"`
	ConsumerGroup string `rmq:"consumerGroup"`
	ClientID      string `rmq:"clientId"`
}

// GetParentTopicInfoRequestHeader: request header of GET_PARENT_TOPIC_INFO (200075).
type GetParentTopicInfoRequestHeader struct {
	Topic string `rmq:"topic"`
}

// GetLiteTopicInfoRequestHeader: request header of GET_LITE_TOPIC_INFO (200076).
type GetLiteTopicInfoRequestHeader struct {
	ParentTopic string `rmq:"parentTopic,optional"`
	LiteTopic   string `rmq:"liteTopic,optional"`
}

// GetLiteClientInfoRequestHeader: request header of GET_LITE_CLIENT_INFO (200077).
type GetLiteClientInfoRequestHeader struct {
	ParentTopic string     `rmq:"parentTopic,optional"`
	Group       string     `rmq:"group,optional"`
	ClientID    string     `rmq:"clientId,optional"`
	MaxCount    Opt[int32] `rmq:"maxCount,optional"`
}

// GetLiteGroupInfoRequestHeader: request header of GET_LITE_GROUP_INFO (200078).
type GetLiteGroupInfoRequestHeader struct {
	Group     string     `rmq:"group"`
	LiteTopic string     `rmq:"liteTopic,optional"`
	TopK      Opt[int32] `rmq:"topK,optional"`
}

// TriggerLiteDispatchRequestHeader: request header of TRIGGER_LITE_DISPATCH (200079).
type TriggerLiteDispatchRequestHeader struct {
	Group    string `rmq:"group"`
	ClientID string `rmq:"clientId,optional"`
}
