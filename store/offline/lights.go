package offline

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/consumequeue"
)

// place is where a record is in a light queue.
type place struct {
	queue  string
	offset int64
}

// deriveLights finds the light queues that a record says it is in: INNER_MULTI_DISPATCH has their names, and
// INNER_MULTI_QUEUE_OFFSET its offsets there.
func (d *deriver) deriveLights(v *protocol.MessageView, out *derived) {
	kind := v.SysFlag & protocol.SysFlagTransactionMask
	if kind != protocol.SysFlagTransactionNot && kind != protocol.SysFlagTransactionCommit || v.SysFlag&protocol.SysFlagInnerBatch != 0 ||
		!strings.Contains(v.Properties, protocol.PropertyInnerMultiQueueOffset) ||
		protocol.IsRetryTopic(v.Topic) || protocol.IsDLQTopic(v.Topic) || protocol.IsSystemTopic(v.Topic) || protocol.IsLMQ(v.Topic) {
		return
	}
	names, _ := v.Property(protocol.PropertyInnerMultiDispatch)
	offsets, _ := v.Property(protocol.PropertyInnerMultiQueueOffset)
	numbers := strings.Split(offsets, protocol.MultiDispatchSeparator)
	for i, name := range strings.Split(names, protocol.MultiDispatchSeparator) {
		if strings.Count(names, protocol.MultiDispatchSeparator) != len(numbers)-1 {
			return
		}
		offset, err := strconv.ParseInt(numbers[i], 10, 64)
		if err == nil && offset >= 0 && protocol.IsLMQ(name) && consumequeue.TopicFits(name) && v.PhysicalOffset >= d.dropped[name] {
			out.lights = append(out.lights, place{name, offset})
		}
	}
}

// at says that a record has the offset n in a queue.
func (out *derived) at(v *protocol.MessageView, topic string, id int32, n int64) bool {
	if v.Topic == topic && v.QueueID == id {
		return v.QueueOffset == n
	}
	for _, l := range out.lights {
		if l.queue == topic && id == 0 {
			return l.offset == n
		}
	}
	return false
}

// inner are the properties of a record of a batch queue: how many messages it has, and the queue offset of the first.
type inner struct{ num, base string }

func (in inner) parse() (num int16, base int64, ok bool) {
	n, err1 := strconv.ParseInt(in.num, 10, 16)
	base, err2 := strconv.ParseInt(in.base, 10, 64)
	return int16(n), base, err1 == nil && err2 == nil && n > 0 && base >= 0
}

// batchTopics says which of the topics have queue.type=BatchCQ; nil when no topics are known.
func (c *checker) batchTopics(topics map[string]bool) map[string]bool {
	if topics == nil {
		return nil
	}
	v, err := c.decode("topics.json")
	if err != nil {
		if v, err = c.decode("topics.json.bak"); err != nil {
			return nil
		}
	}
	out := map[string]bool{}
	table, _ := v["topicConfigTable"].(map[string]any)
	for name, t := range table {
		fields, _ := t.(map[string]any)
		attributes, _ := fields["attributes"].(map[string]any)
		out[name] = attributes[protocol.AttributeQueueType] == "BatchCQ"
	}
	return out
}

// batchUnit is what a batch queue must have of a record.
func batchUnit(v *protocol.MessageView, want *derived) []byte {
	num, base, ok := want.inner.parse()
	if !ok {
		num, base = 1, v.QueueOffset
	}
	b := make([]byte, consumequeue.BatchUnitSize)
	consumequeue.NewBatchUnit(v.PhysicalOffset, v.Size, want.unit.TagsCode, v.StoreTimestamp, base, num).Put(b)
	return b
}

func sameUnit(u consumequeue.BatchUnit, want []byte) bool {
	b := make([]byte, consumequeue.BatchUnitSize)
	u.Put(b)
	return bytes.Equal(b, want)
}
