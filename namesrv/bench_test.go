package namesrv

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/namesrv/route"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// BenchmarkGetRoute asks for routes over a socket, 64 at a time: one operation is one route.
func BenchmarkGetRoute(b *testing.B) {
	p := conf.DefaultNamesrvProcess(conf.Env{})
	s, err := New(Options{Conf: p.Namesrv, Server: p.Server, ListenAddr: "127.0.0.1:0", Clock: clock.Real{}, FS: newMem()})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Start(); err != nil {
		b.Fatal(err)
	}
	defer s.Close(context.Background())
	s.table.Register(&route.Registration{Identity: route.Identity{Cluster: "C", Name: "a", Addr: "127.0.0.1:10911"},
		Topics: brokerA().wrapper().TopicConfigTable})

	const burst = 64
	var frames []byte
	for i := range burst {
		cmd := protocol.NewRequest(int32(protocol.ReqGetRouteInfoByTopic), &protocol.GetRouteInfoByTopicRequestHeader{Topic: "T"}, nil)
		cmd.Opaque = int32(i)
		frames = protocol.AppendFrame(frames, cmd)
	}
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	buf := make([]byte, 1<<16)
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; done += burst {
		if _, err := c.Write(frames); err != nil {
			b.Fatal(err)
		}
		for range burst {
			if _, err := io.ReadFull(c, buf[:4]); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(c, buf[:binary.BigEndian.Uint32(buf)]); err != nil {
				b.Fatal(err)
			}
		}
	}
}
