package protocol

import (
	"encoding/json"
	"strconv"
)

// Values of ConsumerData.ConsumeType.
const (
	ConsumeActively  = "CONSUME_ACTIVELY" // pull
	ConsumePassively = "CONSUME_PASSIVELY"
	ConsumePop       = "CONSUME_POP"
)

// Values of ConsumerData.MessageModel.
const (
	ModelClustering   = "CLUSTERING"
	ModelBroadcasting = "BROADCASTING"
)

// Values of ConsumerData.ConsumeFromWhere.
const (
	ConsumeFromLastOffset  = "CONSUME_FROM_LAST_OFFSET"
	ConsumeFromFirstOffset = "CONSUME_FROM_FIRST_OFFSET"
	ConsumeFromTimestamp   = "CONSUME_FROM_TIMESTAMP"
)

// Values of an expression type; "" means ExpressionTag.
const (
	ExpressionTag   = "TAG"
	ExpressionSQL92 = "SQL92"
	SubAll          = "*"
)

// Modes of SetMessageRequestModeRequestBody and MessageQueueAssignment.
const (
	RequestModePull = "PULL"
	RequestModePop  = "POP"
)

// HeartbeatData is the body of HEART_BEAT.
type HeartbeatData struct {
	ClientID             string         `json:"clientID"`
	ConsumerDataSet      []ConsumerData `json:"consumerDataSet"`
	HeartbeatFingerprint int32          `json:"heartbeatFingerprint"` // 0: version 1
	ProducerDataSet      []ProducerData `json:"producerDataSet"`
	WithoutSub           bool           `json:"withoutSub"` // version 2: subscriptions are left out
}

// ProducerData names a producer group.
type ProducerData struct {
	GroupName string `json:"groupName"`
}

// ConsumerData is a consumer group as a client runs it.
type ConsumerData struct {
	ConsumeFromWhere    string             `json:"consumeFromWhere,omitempty" java:"enum=CONSUME_FROM_LAST_OFFSET|CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST|CONSUME_FROM_MIN_OFFSET|CONSUME_FROM_MAX_OFFSET|CONSUME_FROM_FIRST_OFFSET|CONSUME_FROM_TIMESTAMP"`
	ConsumeType         string             `json:"consumeType,omitempty" java:"enum=CONSUME_ACTIVELY|CONSUME_PASSIVELY|CONSUME_POP"`
	GroupName           string             `json:"groupName"`
	MessageModel        string             `json:"messageModel,omitempty" java:"enum=BROADCASTING|CLUSTERING"`
	SubscriptionDataSet []SubscriptionData `json:"subscriptionDataSet"`
	UnitMode            bool               `json:"unitMode"`
}

// SubscriptionData is what a consumer wants of a topic.
type SubscriptionData struct {
	ClassFilterMode bool         `json:"classFilterMode"`
	CodeSet         []LenientInt `json:"codeSet"` // JavaHash of each tag
	ExpressionType  string       `json:"expressionType,omitempty"`
	SubString       string       `json:"subString,omitempty"`
	SubVersion      int64        `json:"subVersion"`
	TagsSet         []string     `json:"tagsSet"`
	Topic           string       `json:"topic"`
}

// GetConsumerListByGroupResponseBody is the reply of GET_CONSUMER_LIST_BY_GROUP.
type GetConsumerListByGroupResponseBody struct {
	ConsumerIDList []string `json:"consumerIdList"`
}

// CheckClientRequestBody is the body of CHECK_CLIENT_CONFIG.
type CheckClientRequestBody struct {
	ClientID         string           `json:"clientId"`
	Group            string           `json:"group"`
	Namespace        string           `json:"namespace,omitempty"`
	SubscriptionData SubscriptionData `json:"subscriptionData"`
}

// LockBatchRequestBody is the body of LOCK_BATCH_MQ and UNLOCK_BATCH_MQ.
type LockBatchRequestBody struct {
	ClientID       string         `json:"clientId"`
	ConsumerGroup  string         `json:"consumerGroup"`
	MQSet          []MessageQueue `json:"mqSet"`
	OnlyThisBroker bool           `json:"onlyThisBroker"`
}

// UnlockBatchRequestBody is laid out as LockBatchRequestBody.
type UnlockBatchRequestBody = LockBatchRequestBody

// LockBatchResponseBody is the reply of LOCK_BATCH_MQ.
type LockBatchResponseBody struct {
	LockOKMQSet []MessageQueue `json:"lockOKMQSet"`
}

// QueryAssignmentRequestBody is the body of QUERY_ASSIGNMENT.
type QueryAssignmentRequestBody struct {
	ClientID      string `json:"clientId"`
	ConsumerGroup string `json:"consumerGroup"`
	MessageModel  string `json:"messageModel,omitempty"`
	StrategyName  string `json:"strategyName,omitempty"`
	Topic         string `json:"topic"`
}

