package pop

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// Tags of the records in the revive topic.
const (
	tagCheckpoint = "ck"
	tagAck        = "ack"
	tagBatchAck   = "bAck"
)

// ErrRecord: a body in the revive topic that is no check point or ack.
var ErrRecord = errors.New("pop: bad record")

// Checkpoint is what one pop took of one queue, as the revive topic has it.
type Checkpoint struct {
	StartOffset  int64   `json:"so"`
	PopTime      int64   `json:"pt"` // ms
	Invisible    int64   `json:"it"` // ms
	Bits         uint32  `json:"-"`  // bit i: message i is acknowledged
	Count        int32   `json:"n"`
	QueueID      int32   `json:"q"`
	Topic        string  `json:"t"` // the real one, may be a retry topic
	Group        string  `json:"c"`
	ReviveOffset int64   `json:"ro"`
	Diffs        []int32 `json:"d"` // offset - StartOffset of each message; nil: one after the other
	Broker       string  `json:"bn"`
	RePuts       string  `json:"rp"` // how often it was stored again
}

// ReviveTime is when what is not acknowledged may be seen again.
func (c *Checkpoint) ReviveTime() int64 { return c.PopTime + c.Invisible }

// offset is the queue offset of message i.
func (c *Checkpoint) offset(i int) int64 {
	if c.Diffs == nil {
		return c.StartOffset + int64(i)
	}
	return c.StartOffset + int64(c.Diffs[i])
}

// index is the place of the message at offset, -1 when it is none of the check point's.
func (c *Checkpoint) index(offset int64) int {
	d := offset - c.StartOffset
	if c.Diffs == nil {
		if d >= 0 && d < int64(c.Count) {
			return int(d)
		}
		return -1
	}
	for i, v := range c.Diffs {
		if int64(v) == d {
			return i
		}
	}
	return -1
}

// full are the bits of a check point with nothing open.
func (c *Checkpoint) full() uint32 { return uint32(uint64(1)<<c.Count - 1) }

// open counts what is not acknowledged.
func (c *Checkpoint) open() int { return int(c.Count) - bits.OnesCount32(c.Bits&c.full()) }

// key is what Java calls the merge key: which check point an ack belongs to.
type mergeKey struct {
	topic, group, broker string
	queueID              int32
	start, popTime       int64
}

func (c *Checkpoint) key() mergeKey {
	return mergeKey{c.Topic, c.Group, c.Broker, c.QueueID, c.StartOffset, c.PopTime}
}

// Append writes the check point's body as Java's fastjson does: names in order, no blanks. Offsets are always listed.
func (c *Checkpoint) Append(dst []byte) []byte {
	dst = append(dst, `{"bm":0,"bn":`...)
	dst = appendString(dst, c.Broker)
	dst = appendString(append(dst, `,"c":`...), c.Group)
	if c.Count > 0 {
		dst = append(dst, `,"d":[`...)
		for i := range int(c.Count) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, c.offset(i)-c.StartOffset, 10)
		}
		dst = append(dst, ']')
	}
	dst = strconv.AppendInt(append(dst, `,"it":`...), c.Invisible, 10)
	dst = strconv.AppendInt(append(dst, `,"n":`...), int64(c.Count), 10)
	dst = strconv.AppendInt(append(dst, `,"pt":`...), c.PopTime, 10)
	dst = strconv.AppendInt(append(dst, `,"q":`...), int64(c.QueueID), 10)
	dst = append(dst, `,"ro":0`...)
	if c.RePuts != "" {
		dst = appendString(append(dst, `,"rp":`...), c.RePuts)
	}
	dst = strconv.AppendInt(append(dst, `,"so":`...), c.StartOffset, 10)
	dst = appendString(append(dst, `,"t":`...), c.Topic)
	return append(dst, '}')
}

// DecodeCheckpoint reads a body. Bits are those of its "bm".
func DecodeCheckpoint(body []byte) (Checkpoint, error) {
	var c struct {
		Checkpoint
		Bits int32 `json:"bm"`
	}
	if err := protocol.UnmarshalFast(body, &c); err != nil {
		return Checkpoint{}, fmt.Errorf("%w: check point: %w", ErrRecord, err)
	}
	p := c.Checkpoint
	p.Bits = uint32(c.Bits)
	switch {
	case p.Topic == "" || p.Group == "" || p.QueueID < 0 || p.StartOffset < 0 || p.StartOffset > math.MaxInt64-math.MaxInt32:
		return Checkpoint{}, fmt.Errorf("%w: check point of topic %q, group %q, queue %d, offset %d", ErrRecord, clip(p.Topic), clip(p.Group), p.QueueID, p.StartOffset)
	case p.Count < 0 || p.Count > MaxTake || len(p.Diffs) > 0 && len(p.Diffs) != int(p.Count):
		return Checkpoint{}, fmt.Errorf("%w: check point of %d messages, %d offsets", ErrRecord, p.Count, len(p.Diffs))
	case p.PopTime < 0 || p.Invisible < 0 || p.PopTime > maxTime || p.Invisible > maxTime:
		return Checkpoint{}, fmt.Errorf("%w: check point of time %d + %d", ErrRecord, p.PopTime, p.Invisible)
	}
	if len(p.Diffs) == 0 {
		p.Diffs = nil
	}
	for _, d := range p.Diffs {
		if d < 0 {
			return Checkpoint{}, fmt.Errorf("%w: check point with offset %d", ErrRecord, d)
		}
	}
	return p, nil
}

