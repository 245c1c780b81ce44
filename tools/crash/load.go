// Package crash kills real brokers under load and looks at what they have when they come back. It needs the product's
// programs only; its tests run with the build tag crash (make test-crash).
//
// Load is what a careful user would do: every message is unique, and what the broker acknowledged is remembered with
// the place that the broker named. Check reads all queues back and compares.
//
// TestKill... of a service (transactions, delays and recalls, retries, filters, order, request-reply, resets) use that service through Peer
// while the broker is killed, and look afterwards that it came to its end: see service and killService.
package crash

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// Place is a position in a topic.
type Place struct {
	Queue  int32
	Offset int64
}

// Stored is a message as a broker has it.
type Stored struct {
	Phys, Size int64 // in the commit log
	Body       string
}

// Book is what was sent and what was acknowledged. Safe for concurrent use.
type Book struct {
	mu    sync.Mutex
	acked map[Place]string  // body
	sent  map[string]string // bodies by themselves, acknowledged or not
	uniq  map[string]string
	seen  map[Place]string // what a check found, which must stay
	errs  map[string]int
}

// NewBook returns an empty book.
func NewBook() *Book {
	return &Book{acked: map[Place]string{}, sent: map[string]string{}, uniq: map[string]string{}, seen: map[Place]string{}, errs: map[string]int{}}
}

// Acked is the number of acknowledged messages.
func (b *Book) Acked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.acked)
}

// Errors are the refusals seen, by text.
func (b *Book) Errors() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string]int{}
	for k, v := range b.errs {
		out[k] = v
	}
	return out
}

func newClient() *remoting.Client {
	return remoting.NewClient(remoting.ClientOptions{Common: remoting.Common{Clock: clock.Real{}, Logger: xlog.Discard()}})
}

// Load sends until ctx ends or the connection breaks: conns connections with window requests in flight each.
func Load(ctx context.Context, book *Book, addr, topic string, queues, conns, window int, run string) {
	var wg sync.WaitGroup
	for c := range conns {
		wg.Add(1)
		go func() {
			defer wg.Done()
			cl := newClient()
			defer cl.Close()
			var inner sync.WaitGroup
			for w := range window {
				inner.Add(1)
				go func() {
					defer inner.Done()
					sender(ctx, cl, book, addr, topic, queues, fmt.Sprintf("%s/%d/%d", run, c, w))
				}()
			}
			inner.Wait()
		}()
	}
	wg.Wait()
}

// sender sends one message after the other; bodies of one sender are numbered.
func sender(ctx context.Context, cl *remoting.Client, book *Book, addr, topic string, queues int, who string) {
	rng := rand.New(rand.NewPCG(uint64(protocol.JavaHash(who)), 1))
	for n := 0; ctx.Err() == nil; n++ {
		body := fmt.Sprintf("%s #%d ", who, n)
		pad := strings.Repeat(string(rune(0x61+n%26)), rng.IntN(1024))
		full := body + pad
		uniq := fmt.Sprintf("%032X", protocol.JavaHash(full))[:16] + fmt.Sprintf("%016X", rng.Uint64())
		h := &protocol.SendMessageRequestHeader{ProducerGroup: "crash", Topic: topic, DefaultTopic: "TBW102", DefaultTopicQueueNums: 4,
			QueueID: int32(n % queues), BornTimestamp: time.Now().UnixMilli(), Properties: "UNIQ_KEY\x01" + uniq + "\x02KEYS\x01" + who + "\x02WAIT\x01true\x02"}
		book.mu.Lock()
		book.sent[full] = full
		book.mu.Unlock()
		call, cancel := context.WithTimeout(ctx, 5*time.Second)
		r, err := cl.Invoke(call, addr, protocol.NewRequest(protocol.ReqSendMessage, h, []byte(full)))
		cancel()
		if err != nil {
			return // killed
		}
		if r.Code != protocol.RespSuccess {
			book.mu.Lock()
			book.errs[fmt.Sprintf("%d %s", r.Code, r.Remark)]++
			book.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
			continue
		}
		var rh protocol.SendMessageResponseHeader
		if err := rh.DecodeExt(r.Ext); err != nil {
			return
		}
		book.mu.Lock()
		book.acked[Place{rh.QueueID, rh.QueueOffset}] = full
		book.uniq[full] = uniq
		book.mu.Unlock()
	}
}

