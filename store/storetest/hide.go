package storetest

import (
	"fmt"
	"math"
	"slices"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// hideKey is a message in one of the queues that it is in.
type hideKey struct {
	topic string
	queue int32
	n     int
}

// hiding is what is known of a message that a Raise was to hide.
type hiding int

const (
	shown hiding = iota
	maybe        // the Raise failed
	hidden
)

// Hide raises the first offsets of some queues, all in one call, and notes which messages must be gone, or may be when it fails.
func (b *Bench) Hide() error {
	var mins []store.QueueMin
	var lights [][]int // of the same number in mins
	for _, topic := range append([]string{"T0", "T1", "T2", BatchTopic}, lightQueues...) {
		for id := range int32(2) {
			pick, share := b.rng.IntN(3), b.rng.Float64() // always drawn: how far the queues are must not matter for the rest of the run
			m, ok := b.hideTarget(topic, id, share)
			if pick > 0 || !ok {
				continue
			}
			var light []int
			if protocol.IsLMQ(topic) {
				if light, ok = b.lightBelow(m); !ok {
					continue
				}
			}
			mins, lights = append(mins, m), append(lights, light)
		}
	}
	before := make([]int64, len(mins))
	for i, m := range mins {
		before[i], _, _ = b.Store.QueueRange(m.Topic, m.QueueID)
	}
	n, err := b.Store.Raise(mins)
	for i, m := range mins {
		if err != nil {
			b.hide(m, m.Offset, lights[i], maybe)
			continue
		}
		first, next, _ := b.Store.QueueRange(m.Topic, m.QueueID)
		exact := first <= m.Offset && n[i] == first-before[i] || b.Expired > 0 // files may go meanwhile
		if min(m.Offset, next)-first >= maxInner || n[i] > first-before[i] || !exact {
			return fmt.Errorf("queue %s/%d: raised to %d, it begins at %d, before at %d; %d hidden", m.Topic, m.QueueID, m.Offset, first, before[i], n[i])
		}
		b.hide(m, first, lights[i], hidden)
	}
	return err
}

// maxInner is how many messages a batch has at most.
const maxInner = 4

// hideTarget is somewhere in the first part of a queue, or behind its end.
func (b *Bench) hideTarget(topic string, id int32, share float64) (store.QueueMin, bool) {
	first, next, ok := b.Store.QueueRange(topic, id)
	to := first + int64(share*0.7*float64(next-first+1))
	if share > 0.85 {
		to = math.MaxInt64
	}
	return store.QueueMin{Topic: topic, QueueID: id, Offset: to}, ok
}

// lightBelow lists the numbers of the messages of a light queue below an offset: what was sent does not tell its offsets there. It is not ok when
// the disk cannot be read.
func (b *Bench) lightBelow(m store.QueueMin) (list []int, ok bool) {
	if m.Offset == math.MaxInt64 { // also those that are not there yet
		for _, s := range b.Tried {
			if slices.Contains(s.Light, m.Topic) {
				list = append(list, s.N)
			}
		}
		return list, true
	}
	for at, _, _ := b.Store.QueueRange(m.Topic, m.QueueID); at < m.Offset; {
		buf, res := b.Store.Get(&store.GetRequest{Topic: m.Topic, QueueID: m.QueueID, Offset: at, MaxCount: 1, MaxBytes: 1 << 20}, nil)
		if res.NextBeginOffset <= at || res.Status == store.GetOffsetFoundNull {
			return nil, false
		}
		at = res.NextBeginOffset
		var v protocol.MessageView
		if res.Count == 0 || at > m.Offset {
			continue // lost in a hole of the log, or behind others whose files went just now
		}
		if _, err := protocol.DecodeMessage(buf, &v); err != nil {
			return nil, false
		}
		n := 0
		if _, err := fmt.Sscanf(string(v.Body), "m%d|", &n); err != nil {
			return nil, false
		}
		list = append(list, n)
	}
	return list, true
}

// hide notes the messages of a queue that lie below an offset; light are those of a light queue.
func (b *Bench) hide(m store.QueueMin, below int64, light []int, how hiding) {
	for _, s := range b.Tried {
		if !b.Refused[s.N] && s.Topic == m.Topic && s.Queue == m.QueueID && s.Result.QueueOffset < below {
			light = append(light, s.N)
		}
	}
	for _, n := range light {
		k := hideKey{m.Topic, m.QueueID, n}
		b.hides[k] = max(b.hides[k], how)
	}
}

// loseHides is for who damages the file that says what is hidden.
func (b *Bench) loseHides() {
	for k := range b.hides {
		b.hides[k] = maybe
	}
}
