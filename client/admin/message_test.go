package admin

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// stored is a record as a broker sends it.
func stored(offset int64, props string) []byte {
	return protocol.AppendRecord(nil, &protocol.RecordFields{Topic: "T", QueueOffset: offset, PhysicalOffset: offset * 100, Body: []byte("body"), Properties: props,
		BornHost: netip.MustParseAddrPort("192.0.2.9:4"), StoreHost: netip.MustParseAddrPort("192.0.2.10:10911")})
}

func prop(kv ...string) string {
	var p []byte
	for i := 0; i < len(kv); i += 2 {
		p = protocol.AppendProperty(p, kv[i], kv[i+1])
	}
	return string(p)
}

func pullReply(code protocol.ResponseCode, body []byte) *protocol.Command {
	return &protocol.Command{Code: code, Body: body, Ext: protocol.ExtFields{{Key: "suggestWhichBrokerId", Value: "0"}, {Key: "nextBeginOffset", Value: "9"},
		{Key: "minOffset", Value: "1"}, {Key: "maxOffset", Value: "12"}}}
}

func TestPull(t *testing.T) {
	f, c := newCluster(t)
	q := protocol.MessageQueue{Topic: "T", BrokerName: "a", QueueID: 1}
	records := append(stored(5, prop("TAGS", "Aa")), stored(6, prop("TAGS", "BB"))...) // Java hashes both tags to the same
	reply := pullReply(protocol.RespSuccess, records)
	f.on(protocol.ReqPullMessage, func(string, *protocol.Command) *protocol.Command { return reply })
	r, err := c.Pull(ctx, "a:1", PullRequest{Queue: q, Expression: "x || Aa", Offset: 5, Max: 32})
	if err != nil || r.Status != PullFound || len(r.Messages) != 1 || r.NextOffset != 9 {
		t.Fatalf("%+v, %v", r, err)
	}
	if m := r.Messages[0]; m.QueueOffset != 5 || m.BrokerName != "a" || m.Properties["MIN_OFFSET"] != "1" || m.Properties["MAX_OFFSET"] != "12" {
		t.Errorf("%+v", m)
	}
	req := f.seen[0].req
	if field(req, "consumerGroup") != protocol.GroupTools || field(req, "sysFlag") != "4" || field(req, "subscription") != "x || Aa" {
		t.Errorf("%v", req.Ext)
	}
	for code, want := range map[protocol.ResponseCode]PullStatus{19: PullNoNewMsg, 20: PullNoMatchedMsg, 21: PullOffsetIllegal} {
		reply = pullReply(code, nil)
		if r, err := c.Pull(ctx, "a:1", PullRequest{Queue: q}); err != nil || r.Status != want || r.NextOffset != 9 || r.Messages != nil {
			t.Errorf("code %d: %+v, %v", code, r, err)
		}
	}
	reply = refuse(protocol.RespSubscriptionGroupNotExist, "no group")
	if _, err := c.Pull(ctx, "a:1", PullRequest{Queue: q}); !IsCode(err, protocol.RespSubscriptionGroupNotExist) {
		t.Error(err)
	}
}

func TestQueryByKeyIsExact(t *testing.T) {
	f, c := newCluster(t)
	f.on(protocol.ReqQueryMessage, func(addr string, req *protocol.Command) *protocol.Command {
		if addr == "b:1" {
			return refuse(protocol.RespQueryNotFound, "nothing")
		}
		if field(req, "_UNIQUE_KEY_QUERY") != "false" || field(req, "indexType") != "K" {
			t.Errorf("%v", req.Ext)
		}
		return &protocol.Command{Body: append(stored(1, prop("KEYS", "k1 k2")), stored(2, prop("KEYS", "k22"))...)}
	})
	msgs, err := c.QueryByKey(ctx, "T", "k2", 10, 0, 1)
	if err != nil || len(msgs) != 1 || msgs[0].QueueOffset != 1 || msgs[0].BrokerName != "a" {
		t.Errorf("%v, %v", msgs, err)
	}
	if _, err := c.QueryByKey(ctx, "T", "k", 10, 0, 1); !errors.Is(err, ErrNoMessage) {
		t.Error(err)
	}
	f.down["b:1"] = true // one broker that fails does not hide what another has
	if msgs, err := c.QueryByKey(ctx, "T", "k2", 10, 0, 1); err != nil || len(msgs) != 1 {
		t.Errorf("%v, %v", msgs, err)
	}
	var conn *ConnectError
	if _, err := c.QueryByKey(ctx, "T", "k", 10, 0, 1); !errors.As(err, &conn) {
		t.Errorf("nothing found, and a broker did not answer: %v", err)
	}
}

