package modeltest

import (
	"github.com/seedmq/seedmq/remoting/protocol"
)

// purge empties a queue of the topic that is there for it.
func (w *world) purge() error {
	all, err := w.expect()
	if err != nil {
		return err
	}
	k := place{purgedTopic, int32(w.rng.IntN(queues))}
	w.note("purge %v", k)
	for _, s := range all {
		if s.Topic == k.topic && s.QueueID == k.queue {
			it := w.items[s.name]
			it.sure, it.purged = false, true
		}
	}
	w.maybe[k] = true
	r, err := w.must(w.producer, protocol.ReqPurgeTopic, &protocol.PurgeTopicRequestHeader{Topic: k.topic, QueueID: protocol.Some(k.queue)}, nil)
	if err != nil {
		return err
	}
	var body protocol.PurgeTopicResponseBody
	if err := protocol.UnmarshalFast(r.Body, &body); err != nil {
		return err
	}
	for _, q := range body.Queues {
		w.gone[place{k.topic, q.QueueID}] = q.MinOffset
	}
	return nil
}
