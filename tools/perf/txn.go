package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// transacting is a load of transactions: each connection keeps its window full of half messages, and commits each as soon as its
// answer is there, one way, as stock producers do.
type transacting struct {
	addr          string
	topic         string
	conns, window int
	size          int // of the bodies
	time          time.Duration
}

// commitLimit is how long the last commits may take to arrive without any progress.
const commitLimit = 5 * time.Second

// run sends until the time is over, and waits until all that was committed is in the topic. The rate is over both.
func (l *transacting) run(ctx context.Context) (f figures, err error) {
	sendCtx, cancel := context.WithTimeout(ctx, l.time)
	defer cancel()
	before, err := stored(l.addr, l.topic)
	if err != nil {
		return f, err
	}
	producers := make([]*producer, l.conns)
	for i := range producers {
		c, err := net.Dial("tcp", l.addr)
		if err != nil {
			return f, err
		}
		defer c.Close()
		producers[i] = newProducer(l, c, i)
	}
	began := time.Now()
	var wg sync.WaitGroup
	for _, p := range producers {
		wg.Add(2)
		go func() {
			defer wg.Done()
			p.read()
		}()
		go func() {
			defer wg.Done()
			p.write(sendCtx)
		}()
	}
	wg.Wait()
	committed := int64(0)
	for _, p := range producers {
		committed += p.committed
		f.errors += p.refused.Load()
	}
	arrived, took, err := l.await(ctx, before+committed, began)
	if err != nil {
		return f, err
	}
	if arrived > before+committed {
		return f, fmt.Errorf("%d transactions were committed, %d messages came", committed, arrived-before)
	}
	f.errors += before + committed - arrived
	f.rate = float64(arrived-before) / took.Seconds()
	f.count = arrived - before
	return f, nil
}

// await waits until so many messages are in the topic, or none came for a while. It returns how many there are, and when the last came.
func (l *transacting) await(ctx context.Context, want int64, began time.Time) (n int64, took time.Duration, err error) {
	for last := time.Now(); ; {
		now, err := stored(l.addr, l.topic)
		if err != nil {
			return 0, 0, err
		}
		if now > n {
			n, last = now, time.Now()
		}
		if n >= want || time.Since(last) > commitLimit {
			return n, last.Sub(began), nil
		}
		if err := settle(ctx, 5*time.Millisecond); err != nil {
			return 0, 0, err
		}
	}
}

// stored is how many messages a topic has.
func stored(addr, topic string) (n int64, err error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	r := bufio.NewReader(c)
	var buf []byte
	for q := range int32(queues) {
		frame := protocol.AppendFrame(nil, protocol.NewRequest(protocol.ReqGetMaxOffset, &protocol.GetMaxOffsetRequestHeader{Topic: topic, QueueID: q}, nil))
		if _, err := c.Write(frame); err != nil {
			return 0, err
		}
		header, _, err := readFrame(r, &buf)
		if err != nil {
			return 0, err
		}
		at, ok := number(header, `"offset":"`)
		if !ok {
			return 0, fmt.Errorf("max offset: %s", header)
		}
		n += int64(at)
	}
	return n, nil
}

// producer is one connection. write owns the frame and committed.
type producer struct {
	l                  *transacting
	c                  net.Conn
	index              int
	frame              []byte
	opaque, queue, key int // positions in frame
	done               chan half
	gone               chan struct{}
	refused            atomic.Int64
	committed          int64
}

// half is a half message that was answered.
type half struct {
	slot           int
	ok             bool
	queueAt, logAt int64
}

func newProducer(l *transacting, c net.Conn, index int) *producer {
	p := &producer{l: l, c: c, index: index, done: make(chan half, l.window), gone: make(chan struct{})}
	props := protocol.AppendProperty(nil, protocol.PropertyUniqKey, keyMark)
	props = protocol.AppendProperty(props, protocol.PropertyTransactionPrepared, "true")
	props = protocol.AppendProperty(props, protocol.PropertyProducerGroup, "perf")
	props = protocol.AppendProperty(props, protocol.PropertyWait, "true")
	cmd := protocol.NewRequest(protocol.ReqSendMessageV2, &protocol.SendMessageV2RequestHeader{ProducerGroup: "perf", Topic: l.topic,
		DefaultTopic: protocol.DefaultTopic, DefaultTopicQueueNums: 4, BornTimestamp: time.Now().UnixMilli(), Properties: string(props),
		SysFlag: protocol.SysFlagTransactionPrepared, ReconsumeTimes: protocol.Some(int32(0)), UnitMode: protocol.Some(false),
		Batch: protocol.Some(false), BrokerName: "perf"}, bytes.Repeat([]byte("a"), l.size))
	cmd.Opaque = opaqueBase
	p.frame = protocol.AppendFrame(nil, cmd)
	p.opaque = bytes.Index(p.frame, []byte(strconv.Itoa(opaqueBase)))
	p.queue = bytes.Index(p.frame, []byte(`"e":"0"`)) + len(`"e":"`)
	p.key = bytes.Index(p.frame, []byte(keyMark))
	return p
}

