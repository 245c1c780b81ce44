package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// pulling reads a topic's queues from their beginning, one pull outstanding on each connection.
type pulling struct {
	addr  string
	topic string
	conns int
	batch int32
	time  time.Duration
	sql   string // selects messages; empty: all

	selected atomic.Int64 // messages that came
}

func pullFrame(topic, sql string, queue int32, offset int64, batch int32, hold time.Duration) []byte {
	h := &protocol.PullMessageRequestHeader{ConsumerGroup: "perf", Topic: topic, QueueID: queue, QueueOffset: offset, MaxMsgNums: batch,
		SysFlag: protocol.PullFlagSubscription, Subscription: "*", ExpressionType: "TAG"}
	if sql != "" {
		h.Subscription, h.ExpressionType = sql, protocol.ExpressionSQL92
	}
	if hold > 0 {
		h.SysFlag |= protocol.PullFlagSuspend
		h.SuspendTimeoutMillis = hold.Milliseconds()
	}
	cmd := protocol.NewRequest(protocol.ReqPullMessage, h, nil)
	cmd.Opaque = opaqueBase
	return protocol.AppendFrame(nil, cmd)
}

// run pulls until the time is over, and begins again at the end of a queue.
func (p *pulling) run(ctx context.Context) (figures, error) {
	ctx, cancel := context.WithTimeout(ctx, p.time)
	defer cancel()
	var messages, failed atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for i := range p.conns {
		c, err := net.Dial("tcp", p.addr)
		if err != nil {
			return figures{}, err
		}
		defer context.AfterFunc(ctx, func() { c.Close() })()
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := p.read(ctx, c, int32(i%queues), &messages); err != nil && ctx.Err() == nil {
				failed.Add(1)
			}
		}()
	}
	wg.Wait()
	return figures{rate: float64(messages.Load()) / time.Since(began).Seconds(), count: messages.Load(), errors: failed.Load()}, nil
}

func (p *pulling) read(ctx context.Context, c net.Conn, queue int32, messages *atomic.Int64) error {
	r := bufio.NewReaderSize(c, 256<<10)
	var buf []byte
	for offset := int64(0); ctx.Err() == nil; {
		if _, err := c.Write(pullFrame(p.topic, p.sql, queue, offset, p.batch, 0)); err != nil {
			return err
		}
		header, body, err := readFrame(r, &buf)
		if err != nil {
			return err
		}
		code, _ := number(header, `"code":`)
		next, _ := number(header, `"nextBeginOffset":"`)
		switch protocol.ResponseCode(code) {
		case protocol.RespSuccess, protocol.RespPullRetryImmediately:
			if len(body) > 0 || p.sql != "" {
				messages.Add(int64(next) - offset)
				p.selected.Add(records(body))
			}
			offset = int64(next)
		case protocol.RespPullNotFound:
			offset = 0
		default:
			return fmt.Errorf("pull: %s", header)
		}
	}
	return nil
}

// records counts the messages of a body. Each begins with its length.
func records(body []byte) (n int64) {
	for len(body) >= 4 {
		size := int(binary.BigEndian.Uint32(body))
		if size < 4 || size > len(body) {
			return n
		}
		n++
		body = body[size:]
	}
	return n
}

// hold leaves n pulls waiting at the end of a queue, until ctx ends.
func (s *server) hold(ctx context.Context, prefix string, n int) error {
	for range n {
		c, err := net.Dial("tcp", s.addr())
		if err != nil {
			return err
		}
		context.AfterFunc(ctx, func() { c.Close() })
		if _, err := c.Write(pullFrame(topicName(prefix, 0), "", queues-1, 1<<40, 32, 30*time.Second)); err != nil {
			return err
		}
	}
	return nil
}
