package broker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker/brokertest"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// someRequests are codes of all kinds of handlers.
var someRequests = []int32{10, 11, 12, 14, 15, 17, 21, 25, 26, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 41, 42, 43, 45, 46, 200, 201, 202, 203, 204,
	207, 208, 215, 222, 223, 300, 303, 305, 306, 307, 309, 310, 314, 315, 316, 317, 320, 321, 323, 328, 329, 343, 345, 351, 352, 353, 361, 901, 2001, 3001}

// FuzzAnyRequest: any request with any two fields and any body is answered in time, and no handler panics.
func FuzzAnyRequest(f *testing.F) {
	b := brokertest.Start(f)
	conn := brokertest.Dial(f, b.Addr())
	conn.Send("T", 0, "KEYS\x01k\x02", "m")
	for i := range someRequests {
		f.Add(uint(i), "topic", "T", "consumerGroup", "g", []byte(nil))
		f.Add(uint(i), "queueId", "-1", "offset", "9223372036854775807", []byte("{}"))
	}
	f.Fuzz(func(t *testing.T, which uint, k1, v1, k2, v2 string, body []byte) {
		if len(k1)+len(v1)+len(k2)+len(v2)+len(body) > 100_000 {
			return
		}
		code := someRequests[which%uint(len(someRequests))]
		cmd := protocol.NewRequest(code, nil, body)
		cmd.Ext = protocol.ExtFields{{Key: "topic", Value: "T"}, {Key: "consumerGroup", Value: "g"}, {Key: "group", Value: "g"},
			{Key: "queueId", Value: "0"}, {Key: "offset", Value: "0"}, {Key: k1, Value: v1}, {Key: k2, Value: v2}}
		ctx, cancel := context.WithTimeout(context.Background(), brokertest.Wait)
		defer cancel()
		begin := time.Now()
		r, err := conn.Conn.Invoke(ctx, cmd)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			t.Fatalf("request %d was not answered in %v", code, time.Since(begin))
		case err != nil:
			t.Fatalf("request %d: %v", code, err)
		case strings.Contains(r.Remark, "panicked"):
			t.Fatalf("request %d: %s\n%s", code, r.Remark, b.Log())
		}
	})
}
