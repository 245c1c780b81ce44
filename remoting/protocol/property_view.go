package protocol

import "strings"

// PropertyView holds the properties that the broker and the store look at, from one pass over a property string.
// Every string aliases it. Where a name came twice, the last value counts, as in Java.
type PropertyView struct {
	Keys                     string
	Tags                     string
	UniqKey                  string
	Wait                     string
	Delay                    string
	RetryTopic               string
	RealTopic                string
	RealQueueID              string
	TransactionPrepared      string
	ProducerGroup            string
	TransactionID            string
	TransactionCheckTimes    string
	CheckImmunityTime        string
	PreparedQueueOffset      string
	OriginMessageID          string
	ReconsumeTime            string
	MaxReconsumeTimes        string
	Cluster                  string
	MsgRegion                string
	TraceSwitch              string
	MessageType              string
	CorrelationID            string
	ReplyToClient            string
	InnerNum                 string
	InnerBase                string
	InnerMultiDispatch       string
	InnerMultiQueueOffset    string
	PopCK                    string
	FirstPopTime             string
	ShardingKey              string
	TimerDelaySec            string
	TimerDelayMs             string
	TimerDeliverMs           string
	TimerOutMs               string
	DLQOriginTopic           string
	DLQOriginMessageID       string
	CRC32                    string
	Count                    int // properties read, known ones or not
	Skipped                  int // entries without separator, name or value
	MissingTrailingSeparator bool
}

// Parse fills v from a property string. It does not allocate and never fails.
func (v *PropertyView) Parse(props string) {
	*v = PropertyView{}
	for s := props; len(s) > 0; {
		name, value, rest, ok := cutProperty(s)
		s = rest
		if !ok {
			v.Skipped++
			continue
		}
		v.Count++
		if slot := v.slot(name); slot != nil {
			*slot = value
		}
	}
	v.MissingTrailingSeparator = props != "" && props[len(props)-1] != PropertySeparator
}

// slot returns the field of a name, nil for one that is not kept.
func (v *PropertyView) slot(name string) *string {
	switch name {
	case PropertyKeys:
		return &v.Keys
	case PropertyTags:
		return &v.Tags
	case PropertyUniqKey:
		return &v.UniqKey
	case PropertyWait:
		return &v.Wait
	case PropertyDelay:
		return &v.Delay
	case PropertyRetryTopic:
		return &v.RetryTopic
	case PropertyRealTopic:
		return &v.RealTopic
	case PropertyRealQueueID:
		return &v.RealQueueID
	case PropertyCluster:
		return &v.Cluster
	case PropertyMsgRegion:
		return &v.MsgRegion
	case PropertyTraceSwitch:
		return &v.TraceSwitch
	}
	return v.rareSlot(name)
}

// rareSlot is slot for what most messages do not have.
func (v *PropertyView) rareSlot(name string) *string {
	switch name {
	case PropertyTransactionPrepared:
		return &v.TransactionPrepared
	case PropertyProducerGroup:
		return &v.ProducerGroup
	case PropertyTransactionID:
		return &v.TransactionID
	case PropertyTransactionCheckTimes:
		return &v.TransactionCheckTimes
	case PropertyCheckImmunityTime:
		return &v.CheckImmunityTime
	case PropertyTransactionPreparedOffset:
		return &v.PreparedQueueOffset
	case PropertyOriginMessageID:
		return &v.OriginMessageID
	case PropertyReconsumeTime:
		return &v.ReconsumeTime
	case PropertyMaxReconsumeTimes:
		return &v.MaxReconsumeTimes
	case PropertyMessageType:
		return &v.MessageType
	case PropertyCorrelationID:
		return &v.CorrelationID
	case PropertyReplyToClient:
		return &v.ReplyToClient
	case PropertyInnerNum:
		return &v.InnerNum
	case PropertyInnerBase:
		return &v.InnerBase
	case PropertyInnerMultiDispatch:
		return &v.InnerMultiDispatch
	case PropertyInnerMultiQueueOffset:
		return &v.InnerMultiQueueOffset
	case PropertyPopCK:
		return &v.PopCK
	case PropertyFirstPopTime:
		return &v.FirstPopTime
	case PropertyShardingKey, PropertyShardingKeyGo:
		return &v.ShardingKey
	}
	return v.timerSlot(name)
}

func (v *PropertyView) timerSlot(name string) *string {
	switch name {
	case PropertyTimerDelaySec:
		return &v.TimerDelaySec
	case PropertyTimerDelayMs:
		return &v.TimerDelayMs
	case PropertyTimerDeliverMs:
		return &v.TimerDeliverMs
	case PropertyTimerOutMs:
		return &v.TimerOutMs
	case PropertyDLQOriginTopic:
		return &v.DLQOriginTopic
	case PropertyDLQOriginMessageID:
		return &v.DLQOriginMessageID
	case PropertyCRC32:
		return &v.CRC32
	}
	return nil
}

// WaitsForStore reports whether the sender wants to wait for the flush and the slaves: unless WAIT is something
// other than "true".
func (v *PropertyView) WaitsForStore() bool { return v.Wait == "" || parseBool(v.Wait) }

// DelayLevel is the delay level, 0 for none or one that is no number.
func (v *PropertyView) DelayLevel() int32 {
	n, _ := parseInt32(v.Delay)
	return n
}

// TagsCode is what the ConsumeQueue holds for the message's tag.
func (v *PropertyView) TagsCode() int64 { return TagsCode(v.Tags) }

// EachKey calls fn for every index key, until it returns false.
func (v *PropertyView) EachKey(fn func(key string) bool) {
	for s := v.Keys; s != ""; {
		key, rest, _ := strings.Cut(s, KeySeparator)
		if key != "" && !fn(key) {
			return
		}
		s = rest
	}
}

// CheckProperties reports a property string that must not be stored, as a *NameError: longer than MaxPropertiesLength, or with an
// entry that no reader would see.
func CheckProperties(props string) error {
	if len(props) > MaxPropertiesLength {
		return &NameError{Kind: "properties", Reason: "are longer than 32767 bytes"}
	}
	for s := props; s != ""; {
		_, _, rest, ok := cutProperty(s)
		if !ok {
			return &NameError{Kind: "properties", Reason: "hold an entry without a name, a value or the separator between them"}
		}
		s = rest
	}
	return nil
}
