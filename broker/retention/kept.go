package retention

import (
	"container/heap"
	"context"
	"errors"
	"time"

	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/store"
)

// kept is what is known of one topic between passes.
type kept struct {
	entry   *topic.Entry
	store   Store
	windows map[int32]*window
}

// excess finds out where the topic's queues have to begin, and takes that as done.
func (t *kept) excess(ctx context.Context, now int64) ([]store.QueueMin, error) {
	if err := t.follow(ctx); err != nil {
		return nil, err
	}
	l := &t.entry.Limits
	if l.Age > 0 {
		for _, w := range t.windows {
			ms := now - l.Age.Milliseconds()
			if err := t.dropOld(w, ms, ms-slack(l.Age).Milliseconds()); err != nil {
				return nil, err
			}
		}
	}
	if err := t.trim(ctx); err != nil {
		return nil, err
	}
	var mins []store.QueueMin
	for id, w := range t.windows {
		if first, _, ok := t.store.QueueRange(t.entry.Name(), id); ok && w.from > first {
			mins = append(mins, store.QueueMin{Topic: t.entry.Name(), QueueID: id, Offset: w.from})
		}
	}
	return mins, nil
}

// follow brings the windows up to what the queues have now.
func (t *kept) follow(ctx context.Context) error {
	was := t.windows
	t.windows = make(map[int32]*window, len(was))
	for _, id := range t.store.Queues(t.entry.Name()) {
		first, next, ok := t.store.QueueRange(t.entry.Name(), id)
		if !ok {
			continue
		}
		w := was[id]
		if w == nil || next < w.to {
			w = &window{topic: t.entry.Name(), id: id, store: t.store, from: first, to: first, sized: t.entry.Limits.Bytes > 0}
		}
		t.windows[id] = w
		if err := w.beginAt(min(first, next)); err != nil {
			return err
		}
		if err := w.extend(ctx, next); err != nil {
			return err
		}
	}
	return nil
}

// slack is by how much a queue's oldest message may be beyond an age before anything is done about it: 1 %, at most 5 minutes. Then all that is
// beyond the age goes. To search a queue may read the disk, and is not to be done at every pass for a few messages.
func slack(age time.Duration) time.Duration { return min(age/100, 5*time.Minute) }

// dropOld drops the messages of w that were stored before ms, once the first one was stored before due.
func (t *kept) dropOld(w *window, ms, due int64) error {
	if w.from == w.to {
		return nil
	}
	if w.timeOf != w.from || w.time == 0 {
		at, err := t.store.StoreTime(w.topic, w.id, w.from)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		w.timeOf, w.time = w.from, at // 0: the record is gone, which counts as old
	}
	if w.time >= due {
		return nil
	}
	to, err := t.store.OffsetByTime(w.topic, w.id, ms, store.Lower)
	if errors.Is(err, store.ErrNotFound) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	return w.beginAt(min(to, w.to))
}

// trim drops messages, oldest first over all queues, until the topic is within its limits of bytes and messages.
func (t *kept) trim(ctx context.Context) error {
	l := &t.entry.Limits
	var bytes, messages int64
	for _, w := range t.windows {
		bytes, messages = bytes+w.size, messages+w.to-w.from
	}
	over := func() bool { return l.Bytes > 0 && bytes > l.Bytes || l.Messages > 0 && messages > l.Messages }
	if !over() {
		return nil
	}
	var oldest byPosition
	for _, w := range t.windows {
		if w.from == w.to {
			continue
		}
		if err := w.look(); err != nil {
			return err
		}
		oldest = append(oldest, w)
	}
	heap.Init(&oldest)
	for over() && len(oldest) > 0 && ctx.Err() == nil {
		w := oldest[0]
		size, n, err := w.drop()
		if err != nil {
			return err
		}
		if bytes, messages = bytes-size, messages-n; w.from == w.to {
			heap.Pop(&oldest)
		} else {
			heap.Fix(&oldest, 0)
		}
	}
	for _, w := range t.windows {
		w.head = nil
	}
	return nil
}

// byPosition is a heap of windows, the one whose first message comes first in the log on top. All of them have looked.
type byPosition []*window

func (h byPosition) Len() int { return len(h) }
func (h byPosition) Less(i, j int) bool {
	return h[i].head[0].PhysicalOffset < h[j].head[0].PhysicalOffset
}
func (h byPosition) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push is never used: windows only leave.
func (h *byPosition) Push(x any) { *h = append(*h, x.(*window)) }

// Pop takes the last one.
func (h *byPosition) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