func TestViewByID(t *testing.T) {
	f, c := newCluster(t)
	const offsetID = "C000020A00002A9F00000000000000C8"
	f.on(protocol.ReqViewMessageByID, func(addr string, req *protocol.Command) *protocol.Command {
		if addr != "192.0.2.10:10911" || field(req, "offset") != "200" {
			return refuse(protocol.RespSystemError, "not here")
		}
		return &protocol.Command{Body: stored(2, "")}
	})
	f.on(protocol.ReqQueryMessage, func(_ string, req *protocol.Command) *protocol.Command {
		return &protocol.Command{Body: stored(3, prop("UNIQ_KEY", "unique"))}
	})
	if m, err := c.ViewByID(ctx, "T", offsetID); err != nil || m.OffsetID() != offsetID {
		t.Errorf("%v, %v", m, err)
	}
	if m, err := c.ViewByID(ctx, "T", "unique"); err != nil || m.QueueOffset != 3 {
		t.Errorf("%v, %v", m, err)
	}
	other := "C000020A00002A9F0000000000FFFFFF" // an offset id where nothing is: it may have been a client's id
	if _, err := c.ViewByID(ctx, "T", other); !errors.Is(err, ErrNoMessage) {
		t.Error(err)
	}
}

func TestSend(t *testing.T) {
	f, c := newCluster(t)
	reply := &protocol.Command{Ext: protocol.ExtFields{{Key: "msgId", Value: "OFF"}, {Key: "queueId", Value: "2"}, {Key: "queueOffset", Value: "7"}}}
	f.on(protocol.ReqSendMessageV2, func(string, *protocol.Command) *protocol.Command { return reply })
	q := protocol.MessageQueue{Topic: "T", BrokerName: "a", QueueID: 2}
	m := &Outgoing{Topic: "T", Group: "g", Body: []byte("x"), Properties: protocol.Properties{"KEYS": "k"}}
	r, err := c.Send(ctx, "a:1", q, m)
	if err != nil || r.Status != SendOK || r.OffsetID != "OFF" || r.QueueOffset != 7 || r.Queue != q || len(r.ID) != 32 {
		t.Fatalf("%+v, %v", r, err)
	}
	if p := field(f.seen[0].req, "i"); !strings.Contains(p, "UNIQ_KEY\x01"+r.ID+"\x02") || !strings.Contains(p, "KEYS\x01k\x02") {
		t.Errorf("properties %q", p)
	}
	if m.Properties["UNIQ_KEY"] != "" {
		t.Error("the caller's properties were changed")
	}
	reply.Code = protocol.RespFlushDiskTimeout
	if r, err := c.Send(ctx, "a:1", q, m); err != nil || r.Status != SendFlushDiskTimeout {
		t.Errorf("%+v, %v", r, err)
	}
	reply.Code = protocol.RespMessageIllegal
	if _, err := c.Send(ctx, "a:1", q, m); !IsCode(err, protocol.RespMessageIllegal) {
		t.Error(err)
	}
	m.Properties["a\x01b"] = "c"
	if _, err := c.Send(ctx, "a:1", q, m); err == nil {
		t.Error("a separator in a property's name was sent")
	}
}
