package modeltest

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/seedmq/seedmq/broker/offset"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func (w *world) anyPlace() place {
	return place{topics[w.rng.IntN(len(topics))], int32(w.rng.IntN(queues))}
}

func (w *world) queryOffset(k place) (at int64, has bool, err error) {
	r, err := w.call(w.producer, protocol.ReqQueryConsumerOffset, &protocol.QueryConsumerOffsetRequestHeader{ConsumerGroup: consumerGroup, Topic: k.topic,
		QueueID: k.queue, SetZeroIfNotFound: protocol.Some(false)}, nil)
	if err != nil || r.Code == protocol.RespQueryNotFound {
		return 0, false, err
	}
	if r.Code != protocol.RespSuccess {
		return 0, false, fmt.Errorf("query of the offset of %v: code %d %s", k, r.Code, r.Remark)
	}
	var h protocol.QueryConsumerOffsetResponseHeader
	err = h.DecodeExt(r.Ext)
	return h.Offset, true, err
}

// checkOffset compares the committed offset with the model's.
func (w *world) checkOffset(k place) error {
	at, has, err := w.queryOffset(k)
	if p := w.progress[k]; err == nil && (has != p.has || at != p.at) {
		return wrong{fmt.Errorf("offset of %v is %d (%v), want %d (%v)", k, at, has, p.at, p.has)}
	}
	return err
}

// commitOffset is a commit by one of the members, now and then a late one.
func (w *world) commitOffset() error {
	if err := w.readEnds(); err != nil {
		return err
	}
	k, c := w.anyPlace(), w.members[w.rng.IntN(2)]
	p, at := w.progress[k], int64(0)
	if low := w.rng.IntN(4) == 0; low || !p.has {
		at = w.rng.Int64N(w.ends[k] + 1)
	} else {
		at = p.at + w.rng.Int64N(max(0, w.ends[k]-p.at)+1)
	}
	w.note("commit %d of %v by %d", at, k, c.id)
	beyond := p.has && p.at > w.ends[k]
	if _, err := w.must(c, protocol.ReqUpdateConsumerOffset, &protocol.UpdateConsumerOffsetRequestHeader{ConsumerGroup: consumerGroup, Topic: k.topic, QueueID: k.queue, CommitOffset: at}, nil); err != nil {
		return err
	}
	switch {
	case p.reset: // its reset comes first
	case p.has && at < p.at && p.owner != c.id && !beyond: // late
	default:
		if !p.has || at != p.at {
			p.set(at)
		}
		p.owner = c.id
	}
	return w.checkOffset(k)
}

// resetOffset is an operator's.
func (w *world) resetOffset() error {
	if err := w.readEnds(); err != nil {
		return err
	}
	k := w.anyPlace()
	at := w.rng.Int64N(w.ends[k] + 1)
	w.note("reset %v to %d", k, at)
	p := w.progress[k]
	if w.killed.Load() {
		return errDead
	}
	before := append([]int64(nil), p.before...)
	p.set(at) // if it fails, it may have been done
	_, err := w.must(w.producer, protocol.ReqInvokeBrokerToResetOffset, &protocol.InvokeBrokerToResetOffsetRequestHeader{Group: consumerGroup, Topic: k.topic,
		QueueID: protocol.Some(k.queue), Offset: protocol.Some(at), Timestamp: -1, IsForce: true}, nil)
	if err != nil {
		p.before = append(before, p.before...)
		p.told = true
		return err
	}
	p.before = nil // what was acknowledged outlives a kill
	p.reset, p.told = true, false
	return w.checkOffset(k)
}

// pullAs is a pull by a member. A pending reset, and nothing else, moves it; with maybe, it may.
func (w *world) pullAs(k place, c *wire, maybe bool) error {
	p := w.progress[k]
	r, err := w.call(c, protocol.ReqPullMessage, &protocol.PullMessageRequestHeader{ConsumerGroup: consumerGroup, Topic: k.topic, QueueID: k.queue,
		QueueOffset: min(p.at, w.ends[k]), MaxMsgNums: 4, SubVersion: 1}, nil)
	if err != nil {
		return err
	}
	if w.killed.Load() {
		return errDead
	}
	moved := r.Code == protocol.RespPullOffsetMoved && r.Remark == "OFFSET_RESET"
	there := p.reset && p.at == 0 // one that pulls from 0 holds nothing from elsewhere, and need not be told
	if moved != (p.reset && !there) && !maybe {
		return wrong{fmt.Errorf("pull of %v at %d, a reset is pending %v: code %d %s", k, p.at, p.reset, r.Code, r.Remark)}
	}
	p.told = p.told || there
	if moved {
		var h protocol.PullMessageResponseHeader
		if err := h.DecodeExt(r.Ext); err != nil {
			return err
		}
		if h.NextBeginOffset != p.at && !maybe {
			return wrong{fmt.Errorf("the reset of %v moves to %d, not to %d", k, h.NextBeginOffset, p.at)}
		}
		p.told = true
	}
	p.reset = false
	return w.checkOffset(k)
}

func (w *world) pullOne() error {
	if err := w.readEnds(); err != nil {
		return err
	}
	k := w.anyPlace()
	w.note("pull %v", k)
	return w.pullAs(k, w.members[w.rng.IntN(2)], false)
}

// saved lets 5 s pass, after which the offsets must be in the file.
func (w *world) saved() error {
	if err := w.pass(5100 * time.Millisecond); err != nil {
		return err
	}
	var err error
	for give := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if err = w.inFile(); err == nil || w.killed.Load() || time.Now().After(give) {
			break
		}
		w.clk.Advance(10 * time.Millisecond) // its goroutine may have set its timer late
	}
	if w.killed.Load() {
		return errDead
	}
	if err == nil {
		w.stoppedClean()
	}
	return err
}

func (w *world) inFile() error {
	t := offset.New(offset.Options{FS: w.disk, Path: filepath.Join(root, "config", "consumerOffset.json"), Clock: w.clk})
	if err := t.Load(); err != nil {
		return err
	}
	for k, p := range w.progress {
		key := offset.Key{Group: consumerGroup, Topic: k.topic, QueueID: k.queue}
		if at, has := t.Query(key); at != p.at || has != p.has || t.HasReset(key) != p.reset {
			return fmt.Errorf("5 s after the last change the file says %d (%v) of %v, not %d (%v)", at, has, k, p.at, p.has)
		}
	}
	return nil
}
