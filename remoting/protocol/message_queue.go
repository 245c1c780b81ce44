package protocol

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// MessageQueue names a queue of a topic on a broker.
type MessageQueue struct {
	BrokerName string `json:"brokerName"`
	QueueID    int32  `json:"queueId"`
	Topic      string `json:"topic"`
}

// Compare orders queues as Java does: by topic, broker, id.
func (q MessageQueue) Compare(o MessageQueue) int {
	return cmp.Or(strings.Compare(q.Topic, o.Topic), strings.Compare(q.BrokerName, o.BrokerName), cmp.Compare(q.QueueID, o.QueueID))
}

// String is the form that Java prints in logs and mqadmin output.
func (q MessageQueue) String() string {
	return "MessageQueue [topic=" + q.Topic + ", brokerName=" + q.BrokerName + ", queueId=" + strconv.Itoa(int(q.QueueID)) + "]"
}

// appendKey writes the queue as fastjson writes a map key: as an object.
func (q MessageQueue) appendKey(dst []byte) []byte {
	dst = append(dst, `{"brokerName":`...)
	dst = appendJSONString(dst, q.BrokerName)
	dst = append(dst, `,"queueId":`...)
	dst = strconv.AppendInt(dst, int64(q.QueueID), 10)
	dst = append(dst, `,"topic":`...)
	dst = appendJSONString(dst, q.Topic)
	return append(dst, '}')
}

// MessageQueueMap is a map with queues as keys. MarshalFast writes it with object keys, {{"brokerName":…}:v}, the only
// form that every Java client reads; json.Marshal, which must write JSON, with the keys' text as strings. Both are read back,
// and so is a list of pairs [[{…},v]].
type MessageQueueMap[T any] map[MessageQueue]T

// SortedQueues returns the keys in order.
func (m MessageQueueMap[T]) SortedQueues() []MessageQueue {
	keys := make([]MessageQueue, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, MessageQueue.Compare)
	return keys
}

// MarshalJSON writes the keys as strings.
func (m MessageQueueMap[T]) MarshalJSON() ([]byte, error) {
	out := make(map[string]T, len(m))
	for k, v := range m {
		out[string(k.appendKey(nil))] = v
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads string keys that hold a queue's text, and lists of pairs.
func (m *MessageQueueMap[T]) UnmarshalJSON(b []byte) error {
	out := MessageQueueMap[T]{}
	if t := bytes.TrimSpace(b); len(t) > 0 && t[0] == '[' {
		var pairs [][2]json.RawMessage
		if err := json.Unmarshal(b, &pairs); err != nil {
			return err
		}
		for _, p := range pairs {
			if err := out.put(p[0], p[1]); err != nil {
				return err
			}
		}
		*m = out
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}
	for k, v := range members {
		if err := out.put([]byte(k), v); err != nil {
			return err
		}
	}
	*m = out
	return nil
}

func (m MessageQueueMap[T]) put(key, value []byte) error {
	var q MessageQueue
	if err := UnmarshalFast(key, &q); err != nil {
		return err
	}
	var v T
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	m[q] = v
	return nil
}

func messageQueueMapEncoder(t reflect.Type) encodeFunc {
	elem := encoderOf(t.Elem())
	return func(dst []byte, v reflect.Value) ([]byte, error) {
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int {
			return a.Interface().(MessageQueue).Compare(b.Interface().(MessageQueue))
		})
		dst = append(dst, '{')
		for i, k := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(k.Interface().(MessageQueue).appendKey(dst), ':')
			var err error
			if dst, err = elem(dst, v.MapIndex(k)); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	}
}
