package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

const (
	queues     = 8    // of each topic
	bodySize   = 1024 // bytes
	drainLimit = 15 * time.Second
)

// sending is a load of sends: each connection keeps its window full, and goes through all queues of all topics in turn. There
// is one encoded frame a connection, in which topic, queue, key and number are patched, so that 10,000 topics cost the generator
// what one costs. Any server that answers in JSON headers can be loaded.
type sending struct {
	addr          string
	conns, window int
	prefix        string // topics are called prefix00000 and so on
	topics        int
	rate          float64 // messages a second in all; 0: no limit
	time          time.Duration
	messages      int64 // stop after so many; 0: only time
	uniqueKeys    bool  // a UNIQ_KEY for each message, as real clients send it
	size          int   // of the bodies; 0: bodySize
	varied        *varied
}

// varied is a property that each message has with a value of its own.
type varied struct {
	name   string
	digits int
	value  func(n int64) int // of the n-th message of all
}

// filler is the value in the frame before it is patched.
func (v *varied) filler() string { return strings.Repeat("9", v.digits) }

// topicName has the same length for all i.
func topicName(prefix string, i int) string { return fmt.Sprintf("%s%05d", prefix, i) }

// run sends until the time is over, and waits for the answers. The error is about the start.
func (l *sending) run(ctx context.Context) (figures, error) {
	ctx, cancel := context.WithTimeout(ctx, l.time)
	defer cancel()
	senders := make([]*sender, l.conns)
	for i := range senders {
		c, err := net.Dial("tcp", l.addr)
		if err != nil {
			return figures{}, err
		}
		defer c.Close()
		senders[i] = newSender(l, c, i)
	}
	began := time.Now()
	var wg sync.WaitGroup
	for _, s := range senders {
		wg.Add(2)
		go func() {
			defer wg.Done()
			s.read()
		}()
		go func() {
			defer wg.Done()
			s.write(ctx, began)
		}()
	}
	wg.Wait()
	took := time.Since(began)
	var f figures
	var all []int64
	for _, s := range senders {
		all = append(all, s.times...)
		f.errors += s.refused + s.sent.Load() - s.got.Load()
		if f.refusal == "" {
			f.refusal = s.first
		}
	}
	if f.errors > 0 {
		fmt.Fprintf(os.Stderr, "perf: %d errors, the first: %s\n", f.errors, cmp.Or(f.refusal, "no answer"))
	}
	slices.Sort(all)
	f.count = int64(len(all))
	f.rate = float64(len(all)) / took.Seconds()
	f.p50, f.p99 = quantile(all, .5), quantile(all, .99)
	return f, nil
}

// quantile is in ms.
func quantile(sorted []int64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(q*float64(len(sorted)-1))]) / 1e6
}

// sender is one connection. write owns the frame, read the results.
type sender struct {
	l      *sending
	c      net.Conn
	index  int
	frame  []byte
	opaque int // positions in frame
	topic  int
	queue  int
	key    int // -1: none
	value  int // of the varied property
	free   chan int
	gone   chan struct{} // closed when the reader has ended
	starts []atomic.Int64
	sent   atomic.Int64
	got    atomic.Int64

	times   []int64 // ns
	refused int64
	first   string // what the first refusal said
}

const (
	opaqueBase = 1_000_000_000
	topicDigit = 5
	keyMark    = "0123456789ABCDEF0123456789ABCDEF"
)

func newSender(l *sending, c net.Conn, index int) *sender {
	s := &sender{l: l, c: c, index: index, free: make(chan int, l.window), gone: make(chan struct{}), starts: make([]atomic.Int64, l.window), key: -1}
	for i := range l.window {
		s.free <- i
	}
	props := protocol.AppendProperty(nil, protocol.PropertyKeys, "k")
	if l.uniqueKeys {
		props = protocol.AppendProperty(props, protocol.PropertyUniqKey, keyMark)
	}
	if v := l.varied; v != nil {
		props = protocol.AppendProperty(props, v.name, v.filler())
	}
	props = protocol.AppendProperty(props, protocol.PropertyWait, "true")
	topic := topicName(l.prefix, 0)
	cmd := protocol.NewRequest(protocol.ReqSendMessageV2, &protocol.SendMessageV2RequestHeader{ProducerGroup: "perf", Topic: topic,
		DefaultTopic: protocol.DefaultTopic, DefaultTopicQueueNums: 4, BornTimestamp: time.Now().UnixMilli(), Properties: string(props),
		ReconsumeTimes: protocol.Some(int32(0)), UnitMode: protocol.Some(false), Batch: protocol.Some(false), BrokerName: "perf"},
		bytes.Repeat([]byte("a"), cmp.Or(l.size, bodySize)))
	cmd.Opaque = opaqueBase
	s.frame = protocol.AppendFrame(nil, cmd)
	s.opaque = bytes.Index(s.frame, []byte(strconv.Itoa(opaqueBase)))
	s.topic = bytes.Index(s.frame, []byte(topic)) + len(topic) - topicDigit
	s.queue = bytes.Index(s.frame, []byte(`"e":"0"`)) + len(`"e":"`)
	if l.uniqueKeys {
		s.key = bytes.Index(s.frame, []byte(keyMark))
	}
	if v := l.varied; v != nil {
		s.value = bytes.Index(s.frame, []byte(v.name))
		s.value += bytes.Index(s.frame[s.value:], []byte(v.filler()))
	}
	return s
}

