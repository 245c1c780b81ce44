package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// drainTimeout is how long a run waits for answers, or for the last messages, after it has stopped sending.
const drainTimeout = 10 * time.Second

// sender keeps one connection's window full.
type sender struct {
	run       *run
	lane      *lane // nil for e2e, which counts what arrives
	c         *conn
	templates []*template // one for each topic and queue of the connection's broker
	index     int         // of the connection
	free      chan int    // slots
	starts    []atomic.Int64
	sent      atomic.Int64 // requests
	answered  atomic.Int64
	gone      chan struct{} // closed when the reader has ended
	flushed   chan struct{} // one-way: closed when the request that ends the run is answered
}

func (r *run) newSender(ctx context.Context, index int, l *lane) (*sender, error) {
	broker := r.brokers[index%len(r.brokers)]
	c, err := dial(ctx, broker)
	if err != nil {
		return nil, err
	}
	s := &sender{run: r, lane: l, c: c, index: index, free: make(chan int, r.cfg.Window), starts: make([]atomic.Int64, r.cfg.Window), gone: make(chan struct{}), flushed: make(chan struct{})}
	for i := range r.cfg.Window {
		s.free <- i
	}
	for t := range r.cfg.Topics {
		for q := range r.cfg.Queues {
			s.templates = append(s.templates, sendTemplate(&r.cfg, r.cfg.topic(t), int32(q)))
		}
	}
	return s, nil
}

// work sends until the run is over, then waits for what is still unanswered.
func (s *sender) work(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		defer close(s.gone)
		s.readReplies()
	}()
	s.write(ctx)
	s.drain()
	_ = s.c.Close() // ends the reader
	wg.Wait()
	if lost := s.sent.Load() - s.answered.Load(); lost > 0 && !s.run.cfg.OneWay {
		s.run.meter.broken("no answer", lost, "requests without an answer when the run ended")
	}
}

func (s *sender) write(ctx context.Context) {
	cfg, clk := &s.run.cfg, s.run.clock
	for n := int64(s.index); ; n++ {
		if ctx.Err() != nil || s.run.spent() {
			break
		}
		if !s.run.pace(ctx, s.c) {
			break
		}
		slot, ok := s.slot(ctx)
		if !ok {
			break
		}
		t := s.templates[int(n%int64(len(s.templates)))]
		now := clk.Now()
		t.setOpaque(slot)
		t.setBorn(now.UnixMilli())
		for i := range cfg.Batch {
			t.setMessage(i, s.run.nextID(), cfg.Keys)
		}
		if cfg.Mode == "e2e" {
			stamp(t.buf[t.bodies[0]:], now, s.run.stamp)
		}
		s.starts[slot].Store(now.UnixNano())
		if _, err := s.c.w.Write(t.buf); err != nil {
			s.run.meter.broken("connection", 1, err.Error())
			break
		}
		s.sent.Add(1)
		if cfg.OneWay {
			s.done(slot, now)
		}
		if cfg.Mode == "e2e" {
			_ = s.c.w.Flush() // an error comes back with the next write
		}
	}
	if err := s.c.w.Flush(); err != nil {
		s.run.meter.broken("connection", 1, err.Error())
	}
}

// slot waits for room in the window. What is buffered is flushed first, since its answers make the room.
func (s *sender) slot(ctx context.Context) (int, bool) {
	select {
	case i := <-s.free:
		return i, true
	default:
	}
	if err := s.c.w.Flush(); err != nil {
		s.run.meter.broken("connection", 1, err.Error())
		return 0, false
	}
	select {
	case i := <-s.free:
		return i, true
	case <-s.gone:
	case <-ctx.Done():
	}
	return 0, false
}

// done counts a request as carried out and frees its slot.
func (s *sender) done(slot int, now time.Time) {
	if s.lane != nil {
		s.lane.messages.Add(int64(s.run.cfg.Batch))
		s.lane.bytes.Add(int64(s.run.cfg.Batch * s.run.cfg.Size))
		if !s.run.cfg.OneWay {
			s.lane.hist.record(time.Duration(now.UnixNano() - s.starts[slot].Load()))
		}
	}
	s.free <- slot
}

func (s *sender) readReplies() {
	for {
		r, isReply, err := s.c.read()
		if err != nil {
			return
		}
		if !isReply {
			continue
		}
		if s.run.cfg.OneWay {
			close(s.flushed)
			return
		}
		if r.slot < 0 || r.slot >= len(s.starts) {
			s.run.meter.broken("answer to nothing", 1, fmt.Sprintf("opaque %d", r.slot+opaqueBase))
			return
		}
		s.answered.Add(1)
		if r.code != protocol.RespSuccess {
			s.run.meter.refused(&r)
			s.free <- r.slot
			continue
		}
		s.done(r.slot, s.run.clock.Now())
	}
}

// drain waits until all requests are answered. A one-way run makes sure that the broker has read everything by a request that wants an answer.
func (s *sender) drain() {
	if s.run.cfg.OneWay {
		s.flushOneWay()
		return
	}
	t := s.run.clock.NewTimer(drainTimeout)
	defer t.Stop()
	for range len(s.starts) { // all slots back means that nothing is outstanding
		select {
		case <-s.free:
		case <-s.gone:
			return
		case <-t.C():
			return
		}
	}
}

func (s *sender) flushOneWay() {
	cmd := protocol.NewRequest(protocol.ReqGetBrokerRuntimeInfo, nil, nil)
	cmd.Opaque = opaqueBase
	if _, err := s.c.Write(protocol.AppendFrame(nil, cmd)); err != nil {
		s.run.meter.broken("connection", 1, err.Error())
		return
	}
	t := s.run.clock.NewTimer(drainTimeout)
	defer t.Stop()
	select {
	case <-s.gone:
		select {
		case <-s.flushed: // the reader has ended because it has what it waited for
		default:
			s.run.meter.broken("connection", 1, "closed before all one-way requests were read")
		}
	case <-t.C():
		s.run.meter.broken("no answer", 1, "the request after the one-way ones")
	}
}

// stamp marks a body with the time it was sent and the run it belongs to.
func stamp(body []byte, now time.Time, run uint64) {
	binary.BigEndian.PutUint64(body, uint64(now.UnixNano()))
	binary.BigEndian.PutUint64(body[8:], run)
}

// readStamp is the inverse; ok is false for a message of another run.
func readStamp(body []byte, run uint64) (sent int64, ok bool) {
	if len(body) < stampSize || binary.BigEndian.Uint64(body[8:]) != run {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(body)), true
}
