package protocol

import "encoding/json"

// ConsumerOffsetWrapper is the reply of GET_ALL_CONSUMER_OFFSET and the content of consumerOffset.json:
// "topic@group" → queue id → next offset.
type ConsumerOffsetWrapper struct {
	DataVersion     DataVersion                `json:"dataVersion"`
	GroupTopicMap   map[string][]string        `json:"groupTopicMap,omitempty"`
	OffsetTable     map[string]map[int32]int64 `json:"offsetTable"`
	PullOffsetTable map[string]map[int32]int64 `json:"pullOffsetTable,omitempty"`
}

// DelayOffsetWrapper is the reply of GET_ALL_DELAY_OFFSET and the content of delayOffset.json: delay level → offset.
type DelayOffsetWrapper struct {
	DataVersion *DataVersion    `json:"dataVersion,omitempty"`
	OffsetTable map[int32]int64 `json:"offsetTable"`
}

// OffsetWrapper is one queue of ConsumeStats.
type OffsetWrapper struct {
	BrokerOffset   int64 `json:"brokerOffset"`
	ConsumerOffset int64 `json:"consumerOffset"`
	LastTimestamp  int64 `json:"lastTimestamp"` // ms: store time of the last consumed message
	PullOffset     int64 `json:"pullOffset"`
}

// ConsumeStats is the reply of GET_CONSUME_STATS.
type ConsumeStats struct {
	ConsumeTps  float64                        `json:"consumeTps"`
	OffsetTable MessageQueueMap[OffsetWrapper] `json:"offsetTable"`
}

// ConsumeStatsList is the reply of GET_BROKER_CONSUME_STATS: a list of maps group → statistics.
type ConsumeStatsList struct {
	BrokerAddr        string                      `json:"brokerAddr,omitempty"`
	ConsumeStatsList  []map[string][]ConsumeStats `json:"consumeStatsList"`
	TotalDiff         int64                       `json:"totalDiff"`
	TotalInflightDiff int64                       `json:"totalInflightDiff"`
}

// QueryCorrectionOffsetBody is the reply of QUERY_CORRECTION_OFFSET.
type QueryCorrectionOffsetBody struct {
	CorrectionOffsets map[int32]int64 `json:"correctionOffsets"`
}

// ResetOffsetBody is the reply of INVOKE_BROKER_TO_RESET_OFFSET and the body of RESET_CONSUMER_CLIENT_OFFSET. It reads
// the Java form (object keys), the list of pairs and the C++ form.
type ResetOffsetBody struct {
	OffsetTable MessageQueueMap[int64] `json:"offsetTable"`
}

// cppOffset is an entry of the C++ form.
type cppOffset struct {
	BrokerName string `json:"brokerName"`
	Offset     int64  `json:"offset"`
	QueueID    int32  `json:"queueId"`
	Topic      string `json:"topic"`
}

// MarshalCPP writes the form that C++ clients read: a list with the offset inside each queue.
func (r *ResetOffsetBody) MarshalCPP() ([]byte, error) {
	var body struct {
		OffsetTable []cppOffset `json:"offsetTable"`
	}
	for _, q := range r.OffsetTable.SortedQueues() {
		body.OffsetTable = append(body.OffsetTable, cppOffset{q.BrokerName, r.OffsetTable[q], q.QueueID, q.Topic})
	}
	return MarshalFast(body)
}

// MarshalPairs writes the list-of-pairs form, which the Go client reads as well as Java's.
func (r *ResetOffsetBody) MarshalPairs() ([]byte, error) {
	var body struct {
		OffsetTable [][2]any `json:"offsetTable"`
	}
	for _, q := range r.OffsetTable.SortedQueues() {
		body.OffsetTable = append(body.OffsetTable, [2]any{q, r.OffsetTable[q]})
	}
	return MarshalFast(body)
}

// UnmarshalJSON reads the three forms.
func (r *ResetOffsetBody) UnmarshalJSON(b []byte) error {
	var body struct {
		OffsetTable json.RawMessage `json:"offsetTable"`
	}
	if err := json.Unmarshal(b, &body); err != nil {
		return err
	}
	var list []cppOffset
	if json.Unmarshal(body.OffsetTable, &list) == nil && len(list) > 0 {
		r.OffsetTable = make(MessageQueueMap[int64], len(list))
		for _, o := range list {
			r.OffsetTable[MessageQueue{BrokerName: o.BrokerName, QueueID: o.QueueID, Topic: o.Topic}] = o.Offset
		}
		return nil
	}
	r.OffsetTable = nil
	if len(body.OffsetTable) == 0 {
		return nil
	}
	return json.Unmarshal(body.OffsetTable, &r.OffsetTable)
}

// GetConsumerStatusBody is the reply of GET_CONSUMER_STATUS_FROM_CLIENT, where the client fills MessageQueueTable, and of
// INVOKE_BROKER_TO_GET_CONSUMER_STATUS, where the broker fills ConsumerTable.
type GetConsumerStatusBody struct {
	ConsumerTable     map[string]MessageQueueMap[int64] `json:"consumerTable"`
	MessageQueueTable MessageQueueMap[int64]            `json:"messageQueueTable"`
}
