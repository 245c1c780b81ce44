package namesrv

import (
	"net/netip"
	"testing"

	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/namesrv/route"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// countingConn counts replies. Methods that handlers do not use are missing.
type countingConn struct {
	remoting.Conn
	replies int
}

func (c *countingConn) Reply(*protocol.Command, *remoting.Reply) { c.replies++ }
func (c *countingConn) Value() any                               { return route.Session(1) }
func (c *countingConn) RemoteAddr() netip.AddrPort               { return netip.AddrPort{} }

// FuzzRequests: whatever a request carries, its handler answers exactly once and does not panic.
func FuzzRequests(f *testing.F) {
	seed := func(code protocol.RequestCode, key1, value1, key2, value2 string, body string) {
		f.Add(int32(code), protocol.CurrentVersion, key1, value1, key2, value2, []byte(body))
	}
	seed(protocol.ReqGetRouteInfoByTopic, "topic", "T", "__ZONE_MODE", "true", "")
	seed(protocol.ReqRegisterBroker, "brokerId", "1", "compressed", "false", `{"topicConfigSerializeWrapper":{"topicConfigTable":{"T":{},"U":null}}}`)
	seed(protocol.ReqRegisterBroker, "brokerName", "", "bodyCrc32", "-1", "\x78\x9c")
	seed(protocol.ReqQueryDataVersion, "brokerId", "1", "brokerName", "a", `{"counter":"1"}`)
	seed(protocol.ReqRegisterTopicInNamesrv, "topic", "T", "lo", "x", `{"queueDatas":[{"brokerName":"a"},{}]}`)
	seed(protocol.ReqUpdateNamesrvConfig, "", "", "", "", "kvConfigPath=/x\n\\u00")
	seed(protocol.ReqPutKVConfig, "namespace", "n", "key", "k", "")
	p := conf.DefaultNamesrvProcess(conf.Env{})
	s, err := New(Options{Conf: p.Namesrv, Server: p.Server, ListenAddr: "127.0.0.1:0", Clock: clock.Real{}, FS: newMem()})
	if err != nil {
		f.Fatal(err)
	}
	handlers := map[protocol.RequestCode]remoting.HandleFunc{}
	for _, r := range s.routes() {
		handlers[r.Code] = r.Handle
	}
	f.Fuzz(func(t *testing.T, code, version int32, k1, v1, k2, v2 string, body []byte) {
		h := handlers[protocol.RequestCode(code)]
		if h == nil {
			return
		}
		// What is missing is filled in, so that handlers get beyond the header.
		ext := protocol.ExtFields{}
		for _, k := range []string{"brokerName", "brokerAddr", "clusterName", "haServerAddr", "topic", "cluster", "namespace", "key", "value"} {
			ext = append(ext, protocol.ExtField{Key: k, Value: "a"})
		}
		ext = append(ext, protocol.ExtField{Key: "brokerId", Value: "0"}, protocol.ExtField{Key: k1, Value: v1}, protocol.ExtField{Key: k2, Value: v2})
		c := &countingConn{}
		h(c, &protocol.Command{Code: code, Version: version, Ext: ext, Body: body})
		if c.replies != 1 {
			t.Errorf("request %d was answered %d times", code, c.replies)
		}
		s.table.Route("a", "")
		s.table.ClusterInfo()
	})
}
