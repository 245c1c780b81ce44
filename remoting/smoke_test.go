package remoting

import (
	"context"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

func TestSmoke(t *testing.T) {
	for _, tr := range []Transport{TransportNetpoll, TransportNet} {
		m, err := NewMux(MuxOptions{Routes: []Route{{Code: 10, Mode: Inline, Handle: func(c Conn, req *protocol.Command) {
			c.Reply(req, &Reply{Body: req.Body})
		}}}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewServer(ServerOptions{Common: Common{Transport: tr}, BindAddress: "127.0.0.1"}, m)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Serve(); err != nil {
			t.Fatal(err)
		}
		cl := NewClient(ClientOptions{Common: Common{Transport: tr}})
		for range 3 {
			r, err := cl.Invoke(context.Background(), s.Addr().String(), protocol.NewRequest(10, nil, []byte("hello")))
			if err != nil || string(r.Body) != "hello" {
				t.Fatal(r, err)
			}
			r, err = cl.Invoke(context.Background(), s.Addr().String(), protocol.NewRequest(11, nil, []byte("hello")))
			if err != nil || r.Code != 3 || r.Remark != " request type 11 not supported" {
				t.Fatal(r, err)
			}
		}
		cl.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		if err := s.Close(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
}
