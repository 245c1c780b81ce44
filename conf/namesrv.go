package conf

// Namesrv holds the keys of NamesrvConfig that mean something here.
type Namesrv struct {
	// KvConfigPath: JSON file of the KV store (order config and user namespaces); rewritten on every KV change.
	KvConfigPath string `conf:"kvConfigPath" default:"$home/namesrv/kvConfig.json"`
	// OrderMessageEnable: Attach the order config of a topic (ORDER_TOPIC_CONFIG namespace) to route replies.
	OrderMessageEnable bool `conf:"orderMessageEnable" default:"false" live:"true"`
	// ReturnOrderTopicConfigToBroker: Attach the whole order config namespace to broker register replies.
	ReturnOrderTopicConfigToBroker bool `conf:"returnOrderTopicConfigToBroker" default:"true" live:"true"`
	// ScanNotActiveBrokerInterval: Period of the scan that drops brokers without heartbeat (120 s default per broker, own value if the broker sent one). Unit: ms.
	ScanNotActiveBrokerInterval int64 `conf:"scanNotActiveBrokerInterval" default:"5000"`
	// SupportActingMaster: Slave-acting-master mode: routes of topics without master show the slave with the lowest id as id 0.
	SupportActingMaster bool `conf:"supportActingMaster" default:"false" live:"true"`
	// EnableAllTopicList: Answer GET_ALL_TOPIC_LIST_FROM_NAMESERVER; false gives CODE 1 "disable".
	EnableAllTopicList bool `conf:"enableAllTopicList" default:"true" live:"true"`
	// EnableTopicList: Answer the topic lists by cluster, unit and system; false gives CODE 1 "disable".
	EnableTopicList bool `conf:"enableTopicList" default:"true" live:"true"`
	// NotifyMinBrokerIDChanged: Push NOTIFY_MIN_BROKER_ID_CHANGE to the brokers of a group.
	NotifyMinBrokerIDChanged bool `conf:"notifyMinBrokerIdChanged" default:"false" live:"true"`
	// NeedWaitForService: Refuse route queries (CODE 1) during the first waitSecondsForService seconds.
	NeedWaitForService bool `conf:"needWaitForService" default:"false"`
	// WaitSecondsForService: Length of that period. Unit: s.
	WaitSecondsForService int `conf:"waitSecondsForService" default:"45"`
	// DeleteTopicWithBrokerRegistration: Topics missing in a full broker registration are dropped from that broker's routes.
	DeleteTopicWithBrokerRegistration bool `conf:"deleteTopicWithBrokerRegistration" default:"false" live:"true"`
	// ConfigBlackList: Keys that UPDATE_NAMESRV_CONFIG refuses with CODE 16. Unit: key;key.
	ConfigBlackList string `conf:"configBlackList" default:"configBlackList;configStorePath;kvConfigPath"`
}
