package conf

// Broker holds the keys of BrokerConfig that mean something here. Names and defaults are Java's.
type Broker struct {
	// NamesrvAddr: NameServer list, `;` separated; every entry is validated as host:port at start-up. Unit: addr;addr.
	NamesrvAddr string `conf:"namesrvAddr" default:"$namesrv" reload:"true" important:"true"`
	// ListenPort: Remoting port; the same key as in Server.
	ListenPort int `conf:"listenPort" default:"$port" clamp:"0..65535" important:"true"`
	// BrokerIP1: Address advertised to NameServer and clients; also becomes the store host stamped in messages.
	BrokerIP1 string `conf:"brokerIP1" default:"$ip" important:"true"`
	// BrokerIP2: Address used for HA replication; advertised as haServerAddr (brokerIP2:haListenPort).
	BrokerIP2 string `conf:"brokerIP2" default:"$ip"`
	// BrokerPermission: Broker wide permission: 4 read, 2 write, 6 both; sends refused without W, pulls without R.
	BrokerPermission int `conf:"brokerPermission" default:"6" clamp:"0..7" live:"true"`
	// DefaultTopicQueueNums: Upper bound of queues for a topic auto-created from TBW102, and the queue count of TBW102 itself.
	DefaultTopicQueueNums int `conf:"defaultTopicQueueNums" default:"8" live:"true"`
	// AutoCreateTopicEnable: Create unknown topics on first send; also creates the TBW102 template topic at boot.
	AutoCreateTopicEnable bool `conf:"autoCreateTopicEnable" default:"true" live:"true" important:"true"`
	// ClusterTopicEnable: Give the topic named like the cluster read/write permission (used by RT probes).
	ClusterTopicEnable bool `conf:"clusterTopicEnable" default:"true"`
	// BrokerTopicEnable: Give the topic named like the broker read/write permission.
	BrokerTopicEnable bool `conf:"brokerTopicEnable" default:"true"`
	// AutoCreateSubscriptionGroup: Create an unknown consumer group on first use.
	AutoCreateSubscriptionGroup bool `conf:"autoCreateSubscriptionGroup" default:"true" live:"true" important:"true"`
	// MsgTraceTopicName: Topic that receives message traces. Unit: topic.
	MsgTraceTopicName string `conf:"msgTraceTopicName" default:"RMQ_SYS_TRACE_TOPIC" important:"true"`
	// TraceTopicEnable: Create the trace topic at boot.
	TraceTopicEnable bool `conf:"traceTopicEnable" default:"false" important:"true"`
	// FlushConsumerOffsetInterval: Period of persisting consumer offsets. Unit: ms.
	FlushConsumerOffsetInterval int `conf:"flushConsumerOffsetInterval" default:"5000"`
	// LongPollingEnable: Hold pulls that find nothing until a message arrives or the client's suspend time ends.
	LongPollingEnable bool `conf:"longPollingEnable" default:"true" live:"true"`
	// ShortPollingTimeMills: Fixed hold time used when long polling is off. Unit: ms.
	ShortPollingTimeMills int64 `conf:"shortPollingTimeMills" default:"1000" live:"true"`
	// NotifyConsumerIdsChangedEnable: Push NOTIFY_CONSUMER_IDS_CHANGED to group members when membership changes.
	NotifyConsumerIdsChangedEnable bool `conf:"notifyConsumerIdsChangedEnable" default:"true" live:"true"`
	// RegionID: Region stamped on messages (MSG_REGION) and returned in send replies.
	RegionID string `conf:"regionId" default:"DefaultRegion"`
	// RegisterBrokerTimeoutMills: Timeout of one register call to a NameServer. Unit: ms.
	RegisterBrokerTimeoutMills int `conf:"registerBrokerTimeoutMills" default:"24000"`
	// SlaveReadEnable: Let the master advise clients to pull from a slave when it lags behind memory.
	SlaveReadEnable bool `conf:"slaveReadEnable" default:"false" live:"true"`
	// StartAcceptSendRequestTimeStamp: Sends are refused with SYSTEM_ERROR before this instant. Unit: epoch ms.
	StartAcceptSendRequestTimeStamp int64 `conf:"startAcceptSendRequestTimeStamp" default:"0" live:"true"`
	// TraceOn: Value of TRACE_ON returned to clients; false turns client tracing off.
	TraceOn bool `conf:"traceOn" default:"true" live:"true"`
	// RejectPullConsumerEnable: Refuse pulls from pull-type or unknown groups on a channel that never sent a heartbeat (SUBSCRIPTION_NOT_EXIST).
	RejectPullConsumerEnable bool `conf:"rejectPullConsumerEnable" default:"false" live:"true"`
	// CompressedRegister: Deflate the topic table in the register request body.
	CompressedRegister bool `conf:"compressedRegister" default:"false"`
	// ForceRegister: Register every period even when the topic table did not change.
	ForceRegister bool `conf:"forceRegister" default:"true"`
	// RegisterNameServerPeriod: Register period. Unit: ms.
	RegisterNameServerPeriod int `conf:"registerNameServerPeriod" default:"30000" clamp:"10000..60000"`
	// LitePullMessageEnable: Serve LITE_PULL_MESSAGE; false answers NO_PERMISSION.
	LitePullMessageEnable bool `conf:"litePullMessageEnable" default:"true" live:"true"`
	// UseServerSideResetOffset: Reset offsets inside the broker without asking clients.
	UseServerSideResetOffset bool `conf:"useServerSideResetOffset" default:"true" live:"true"`
	// ServerLoadBalancerEnable: Share a topic's queues among the members that ask the broker (QUERY_ASSIGNMENT); off gives all queues to everyone.
	ServerLoadBalancerEnable bool `conf:"serverLoadBalancerEnable" default:"true" live:"true"`
	// DefaultMessageRequestMode: How groups ask for messages that have no mode of their own (setConsumeMode).
	DefaultMessageRequestMode string `conf:"defaultMessageRequestMode" default:"PULL" enum:"PULL|POP" live:"true"`
	// DefaultPopShareQueueNum: popShareQueueNum of groups that have none set; -1 and 0 are all queues.
	DefaultPopShareQueueNum int32 `conf:"defaultPopShareQueueNum" default:"-1" live:"true"`
	// ValidateSystemTopicWhenUpdateTopic: Refuse admin changes of system topics.
	ValidateSystemTopicWhenUpdateTopic bool `conf:"validateSystemTopicWhenUpdateTopic" default:"true" live:"true"`
	// ChannelExpiredTimeout: Client channel is dead after this silence. Unit: ms.
	ChannelExpiredTimeout int64 `conf:"channelExpiredTimeout" default:"120000"`
	// ReviveQueueNum: Queues of the POP revive log topic.
	ReviveQueueNum int `conf:"reviveQueueNum" default:"8"`
	// EnablePopMessageThreshold: Stop popping from a queue while a group has more than popInflightMessageThreshold open messages of it.
	EnablePopMessageThreshold bool `conf:"enablePopMessageThreshold" default:"false" live:"true"`
	// PopInflightMessageThreshold: Open messages of a group in one queue above which it pops no more of it, if enablePopMessageThreshold is on.
	PopInflightMessageThreshold int64 `conf:"popInflightMessageThreshold" default:"10000" live:"true"`
	// PopCkStayBufferTime: How long a check point of popped messages stays in memory before it is stored. Unit: ms.
	PopCkStayBufferTime int `conf:"popCkStayBufferTime" default:"10000" live:"true"`
	// PopFromRetryProbability: Share of pops that look at the retry topic first; the others take from it what room is left. Unit: %.
	PopFromRetryProbability int `conf:"popFromRetryProbability" default:"20" clamp:"0..100" live:"true"`
	// PopPollingSize: Pops that may wait for one queue, or for all queues, of a topic and group.
	PopPollingSize int `conf:"popPollingSize" default:"1024" live:"true"`
	// MaxPopPollingSize: Pops that may wait in all.
	MaxPopPollingSize int64 `conf:"maxPopPollingSize" default:"100000" live:"true"`
	// EnableRetryTopicV2: Messages that were not acknowledged go to %RETRY%group+topic, not to %RETRY%group_topic.
	EnableRetryTopicV2 bool `conf:"enableRetryTopicV2" default:"false" live:"true"`
	// RetrieveMessageFromPopRetryTopicV1: Read %RETRY%group_topic also while enableRetryTopicV2 is on.
	RetrieveMessageFromPopRetryTopicV1 bool `conf:"retrieveMessageFromPopRetryTopicV1" default:"true" live:"true"`
	// ConfigBlackList: Keys that UPDATE_BROKER_CONFIG must refuse. Unit: k;k.
	ConfigBlackList string `conf:"configBlackList" default:"configBlackList;brokerConfigPath"`
	// EnableRegisterProducer: Keep producer groups; may be off only with rejectTransactionMessage.
	EnableRegisterProducer bool `conf:"enableRegisterProducer" default:"true" live:"true"`
	// RejectTransactionMessage: Refuse transactional half messages with NO_PERMISSION.
	RejectTransactionMessage bool `conf:"rejectTransactionMessage" default:"false" live:"true"`
	// TransactionTimeOut: Age of a half message before its producer is asked for the outcome. Unit: ms.
	TransactionTimeOut int64 `conf:"transactionTimeOut" default:"6000" live:"true"`
	// TransactionCheckMax: Checks before a half message is given up and goes to TRANS_CHECK_MAX_TIME_TOPIC.
	TransactionCheckMax int `conf:"transactionCheckMax" default:"15" live:"true"`
	// TransactionCheckInterval: Least time between two rounds of checks. Unit: ms.
	TransactionCheckInterval int64 `conf:"transactionCheckInterval" default:"30000" live:"true"`
	// TransactionOpMsgMaxSize: Size up to which the marks of ended transactions share a message. Unit: B.
	TransactionOpMsgMaxSize int `conf:"transactionOpMsgMaxSize" default:"4096" clamp:"64..65536"`
	// StoreReplyMessageEnable: Store reply messages in the cluster's reply topic.
	StoreReplyMessageEnable bool `conf:"storeReplyMessageEnable" default:"true" live:"true"`
	// EnableCreateSysGroup: Auto-create CID_RMQ_SYS_ groups even when autoCreateSubscriptionGroup is off.
	EnableCreateSysGroup bool `conf:"enableCreateSysGroup" default:"true"`
	// EnablePropertyFilter: Serve SQL92 filters on properties; off means SYSTEM_ERROR for their subscribers. RocketMQ's default is false.
	EnablePropertyFilter bool `conf:"enablePropertyFilter" default:"true" live:"true" important:"true"`
	// FilterSupportRetry: Filter %RETRY% topics too, by the expression for the topic that a message came from.
	FilterSupportRetry bool `conf:"filterSupportRetry" default:"false"`
	// BrokerName: Broker group name; master and slaves of a group share it.
	BrokerName string `conf:"brokerName" default:"$hostname" important:"true"`
	// BrokerClusterName: Cluster name.
	BrokerClusterName string `conf:"brokerClusterName" default:"DefaultCluster" important:"true"`
	// BrokerID: 0 master, >0 slave; forced to 0 for masters. Unit: number.
	BrokerID int64 `conf:"brokerId" default:"0" important:"true"`
	// RecallMessageEnable: Let producers recall messages with arbitrary delays that are not delivered yet (RECALL_MESSAGE). RocketMQ's default is false.
	RecallMessageEnable bool `conf:"recallMessageEnable" default:"true" live:"true"`
	// AllowRecallWhenBrokerNotWriteable: Recall also while brokerPermission has no W.
	AllowRecallWhenBrokerNotWriteable bool `conf:"allowRecallWhenBrokerNotWriteable" default:"true" live:"true"`
}
