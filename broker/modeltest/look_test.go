package modeltest

import (
	"fmt"
	"strings"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// seen is a record that a consumer can read.
type seen struct {
	protocol.MessageView
	name string
}

// look reads all queues and compares them with the model: what must not be there fails. missing is the first that has to come yet.
func (w *world) look() (all []seen, missing error) {
	now := w.now()
	count := map[string]int{}
	group := []string{protocol.RetryTopic(consumerGroup), protocol.DLQTopic(consumerGroup)}
	for _, topic := range append(group, allTopics...) {
		n := int32(queues)
		if protocol.IsRetryTopic(topic) || protocol.IsDLQTopic(topic) {
			n = 1
		}
		for q := range n {
			records, err := w.readQueue(topic, q)
			if err != nil {
				return nil, err
			}
			for _, v := range records {
				s := seen{v, tryOf(topic, string(v.Body), v.ReconsumeTimes)}
				if err := w.judge(&s, count); err != nil {
					return nil, wrong{fmt.Errorf("%s/%d offset %d: %w", topic, q, v.QueueOffset, err)}
				}
				all = append(all, s)
			}
		}
	}
	for _, name := range w.names {
		if it := w.items[name]; it.sure && it.never == "" && it.due < now && count[name] == 0 {
			return all, fmt.Errorf("%s, which was acknowledged %d ms ago and due %d ms ago for %s/%d, is not there", name, now-it.sentAt, now-it.due, it.topic, it.queue)
		}
	}
	return all, nil
}

// wrong is what waiting does not mend.
type wrong struct{ error }

// judge says whether a record may be where it is.
func (w *world) judge(s *seen, count map[string]int) error {
	it := w.items[s.name]
	if it == nil {
		return fmt.Errorf("nobody sent %q (try %d)", s.Body, s.ReconsumeTimes)
	}
	count[s.name]++
	switch {
	case it.never != "":
		return fmt.Errorf("%s %s", s.name, it.never)
	case it.topic != s.Topic || it.queue >= 0 && it.queue != s.QueueID:
		return fmt.Errorf("%s was for %s/%d", s.name, it.topic, it.queue)
	case s.StoreTimestamp < it.due:
		return fmt.Errorf("%s is %d ms early", s.name, it.due-s.StoreTimestamp)
	case count[s.name] > it.copies:
		return fmt.Errorf("%s is there %d times", s.name, count[s.name])
	case it.plain && it.sure && s.QueueOffset != it.offset:
		return fmt.Errorf("%s was stored at offset %d, the reply said", s.name, it.offset)
	}
	return nil
}

// expect waits until everything that is due has come.
func (w *world) expect() ([]seen, error) {
	for give := time.Now().Add(patience); ; {
		all, err := w.look()
		if _, bad := err.(wrong); err == nil || bad || w.killed.Load() || time.Now().After(give) {
			return all, err
		}
		time.Sleep(time.Millisecond)
		w.clk.Advance(time.Millisecond)
	}
}

// readQueue pulls a queue from its beginning to its end.
func (w *world) readQueue(topic string, queue int32) (out []protocol.MessageView, err error) {
	for at := int64(0); ; {
		r, err := w.call(w.producer, protocol.ReqPullMessage, &protocol.PullMessageRequestHeader{ConsumerGroup: "looks", Topic: topic, QueueID: queue,
			QueueOffset: at, MaxMsgNums: 32, SysFlag: protocol.PullFlagSubscription, Subscription: "*"}, nil)
		if err != nil {
			return nil, err
		}
		switch r.Code {
		case protocol.RespSuccess:
		case protocol.RespPullNotFound:
			w.ends[place{topic, queue}] = at
			return out, nil
		case protocol.RespPullOffsetMoved: // its beginning was lost
			var h protocol.PullMessageResponseHeader
			if err := h.DecodeExt(r.Ext); err != nil {
				return nil, err
			}
			k := place{topic, queue}
			if !(w.power && w.kills > 0 || w.gone[k] > at || w.maybe[k]) || h.NextBeginOffset <= at {
				return nil, wrong{fmt.Errorf("pull of %s/%d at %d: %s", topic, queue, at, r.Remark)}
			}
			at = h.NextBeginOffset
			continue
		case protocol.RespTopicNotExist: // a retry topic that nothing was sent to
			return out, nil
		default:
			return nil, fmt.Errorf("pull of %s/%d at %d: code %d %s", topic, queue, at, r.Code, r.Remark)
		}
		for body := r.Body; len(body) > 0; {
			var v protocol.MessageView
			n, err := protocol.DecodeMessage(body, &v)
			if err != nil {
				return nil, wrong{err}
			}
			if w.power && w.kills > 0 {
				at = max(at, v.QueueOffset) // what a power failure took between two records keeps its offsets
			}
			if v.Topic != topic || v.QueueID != queue || v.QueueOffset != at {
				return nil, wrong{fmt.Errorf("record %d of %s/%d says that it is %d of %s/%d", at, topic, queue, v.QueueOffset, v.Topic, v.QueueID)}
			}
			if v.QueueOffset < w.gone[place{topic, queue}] {
				return nil, wrong{fmt.Errorf("record %d of %s/%d is back, it was purged", at, topic, queue)}
			}
			out, body = append(out, v), body[n:]
			at++
		}
	}
}

// readEnds asks for the ends of the queues.
func (w *world) readEnds() error {
	for k := range w.progress {
		r, err := w.must(w.producer, protocol.ReqGetMaxOffset, &protocol.GetMaxOffsetRequestHeader{Topic: k.topic, QueueID: k.queue}, nil)
		if err != nil {
			return err
		}
		var h protocol.GetMaxOffsetResponseHeader
		if err := h.DecodeExt(r.Ext); err != nil {
			return err
		}
		w.ends[k] = h.Offset
	}
	return nil
}

// givenUp are the names of transactions that the broker gave up.
func (w *world) givenUp() (map[string]bool, error) {
	records, err := w.readQueue(protocol.TopicTransCheckMaxTime, 0)
	out := map[string]bool{}
	for _, v := range records {
		out[string(v.Body)] = true
	}
	return out, err
}

// drain lets time go by until all is done that was begun.
func (w *world) drain() error {
	var open error
	for range 60 {
		if err := w.pass(15 * time.Second); err != nil {
			return err
		}
		if _, err := w.expect(); err != nil {
			return err
		}
		if err := w.answerChecks(true); err != nil {
			return err
		}
		if open = w.undone(); open == nil {
			return nil
		}
		if strings.HasPrefix(open.Error(), "request") {
			return open
		}
	}
	return open
}

// undone says what is still to be done.
func (w *world) undone() error {
	now := w.now()
	for _, it := range w.items {
		if it.due >= now {
			return fmt.Errorf("%s is due in %d ms", it.name, it.due-now)
		}
	}
	given, err := w.givenUp()
	if err != nil {
		return err
	}
	all, err := w.look()
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, s := range all {
		there[s.name] = true
	}
	for _, x := range w.txs {
		switch {
		case !x.stored, given[x.name], there[x.name], x.purged:
		case x.accepted && x.outcome == protocol.SysFlagTransactionRollback:
		case x.tried && !x.accepted: // it may have been taken
		default:
			return fmt.Errorf("transaction %s was neither ended nor given up: %+v", x.name, x)
		}
		if given[x.name] && x.accepted && !x.lost {
			return fmt.Errorf("transaction %s was ended and is given up", x.name)
		}
	}
	return nil
}
