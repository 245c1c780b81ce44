package broker_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker"
	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// popRequest is a request of the stock Java client to Apache RocketMQ 5.5.0, as it was on the wire, and its answer (testdata/pop.jsonl.gz).
// The last pop was not answered any more.
type popRequest struct {
	Code  int32             `json:"code"`
	Raw   []byte            `json:"raw"`
	Ext   map[string]string `json:"ext"`
	Reply *struct {
		Code   int32             `json:"code"`
		Remark string            `json:"remark"`
		Ext    map[string]string `json:"ext"`
	} `json:"reply"`
}

func popRequests(t *testing.T) (out []popRequest) {
	t.Helper()
	f, err := os.Open("testdata/pop.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(z); lines.Scan(); {
		var r popRequest
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	if len(out) < 10 {
		t.Fatalf("%d requests", len(out))
	}
	return out
}

// times are what differs from run to run: for each recorded pop time, ours, and the revive queue.
type times map[string][2]string

// handle is a recorded handle with our times in it.
func (x times) handle(t *testing.T, recorded string) string {
	t.Helper()
	f := strings.Fields(recorded)
	if len(f) != 8 {
		t.Fatalf("handle %q", recorded)
	}
	f[1], f[3] = x[f[1]][0], x[f[1]][1]
	return strings.Join(f, " ")
}

// TestPopConversation plays what the Java client asked, with the handles that our answers give, and compares the answers with Apache's.
func TestPopConversation(t *testing.T) {
	t.Parallel()
	b := brokertest.Start(t, func(o *broker.Options) { o.Broker.BrokerName = "broker-g" })
	c := brokertest.Dial(t, b.Addr())
	send := func(queue int32, body string) { c.Send("JPop", queue, "TAGS\x01TagA\x02", body) }
	for q := range int32(2) {
		for i := range 3 {
			send(q, fmt.Sprint(q, i))
		}
	}
	x := times{}
	pops := 0
	for i, r := range popRequests(t) {
		if r.Reply == nil {
			continue
		}
		var req protocol.Command
		if err := protocol.DecodeFrame(r.Raw[4:], &req); err != nil {
			t.Fatal(err)
		}
		var got *protocol.Command
		switch protocol.RequestCode(r.Code) {
		case protocol.ReqPopMessage:
			set(req.Ext, "bornTime", fmt.Sprint(time.Now().UnixMilli()))
			if pops++; pops == 2 { // in the recording the pop waits for this one
				send(1, "late")
			}
			got = c.Do(&req)
		default:
			set(req.Ext, "extraInfo", x.handle(t, r.Ext["extraInfo"]))
			got = c.Do(&req)
		}
		compare(t, i, &r, got)
		if r.Reply.Ext["popTime"] != "" {
			x[r.Reply.Ext["popTime"]] = [2]string{value(got.Ext, "popTime"), value(got.Ext, "reviveQid")}
		}
	}
}

func compare(t *testing.T, i int, r *popRequest, got *protocol.Command) {
	t.Helper()
	remark := r.Reply.Remark
	if remark == "not set any response code" { // ours has no remark with a success
		remark = ""
	}
	if int32(got.Code) != r.Reply.Code || got.Remark != remark {
		t.Fatalf("request %d (%d): %d %s, Apache's %d %s", i, r.Code, got.Code, got.Remark, r.Reply.Code, r.Reply.Remark)
	}
	ext := map[string]string{}
	for _, f := range got.Ext {
		ext[f.Key] = f.Value
	}
	want := r.Reply.Ext
	if a, b := slices.Sorted(maps.Keys(ext)), slices.Sorted(maps.Keys(want)); !slices.Equal(a, b) {
		t.Fatalf("request %d (%d): fields %v, Apache's %v", i, r.Code, a, b)
	}
	for _, name := range []string{"startOffsetInfo", "msgOffsetInfo", "restNum", "invisibleTime"} {
		a, b := strings.Split(ext[name], ";"), strings.Split(want[name], ";") // queues come in any order
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) {
			t.Fatalf("request %d (%d): %s is %v, Apache's %v", i, r.Code, name, a, b)
		}
	}
}

func set(ext protocol.ExtFields, key, to string) {
	for i := range ext {
		if ext[i].Key == key {
			ext[i].Value = to
		}
	}
}

func value(ext protocol.ExtFields, key string) string {
	for _, f := range ext {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}
