package main

import (
	"errors"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
)

func decoded(t *testing.T, frame []byte) *protocol.Command {
	t.Helper()
	var cmd protocol.Command
	if err := protocol.DecodeFrame(frame[4:], &cmd); err != nil {
		t.Fatal(err)
	}
	return &cmd
}

func TestAcksOfAPop(t *testing.T) {
	p := popping{topic: "T", broker: "b-0", seen: map[popped]struct{}{}}
	h := &protocol.PopMessageResponseHeader{PopTime: 1700000000000, InvisibleTime: 60000, ReviveQid: 3, StartOffsetInfo: "0 1 10;0 2 7", MsgOffsetInfo: "0 1 10,12;0 2 7"}
	cmd := &protocol.Command{Flag: protocol.FlagResponse, Header: h}
	frame := protocol.AppendFrame(nil, cmd)
	out, err := p.acks(nil, frame, 3)
	if err != nil {
		t.Fatal(err)
	}
	var got []protocol.AckMessageRequestHeader
	for len(out) > 0 {
		n := 4 + int(out[2])<<8 + int(out[3])
		cmd := decoded(t, out[:n])
		var a protocol.AckMessageRequestHeader
		if err := a.DecodeExt(cmd.Ext); err != nil || cmd.Code != int32(protocol.ReqAckMessage) || cmd.Flag != 0 {
			t.Fatalf("%+v %v", cmd, err)
		}
		got = append(got, a)
		out = out[n:]
	}
	want := []protocol.AckMessageRequestHeader{
		{ConsumerGroup: popGroup, Topic: "T", QueueID: 1, Offset: 10, ExtraInfo: "10 1700000000000 60000 3 0 b-0 1 10"},
		{ConsumerGroup: popGroup, Topic: "T", QueueID: 1, Offset: 12, ExtraInfo: "10 1700000000000 60000 3 0 b-0 1 12"},
		{ConsumerGroup: popGroup, Topic: "T", QueueID: 2, Offset: 7, ExtraInfo: "7 1700000000000 60000 3 0 b-0 2 7"},
	}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if _, err := p.acks(nil, frame, 3); err != nil || p.twice.Load() != 3 {
		t.Errorf("%v, %d of 3 were popped twice", err, p.twice.Load())
	}
	if _, err := p.acks(nil, frame, 2); !errors.Is(err, errPopAnswer) {
		t.Errorf("3 offsets for 2 messages: %v", err)
	}
}

func TestEndOfATransaction(t *testing.T) {
	reply := []byte(`{"code":0,"extFields":{"msgId":"7F00000100002A9F00000000000012AB","queueId":"0","queueOffset":"17"},"opaque":1}`)
	h, err := answered(reply)
	if err != nil || !h.ok || h.queueAt != 17 || h.logAt != 0x12ab {
		t.Fatalf("%+v %v", h, err)
	}
	cmd := decoded(t, appendEnd(nil, "T", &h))
	var e protocol.EndTransactionRequestHeader
	if err := e.DecodeExt(cmd.Ext); err != nil {
		t.Fatal(err)
	}
	if cmd.Code != int32(protocol.ReqEndTransaction) || cmd.Flag != 2 || e.ProducerGroup != "perf" || e.Topic != "T" || e.TranStateTableOffset != 17 ||
		e.CommitLogOffset != 0x12ab || e.CommitOrRollback != protocol.SysFlagTransactionCommit || e.FromTransactionCheck.Or(true) {
		t.Errorf("%+v %+v", cmd, e)
	}
	for _, bad := range []string{`{"code":2}`, `{"code":0}`, `{"code":0,"queueOffset":"1","msgId":"7F"`} {
		if _, err := answered([]byte(bad)); err == nil {
			t.Errorf("%s is no answer", bad)
		}
	}
}

func TestRecords(t *testing.T) {
	if n := records([]byte{0, 0, 0, 5, 1, 0, 0, 0, 4}); n != 2 {
		t.Errorf("%d records", n)
	}
	if n := records([]byte{0, 0, 0, 9, 1}); n != 0 {
		t.Errorf("%d records in a torn one", n)
	}
}

func TestVariedProperty(t *testing.T) {
	l := &sending{conns: 1, window: 1, prefix: "p", topics: 1, uniqueKeys: true, size: 10, varied: &varied{name: "price", digits: 3, value: func(n int64) int { return int(n) * 2 }}}
	s := newSender(l, nil, 0)
	s.patch(0, 21)
	cmd := decoded(t, s.frame)
	var h protocol.SendMessageV2RequestHeader
	if err := h.DecodeExt(cmd.Ext); err != nil {
		t.Fatal(err)
	}
	if p := protocol.ParseProperties(h.Properties); p["price"] != "042" || p["UNIQ_KEY"] != "0000000000000021"+keyMark[16:] || len(cmd.Body) != 10 {
		t.Errorf("%q, a body of %d", h.Properties, len(cmd.Body))
	}
}
