// Package retention keeps topics within the limits that their attributes set: age, bytes and number of messages.
//
// A Keeper looks at the topics with limits every few seconds and raises the first offsets of their queues; the store hides what lies
// below, and its log, which all topics share, is not touched. Bytes and messages are counted over all queues of a topic, and its oldest
// messages in the order of the log go first, whatever queue they are in. In topics with queue.type=BatchCQ a record is several messages; it
// counts as all of them, and goes or stays as a whole.
//
// A pass costs nothing for a topic whose oldest message is young and whose counts did not change: ages are remembered. For a limit of
// bytes every queue unit is read once when it is new, and once when it goes; a start reads all of them. For a limit of messages only
// units that go are read.
//
// A Keeper belongs to one goroutine, that of Run; Hidden may be called from any.
package retention

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/store"
)

// Every is the time between two passes: limits are exceeded by what comes in that time.
const Every = 10 * time.Second

const logEvery = time.Minute

// Store is what a Keeper needs of the store.
type Store interface {
	Queues(topic string) []int32
	QueueRange(topic string, queueID int32) (first, next int64, ok bool)
	QueueUnits(topic string, queueID int32, offset int64, max int) ([]store.QueueUnit, error)
	StoreTime(topic string, queueID int32, offset int64) (int64, error)
	OffsetByTime(topic string, queueID int32, ms int64, b store.Boundary) (int64, error)
	Raise(mins []store.QueueMin) ([]int64, error)
}

// Options are what a Keeper is made of.
type Options struct {
	Store Store
	// Topics lists the topics with limits. An entry that is another than before has its queues counted anew.
	Topics func() []*topic.Entry
	Clock  clock.Clock
	Log    *xlog.Logger
}

// Keeper keeps topics within their limits.
type Keeper struct {
	o      Options
	topics map[string]*kept
	hidden atomic.Int64
}

// New returns a Keeper that has not looked at anything yet.
func New(o Options) *Keeper { return &Keeper{o: o, topics: map[string]*kept{}} }

// Hidden is how many messages went since the start.
func (k *Keeper) Hidden() int64 { return k.hidden.Load() }

// Run makes a pass at once and then one after each Every, until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	t := k.o.Clock.NewTimer(Every)
	defer t.Stop()
	for {
		if err := k.Pass(ctx); err != nil && ctx.Err() == nil {
			k.o.Log.Limited(k.o.Clock, "retention", logEvery).Errorf("topics are not kept within their limits, next try in %v: %v", Every, err)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C():
			t.Reset(Every)
		}
	}
}

// Pass hides what is over the limits now. What fails for one topic does not keep the others from it.
func (k *Keeper) Pass(ctx context.Context) error {
	now := clock.Millis(k.o.Clock)
	entries := k.o.Topics()
	topics := make(map[string]*kept, len(entries))
	var mins []store.QueueMin
	var failed error
	for _, e := range entries {
		t := k.topics[e.Name()]
		if t == nil || t.entry != e {
			t = &kept{entry: e, store: k.o.Store}
		}
		topics[e.Name()] = t
		more, err := t.excess(ctx, now)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("topic %s: %w", e.Name(), err))
			delete(topics, e.Name()) // counted anew
			continue
		}
		mins = append(mins, more...)
	}
	k.topics = topics
	if len(mins) == 0 || ctx.Err() != nil {
		return failed
	}
	hidden, err := k.o.Store.Raise(mins)
	if errors.Is(err, store.ErrNotFound) {
		return failed // a queue was deleted meanwhile; the others come with the next pass
	}
	for _, n := range hidden {
		k.hidden.Add(n)
	}
	return errors.Join(failed, err)
}
