package broker

import (
	"context"
	"fmt"

	"github.com/seedmq/seedmq/conf/run"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// Names of the pools that Pooled routes run on. A full pool answers SYSTEM_BUSY at once with its name and limit; nothing that was
// taken is dropped later. Sends and hot pulls use no pool: their bound is what is in flight on a connection.
const (
	poolQuery = "query" // reads of records by id, key or time
	poolAdmin = "admin" // everything that mqadmin asks
	poolMeta  = "meta"  // clients' requests that may write a table: heartbeats that make a group or topic
	poolShare = "share" // members that ask for their queues, which may need a NameServer
)

// poolQueue is how many requests may wait for a pool.
const poolQueue = 10_000

// pools sizes the pools. Their limits are built in: more waiting would only make every answer late.
func (b *Broker) pools() map[string]remoting.PoolOptions {
	const advice = "nothing, but send fewer of these requests at a time"
	return map[string]remoting.PoolOptions{
		poolQuery: {Size: 4, Queue: poolQueue, MaxPerConn: poolQueue / 4, Key: advice},
		poolAdmin: {Size: 4, Queue: poolQueue, MaxPerConn: poolQueue / 4, Key: advice},
		poolMeta:  {Size: 4, Queue: poolQueue, MaxPerConn: poolQueue / 4, Key: advice},
		poolShare: {Size: 4, Queue: poolQueue, MaxPerConn: poolQueue / 4, Key: advice},
	}
}

// Reads that must wait for the disk run here, so that they stop no connection.
const coldWorkers = 8

// coldReads is the bounded pool of cold reads.
type coldReads struct {
	work  chan func()
	group *run.Group
}

func newColdReads() *coldReads {
	return &coldReads{work: make(chan func(), poolQueue), group: run.NewGroup()}
}

func (p *coldReads) start() error {
	for range coldWorkers {
		if err := p.group.Go("cold-read", p.run); err != nil {
			return err
		}
	}
	return nil
}

func (p *coldReads) run(ctx context.Context) {
	for {
		select {
		case fn := <-p.work:
			fn()
		case <-ctx.Done():
			return
		}
	}
}

// do runs fn on a worker, or says that all places are taken.
func (p *coldReads) do(fn func()) *Refusal {
	select {
	case p.work <- fn:
		return nil
	default:
		return overload("%d reads of old messages wait for the disk, of %d; pull again in a moment", len(p.work), cap(p.work))
	}
}

// close ends the workers. What still waits is not run: its connections are closed already.
func (p *coldReads) close() { p.group.Close() }

// overload is the one answer to too much work. Its first words are Java's, which clients look for. The text says what is full, and
// after a semicolon what to do.
func overload(format string, a ...any) *Refusal {
	return &Refusal{Code: protocol.RespSystemBusy, Remark: "[OVERLOAD]system busy, start flow control for a while: " + fmt.Sprintf(format, a...)}
}
