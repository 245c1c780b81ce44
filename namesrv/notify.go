package namesrv

import (
	"context"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/run"
	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/namesrv/route"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

const (
	notifyTimeout = 300 * time.Millisecond
	notifyQueue   = 1024
)

// notifier tells brokers of NOTIFY_MIN_BROKER_ID_CHANGE (905), one-way, on connections of its own: brokers serve that request on
// their port only. One goroutine sends, started with the first notice; what does not fit into the queue is dropped, since
// brokers ask every second anyway.
type notifier struct {
	client *remoting.Client
	log    *xlog.Logger
	jobs   *run.Group
	queue  chan *route.Notice
	first  chan struct{} // holds a token until the goroutine runs
}

func newNotifier(c clock.Clock, log *xlog.Logger) *notifier {
	n := &notifier{log: log, jobs: run.NewGroup(), queue: make(chan *route.Notice, notifyQueue), first: make(chan struct{}, 1)}
	n.client = remoting.NewClient(remoting.ClientOptions{Common: remoting.Common{Clock: c, Logger: log}})
	n.first <- struct{}{}
	return n
}

func (n *notifier) send(notice *route.Notice) {
	select {
	case <-n.first:
		if n.jobs.Go("notify brokers", n.loop) != nil {
			return
		}
	default:
	}
	select {
	case n.queue <- notice:
	default:
	}
}

func (n *notifier) loop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case notice := <-n.queue:
			for _, addr := range notice.Targets {
				n.tell(ctx, addr, notice)
			}
		}
	}
}

func (n *notifier) tell(ctx context.Context, addr string, notice *route.Notice) {
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	err := n.client.Oneway(ctx, addr, protocol.NewRequest(int32(protocol.ReqNotifyMinBrokerIDChange), &protocol.NotifyMinBrokerIDChangeRequestHeader{
		MinBrokerID: protocol.Some(notice.MinID), BrokerName: notice.Name, MinBrokerAddr: notice.MinAddr,
		OfflineBrokerAddr: notice.OfflineAddr, HaBrokerAddr: notice.HAAddr}, nil))
	if err != nil {
		n.log.Warnf("broker %s at %s not told that %d is its group's smallest id: %v", notice.Name, addr, notice.MinID, err)
	}
}

// Close drops what was not sent.
func (n *notifier) Close() error {
	n.jobs.Close()
	return n.client.Close()
}
