package protocol

import "encoding/json"

// Keys of ConsumerRunningInfo.Properties.
const (
	RunningNameServerAddr    = "PROP_NAMESERVER_ADDR"
	RunningThreadPoolSize    = "PROP_THREADPOOL_CORE_SIZE"
	RunningConsumeOrderly    = "PROP_CONSUMEORDERLY"
	RunningConsumeType       = "PROP_CONSUME_TYPE"
	RunningClientVersion     = "PROP_CLIENT_VERSION"
	RunningConsumerStartTime = "PROP_CONSUMER_START_TIMESTAMP"
)

// ConsumerRunningInfo is the reply of GET_CONSUMER_RUNNING_INFO. A broker passes a client's bytes on unchanged.
type ConsumerRunningInfo struct {
	JStack           string                            `json:"jstack,omitempty"`
	MQPopTable       MessageQueueMap[PopProcessInfo]   `json:"mqPopTable"`
	MQTable          MessageQueueMap[ProcessQueueInfo] `json:"mqTable"`
	Properties       map[string]any                    `json:"properties"`
	StatusTable      map[string]ConsumeStatus          `json:"statusTable"`
	SubscriptionSet  []SubscriptionData                `json:"subscriptionSet"`
	UserConsumerInfo map[string]string                 `json:"userConsumerInfo"`
}

// PopProcessInfo is a queue that is consumed in pop mode.
type PopProcessInfo struct {
	Dropped          bool  `json:"droped"` // Java's spelling
	LastPopTimestamp int64 `json:"lastPopTimestamp"`
	WaitAckCount     int32 `json:"waitAckCount"`
}

// ProcessQueueInfo is a client's view of a queue that it consumes.
type ProcessQueueInfo struct {
	CachedMsgCount          int32 `json:"cachedMsgCount"`
	CachedMsgMaxOffset      int64 `json:"cachedMsgMaxOffset"`
	CachedMsgMinOffset      int64 `json:"cachedMsgMinOffset"`
	CachedMsgSizeInMiB      int32 `json:"cachedMsgSizeInMiB"`
	CommitOffset            int64 `json:"commitOffset"`
	Dropped                 bool  `json:"droped"` // Java's spelling; Go clients spell it dropped
	LastConsumeTimestamp    int64 `json:"lastConsumeTimestamp"`
	LastLockTimestamp       int64 `json:"lastLockTimestamp"`
	LastPullTimestamp       int64 `json:"lastPullTimestamp"`
	Locked                  bool  `json:"locked"`
	TransactionMsgCount     int32 `json:"transactionMsgCount"`
	TransactionMsgMaxOffset int64 `json:"transactionMsgMaxOffset"`
	TransactionMsgMinOffset int64 `json:"transactionMsgMinOffset"`
	TryUnlockTimes          int64 `json:"tryUnlockTimes"`
}

// UnmarshalJSON reads both spellings of droped.
func (p *ProcessQueueInfo) UnmarshalJSON(b []byte) error {
	type plain ProcessQueueInfo
	both := struct {
		*plain
		GoDropped bool `json:"dropped"`
	}{plain: (*plain)(p)}
	err := json.Unmarshal(b, &both)
	p.Dropped = p.Dropped || both.GoDropped
	return err
}

// ConsumeStatus is a consumer's speed on one topic.
type ConsumeStatus struct {
	ConsumeFailedMsgs int64   `json:"consumeFailedMsgs"`
	ConsumeFailedTPS  float64 `json:"consumeFailedTPS"`
	ConsumeOKTPS      float64 `json:"consumeOKTPS"`
	ConsumeRT         float64 `json:"consumeRT"`
	PullRT            float64 `json:"pullRT"`
	PullTPS           float64 `json:"pullTPS"`
}
