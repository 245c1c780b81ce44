package broker_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// BenchmarkTransaction sends half messages and commits them, each waited for, with many senders on a few connections.
func BenchmarkTransaction(b *testing.B) {
	for _, senders := range []int{1, 64} {
		b.Run(fmt.Sprintf("senders=%d", senders), func(b *testing.B) { benchTransactions(b, senders) })
	}
}

func benchTransactions(b *testing.B, senders int) {
	s := brokertest.Start(b, func(o *broker.Options) { o.Store.MappedFileSizeCommitLog = 1 << 30 })
	body := make([]byte, 1024)
	var conns []*brokertest.Client
	for range min(senders, 4) {
		conns = append(conns, brokertest.Dial(b, s.Addr()))
	}
	conns[0].Send("T", 0, "", "makes the topic")
	props := "TRAN_MSG\x01true\x02PGROUP\x01P\x02UNIQ_KEY\x01C0000202798E0000000009876b360001\x02"
	h := brokertest.SendHeader("T", 1, props)
	h.SysFlag = protocol.SysFlagTransactionPrepared
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for i := range senders {
		wg.Go(func() {
			conn := conns[i%len(conns)].Conn
			for range (b.N + senders - 1) / senders {
				got, err := conn.Invoke(context.Background(), protocol.NewRequest(protocol.ReqSendMessageV2, h, body))
				if err != nil || got.Code != 0 {
					b.Error(err)
					return
				}
				var reply protocol.SendMessageResponseHeader
				if err := reply.DecodeExt(got.Ext); err != nil {
					b.Error(err)
					return
				}
				_, at, err := protocol.ParseOffsetMsgID(reply.MsgID)
				if err != nil {
					b.Error(err)
					return
				}
				if got, err = conn.Invoke(context.Background(), protocol.NewRequest(protocol.ReqEndTransaction, endHeader(reply.QueueOffset, at, toCommit, false), nil)); err != nil || got.Code != 0 {
					b.Error(err, got)
					return
				}
			}
		})
	}
	wg.Wait()
}
