package protocol

import "encoding/json"

// Values of TopicConfig.TopicFilterType.
const (
	FilterSingleTag = "SINGLE_TAG"
	FilterMultiTag  = "MULTI_TAG"
)

// Names of topic attributes. In requests they carry a sign: +key=value adds, -key deletes.
const (
	AttributeMessageType   = "message.type"
	AttributeQueueType     = "queue.type"
	AttributeCleanupPolicy = "cleanup.policy"
	AttributeReserveTime   = "reserve.time"
)

// TopicConfig is what a broker keeps of a topic, on the wire and in topics.json.
type TopicConfig struct {
	Attributes      map[string]string `json:"attributes"`
	Order           bool              `json:"order"`
	Perm            int32             `json:"perm"`
	ReadQueueNums   int32             `json:"readQueueNums"`
	TopicFilterType string            `json:"topicFilterType"`
	TopicName       string            `json:"topicName"`
	TopicSysFlag    int32             `json:"topicSysFlag"`
	WriteQueueNums  int32             `json:"writeQueueNums"`

	// Unknown are members that this version does not know; they are written back as they were read.
	Unknown map[string]json.RawMessage `json:"-" java:"unknown"`
}

// NewTopicConfig returns Java's defaults: 16 read and write queues, read and write permission, single tags.
func NewTopicConfig(name string) TopicConfig {
	return TopicConfig{
		Attributes: map[string]string{}, Perm: PermRead | PermWrite, ReadQueueNums: 16, WriteQueueNums: 16,
		TopicFilterType: FilterSingleTag, TopicName: name,
	}
}

var topicConfigMembers = memberNames[TopicConfig]()

// UnmarshalJSON reads a topic over the defaults and keeps unknown members.
func (c *TopicConfig) UnmarshalJSON(b []byte) error {
	type plain TopicConfig
	p := plain(NewTopicConfig(""))
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	p.Unknown = unknownMembers(b, topicConfigMembers)
	*c = TopicConfig(p)
	return nil
}

// MarshalJSON writes known and unknown members.
func (c TopicConfig) MarshalJSON() ([]byte, error) { return MarshalFast(c) }

// Clone returns a copy that shares nothing with c but the bytes of unknown members.
func (c TopicConfig) Clone() TopicConfig {
	c.Attributes = cloneMap(c.Attributes)
	c.Unknown = cloneMap(c.Unknown)
	return c
}

func cloneMap[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return nil
	}
	out := make(map[K]V, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// TopicConfigAndQueueMapping is the reply of GET_TOPIC_CONFIG.
type TopicConfigAndQueueMapping struct {
	TopicConfig
	MappingDetail *TopicQueueMappingDetail `json:"mappingDetail,omitempty"`
}

// UnmarshalJSON reads a topic with its mapping.
func (c *TopicConfigAndQueueMapping) UnmarshalJSON(b []byte) error {
	var m struct {
		MappingDetail *TopicQueueMappingDetail `json:"mappingDetail"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	if err := c.TopicConfig.UnmarshalJSON(b); err != nil {
		return err
	}
	delete(c.Unknown, "mappingDetail")
	c.MappingDetail = m.MappingDetail
	return nil
}

// MarshalJSON writes the mapping among the topic's members.
func (c TopicConfigAndQueueMapping) MarshalJSON() ([]byte, error) { return MarshalFast(c) }

// CreateTopicListRequestBody is the body of UPDATE_AND_CREATE_TOPIC_LIST.
type CreateTopicListRequestBody struct {
	TopicConfigList []TopicConfig `json:"topicConfigList"`
}

// TopicConfigWrapper is the reply of GET_ALL_TOPIC_CONFIG, part of RegisterBrokerBody, and the register body of old
// brokers: Java's TopicConfigAndMappingSerializeWrapper.
type TopicConfigWrapper struct {
	DataVersion                DataVersion                         `json:"dataVersion"`
	MappingDataVersion         DataVersion                         `json:"mappingDataVersion"`
	TopicConfigTable           map[string]TopicConfig              `json:"topicConfigTable"`
	TopicQueueMappingDetailMap map[string]*TopicQueueMappingDetail `json:"topicQueueMappingDetailMap"`
	TopicQueueMappingInfoMap   map[string]*TopicQueueMappingInfo   `json:"topicQueueMappingInfoMap"`
}

// TopicQueueMappingInfo is a broker's share of a static topic.
type TopicQueueMappingInfo struct {
	BrokerName  string          `json:"bname"`
	CurrIDMap   map[int32]int32 `json:"currIdMap"` // logical queue id → physical
	Dirty       bool            `json:"dirty"`
	Epoch       int64           `json:"epoch"`
	Scope       string          `json:"scope,omitempty"`
	Topic       string          `json:"topic"`
	TotalQueues int32           `json:"totalQueues"`
}

// TopicQueueMappingDetail is TopicQueueMappingInfo with the history of every queue.
type TopicQueueMappingDetail struct {
	TopicQueueMappingInfo
	HostedQueues map[int32][]LogicQueueMappingItem `json:"hostedQueues"`
}

// LogicQueueMappingItem is one piece of a logical queue. EndOffset is -1 while it is open.
type LogicQueueMappingItem struct {
	BrokerName  string `json:"bname"`
	EndOffset   int64  `json:"endOffset"`
	Gen         int32  `json:"gen"`
	LogicOffset int64  `json:"logicOffset"`
	QueueID     int32  `json:"queueId"`
	StartOffset int64  `json:"startOffset"`
	TimeOfEnd   int64  `json:"timeOfEnd"`
	TimeOfStart int64  `json:"timeOfStart"`
}

// DeleteTopicListRequestBody is the body of DELETE_TOPIC_IN_BROKER_LIST.
type DeleteTopicListRequestBody struct {
	TopicList []string `json:"topicList"`
}

// TopicOffset is one queue of TopicStatsTable.
type TopicOffset struct {
	LastUpdateTimestamp int64 `json:"lastUpdateTimestamp"` // ms, 0 for an empty queue
	MaxOffset           int64 `json:"maxOffset"`
	MinOffset           int64 `json:"minOffset"`
}

// TopicStatsTable is the reply of GET_TOPIC_STATS_INFO.
type TopicStatsTable struct {
	OffsetTable MessageQueueMap[TopicOffset] `json:"offsetTable"`
	TopicPutTps float64                      `json:"topicPutTps"`
}