// Check reads every queue from its start and reports what is wrong: acknowledged messages that are missing or altered,
// messages that nobody sent, that stand twice, out of their sender's order, or that an earlier check saw elsewhere.
func Check(ctx context.Context, book *Book, addr, topic string, queues int) (messages int, err error) {
	cl := newClient()
	defer cl.Close()
	book.mu.Lock()
	defer book.mu.Unlock()
	var errs []error
	fail := func(format string, a ...any) {
		if len(errs) < 20 {
			errs = append(errs, fmt.Errorf(format, a...))
		}
	}
	got := map[Place]string{}
	where := map[string]Place{}
	for q := range int32(queues) {
		last := map[string]int{}
		min, max, err := queueRange(ctx, cl, addr, topic, q)
		if err != nil {
			return 0, err
		}
		if min != 0 {
			fail("queue %d begins at %d", q, min)
		}
		for off := min; off < max; {
			recs, next, err := pull(ctx, cl, addr, topic, q, off)
			if err != nil {
				return 0, fmt.Errorf("queue %d at %d of %d: %w", q, off, max, err)
			}
			for i, m := range recs {
				at := Place{q, m.QueueOffset}
				if m.QueueOffset != off+int64(i) || m.QueueID != q {
					fail("queue %d: record %d says it is %d of queue %d", q, off+int64(i), m.QueueOffset, m.QueueID)
				}
				body := string(m.Body)
				if sent, ok := book.sent[body]; ok {
					body = sent // one copy is enough
				} else {
					fail("queue %d at %d: nobody sent %.40q", q, m.QueueOffset, body)
				}
				if old, twice := where[body]; twice {
					fail("%.40q stands twice: %v and %v", body, old, at)
				}
				where[body], got[at] = at, body
				var who string
				var n int
				if _, err := fmt.Sscanf(body, "%s #%d ", &who, &n); err == nil {
					if before, ok := last[who]; ok && n <= before {
						fail("queue %d at %d: %s #%d after #%d", q, m.QueueOffset, who, n, before)
					}
					last[who] = n
				}
			}
			if next <= off {
				return 0, fmt.Errorf("queue %d: no progress at %d of %d", q, off, max)
			}
			off = next
		}
	}
	for at, body := range book.acked {
		if got[at] != body {
			fail("acknowledged at %v: %.40q, there is %.40q", at, body, got[at])
		}
	}
	for at, body := range book.seen {
		if got[at] != body {
			fail("was served at %v: %.40q, now %.40q", at, body, got[at])
		}
	}
	sample := 0
	for body, uniq := range book.uniq {
		if sample++; sample > 20 {
			break
		}
		if err := findByKey(ctx, cl, addr, topic, uniq, body); err != nil {
			fail("by unique key %s of %.40q: %w", uniq, body, err)
		}
	}
	book.seen = got
	return len(got), errors.Join(errs...)
}

func queueRange(ctx context.Context, cl *remoting.Client, addr, topic string, q int32) (min, max int64, err error) {
	ask := func(code int32, h protocol.HeaderEncoder) (int64, error) {
		r, err := cl.Invoke(ctx, addr, protocol.NewRequest(code, h, nil))
		if err != nil {
			return 0, err
		}
		if r.Code != protocol.RespSuccess {
			return 0, fmt.Errorf("code %d %s", r.Code, r.Remark)
		}
		var rh protocol.GetMaxOffsetResponseHeader
		err = rh.DecodeExt(r.Ext)
		return rh.Offset, err
	}
	if min, err = ask(protocol.ReqGetMinOffset, &protocol.GetMinOffsetRequestHeader{Topic: topic, QueueID: q}); err != nil {
		return 0, 0, err
	}
	max, err = ask(protocol.ReqGetMaxOffset, &protocol.GetMaxOffsetRequestHeader{Topic: topic, QueueID: q})
	return min, max, err
}

