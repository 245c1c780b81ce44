package conf

// Broker holds the keys of BrokerConfig that mean something here. Names and defaults are Java's.
type Broker struct {
	// RocketmqHome: Installation directory; start-up aborts (exit -2) when null.
	RocketmqHome string `conf:"rocketmqHome" default:""`
	// NamesrvAddr: NameServer list, `;` separated; every entry is validated as host:port at start-up. Unit: addr;addr.
	NamesrvAddr string `conf:"namesrvAddr" default:""`
	// ListenPort: Remoting port of a broker inside a BrokerContainer; a stand-alone broker takes the same key through the Netty server object (default 10911 there).
	ListenPort int `conf:"listenPort" default:"10911"`
	// BrokerIP1: Address advertised to NameServer and clients; also becomes the store host stamped in messages.
	BrokerIP1 string `conf:"brokerIP1" default:""`
	// BrokerIP2: Address used for HA replication; advertised as haServerAddr (brokerIP2:haListenPort).
	BrokerIP2 string `conf:"brokerIP2" default:""`
	// BrokerPermission: Broker wide permission: 4 read, 2 write, 6 both; sends refused without W, pulls without R.
	BrokerPermission int `conf:"brokerPermission" default:"6"`
	// DefaultTopicQueueNums: Upper bound of queues for a topic auto-created from TBW102, and the queue count of TBW102 itself.
	DefaultTopicQueueNums int `conf:"defaultTopicQueueNums" default:"8"`
	// AutoCreateTopicEnable: Create unknown topics on first send; also creates the TBW102 template topic at boot.
	AutoCreateTopicEnable bool `conf:"autoCreateTopicEnable" default:"true"`
	// ClusterTopicEnable: Give the topic named like the cluster read/write permission (used by RT probes).
	ClusterTopicEnable bool `conf:"clusterTopicEnable" default:"true"`
	// BrokerTopicEnable: Give the topic named like the broker read/write permission.
	BrokerTopicEnable bool `conf:"brokerTopicEnable" default:"true"`
	// AutoCreateSubscriptionGroup: Create an unknown consumer group on first use.
	AutoCreateSubscriptionGroup bool `conf:"autoCreateSubscriptionGroup" default:"true"`
	// MsgTraceTopicName: Topic that receives message traces. Unit: topic.
	MsgTraceTopicName string `conf:"msgTraceTopicName" default:"RMQ_SYS_TRACE_TOPIC"`
	// TraceTopicEnable: Create the trace topic at boot.
	TraceTopicEnable bool `conf:"traceTopicEnable" default:"false"`
	// SendMessageThreadPoolNums: Threads handling send requests. Unit: threads.
	SendMessageThreadPoolNums int `conf:"sendMessageThreadPoolNums" default:""`
	// PullMessageThreadPoolNums: Threads handling pull requests. Unit: threads.
	PullMessageThreadPoolNums int `conf:"pullMessageThreadPoolNums" default:""`
	// FlushConsumerOffsetInterval: Period of persisting consumer offsets. Unit: ms.
	FlushConsumerOffsetInterval int `conf:"flushConsumerOffsetInterval" default:"5000"`
	// RejectTransactionMessage: Refuse transactional half messages.
	RejectTransactionMessage bool `conf:"rejectTransactionMessage" default:"false"`
	// FetchNameSrvAddrByDnsLookup: Treat namesrvAddr as one DNS name and resolve it periodically.
	FetchNameSrvAddrByDnsLookup bool `conf:"fetchNameSrvAddrByDnsLookup" default:"false"`
	// FetchNamesrvAddrByAddressServer: With no namesrvAddr, ask the HTTP address server for the list.
	FetchNamesrvAddrByAddressServer bool `conf:"fetchNamesrvAddrByAddressServer" default:"false"`
	// LongPollingEnable: Hold pulls that find nothing until a message arrives or the client's suspend time ends.
	LongPollingEnable bool `conf:"longPollingEnable" default:"true"`
	// ShortPollingTimeMills: Fixed hold time used when long polling is off. Unit: ms.
	ShortPollingTimeMills int64 `conf:"shortPollingTimeMills" default:"1000"`
	// NotifyConsumerIdsChangedEnable: Push NOTIFY_CONSUMER_IDS_CHANGED to group members when membership changes.
	NotifyConsumerIdsChangedEnable bool `conf:"notifyConsumerIdsChangedEnable" default:"true"`
	// TransferMsgByHeap: Copy pulled messages to heap instead of zero-copy file regions.
	TransferMsgByHeap bool `conf:"transferMsgByHeap" default:"true"`
	// RegionID: Region stamped on messages (MSG_REGION) and returned in send replies.
	RegionID string `conf:"regionId" default:"DefaultRegion"`
	// RegisterBrokerTimeoutMills: Timeout of one register call to a NameServer. Unit: ms.
	RegisterBrokerTimeoutMills int `conf:"registerBrokerTimeoutMills" default:"24000"`
	// SendHeartbeatTimeoutMillis: Timeout of one broker heartbeat to NameServer or controller. Unit: ms.
	SendHeartbeatTimeoutMillis int `conf:"sendHeartbeatTimeoutMillis" default:"1000"`
	// SlaveReadEnable: Let the master advise clients to pull from a slave when it lags behind memory.
	SlaveReadEnable bool `conf:"slaveReadEnable" default:"false"`
	// DisableConsumeIfConsumerReadSlowly: Disable a group that falls too far behind (protects the disk).
	DisableConsumeIfConsumerReadSlowly bool `conf:"disableConsumeIfConsumerReadSlowly" default:"false"`
	// ConsumerFallbehindThreshold: Lag that triggers the rule above. Unit: B.
	ConsumerFallbehindThreshold int64 `conf:"consumerFallbehindThreshold" default:"17179869184"`
	// BrokerFastFailureEnable: Answer SYSTEM_BUSY to requests that waited too long in a queue.
	BrokerFastFailureEnable bool `conf:"brokerFastFailureEnable" default:"true"`
	// WaitTimeMillsInSendQueue: Queue wait limit for sends; users raise it to quiet `[TIMEOUT_CLEAN_QUEUE]broker busy`. Unit: ms.
	WaitTimeMillsInSendQueue int64 `conf:"waitTimeMillsInSendQueue" default:"200"`
	// WaitTimeMillsInPullQueue: Queue wait limit for pulls. Unit: ms.
	WaitTimeMillsInPullQueue int64 `conf:"waitTimeMillsInPullQueue" default:"5000"`
	// StartAcceptSendRequestTimeStamp: Sends are refused with SYSTEM_ERROR before this instant. Unit: epoch ms.
	StartAcceptSendRequestTimeStamp int64 `conf:"startAcceptSendRequestTimeStamp" default:"0"`
	// TraceOn: Value of TRACE_ON returned to clients; false turns client tracing off.
	TraceOn bool `conf:"traceOn" default:"true"`
	// EnableCalcFilterBitMap: Pre-compute SQL92 filter bit maps while building the consume queue.
	EnableCalcFilterBitMap bool `conf:"enableCalcFilterBitMap" default:"false"`
	// RejectPullConsumerEnable: Refuse pulls from pull-type or unknown groups on a channel that never sent a heartbeat (SUBSCRIPTION_NOT_EXIST).
	RejectPullConsumerEnable bool `conf:"rejectPullConsumerEnable" default:"false"`
	// FilterSupportRetry: Apply filters again on %RETRY% topics.
	FilterSupportRetry bool `conf:"filterSupportRetry" default:"false"`
	// EnablePropertyFilter: Allow SQL92 property filters; off means CODE 1 for SQL92 subscribers.
	EnablePropertyFilter bool `conf:"enablePropertyFilter" default:"false"`
	// CompressedRegister: Deflate the topic table in the register request body.
	CompressedRegister bool `conf:"compressedRegister" default:"false"`
	// ForceRegister: Register every period even when the topic table did not change.
	ForceRegister bool `conf:"forceRegister" default:"true"`
	// RegisterNameServerPeriod: Register period; clamped to 10000..60000. Unit: ms.
	RegisterNameServerPeriod int `conf:"registerNameServerPeriod" default:"30000"`
	// UpdateNameServerAddrPeriod: Period of re-reading the NameServer address list. Unit: ms.
	UpdateNameServerAddrPeriod int `conf:"updateNameServerAddrPeriod" default:"120000"`
	// BrokerHeartbeatInterval: Period of light heartbeats to NameServer (slave-acting-master) or controller. Unit: ms.
	BrokerHeartbeatInterval int `conf:"brokerHeartbeatInterval" default:"1000"`
	// BrokerNotActiveTimeoutMillis: Liveness timeout the broker asks the NameServer to apply (slave-acting-master only). Unit: ms.
	BrokerNotActiveTimeoutMillis int64 `conf:"brokerNotActiveTimeoutMillis" default:"10000"`
	// EnableNetWorkFlowControl: Refuse pulls while the client channel is not writable.
	EnableNetWorkFlowControl bool `conf:"enableNetWorkFlowControl" default:"false"`
	// EnableBroadcastOffsetStore: Keep broadcast consumer positions reported through the proxy.
	EnableBroadcastOffsetStore bool `conf:"enableBroadcastOffsetStore" default:"true"`
	// BroadcastOffsetExpireSecond: Expiry of such a position since last access. Unit: s.
	BroadcastOffsetExpireSecond int64 `conf:"broadcastOffsetExpireSecond" default:"120"`
	// BroadcastOffsetExpireMaxSecond: Absolute expiry of such a position. Unit: s.
	BroadcastOffsetExpireMaxSecond int64 `conf:"broadcastOffsetExpireMaxSecond" default:"300"`
	// PopPollingSize: Max suspended POP requests per topic/group/queue.
	PopPollingSize int `conf:"popPollingSize" default:"1024"`
	// MaxPopPollingSize: Total suspended POP requests.
	MaxPopPollingSize int64 `conf:"maxPopPollingSize" default:"100000"`
	// ReviveQueueNum: Queues of the POP revive log topic.
	ReviveQueueNum int `conf:"reviveQueueNum" default:"8"`
	// ReviveInterval: Pause of a revive round that found nothing. Unit: ms.
	ReviveInterval int64 `conf:"reviveInterval" default:"1000"`
	// EnableSkipLongAwaitingAck: Make up a checkpoint for an ack whose checkpoint never arrives.
	EnableSkipLongAwaitingAck bool `conf:"enableSkipLongAwaitingAck" default:"false"`
	// ReviveAckWaitMs: Wait before such a made-up checkpoint is used. Unit: ms.
	ReviveAckWaitMs int64 `conf:"reviveAckWaitMs" default:"180000"`
	// EnablePopBufferMerge: Merge POP checkpoints and acks in memory before writing them.
	EnablePopBufferMerge bool `conf:"enablePopBufferMerge" default:"false"`
	// PopCkStayBufferTime: How long a checkpoint stays in that buffer. Unit: ms.
	PopCkStayBufferTime int `conf:"popCkStayBufferTime" default:"10000"`
	// PopCkStayBufferTimeOut: Flush a checkpoint this long before its revive time. Unit: ms.
	PopCkStayBufferTimeOut int `conf:"popCkStayBufferTimeOut" default:"3000"`
	// EnablePopBatchAck: Write buffered acks in batches.
	EnablePopBatchAck bool `conf:"enablePopBatchAck" default:"false"`
	// EnableNotifyAfterPopOrderLockRelease: Wake waiters when an ordered POP lock is released.
	EnableNotifyAfterPopOrderLockRelease bool `conf:"enableNotifyAfterPopOrderLockRelease" default:"true"`
	// InitPopOffsetByCheckMsgInMem: A new POP group starts at 0 when the queue head is still in memory, else at max.
	InitPopOffsetByCheckMsgInMem bool `conf:"initPopOffsetByCheckMsgInMem" default:"true"`
	// RetrieveMessageFromPopRetryTopicV1: Also read the old style POP retry topic.
	RetrieveMessageFromPopRetryTopicV1 bool `conf:"retrieveMessageFromPopRetryTopicV1" default:"true"`
	// EnableRetryTopicV2: Use the new POP retry topic name.
	EnableRetryTopicV2 bool `conf:"enableRetryTopicV2" default:"false"`
	// PopFromRetryProbability: Chance that a POP looks at the retry topic first. Unit: %.
	PopFromRetryProbability int `conf:"popFromRetryProbability" default:"20"`
	// PopConsumerFSServiceInit: Start the file based (checkpoint topic) POP service.
	PopConsumerFSServiceInit bool `conf:"popConsumerFSServiceInit" default:"true"`
	// PopConsumerKVServiceInit: Start the RocksDB based POP service.
	PopConsumerKVServiceInit bool `conf:"popConsumerKVServiceInit" default:"false"`
	// PopConsumerKVServiceEnable: Serve POP from the RocksDB service.
	PopConsumerKVServiceEnable bool `conf:"popConsumerKVServiceEnable" default:"false"`
	// PopReviveMaxAttemptTimes: Retries of a failed revive in the RocksDB POP service.
	PopReviveMaxAttemptTimes int `conf:"popReviveMaxAttemptTimes" default:"16"`
	// RealTimeNotifyConsumerChange: Notify membership changes at once instead of every 15 s.
	RealTimeNotifyConsumerChange bool `conf:"realTimeNotifyConsumerChange" default:"true"`
	// LitePullMessageEnable: Serve LITE_PULL_MESSAGE; false answers NO_PERMISSION.
	LitePullMessageEnable bool `conf:"litePullMessageEnable" default:"true"`
	// SyncBrokerMemberGroupPeriod: Period of reading the broker group from the NameServer. Unit: ms.
	SyncBrokerMemberGroupPeriod int `conf:"syncBrokerMemberGroupPeriod" default:"1000"`
	// ServerLoadBalancerEnable: Compute queue assignment in the broker; false returns all queues.
	ServerLoadBalancerEnable bool `conf:"serverLoadBalancerEnable" default:"true"`
	// DefaultMessageRequestMode: Consume mode of groups that have none set. Unit: enum PULL/POP.
	DefaultMessageRequestMode string `conf:"defaultMessageRequestMode" default:"PULL"`
	// DefaultPopShareQueueNum: POP share queue count of groups that have none set; -1 means all queues.
	DefaultPopShareQueueNum int `conf:"defaultPopShareQueueNum" default:"-1"`
	// TransactionTimeOut: Age before the first check of a half message. Unit: ms.
	TransactionTimeOut int64 `conf:"transactionTimeOut" default:"6000"`
	// TransactionCheckMax: Checks before a half message is dropped to TRANS_CHECK_MAX_TIME_TOPIC.
	TransactionCheckMax int `conf:"transactionCheckMax" default:"15"`
	// TransactionCheckInterval: Period of the check task. Unit: ms.
	TransactionCheckInterval int64 `conf:"transactionCheckInterval" default:"30000"`
	// AclEnable: ACL 1.0 switch. No reader left in this source: setting it protects nothing; use authenticationEnabled/authorizationEnabled.
	AclEnable bool `conf:"aclEnable" default:"false"`
	// StoreReplyMessageEnable: Store reply messages in the cluster reply topic.
	StoreReplyMessageEnable bool `conf:"storeReplyMessageEnable" default:"true"`
	// IsolateLogEnable: Put logs under a directory named brokerName_brokerId.
	IsolateLogEnable bool `conf:"isolateLogEnable" default:"false"`
	// ForwardTimeout: Timeout of requests a broker forwards to another broker (static topics). Unit: ms.
	ForwardTimeout int64 `conf:"forwardTimeout" default:"3000"`
	// EnableSlaveActingMaster: Let the slave with the lowest id act as master while there is none.
	EnableSlaveActingMaster bool `conf:"enableSlaveActingMaster" default:"false"`
	// EnableRemoteEscape: Let an acting master write expired timer/transaction messages to another broker group.
	EnableRemoteEscape bool `conf:"enableRemoteEscape" default:"false"`
	// SkipPreOnline: Skip the pre-online checks of slave-acting-master mode.
	SkipPreOnline bool `conf:"skipPreOnline" default:"false"`
	// AsyncSendEnable: Use the asynchronous store path for sends.
	AsyncSendEnable bool `conf:"asyncSendEnable" default:"true"`
	// UseServerSideResetOffset: Reset offsets inside the broker without asking clients.
	UseServerSideResetOffset bool `conf:"useServerSideResetOffset" default:"true"`
	// LockInStrictMode: Orderly queue locks need a quorum of replicas.
	LockInStrictMode bool `conf:"lockInStrictMode" default:"false"`
	// CompatibleWithOldNameSrv: Use request codes old NameServers know.
	CompatibleWithOldNameSrv bool `conf:"compatibleWithOldNameSrv" default:"true"`
	// EnableControllerMode: Role is decided by a controller; excludes enableDLegerCommitLog (exit -4).
	EnableControllerMode bool `conf:"enableControllerMode" default:"false"`
	// ControllerAddr: Controller addresses, `;` separated. Unit: addr;addr.
	ControllerAddr string `conf:"controllerAddr" default:""`
	// FetchControllerAddrByDnsLookup: Resolve controllerAddr as a DNS name.
	FetchControllerAddrByDnsLookup bool `conf:"fetchControllerAddrByDnsLookup" default:"false"`
	// SyncBrokerMetadataPeriod: Period of syncing role metadata from the controller. Unit: ms.
	SyncBrokerMetadataPeriod int64 `conf:"syncBrokerMetadataPeriod" default:"5000"`
	// CheckSyncStateSetPeriod: Period of checking the in-sync replica set. Unit: ms.
	CheckSyncStateSetPeriod int64 `conf:"checkSyncStateSetPeriod" default:"5000"`
	// SyncControllerMetadataPeriod: Period of finding the controller leader. Unit: ms.
	SyncControllerMetadataPeriod int64 `conf:"syncControllerMetadataPeriod" default:"10000"`
	// ControllerHeartBeatTimeoutMills: Heartbeat timeout the broker asks the controller to apply. Unit: ms.
	ControllerHeartBeatTimeoutMills int64 `conf:"controllerHeartBeatTimeoutMills" default:"10000"`
	// ValidateSystemTopicWhenUpdateTopic: Refuse admin changes of system topics.
	ValidateSystemTopicWhenUpdateTopic bool `conf:"validateSystemTopicWhenUpdateTopic" default:"true"`
	// BrokerElectionPriority: Election preference, lower wins. Unit: number.
	BrokerElectionPriority int `conf:"brokerElectionPriority" default:"2147483647"`
	// UseStaticSubscription: Lag metrics use the subscription stored in the group config.
	UseStaticSubscription bool `conf:"useStaticSubscription" default:"false"`
	// MetricsExporterType: Metrics exporter; a number 0..3 is accepted too. Unit: enum DISABLE/OTLP_GRPC/PROM/LOG.
	MetricsExporterType string `conf:"metricsExporterType" default:"DISABLE"`
	// MetricsGrpcExporterTarget: OTLP endpoint.
	MetricsGrpcExporterTarget string `conf:"metricsGrpcExporterTarget" default:""`
	// MetricsGrpcExporterHeader: Headers of OTLP calls. Unit: k:v,k:v.
	MetricsGrpcExporterHeader string `conf:"metricsGrpcExporterHeader" default:""`
	// MetricGrpcExporterTimeOutInMills: OTLP call timeout. Unit: ms.
	MetricGrpcExporterTimeOutInMills int64 `conf:"metricGrpcExporterTimeOutInMills" default:"3000"`
	// MetricGrpcExporterIntervalInMills: OTLP push period. Unit: ms.
	MetricGrpcExporterIntervalInMills int64 `conf:"metricGrpcExporterIntervalInMills" default:"60000"`
	// MetricLoggingExporterIntervalInMills: Period of the LOG exporter. Unit: ms.
	MetricLoggingExporterIntervalInMills int64 `conf:"metricLoggingExporterIntervalInMills" default:"10000"`
	// MetricsPromExporterPort: Prometheus scrape port.
	MetricsPromExporterPort int `conf:"metricsPromExporterPort" default:"5557"`
	// MetricsPromExporterHost: Prometheus bind host; empty means all. Unit: host.
	MetricsPromExporterHost string `conf:"metricsPromExporterHost" default:""`
	// MetricsLabel: Extra labels on every metric. Unit: k:v,k:v.
	MetricsLabel string `conf:"metricsLabel" default:""`
	// MetricsInDelta: Report deltas instead of cumulative values.
	MetricsInDelta bool `conf:"metricsInDelta" default:"false"`
	// EnableRemotingMetrics: Register remoting metrics.
	EnableRemotingMetrics bool `conf:"enableRemotingMetrics" default:"true"`
	// EnableMessageStoreMetrics: Register store metrics.
	EnableMessageStoreMetrics bool `conf:"enableMessageStoreMetrics" default:"true"`
	// EnablePopMetrics: Register POP metrics.
	EnablePopMetrics bool `conf:"enablePopMetrics" default:"true"`
	// EnableConnectionMetrics: Register connection metrics.
	EnableConnectionMetrics bool `conf:"enableConnectionMetrics" default:"true"`
	// EnableTransactionMetrics: Register transaction metrics.
	EnableTransactionMetrics bool `conf:"enableTransactionMetrics" default:"true"`
	// EnableStatsMetrics: Register topic/group statistics metrics.
	EnableStatsMetrics bool `conf:"enableStatsMetrics" default:"true"`
	// EnableRequestMetrics: Register request metrics.
	EnableRequestMetrics bool `conf:"enableRequestMetrics" default:"true"`
	// EnableLagAndDlqMetrics: Register lag and dead letter metrics.
	EnableLagAndDlqMetrics bool `conf:"enableLagAndDlqMetrics" default:"true"`
	// ChannelExpiredTimeout: Client channel is dead after this silence. Unit: ms.
	ChannelExpiredTimeout int64 `conf:"channelExpiredTimeout" default:"120000"`
	// SubscriptionExpiredTimeout: Keep a gone group's subscription this long. Unit: ms.
	SubscriptionExpiredTimeout int64 `conf:"subscriptionExpiredTimeout" default:"600000"`
	// EstimateAccumulation: Estimate lag of tag-filtered subscriptions by sampling.
	EstimateAccumulation bool `conf:"estimateAccumulation" default:"true"`
	// ColdCtrStrategyEnable: Adaptive cold-read flow control per group.
	ColdCtrStrategyEnable bool `conf:"coldCtrStrategyEnable" default:"false"`
	// CgColdReadThreshold: Cold read budget of one group. Unit: B per window.
	CgColdReadThreshold int64 `conf:"cgColdReadThreshold" default:"3145728"`
	// GlobalColdReadThreshold: Cold read budget of the broker. Unit: B per window.
	GlobalColdReadThreshold int64 `conf:"globalColdReadThreshold" default:"104857600"`
	// FetchNamesrvAddrInterval: Period of asking the address server. Unit: ms.
	FetchNamesrvAddrInterval int64 `conf:"fetchNamesrvAddrInterval" default:"10000"`
	// PopResponseReturnActualRetryTopic: POP replies carry the real retry topic name.
	PopResponseReturnActualRetryTopic bool `conf:"popResponseReturnActualRetryTopic" default:"false"`
	// EnableSingleTopicRegister: Register only the changed topic after an admin change.
	EnableSingleTopicRegister bool `conf:"enableSingleTopicRegister" default:"false"`
	// EnableMixedMessageType: Allow message.type=MIXED topics.
	EnableMixedMessageType bool `conf:"enableMixedMessageType" default:"false"`
	// EnableSplitRegistration: Send the topic table in several register requests; never together with deleteTopicWithBrokerRegistration of the NameServer.
	EnableSplitRegistration bool `conf:"enableSplitRegistration" default:"false"`
	// EnableSplitMetadata: Let new clients page through GET_ALL_TOPIC_CONFIG / GET_ALL_SUBSCRIPTIONGROUP_CONFIG.
	EnableSplitMetadata bool `conf:"enableSplitMetadata" default:"true"`
	// SplitMetadataSize: Max entries of such a page.
	SplitMetadataSize int `conf:"splitMetadataSize" default:"2000"`
	// PopInflightMessageThreshold: Max unacked POP messages per queue and group.
	PopInflightMessageThreshold int64 `conf:"popInflightMessageThreshold" default:"10000"`
	// EnablePopMessageThreshold: Enforce that limit.
	EnablePopMessageThreshold bool `conf:"enablePopMessageThreshold" default:"false"`
	// SplitRegistrationSize: Topics per split register request.
	SplitRegistrationSize int `conf:"splitRegistrationSize" default:"800"`
	// ConfigBlackList: Keys that UPDATE_BROKER_CONFIG must refuse. Unit: k;k.
	ConfigBlackList string `conf:"configBlackList" default:"configBlackList;brokerConfigPath"`
	// SkipWhenCKRePutReachMaxTimes: Drop a checkpoint after its last re-put.
	SkipWhenCKRePutReachMaxTimes bool `conf:"skipWhenCKRePutReachMaxTimes" default:"false"`
	// ClearRetryTopicWhenDeleteTopic: Deleting a topic also deletes its POP retry topics.
	ClearRetryTopicWhenDeleteTopic bool `conf:"clearRetryTopicWhenDeleteTopic" default:"true"`
	// ConfigManagerVersion: v1 JSON files, v2 RocksDB for topics, groups and offsets. Unit: enum v1/v2.
	ConfigManagerVersion string `conf:"configManagerVersion" default:"v1"`
	// AllowRecallWhenBrokerNotWriteable: Recall delayed messages on a broker without write permission.
	AllowRecallWhenBrokerNotWriteable bool `conf:"allowRecallWhenBrokerNotWriteable" default:"true"`
	// RecallMessageEnable: Allow recall of delayed messages.
	RecallMessageEnable bool `conf:"recallMessageEnable" default:"false"`
	// EnableRegisterProducer: Keep producer groups; may be off only with rejectTransactionMessage.
	EnableRegisterProducer bool `conf:"enableRegisterProducer" default:"true"`
	// EnableCreateSysGroup: Auto-create CID_RMQ_SYS_ groups even when autoCreateSubscriptionGroup is off.
	EnableCreateSysGroup bool `conf:"enableCreateSysGroup" default:"true"`
	// BrokerName: Broker group name; master and slaves of a group share it.
	BrokerName string `conf:"brokerName" default:""`
	// BrokerClusterName: Cluster name.
	BrokerClusterName string `conf:"brokerClusterName" default:"DefaultCluster"`
	// BrokerID: 0 master, >0 slave; forced to 0 for masters, -1 for DLedger, given by the controller in controller mode. Unit: number.
	BrokerID int64 `conf:"brokerId" default:"0"`
	// PopFromRetryProbabilityForPriority: Chance that a POP on a priority topic looks at the retry topic first. Unit: %.
	PopFromRetryProbabilityForPriority int `conf:"popFromRetryProbabilityForPriority" default:"0"`
	// PriorityOrderAsc: Sort order of message priority.
	PriorityOrderAsc bool `conf:"priorityOrderAsc" default:"true"`
	// PopReviveSkipIfGroupAbsent: Skip reviving messages of a deleted group.
	PopReviveSkipIfGroupAbsent bool `conf:"popReviveSkipIfGroupAbsent" default:"true"`
	// UseSeparateRetryQueue: Separate retry queues for POP.
	UseSeparateRetryQueue bool `conf:"useSeparateRetryQueue" default:"false"`
	// EnableLiteEventMode: Event driven dispatch for lite topics.
	EnableLiteEventMode bool `conf:"enableLiteEventMode" default:"true"`
	// LiteTtlCheckInterval: Period of the lite topic TTL check. Unit: ms.
	LiteTtlCheckInterval int64 `conf:"liteTtlCheckInterval" default:"120000"`
	// MinLiteTTl: Smallest lite topic TTL. Unit: ms.
	MinLiteTTl int64 `conf:"minLiteTTl" default:"900000"`
	// LiteSubscriptionCheckInterval: Period of the lite subscription check. Unit: ms.
	LiteSubscriptionCheckInterval int64 `conf:"liteSubscriptionCheckInterval" default:"120000"`
	// LiteSubscriptionCheckTimeoutMills: Timeout of an idle lite subscription. Unit: ms.
	LiteSubscriptionCheckTimeoutMills int64 `conf:"liteSubscriptionCheckTimeoutMills" default:"180000"`
	// MaxLiteSubscriptionCount: Max lite subscriptions.
	MaxLiteSubscriptionCount int64 `conf:"maxLiteSubscriptionCount" default:"100000"`
	// RmqAddressServerDomain: Not a config field: read straight from broker.conf and exported as the address server domain. Unit: host[:port].
	RmqAddressServerDomain string `conf:"rmqAddressServerDomain" default:"jmenv.tbsite.net"`
	// RmqAddressServerSubGroup: Not a config field: read straight from broker.conf and exported as the address server sub-group.
	RmqAddressServerSubGroup string `conf:"rmqAddressServerSubGroup" default:"nsaddr"`
	// CheckTransactionMessageEnable: Copied from blog templates into many broker.conf files; no version read it.
	CheckTransactionMessageEnable bool `conf:"checkTransactionMessageEnable" default:""`
	// PullMessaeThreadPoolNums: Frequent misspelling of pullMessageThreadPoolNums in real files; has no effect. Unit: threads.
	PullMessaeThreadPoolNums int `conf:"pullMessaeThreadPoolNums" default:""`
	// EnableNameServerAddressResolve: Seen in some vendor files; no effect.
	EnableNameServerAddressResolve bool `conf:"enableNameServerAddressResolve" default:""`
}
