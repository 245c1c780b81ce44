package broker

import (
	"errors"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// deletePopRetries deletes the pop retry topics of the groups that consumed a topic which is gone (clearRetryTopicWhenDeleteTopic), so that a
// new topic of its name does not begin with old messages. groups are those with offsets of it.
func (b *Broker) deletePopRetries(topic string, groups []string) error {
	var errs []error
	for _, g := range groups {
		for _, name := range [...]string{protocol.PopRetryTopicV1(g, topic), protocol.PopRetryTopicV2(g, topic)} {
			was, err := b.topics.Delete(name)
			if !was {
				errs = append(errs, err)
				continue
			}
			if e := b.store.DeleteTopic(name); !errors.Is(e, store.ErrNotFound) {
				err = errors.Join(err, e)
			}
			b.offsets.RemoveTopic(name)
			b.stats.DeleteTopic(name)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