// pullSubscription: sysFlag bit for a subscription in the request.
const pullSubscription = 4

func pull(ctx context.Context, cl *remoting.Client, addr, topic string, q int32, off int64) ([]protocol.MessageView, int64, error) {
	r, err := cl.Invoke(ctx, addr, protocol.NewRequest(protocol.ReqPullMessage, &protocol.PullMessageRequestHeader{
		ConsumerGroup: "crash-check", Topic: topic, QueueID: q, QueueOffset: off, MaxMsgNums: 64, SysFlag: pullSubscription,
		Subscription: "*", ExpressionType: "TAG"}, nil))
	if err != nil {
		return nil, 0, err
	}
	var rh protocol.PullMessageResponseHeader
	if err := rh.DecodeExt(r.Ext); err != nil && r.Code == protocol.RespSuccess {
		return nil, 0, err
	}
	if r.Code != protocol.RespSuccess {
		return nil, 0, &refused{r.Code, rh.NextBeginOffset, r.Remark}
	}
	var out []protocol.MessageView
	for b := r.Body; len(b) > 0; {
		var m protocol.MessageView
		n, err := protocol.DecodeMessage(b, &m)
		if err != nil {
			return nil, 0, err
		}
		out, b = append(out, m), b[n:]
	}
	return out, rh.NextBeginOffset, nil
}

func findByKey(ctx context.Context, cl *remoting.Client, addr, topic, uniq, body string) error {
	req := protocol.NewRequest(protocol.ReqQueryMessage, &protocol.QueryMessageRequestHeader{Topic: topic, Key: uniq, MaxNum: 8, EndTimestamp: 1 << 61}, nil)
	req.Ext = append(req.Ext, protocol.ExtField{Key: "_UNIQUE_KEY_QUERY", Value: "true"})
	r, err := cl.Invoke(ctx, addr, req)
	if err != nil {
		return err
	}
	if r.Code != protocol.RespSuccess {
		return fmt.Errorf("code %d %s", r.Code, r.Remark)
	}
	var m protocol.MessageView
	if _, err := protocol.DecodeMessage(r.Body, &m); err != nil {
		return err
	}
	if string(m.Body) != body || binary.BigEndian.Uint32(r.Body) != uint32(len(r.Body)) {
		return fmt.Errorf("found %.40q", m.Body)
	}
	return nil
}

// Snapshot returns a copy that load does not change any more.
func (b *Book) Snapshot() *Book {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := NewBook()
	for k, v := range b.acked {
		n.acked[k] = v
	}
	for k := range b.sent {
		n.sent[k] = k
	}
	for k, v := range b.uniq {
		n.uniq[k] = v
	}
	return n
}