// QueryAssignmentResponseBody is the reply of QUERY_ASSIGNMENT.
type QueryAssignmentResponseBody struct {
	MessageQueueAssignments []MessageQueueAssignment `json:"messageQueueAssignments"`
}

// MessageQueueAssignment gives a queue to a client; queue id -1 in pop mode means all of the broker.
type MessageQueueAssignment struct {
	Attachments  map[string]string `json:"attachments,omitempty"`
	MessageQueue MessageQueue      `json:"messageQueue"`
	Mode         string            `json:"mode"`
}

// SetMessageRequestModeRequestBody is the body of SET_MESSAGE_REQUEST_MODE.
type SetMessageRequestModeRequestBody struct {
	ConsumerGroup    string `json:"consumerGroup"`
	Mode             string `json:"mode"`
	PopShareQueueNum int32  `json:"popShareQueueNum"`
	Topic            string `json:"topic"`
}

// MessageRequestModeWrapper is the reply of GET_ALL_MESSAGE_REQUEST_MODE: topic → group → mode.
type MessageRequestModeWrapper struct {
	MessageRequestModeMap map[string]map[string]SetMessageRequestModeRequestBody `json:"messageRequestModeMap"`
}

// BatchAckMessageRequestBody is the body of BATCH_ACK_MESSAGE.
type BatchAckMessageRequestBody struct {
	Acks       []BatchAck `json:"acks"`
	BrokerName string     `json:"brokerName"`
}

// BatchAck acknowledges the offsets StartOffset+i for each bit i of Bits (lowest bit of the first byte first).
type BatchAck struct {
	Bits          []byte `json:"b"`
	ConsumerGroup string `json:"c"`
	InvisibleTime int64  `json:"it"`
	PopTime       int64  `json:"pt"`
	QueueID       int32  `json:"q"`
	Retry         string `json:"r"` // "0" normal topic, "1" retry v1, "2" retry v2
	ReviveQueueID int32  `json:"rq"`
	StartOffset   int64  `json:"so"`
	Topic         string `json:"t"`
}

// UnmarshalJSON reads the short names and Java's long ones.
func (a *BatchAck) UnmarshalJSON(b []byte) error {
	type plain BatchAck
	var both struct {
		plain
		Bits          []byte `json:"bitSet"`
		ConsumerGroup string `json:"consumerGroup"`
		InvisibleTime int64  `json:"invisibleTime"`
		PopTime       int64  `json:"popTime"`
		QueueID       int32  `json:"queueId"`
		Retry         string `json:"retry"`
		ReviveQueueID int32  `json:"reviveQueueId"`
		StartOffset   int64  `json:"startOffset"`
		Topic         string `json:"topic"`
	}
	if err := json.Unmarshal(b, &both); err != nil {
		return err
	}
	*a = BatchAck(both.plain)
	orBytes(&a.Bits, both.Bits)
	orValue(&a.ConsumerGroup, both.ConsumerGroup)
	orValue(&a.InvisibleTime, both.InvisibleTime)
	orValue(&a.PopTime, both.PopTime)
	orValue(&a.QueueID, both.QueueID)
	orValue(&a.Retry, both.Retry)
	orValue(&a.ReviveQueueID, both.ReviveQueueID)
	orValue(&a.StartOffset, both.StartOffset)
	orValue(&a.Topic, both.Topic)
	return nil
}

func orValue[T comparable](v *T, other T) {
	var zero T
	if *v == zero {
		*v = other
	}
}

func orBytes(v *[]byte, other []byte) {
	if *v == nil {
		*v = other
	}
}

// Results of ConsumeMessageDirectlyResult.
const (
	ConsumeSuccess        = "CR_SUCCESS"
	ConsumeLater          = "CR_LATER"
	ConsumeRollback       = "CR_ROLLBACK"
	ConsumeCommit         = "CR_COMMIT"
	ConsumeThrowException = "CR_THROW_EXCEPTION"
	ConsumeReturnNull     = "CR_RETURN_NULL"
)

// ConsumeMessageDirectlyResult is the reply of CONSUME_MESSAGE_DIRECTLY.
type ConsumeMessageDirectlyResult struct {
	AutoCommit      bool          `json:"autoCommit"`
	ConsumeResult   ConsumeResult `json:"consumeResult,omitempty"`
	Order           bool          `json:"order"`
	Remark          string        `json:"remark,omitempty"`
	SpentTimeMillis int64         `json:"spentTimeMills"`
}

// ConsumeResult is the name of a result; Go clients send its ordinal.
type ConsumeResult string

// UnmarshalJSON reads a name or an ordinal.
func (r *ConsumeResult) UnmarshalJSON(b []byte) error {
	names := [...]ConsumeResult{
		ConsumeSuccess, ConsumeLater, ConsumeRollback, ConsumeCommit, ConsumeThrowException, ConsumeReturnNull,
	}
	if n, err := strconv.Atoi(string(b)); err == nil {
		if n >= 0 && n < len(names) {
			*r = names[n]
		}
		return nil
	}
	return json.Unmarshal(b, (*string)(r))
}
