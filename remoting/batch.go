package remoting

import "github.com/seedmq/seedmq/remoting/protocol"

// ReplyBatch gathers replies to any number of connections, so that each connection's leave in one write. Use it where
// one event answers many requests, such as a group commit. The zero value is ready; it is not safe for concurrent use.
type ReplyBatch struct {
	held []*conn
	seen map[*conn]struct{}
}

// Reply is c.Reply(req, r), sent by Flush at the latest.
func (b *ReplyBatch) Reply(c Conn, req *protocol.Command, r *Reply) {
	if own, ok := c.(*conn); ok {
		b.hold(own)
	}
	c.Reply(req, r)
}

func (b *ReplyBatch) hold(c *conn) {
	if n := len(b.held); n > 0 && b.held[n-1] == c {
		return
	}
	if _, ok := b.seen[c]; ok {
		return
	}
	if b.seen == nil {
		b.seen = map[*conn]struct{}{}
	}
	b.seen[c] = struct{}{}
	b.held = append(b.held, c)
	c.cork()
}

// Flush sends what was gathered. The batch is empty afterwards and can be used again. Every batch must be flushed, or
// its connections send nothing any more.
func (b *ReplyBatch) Flush() {
	for i, c := range b.held {
		c.uncork()
		b.held[i] = nil
	}
	b.held = b.held[:0]
	clear(b.seen)
}