func (s *sender) write(ctx context.Context, began time.Time) {
	w := bufio.NewWriterSize(s.c, 64<<10)
	each := s.l.messages / int64(s.l.conns)
	for n := int64(0); ctx.Err() == nil && (each == 0 || n < each); n++ {
		if s.l.rate > 0 && !s.pace(ctx, w, began, n) {
			break
		}
		slot, ok := s.slot(ctx, w)
		if !ok {
			break
		}
		s.patch(slot, n)
		s.starts[slot].Store(time.Now().UnixNano())
		if _, err := w.Write(s.frame); err != nil {
			break // the reader finds the connection gone, and the answers missing
		}
		s.sent.Add(1)
	}
	w.Flush() // as above
	s.drain()
	s.c.Close()
}

// drain waits until all is answered, the connection is gone, or it takes too long.
func (s *sender) drain() {
	late := time.NewTimer(drainLimit)
	defer late.Stop()
	for range s.l.window {
		select {
		case <-s.free:
		case <-s.gone:
			return
		case <-late.C:
			return
		}
	}
}

// slot waits for a free one. What is buffered goes out first: its answers free them.
func (s *sender) slot(ctx context.Context, w *bufio.Writer) (int, bool) {
	select {
	case i := <-s.free:
		return i, true
	default:
	}
	w.Flush()
	select {
	case i := <-s.free:
		return i, true
	case <-s.gone:
	case <-ctx.Done():
	}
	return 0, false
}

// pace waits until message n is due.
func (s *sender) pace(ctx context.Context, w *bufio.Writer, began time.Time, n int64) bool {
	d := time.Until(began.Add(time.Duration(float64(n*int64(s.l.conns)+int64(s.index)) / s.l.rate * 1e9)))
	if d <= 0 {
		return true
	}
	w.Flush()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *sender) patch(slot int, n int64) {
	digits(s.frame[s.opaque:], opaqueBase+slot, 10)
	n = n*int64(s.l.conns) + int64(s.index)
	s.frame[s.queue] = '0' + byte(n%queues)
	digits(s.frame[s.topic:], int(n/queues)%s.l.topics, topicDigit)
	if s.key >= 0 {
		digits(s.frame[s.key:], int(n), 16)
	}
	if v := s.l.varied; v != nil {
		digits(s.frame[s.value:], v.value(n), v.digits)
	}
}

// digits writes n with so many digits.
func digits(b []byte, n, count int) {
	for i := count - 1; i >= 0; i-- {
		b[i], n = '0'+byte(n%10), n/10
	}
}

// read counts the answers until the connection is closed.
func (s *sender) read() {
	defer close(s.gone)
	r := bufio.NewReaderSize(s.c, 64<<10)
	var buf []byte
	for {
		header, _, err := readFrame(r, &buf)
		if err != nil {
			return
		}
		code, ok1 := number(header, `"code":`)
		opaque, ok2 := number(header, `"opaque":`)
		slot := opaque - opaqueBase
		if !ok1 || !ok2 || slot < 0 || slot >= len(s.starts) {
			return
		}
		s.got.Add(1)
		if code == 0 {
			s.times = append(s.times, time.Now().UnixNano()-s.starts[slot].Load())
		} else {
			if s.refused++; s.first == "" {
				s.first = string(header)
			}
		}
		s.free <- slot
	}
}

// readFrame returns header and body, which are valid until the next call.
func readFrame(r *bufio.Reader, buf *[]byte) (header, body []byte, err error) {
	var l [8]byte
	if _, err := io.ReadFull(r, l[:]); err != nil {
		return nil, nil, err
	}
	n, h := int(binary.BigEndian.Uint32(l[:]))-4, int(binary.BigEndian.Uint32(l[4:])&0xffffff)
	if n < h || n > 64<<20 {
		return nil, nil, fmt.Errorf("frame of %d bytes with a header of %d", n, h)
	}
	if cap(*buf) < n {
		*buf = make([]byte, n)
	}
	b := (*buf)[:n]
	_, err = io.ReadFull(r, b)
	return b[:h], b[h:], err
}

// number finds the integer behind a key.
func number(b []byte, key string) (int, bool) {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return 0, false
	}
	n, digit := 0, false
	for _, c := range b[i+len(key):] {
		if c < '0' || c > '9' {
			break
		}
		n, digit = n*10+int(c-'0'), true
	}
	return n, digit
}
