package store

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/consumequeue"
)

// A light queue is a consume queue whose units point to records of other topics: a message names the light queues that it
// enters in INNER_MULTI_DISPATCH, and Append writes its offsets there to INNER_MULTI_QUEUE_OFFSET, from which the queues
// can be made again. A record has the second property only if Append wrote it.

const (
	lightSeparator = ','
	lightQueueID   = 0
	// lightProperties begins the names of both properties.
	lightProperties = "INNER_MULTI_"
)

// TakesLight says whether a message of a topic may enter light queues. Java lets dead letters and half messages enter them
// again; here only the message itself does.
func TakesLight(topic string) bool {
	return !protocol.IsRetryTopic(topic) && !protocol.IsDLQTopic(topic) && !protocol.IsSystemTopic(topic) && !protocol.IsLMQ(topic)
}

// CheckLightNames says what is wrong with a value of INNER_MULTI_DISPATCH: it must be a list of different names of light
// queues, each of which can be that of a folder.
func CheckLightNames(list string) error {
	seen := map[string]bool{}
	for _, name := range strings.Split(list, string(lightSeparator)) {
		switch {
		case !protocol.IsLMQ(name) || len(name) == len(protocol.LMQPrefix):
			return fmt.Errorf("INNER_MULTI_DISPATCH has %.64q, which is no name of a light queue (%s...)", name, protocol.LMQPrefix)
		case !consumequeue.TopicFits(name):
			return fmt.Errorf("INNER_MULTI_DISPATCH has %.64q, which cannot be the name of a folder", name)
		case seen[name]:
			return fmt.Errorf("INNER_MULTI_DISPATCH has %.64q twice", name)
		}
		seen[name] = true
	}
	return nil
}

// addLight adds a message that enters light queues, or that has leftovers of one that did; done is false for all others.
func (b *Batch) addLight(q *queue, m *Message) (done bool, err error) {
	if !bytes.Contains(m.Properties, []byte(lightProperties)) {
		return false, nil
	}
	props := appendWithout(make([]byte, 0, len(m.Properties)+64), m.Properties, protocol.PropertyInnerMultiQueueOffset, "")
	list, _ := protocol.Property(props, protocol.PropertyInnerMultiDispatch)
	if list == "" || !queued(m.SysFlag) || !TakesLight(m.Topic) || CheckLightNames(list) != nil {
		plain := *m
		plain.Properties = props
		b.add(q, &plain, 1)
		return true, nil
	}
	names := strings.Split(list, string(lightSeparator))
	if err := b.addWithRoom(q, m, props, protocol.PropertyInnerMultiQueueOffset, len(names)); err != nil {
		return true, err
	}
	for _, name := range names {
		b.late.lights = append(b.late.lights, lightPlace{q: b.s.queues.get(name, lightQueueID)})
	}
	b.late.fields[len(b.late.fields)-1].n = int32(len(names))
	return true, nil
}

// appendWithout copies properties but for those called a or b, each with its separator.
func appendWithout(dst, props []byte, a, b string) []byte {
	protocol.EachProperty(props, func(name, value string) bool {
		if name != a && name != b {
			dst = protocol.AppendProperty(dst, name, value)
		}
		return true
	})
	return dst
}

// appendLights adds the entries of the light queues that a stored record is in; e is its own. Whether light queues are
// turned on does not matter: Append saw to that.
func (s *Store) appendLights(dst []dispatchEntry, r *record, e *dispatchEntry) []dispatchEntry {
	if !bytes.Contains(r.properties, []byte(lightProperties)) || !queued(r.sysFlag) || !TakesLight(alias(r.topic)) || e.q != nil && e.q.batch {
		return dst
	}
	list, _ := protocol.Property(r.properties, protocol.PropertyInnerMultiDispatch)
	offsets, _ := protocol.Property(r.properties, protocol.PropertyInnerMultiQueueOffset)
	names, numbers := strings.Split(list, string(lightSeparator)), strings.Split(offsets, string(lightSeparator))
	if len(names) != len(numbers) {
		return dst
	}
	tagged := *e
	if e.q == nil { // of a topic that was deleted: the light queues still have it
		tags, _ := protocol.Property(r.properties, protocol.PropertyTags)
		tagged.tagsCode = s.tagsCode("", tags, "", r.storeTime)
	}
	from := len(dst)
	for i, name := range names {
		offset, err := strconv.ParseInt(numbers[i], 10, 64)
		if err != nil || offset < 0 || offset > consumequeue.MaxOffset || !protocol.IsLMQ(name) || !consumequeue.TopicFits(name) {
			continue
		}
		if r.phys < s.dropped.before(name) || hasQueue(dst[from:], name) {
			continue
		}
		dst = append(dst, tagged.inLight(s.queues.get(name, lightQueueID), offset))
	}
	return dst
}

func hasQueue(entries []dispatchEntry, topic string) bool {
	for i := range entries {
		if entries[i].q.topic == topic {
			return true
		}
	}
	return false
}

// LightQueues is the number of light queues that there are.
func (s *Store) LightQueues() int64 { return s.queues.lights.Load() }

// HasLightQueue says whether a light queue of that name is there.
func (s *Store) HasLightQueue(name string) bool { return s.queues.find(name, lightQueueID) != nil }
