//go:build crash

package crash

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// transactions are sent by producers that commit, roll back, or say nothing until they are asked.
type transactions struct{ book }

func TestKillTransactions(t *testing.T) {
	killService(t, "transactionTimeOut=300\ntransactionCheckInterval=300\ntransactionCheckMax=100000\n", []string{"Tx"},
		func(*server) service { return &transactions{newBook(t)} })
}

// outcome is what a producer says of a message, by its name; asked is whether it waits until it is asked.
func outcomeOf(name string) (outcome int32, asked bool) {
	h := protocol.JavaHash(name)
	if outcome = protocol.SysFlagTransactionCommit; h&1 == 1 {
		outcome = protocol.SysFlagTransactionRollback
	}
	return outcome, h&6 == 0
}

// answer ends a transaction that the broker asked about.
func answerCheck(c remoting.Conn, req *protocol.Command) {
	var h protocol.CheckTransactionStateRequestHeader
	var m protocol.MessageView
	if req.Code != protocol.ReqCheckTransactionState || h.DecodeExt(req.Ext) != nil {
		return
	}
	if _, err := protocol.DecodeMessage(req.Body, &m); err != nil {
		return
	}
	o, _ := outcomeOf(string(m.Body))
	end := protocol.NewRequest(protocol.ReqEndTransaction, &protocol.EndTransactionRequestHeader{ProducerGroup: producerGroup, TranStateTableOffset: h.TranStateTableOffset,
		CommitLogOffset: h.CommitLogOffset, CommitOrRollback: o, FromTransactionCheck: protocol.Some(true)}, nil)
	end.Flag |= protocol.FlagOneway
	_ = c.Oneway(end) // a broker that died asks again
}

func (x *transactions) load(ctx context.Context, addr string, round int) {
	many(4, func(i int) {
		p, err := Dial(ctx, addr, fmt.Sprint("tx", i), answerCheck)
		if err != nil {
			return
		}
		defer p.Close()
		if p.Produce(ctx) != nil {
			return
		}
		for n := 0; n < 400 && ctx.Err() == nil && round < serviceRounds(); n++ {
			if !x.one(ctx, p, fmt.Sprintf("r%d/%d/%d", round, i, n)) {
				return
			}
		}
		<-ctx.Done() // to be asked
	})
}

func (x *transactions) one(ctx context.Context, p *Peer, name string) bool {
	o, asked := outcomeOf(name)
	x.mu.Lock()
	x.sent[name] = 0
	if o != protocol.SysFlagTransactionCommit {
		x.not[name] = "it was rolled back"
	}
	x.mu.Unlock()
	r, err := p.Send(ctx, "Tx", int32(len(name)%queues), protocol.SysFlagTransactionPrepared, name, protocol.PropertyTransactionPrepared, "true",
		protocol.PropertyProducerGroup, producerGroup, protocol.PropertyUniqKey, "U"+name)
	if err != nil {
		return false
	}
	if o == protocol.SysFlagTransactionCommit {
		x.mu.Lock()
		x.due[name] = 0
		x.mu.Unlock()
	}
	if asked {
		return true
	}
	_, phys, err := protocol.ParseOffsetMsgID(r.MsgID)
	if err != nil {
		return false
	}
	_, err = p.Call(ctx, protocol.ReqEndTransaction, &protocol.EndTransactionRequestHeader{ProducerGroup: producerGroup, TranStateTableOffset: r.QueueOffset,
		CommitLogOffset: phys, CommitOrRollback: o}, nil, nil)
	return err == nil
}

func (x *transactions) judge(ctx context.Context, addr string) string {
	return x.judgeTopic(ctx, addr, "Tx", queues)
}

// delays are timed and delayed messages, of which some are recalled.
type delays struct{ book }

func TestKillDelays(t *testing.T) {
	killService(t, "brokerName=crash-broker\nmessageDelayLevel=1s 2s 3s\nflushDelayOffsetInterval=200\nflushIntervalCommitLog=100\n", []string{"Late"}, func(*server) service { return &delays{newBook(t)} })
}

func (d *delays) load(ctx context.Context, addr string, round int) {
	if round == serviceRounds() {
		return
	}
	many(4, func(i int) {
		p, err := Dial(ctx, addr, fmt.Sprint("late", i), nil)
		if err != nil {
			return
		}
		defer p.Close()
		for n := 0; n < 200 && ctx.Err() == nil; n++ {
			if !d.one(ctx, p, fmt.Sprintf("r%d/%d/%d", round, i, n), n) {
				return
			}
		}
	})
}

func (d *delays) one(ctx context.Context, p *Peer, name string, n int) bool {
	ms, level := int64(200+n*37%4000), 1+n%3
	props := []string{protocol.PropertyUniqKey, "U" + name, protocol.PropertyTimerDelayMs, strconv.FormatInt(ms, 10)}
	if n%3 == 0 {
		ms = int64(level) * 1000
		props = []string{protocol.PropertyUniqKey, "U" + name, protocol.PropertyDelay, strconv.Itoa(level)}
	}
	begin := time.Now().UnixMilli()
	d.mu.Lock()
	d.sent[name], d.may[name] = begin+ms, n%3 == 0
	d.mu.Unlock()
	r, err := p.Send(ctx, "Late", int32(n%queues), 0, name, props...)
	if err != nil {
		return false
	}
	if n%4 != 1 || ms < 2000 { // a slot of the wheel before it is too late
		d.mu.Lock()
		d.due[name] = begin + ms
		d.mu.Unlock()
		return true
	}
	handle := r.RecallHandle
	if handle == "" {
		_, phys, err := protocol.ParseOffsetMsgID(r.MsgID)
		if err != nil {
			return false
		}
		handle = string((&protocol.RecallHandle{Topic: "Late", Broker: "crash-broker", DeliverMs: phys, UniqKey: "U" + name, Level: true}).Append(nil))
	}
	_, err = p.Call(ctx, protocol.ReqRecallMessage, &protocol.RecallMessageRequestHeader{ProducerGroup: producerGroup, Topic: "Late", RecallHandle: handle}, nil, nil)
	if err == nil {
		d.mu.Lock()
		d.not[name] = "it was recalled"
		d.mu.Unlock()
	} else if _, refused := err.(*Refused); refused && time.Now().UnixMilli() < begin+ms-1000 {
		d.t.Errorf("recall of %s: %v", name, err)
	}
	return err == nil
}

func (d *delays) judge(ctx context.Context, addr string) string {
	d.mu.Lock()
	now, next := time.Now().UnixMilli(), int64(0)
	for _, at := range d.due {
		next = max(next, at)
	}
	d.mu.Unlock()
	if left := d.judgeTopic(ctx, addr, "Late", queues); left != "" || next < now {
		return left
	}
	return "some are not due yet"
}
