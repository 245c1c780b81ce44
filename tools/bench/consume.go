package bench

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// cursor is one group's place in one queue. Its connection's goroutine owns it.
type cursor struct {
	broker string
	header protocol.PullMessageRequestHeader
	lane   *lane
	asked  time.Time // when the pull that is outstanding was sent
}

// cursors makes one for each group, broker, topic and queue, at the beginning or the end of its queue.
func (r *run) cursors(ctx context.Context) ([]*cursor, error) {
	var all []*cursor
	for _, broker := range r.brokers {
		for t := range r.cfg.Topics {
			for q := range r.cfg.Queues {
				for g := range r.cfg.Groups {
					all = append(all, &cursor{broker: broker, header: protocol.PullMessageRequestHeader{
						ConsumerGroup: r.cfg.group(g), Topic: r.cfg.topic(t), QueueID: int32(q), MaxMsgNums: int32(r.cfg.pullBatch()),
						SysFlag: protocol.PullFlagSubscription, Subscription: r.cfg.Filter, ExpressionType: "TAG",
					}})
				}
			}
		}
	}
	var eg errgroup.Group
	eg.SetLimit(16)
	for _, c := range all {
		if r.cfg.Follow {
			c.header.SysFlag |= protocol.PullFlagSuspend
			c.header.SuspendTimeoutMillis = r.cfg.Poll.Milliseconds()
		}
		eg.Go(func() (err error) {
			q := protocol.MessageQueue{Topic: c.header.Topic, QueueID: c.header.QueueID}
			if r.cfg.FromEnd {
				c.header.QueueOffset, err = r.admin.MaxOffset(ctx, c.broker, q)
			} else {
				c.header.QueueOffset, err = r.admin.MinOffset(ctx, c.broker, q)
			}
			return err
		})
	}
	return all, eg.Wait()
}

func (c *Config) pullBatch() int {
	if c.Mode == "consume" && c.Batch > 1 {
		return c.Batch
	}
	return 32
}

// puller keeps one pull outstanding for each of its cursors.
type puller struct {
	run     *run
	c       *conn
	cursors []*cursor
	frame   []byte
	cmd     protocol.Command
	view    protocol.MessageView
	open    int
}

// newPullers spreads the cursors of each broker over its share of the connections.
func (r *run) newPullers(ctx context.Context, all []*cursor, lanes []*lane) ([]*puller, error) {
	byBroker := map[string][]*puller{}
	var out []*puller
	for i := range min(r.cfg.Conns, len(all)) {
		broker := r.brokers[i%len(r.brokers)]
		c, err := dial(ctx, broker)
		if err != nil {
			closeAll(out)
			return nil, err
		}
		p := &puller{run: r, c: c}
		byBroker[broker] = append(byBroker[broker], p)
		out = append(out, p)
	}
	next := map[string]int{}
	for _, cur := range all {
		ps := byBroker[cur.broker]
		if len(ps) == 0 { // fewer connections than brokers
			c, err := dial(ctx, cur.broker)
			if err != nil {
				closeAll(out)
				return nil, err
			}
			p := &puller{run: r, c: c}
			ps = []*puller{p}
			byBroker[cur.broker], out = ps, append(out, p)
		}
		i := next[cur.broker]
		next[cur.broker]++
		p := ps[i%len(ps)]
		cur.lane = lanes[i%len(lanes)]
		p.cursors = append(p.cursors, cur)
	}
	return out, nil
}

func closeAll(ps []*puller) {
	for _, p := range ps {
		_ = p.c.Close()
	}
}

// work pulls until ctx ends, or until all queues are read to their end.
func (p *puller) work(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() { _ = p.c.Close() }) // ends a read that waits
	defer stop()
	defer p.c.Close()
	err := p.start()
	for err == nil && p.open > 0 {
		if p.c.r.Buffered() == 0 {
			if err = p.c.w.Flush(); err != nil {
				break
			}
		}
		var r reply
		var isReply bool
		if r, isReply, err = p.c.read(); err == nil && isReply {
			err = p.handle(&r)
		}
	}
	if err != nil && ctx.Err() == nil {
		p.run.meter.broken("connection", 1, err.Error())
	}
}

