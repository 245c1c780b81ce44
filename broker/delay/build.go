package delay

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// add reads the record of a due unit and adds the message it holds to the pass. What can never be delivered is logged
// and passed over, so that it does not hold up the level. An error means that reading should be tried again.
func (s *Service) add(u *store.QueueUnit) error {
	p := &s.pass
	rec, err := s.o.Source.Record(u.PhysicalOffset, nil)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
		s.skip(u, err)
		return nil
	}
	if err != nil {
		return err
	}
	m, err := s.restore(rec)
	if err != nil {
		s.skip(u, err)
		return nil
	}
	if m.Topic == protocol.TopicHalf { // a half message that asked for a delay: its transaction is long over
		return nil
	}
	if err := s.o.Sink.Add(&m); err != nil {
		s.skip(u, err)
		return nil
	}
	p.done = append(p.done, m)
	p.count++
	p.bytes += len(rec)
	return nil
}

func (s *Service) skip(u *store.QueueUnit, why error) {
	s.skipped.Add(1)
	s.o.Log.Limited(s.o.Clock, "delay-skip", time.Second).
		Errorf("delayed message at log position %d cannot be delivered and is passed over: %v", u.PhysicalOffset, why)
}

// restore makes the message that goes to the real topic. Like Java's, it keeps all properties (DELAY, REAL_TOPIC,
// REAL_QID too), hosts and counts. It aliases rec. A real topic that does not exist any more still gets its message:
// the queue is made anew, and readable once somebody creates the topic again.
func (s *Service) restore(rec []byte) (store.Message, error) {
	var v protocol.MessageView
	if _, err := protocol.DecodeMessage(rec, &v); err != nil {
		return store.Message{}, err
	}
	m := store.Message{
		Flag: v.Flag, SysFlag: v.SysFlag, BornTimestamp: v.BornTimestamp, BornHost: v.BornHost, StoreHost: v.StoreHost,
		ReconsumeTimes: v.ReconsumeTimes, PreparedTransactionOffset: v.PreparedTransactionOffset,
		Properties: []byte(v.Properties), Body: v.Body,
	}
	var queue string
	protocol.EachProperty(v.Properties, func(name, value string) bool {
		switch name {
		case protocol.PropertyRealTopic:
			m.Topic = value
		case protocol.PropertyRealQueueID:
			queue = value
		case protocol.PropertyTags:
			m.Tags = value
		case protocol.PropertyKeys:
			m.Keys = value
		case protocol.PropertyUniqKey:
			m.UniqKey = value
		}
		return true
	})
	if err := protocol.CheckTopic(m.Topic); err != nil {
		return m, fmt.Errorf("property %s: %w", protocol.PropertyRealTopic, err)
	}
	if m.Topic == protocol.TopicSchedule {
		return m, fmt.Errorf("property %s names the schedule topic", protocol.PropertyRealTopic)
	}
	q, err := strconv.ParseInt(queue, 10, 32)
	if err != nil || q < 0 {
		return m, fmt.Errorf("property %s is %q", protocol.PropertyRealQueueID, queue)
	}
	m.QueueID = int32(q)
	if s.o.Route != nil {
		m.QueueID = s.o.Route(m.Topic, m.QueueID)
	}
	return m, nil
}
