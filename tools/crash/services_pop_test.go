//go:build crash

package crash

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// pops takes messages by POP and acknowledges most of them. What was acknowledged does not come back, and in the end all are acknowledged.
type pops struct {
	book
	acked map[string]time.Time
	taken map[string]bool // and not acknowledged: a kill may leave two of it
	dying map[string]bool // was being acknowledged when the broker was killed: perhaps it is
	n     int
}

func TestKillPops(t *testing.T) {
	killService(t, "brokerName=crash-broker\nflushConsumerOffsetInterval=200\n", []string{"Pop"}, func(*server) service {
		return &pops{book: newBook(t), acked: map[string]time.Time{}, taken: map[string]bool{}, dying: map[string]bool{}}
	})
}

func (p *pops) load(ctx context.Context, addr string, round int) {
	p.mu.Lock()
	for name := range p.taken {
		p.may[name] = true
	}
	p.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		many(2, func(i int) { p.member(ctx, addr, fmt.Sprint("pops", i), round == serviceRounds()) })
	}()
	if round < serviceRounds() {
		sendAll(ctx, addr, "Pop", round, 60, noProps,
			func(name string, _ *protocol.SendMessageResponseHeader) {
				p.mu.Lock()
				p.sent[name] = 0
				p.mu.Unlock()
			}, func(name string, _ *protocol.SendMessageResponseHeader) {
				p.mu.Lock()
				p.due[name] = 0
				p.mu.Unlock()
			})
	}
	<-done
}

// took is a message with what acknowledges it.
type took struct {
	name, topic, handle string
	queue               int32
	offset, until       int64
}

// member pops, and acknowledges all but each fourth; in the end, all.
func (p *pops) member(ctx context.Context, addr, id string, all bool) {
	c, err := Dial(ctx, addr, id, nil)
	if err != nil {
		return
	}
	defer c.Close()
	for turn := 0; ctx.Err() == nil; turn++ {
		list, err := p.pop(ctx, c, time.Duration(2+turn%3)*time.Second)
		if err != nil {
			return
		}
		for i := range list {
			m := &list[i]
			if !all && i%4 == 3 || time.Now().UnixMilli()+1000 > m.until {
				continue
			}
			if _, err := c.Call(ctx, protocol.ReqAckMessage, &protocol.AckMessageRequestHeader{ConsumerGroup: "Poppers", Topic: m.topic, QueueID: m.queue,
				ExtraInfo: m.handle, Offset: m.offset}, nil, nil); err != nil {
				p.mu.Lock()
				p.dying[m.name] = true
				p.mu.Unlock()
				return
			}
			p.mu.Lock()
			p.acked[m.name] = time.Now()
			delete(p.taken, m.name)
			p.n++
			p.mu.Unlock()
		}
		pause(ctx, 3)
	}
}

func (p *pops) pop(ctx context.Context, c *Peer, invisible time.Duration) (list []took, err error) {
	begin := time.Now()
	var h protocol.PopMessageResponseHeader
	r, err := c.Call(ctx, protocol.ReqPopMessage, &protocol.PopMessageRequestHeader{ConsumerGroup: "Poppers", Topic: "Pop", QueueID: -1, MaxMsgNums: 32,
		InvisibleTime: invisible.Milliseconds(), BornTime: begin.UnixMilli(), ExpType: "TAG", Exp: "*"}, nil, &h)
	if no, refused := err.(*Refused); refused && (no.Code == protocol.RespPollingTimeout || no.Code == protocol.RespPullNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	starts := map[string]string{}
	for e := range strings.SplitSeq(h.StartOffsetInfo, ";") {
		if f := strings.Fields(e); len(f) == 3 && f[0] == "0" {
			starts[f[1]] = f[2]
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for b := r.Body; len(b) > 0; {
		var v protocol.MessageView
		n, err := protocol.DecodeMessage(b, &v)
		if err != nil {
			return nil, err
		}
		b = b[n:]
		m := took{name: string(v.Body), topic: "Pop", queue: v.QueueID, offset: v.QueueOffset, until: h.PopTime + h.InvisibleTime}
		if ck, again := v.Property(protocol.PropertyPopCK); again {
			m.handle = ck
			if f := strings.Fields(ck); len(f) > 4 && f[4] != "0" {
				m.topic = protocol.PopRetryTopicV1("Poppers", "Pop")
			}
		} else {
			m.handle = fmt.Sprintf("%s %d %d %d 0 crash-broker %d %d", starts[fmt.Sprint(v.QueueID)], h.PopTime, h.InvisibleTime, h.ReviveQid, v.QueueID, v.QueueOffset)
		}
		if at, acked := p.acked[m.name]; acked && at.Before(begin) && !p.may[m.name] {
			p.t.Errorf("%s comes back %v after it was acknowledged", m.name, begin.Sub(at))
		}
		p.taken[m.name] = true
		list = append(list, m)
	}
	return list, nil
}

func (p *pops) judge(context.Context, string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	missing := 0
	for name := range p.due {
		if _, acked := p.acked[name]; !acked && !p.dying[name] {
			missing++
		}
	}
	if missing > 0 {
		return fmt.Sprintf("%d of %d messages were never acknowledged", missing, len(p.due))
	}
	return ""
}