func (p *puller) start() error {
	for i := range p.cursors {
		p.open++
		if err := p.pull(i); err != nil {
			return err
		}
	}
	return nil
}

// pull sends the next pull of a cursor; its slot is the cursor's index.
func (p *puller) pull(i int) error {
	cmd := protocol.Command{Code: protocol.ReqPullMessage, Language: protocol.LanguageGo, Version: protocol.CurrentVersion,
		Opaque: int32(opaqueBase + i), Header: &p.cursors[i].header}
	if p.run.cfg.Binary {
		cmd.Serialize = protocol.SerializeRocketMQ
	}
	p.cursors[i].asked = p.run.clock.Now()
	p.frame = protocol.AppendFrame(p.frame[:0], &cmd)
	_, err := p.c.w.Write(p.frame)
	return err
}

func (p *puller) handle(r *reply) error {
	if r.slot < 0 || r.slot >= len(p.cursors) {
		p.run.meter.broken("answer to nothing", 1, "")
		return nil
	}
	cur := p.cursors[r.slot]
	switch r.code {
	case protocol.RespSuccess:
		if p.run.cfg.Mode == "consume" { // the time of one pull; an e2e run measures messages
			cur.lane.hist.record(p.run.clock.Now().Sub(cur.asked))
		}
		p.take(cur, r.body)
	case protocol.RespPullNotFound:
		if !p.run.cfg.Follow {
			p.open--
			return nil
		}
	case protocol.RespPullRetryImmediately, protocol.RespPullOffsetMoved:
	default: // asking again at once would be a storm of errors
		p.run.meter.refused(r)
		p.open--
		return nil
	}
	h, err := r.pullHeader(&p.cmd)
	if err != nil {
		return err
	}
	if h.NextBeginOffset == cur.header.QueueOffset && !p.run.cfg.Follow {
		p.open--
		return nil
	}
	cur.header.QueueOffset = h.NextBeginOffset
	if p.run.spentBy(0) {
		p.open--
		return nil
	}
	return p.pull(r.slot)
}

// take counts the records of an answer, and, in an e2e run, how long they took.
func (p *puller) take(cur *cursor, b []byte) {
	cur.lane.bytes.Add(int64(len(b)))
	var n int64
	for len(b) >= 4 {
		size := int(binary.BigEndian.Uint32(b))
		if size <= 4 || size > len(b) {
			p.run.meter.broken("damaged record", 1, "")
			break
		}
		if p.run.cfg.Mode == "e2e" {
			n += p.arrived(cur, b[:size])
		} else {
			n++
		}
		b = b[size:]
	}
	cur.lane.messages.Add(n)
	p.run.spentBy(n)
}

// arrived is 1 for a message of this run.
func (p *puller) arrived(cur *cursor, record []byte) int64 {
	if _, err := protocol.DecodeMessage(record, &p.view); err != nil {
		p.run.meter.broken("damaged record", 1, err.Error())
		return 0
	}
	sent, ok := readStamp(p.view.Body, p.run.stamp)
	if !ok {
		return 0
	}
	cur.lane.hist.record(time.Duration(p.run.clock.Now().UnixNano() - sent))
	p.run.received.Add(1)
	return 1
}

// consume reads all queues, with as many connections as there are.
func (r *run) consume(ctx context.Context) error {
	all, err := r.cursors(ctx)
	if err != nil {
		return err
	}
	pullers, err := r.newPullers(ctx, all, r.meter.lanes)
	if err != nil {
		return err
	}
	r.begin()
	workAll(ctx, pullers)
	return nil
}

func workAll(ctx context.Context, pullers []*puller) {
	var wg sync.WaitGroup
	for _, p := range pullers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			p.work(ctx)
		}()
	}
	wg.Wait()
}