// CheckDamaged reads all queues as far as they go. Every message must be one that was sent, unaltered and not twice. Unless
// logDamaged, each must also stand where it was acknowledged.
func CheckDamaged(ctx context.Context, book *Book, addr, topic string, queues int, logDamaged bool) (messages int, err error) {
	b := book.Snapshot()
	if !logDamaged {
		return Check(ctx, b, addr, topic, queues)
	}
	cl := newClient()
	defer cl.Close()
	seen := map[string]bool{}
	for q := range int32(queues) {
		min, max, err := queueRange(ctx, cl, addr, topic, q)
		if err != nil {
			return 0, err
		}
		for off := min; off < max; {
			recs, next, err := pull(ctx, cl, addr, topic, q, off)
			if err != nil {
				if moved, ok := movedTo(err); ok && moved > off {
					off = moved
					continue
				}
				return 0, fmt.Errorf("queue %d at %d of %d: %w", q, off, max, err)
			}
			for _, m := range recs {
				body := string(m.Body)
				if _, ok := b.sent[body]; !ok {
					return 0, fmt.Errorf("queue %d at %d: nobody sent %.40q", q, m.QueueOffset, body)
				}
				if seen[body] {
					return 0, fmt.Errorf("queue %d at %d: %.40q stands twice", q, m.QueueOffset, body)
				}
				seen[body] = true
				if want, ok := b.acked[Place{q, m.QueueOffset}]; ok && want != body {
					return 0, fmt.Errorf("queue %d at %d: %.40q, acknowledged there was %.40q", q, m.QueueOffset, body, want)
				}
			}
			if next <= off {
				return 0, fmt.Errorf("queue %d: no progress at %d of %d", q, off, max)
			}
			off = next
		}
	}
	return len(seen), nil
}

// refused is a pull that was answered with another place to go on at.
type refused struct {
	code int32
	next int64
	text string
}

func (r *refused) Error() string {
	return fmt.Sprintf("code %d %s, go on at %d", r.code, r.text, r.next)
}

func movedTo(err error) (int64, bool) {
	var r *refused
	if errors.As(err, &r) && (r.code == protocol.RespPullOffsetMoved || r.code == protocol.RespPullRetryImmediately) {
		return r.next, true
	}
	return 0, false
}

// ReadAll reads all queues as far as they go, past what is missing.
func ReadAll(ctx context.Context, addr, topic string, queues int) (map[Place]Stored, error) {
	cl := newClient()
	defer cl.Close()
	out := map[Place]Stored{}
	for q := range int32(queues) {
		min, max, err := queueRange(ctx, cl, addr, topic, q)
		if err != nil {
			return nil, err
		}
		for off := min; off < max; {
			recs, next, err := pull(ctx, cl, addr, topic, q, off)
			if moved, ok := movedTo(err); ok && moved > off {
				next = moved
			} else if err != nil || next <= off {
				return nil, fmt.Errorf("queue %d at %d of %d, next %d: %w", q, off, max, next, err)
			}
			for _, m := range recs {
				out[Place{q, m.QueueOffset}] = Stored{m.PhysicalOffset, int64(m.Size), string(m.Body)}
			}
			off = next
		}
	}
	return out, nil
}

// CommitOffset sets a group's consumer offset as a consumer does.
func CommitOffset(ctx context.Context, addr, group, topic string, queue int32, offset int64) error {
	cl := newClient()
	defer cl.Close()
	r, err := cl.Invoke(ctx, addr, protocol.NewRequest(protocol.ReqUpdateConsumerOffset, &protocol.UpdateConsumerOffsetRequestHeader{
		ConsumerGroup: group, Topic: topic, QueueID: queue, CommitOffset: offset}, nil))
	if err == nil && r.Code != protocol.RespSuccess {
		err = fmt.Errorf("code %d %s", r.Code, r.Remark)
	}
	return err
}

// QueryOffset asks for a group's consumer offset; ok is false when the broker knows none.
func QueryOffset(ctx context.Context, addr, group, topic string, queue int32) (offset int64, ok bool, err error) {
	cl := newClient()
	defer cl.Close()
	r, err := cl.Invoke(ctx, addr, protocol.NewRequest(protocol.ReqQueryConsumerOffset, &protocol.QueryConsumerOffsetRequestHeader{
		ConsumerGroup: group, Topic: topic, QueueID: queue}, nil))
	switch {
	case err != nil:
		return 0, false, err
	case r.Code == protocol.RespQueryNotFound:
		return 0, false, nil
	case r.Code != protocol.RespSuccess:
		return 0, false, fmt.Errorf("code %d %s", r.Code, r.Remark)
	}
	var rh protocol.QueryConsumerOffsetResponseHeader
	err = rh.DecodeExt(r.Ext)
	return rh.Offset, true, err
}