// maxTime bounds what is taken for a time in ms: the year 3084.
const maxTime = 1<<45 - 1

// uniqKey is the UNIQ_KEY of the record.
func (c *Checkpoint) uniqKey(dst []byte) []byte {
	return appendUniqKey(dst, c.Topic, c.QueueID, c.StartOffset, c.Group, c.PopTime, c.Broker, tagCheckpoint)
}

// Ack acknowledges messages of one check point. Offsets holds one offset in a plain ack, more in a batch.
type Ack struct {
	Offsets     []int64
	StartOffset int64
	Group       string
	Topic       string
	QueueID     int32
	PopTime     int64
	Broker      string
}

func (a *Ack) key(broker string) mergeKey {
	if a.Broker != "" {
		broker = a.Broker
	}
	return mergeKey{a.Topic, a.Group, broker, a.QueueID, a.StartOffset, a.PopTime}
}

// batch says which of the two forms the ack has.
func (a *Ack) batch() bool { return len(a.Offsets) != 1 }

// Append writes the ack's body.
func (a *Ack) Append(dst []byte) []byte {
	dst = append(dst, `{"ao":`...)
	if !a.batch() {
		dst = strconv.AppendInt(dst, a.Offsets[0], 10)
	} else {
		dst = append(dst, `-1,"aol":[`...)
		for i, o := range a.Offsets {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, o, 10)
		}
		dst = append(dst, ']')
	}
	dst = appendString(append(dst, `,"bn":`...), a.Broker)
	dst = appendString(append(dst, `,"c":`...), a.Group)
	dst = strconv.AppendInt(append(dst, `,"pt":`...), a.PopTime, 10)
	dst = strconv.AppendInt(append(dst, `,"q":`...), int64(a.QueueID), 10)
	dst = strconv.AppendInt(append(dst, `,"so":`...), a.StartOffset, 10)
	dst = appendString(append(dst, `,"t":`...), a.Topic)
	return append(dst, '}')
}

// DecodeAck reads a body of either form, with the short names or Java's long ones.
func DecodeAck(body []byte, batch bool) (Ack, error) {
	var r struct {
		AO *int64  `json:"ao"`
		LO *int64  `json:"ackOffset"`
		OL []int64 `json:"aol"`
		LL []int64 `json:"ackOffsetList"`
		SO *int64  `json:"so"`
		LS int64   `json:"startOffset"`
		C  string  `json:"c"`
		LC string  `json:"consumerGroup"`
		T  string  `json:"t"`
		LT string  `json:"topic"`
		Q  *int32  `json:"q"`
		LQ int32   `json:"queueId"`
		PT *int64  `json:"pt"`
		LP int64   `json:"popTime"`
		BN string  `json:"bn"`
		LB string  `json:"brokerName"`
	}
	if err := protocol.UnmarshalFast(body, &r); err != nil {
		return Ack{}, fmt.Errorf("%w: ack: %w", ErrRecord, err)
	}
	a := Ack{Group: either(r.C, r.LC), Topic: either(r.T, r.LT), Broker: either(r.BN, r.LB), StartOffset: r.LS, QueueID: r.LQ, PopTime: r.LP}
	if r.SO != nil {
		a.StartOffset = *r.SO
	}
	if r.Q != nil {
		a.QueueID = *r.Q
	}
	if r.PT != nil {
		a.PopTime = *r.PT
	}
	switch {
	case batch && len(r.OL) > 0:
		a.Offsets = r.OL
	case batch:
		a.Offsets = r.LL
	case r.AO != nil:
		a.Offsets = []int64{*r.AO}
	case r.LO != nil:
		a.Offsets = []int64{*r.LO}
	}
	if a.Topic == "" || a.Group == "" {
		return Ack{}, fmt.Errorf("%w: ack without topic or group", ErrRecord)
	}
	return a, nil
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// uniqKey is the UNIQ_KEY of the record: that of a batch has the offset -1, as those that Java stores for a request.
func (a *Ack) uniqKey(dst []byte) []byte {
	o := int64(-1)
	if !a.batch() {
		o = a.Offsets[0]
	}
	return appendUniqKey(dst, a.Topic, a.QueueID, o, a.Group, a.PopTime, a.Broker, tagAck)
}

func appendUniqKey(dst []byte, topic string, queueID int32, offset int64, group string, popTime int64, broker, tag string) []byte {
	dst = append(append(dst, topic...), '@')
	dst = append(strconv.AppendInt(dst, int64(queueID), 10), '@')
	dst = append(strconv.AppendInt(dst, offset, 10), '@')
	dst = append(append(dst, group...), '@')
	dst = append(strconv.AppendInt(dst, popTime, 10), '@')
	dst = append(append(dst, broker...), '@')
	return append(dst, tag...)
}

// appendString writes a JSON string. Names need no escapes; whatever does takes the slow way.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x7f {
			text, err := json.Marshal(s)
			if err != nil {
				return append(dst, `""`...)
			}
			return append(dst, text...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}
