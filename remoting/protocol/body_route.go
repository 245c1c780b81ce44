package protocol

// MasterID is the broker id of a group's master.
const MasterID int64 = 0

// TopicRouteData is the reply of GET_ROUTEINFO_BY_TOPIC. MarshalFast writes the form that all clients read:
// standard JSON without white space.
type TopicRouteData struct {
	BrokerDatas       []BrokerData        `json:"brokerDatas"`
	FilterServerTable map[string][]string `json:"filterServerTable"`
	// OrderTopicConf is like "broker-a:4;broker-b:4", "" for none.
	OrderTopicConf            string                            `json:"orderTopicConf,omitempty"`
	QueueDatas                []QueueData                       `json:"queueDatas"`
	TopicQueueMappingByBroker map[string]*TopicQueueMappingInfo `json:"topicQueueMappingByBroker,omitempty"`
}

// BrokerData is a broker group: address by broker id.
type BrokerData struct {
	BrokerAddrs        map[int64]string `json:"brokerAddrs"`
	BrokerName         string           `json:"brokerName"`
	Cluster            string           `json:"cluster"`
	EnableActingMaster bool             `json:"enableActingMaster"`
	ZoneName           string           `json:"zoneName,omitempty"`
}

// QueueData is a topic's queues on a broker group.
type QueueData struct {
	BrokerName     string `json:"brokerName"`
	Perm           int32  `json:"perm"`
	ReadQueueNums  int32  `json:"readQueueNums"`
	TopicSysFlag   int32  `json:"topicSysFlag"`
	WriteQueueNums int32  `json:"writeQueueNums"`
}

// ClusterInfo is the reply of GET_BROKER_CLUSTER_INFO.
type ClusterInfo struct {
	BrokerAddrTable  map[string]BrokerData `json:"brokerAddrTable"`
	ClusterAddrTable map[string][]string   `json:"clusterAddrTable"`
}

// BrokerMemberGroup is a broker group's members: address by broker id.
type BrokerMemberGroup struct {
	BrokerAddrs map[int64]string `json:"brokerAddrs"`
	BrokerName  string           `json:"brokerName"`
	Cluster     string           `json:"cluster"`
}

// GetBrokerMemberGroupResponseBody is the reply of GET_BROKER_MEMBER_GROUP.
type GetBrokerMemberGroupResponseBody struct {
	BrokerMemberGroup BrokerMemberGroup `json:"brokerMemberGroup"`
}
