package remoting

import "github.com/seedmq/seedmq/remoting/protocol"

// BodyBuffer is a reply body being built: append to Buf, then Send or Drop exactly once.
type BodyBuffer struct{ Buf []byte }

// Send completes the reply with r (whose Body must be nil) and hands Buf over.
func (b *BodyBuffer) Send(req *protocol.Command, r *Reply) {}

// Drop gives the buffer back unsent.
func (b *BodyBuffer) Drop() {}
