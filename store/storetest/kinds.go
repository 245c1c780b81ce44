package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// BatchTopic is the topic whose queues are batch queues: every ninth message or so is a batch for it.
const BatchTopic = "B"

// lightQueues are what some of the other messages enter, too.
var lightQueues = []string{"%LMQ%a", "%LMQ%b", "%LMQ%c"}

// vary makes a batch of some messages, and has others enter light queues.
func (b *Bench) vary(m *store.Message, s *Sent) {
	switch {
	case s.N%27 == 14: // a single message among the batches
		s.Topic, m.Topic = BatchTopic, BatchTopic
	case s.N%9 == 5:
		s.Topic, s.Inner = BatchTopic, int64(1+b.rng.IntN(4))
		m.Topic, m.Inner = s.Topic, int32(s.Inner)
		var body []byte
		for i := range s.Inner {
			body = protocol.AppendBatchEntry(body, &protocol.BatchEntry{Body: fmt.Appendf(nil, "%d of %s", i, s.Body), Properties: "TAGS\x01tag\x02"})
		}
		m.Body, s.Body = body, string(body)
		m.SysFlag |= protocol.SysFlagInnerBatch | protocol.SysFlagNeedUnwrap
	case s.N%4 == 1:
		first := b.rng.IntN(len(lightQueues))
		s.Light = lightQueues[first : first+1+b.rng.IntN(len(lightQueues)-first)]
		m.Properties = protocol.AppendProperty(m.Properties, protocol.PropertyInnerMultiDispatch, strings.Join(s.Light, ","))
	}
}

// writeTopics writes the file that says which topics have batch queues. Single messages do not say it themselves.
func (b *Bench) writeTopics() error {
	if err := b.FS.MkdirAll(Root + "/config"); err != nil {
		return err
	}
	f, err := b.FS.Create(Root + "/config/topics.json")
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(`{"topicConfigTable":{"`+BatchTopic+`":{"attributes":{"queue.type":"BatchCQ"}}}}`), 0)
	return errors.Join(err, f.Sync(), f.Close(), b.FS.SyncDir(Root+"/config"))
}

// checkInner says whether the properties of a record of a batch queue say what its unit does.
func checkInner(v *protocol.MessageView, s Sent, next int64) error {
	num, _ := v.Property(protocol.PropertyInnerNum)
	base, _ := v.Property(protocol.PropertyInnerBase)
	if num != strconv.FormatInt(s.Inner, 10) || base != strconv.FormatInt(v.QueueOffset, 10) || next < v.QueueOffset+s.Inner {
		return fmt.Errorf("offset %d: INNER_NUM %q, INNER_BASE %q, of %d messages; then %d", v.QueueOffset, num, base, s.Inner, next)
	}
	return nil
}

// checkLight compares a light queue with what was sent: each message once, in order, at the offset that its record says, and
// all that the log has.
func (b *Bench) checkLight(topic string, want map[string]Sent) error {
	from, to, _ := b.Store.QueueRange(topic, 0)
	seen, last := map[int]bool{}, -1
	for at := from; at < to; {
		buf, res := b.Store.Get(&store.GetRequest{Topic: topic, Offset: at, MaxCount: 1, MaxBytes: 1 << 20}, nil)
		if res.NextBeginOffset <= at {
			return fmt.Errorf("get at %d: status %d, next %d", at, res.Status, res.NextBeginOffset)
		}
		if res.Count == 0 { // lost in a hole of the log
			at = res.NextBeginOffset
			continue
		}
		var v protocol.MessageView
		if _, err := protocol.DecodeMessage(buf, &v); err != nil {
			return err
		}
		s := want[string(v.Body)]
		i := slices.Index(s.Light, topic)
		if i < 0 || s.N <= last {
			return fmt.Errorf("offset %d: message %d of %s after %d, which is for %v", at, s.N, v.Topic, last, s.Light)
		}
		list, _ := v.Property(protocol.PropertyInnerMultiQueueOffset)
		if offsets := strings.Split(list, ","); len(offsets) != len(s.Light) || offsets[i] != strconv.FormatInt(res.NextBeginOffset-1, 10) {
			return fmt.Errorf("offset %d: its record says %q of %v", res.NextBeginOffset-1, list, s.Light)
		}
		if b.hides[hideKey{topic, 0, s.N}] == hidden {
			return fmt.Errorf("offset %d: message %d, which was hidden", at, s.N)
		}
		seen[s.N], last, at = true, s.N, res.NextBeginOffset
	}
	min := b.Store.Status().MinPhys
	for _, s := range b.Acked {
		if s.Result.PhysicalOffset >= min && slices.Contains(s.Light, topic) && !seen[s.N] && !b.Gone[s.N] && !b.Unsure[s.N] && b.hides[hideKey{topic, 0, s.N}] == shown {
			return fmt.Errorf("acknowledged message %d is lost", s.N)
		}
	}
	return nil
}
