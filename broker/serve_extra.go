package broker

import "github.com/seedmq/seedmq/remoting"

// Handler is what serves requests, for connections that do not come in through the broker's own ports, as those of a test in the same
// process. It may be used between Start and Close, and hears of each connection as of one of the server's.
func (b *Broker) Handler() remoting.Handler { return b.mux }