// write keeps the window full, then commits what is still to be answered.
func (p *producer) write(ctx context.Context) {
	defer p.c.Close()
	w := bufio.NewWriterSize(p.c, 64<<10)
	var end []byte
	open := 0
	for n := int64(0); ; {
		if ctx.Err() == nil && open < p.l.window {
			p.patch(open, n)
			if _, err := w.Write(p.frame); err != nil {
				return // the reader finds the connection gone
			}
			n++
			open++
			continue
		}
		h, ok := p.next(w, open)
		if !ok {
			break
		}
		if open--; !h.ok {
			continue
		}
		end = appendEnd(end[:0], p.l.topic, &h)
		if _, err := w.Write(end); err != nil {
			return
		}
		p.committed++
	}
	w.Flush() // as above
	p.half()
}

// next is the next answered half message; false when none is open or the connection is gone.
func (p *producer) next(w *bufio.Writer, open int) (half, bool) {
	if open == 0 {
		return half{}, false
	}
	select {
	case h := <-p.done:
		return h, true
	default:
	}
	w.Flush()
	late := time.NewTimer(drainLimit)
	defer late.Stop()
	select {
	case h := <-p.done:
		return h, true
	case <-p.gone:
	case <-late.C:
	}
	return half{}, false
}

// half closes the sending side, so that all that was written is read before the connection ends.
func (p *producer) half() {
	if c, ok := p.c.(*net.TCPConn); ok && c.CloseWrite() == nil {
		<-p.gone
	}
}

func (p *producer) patch(slot int, n int64) {
	digits(p.frame[p.opaque:], opaqueBase+slot, 10)
	n = n*int64(p.l.conns) + int64(p.index)
	p.frame[p.queue] = '0' + byte(n%queues)
	digits(p.frame[p.key:], int(n), 16)
}

// appendEnd appends the frame of a commit.
func appendEnd(dst []byte, topic string, h *half) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	dst = append(dst, `{"code":37,"extFields":{"commitLogOffset":"`...)
	dst = strconv.AppendInt(dst, h.logAt, 10)
	dst = append(dst, `","commitOrRollback":"8","fromTransactionCheck":"false","msgId":"0123456789ABCDEF0123456789ABCDEF","producerGroup":"perf","topic":"`...)
	dst = append(dst, topic...)
	dst = append(dst, `","tranStateTableOffset":"`...)
	dst = strconv.AppendInt(dst, h.queueAt, 10)
	dst = append(dst, `"},"flag":2,"language":"JAVA","opaque":7,"serializeTypeCurrentRPC":"JSON","version":`...)
	return closeFrame(append(strconv.AppendInt(dst, int64(protocol.CurrentVersion), 10), '}'), at)
}

// closeFrame writes the lengths of a frame without body that begins at at.
func closeFrame(b []byte, at int) []byte {
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	binary.BigEndian.PutUint32(b[at+4:], uint32(len(b)-at-8))
	return b
}

func (p *producer) read() {
	defer close(p.gone)
	r := bufio.NewReaderSize(p.c, 64<<10)
	var buf []byte
	for {
		header, _, err := readFrame(r, &buf)
		if err != nil {
			return
		}
		h, err := answered(header)
		if err != nil {
			p.refused.Add(1)
		}
		p.done <- h
	}
}

var errRefused = errors.New("refused")

// answered reads the answer to a half message.
func answered(header []byte) (half, error) {
	if code, ok := number(header, `"code":`); !ok || code != 0 {
		return half{}, fmt.Errorf("%w: %s", errRefused, header)
	}
	const key, idSize, logDigits = `"msgId":"`, 32, 16
	i := bytes.Index(header, []byte(key)) + len(key)
	at, ok := number(header, `"queueOffset":"`)
	if i < len(key) || len(header) < i+idSize || !ok {
		return half{}, fmt.Errorf("%w: %s", errRefused, header)
	}
	log, err := strconv.ParseInt(string(header[i+idSize-logDigits:i+idSize]), 16, 64)
	return half{ok: err == nil, queueAt: int64(at), logAt: log}, err
}
