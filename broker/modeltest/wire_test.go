package modeltest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// patience bounds, in real time, all that a run waits for.
const patience = 10 * time.Second

var (
	// errDead: the broker was killed before it answered.
	errDead = errors.New("the broker is dead")
	connIDs atomic.Uint64
)

// wire is a connection in memory: requests are encoded and decoded as on a real one and served on the caller's goroutine.
type wire struct {
	id   uint64
	h    remoting.Handler
	done chan struct{}

	mu      sync.Mutex
	value   any
	opaque  int32
	waiting map[int32]chan *protocol.Command
	pushed  []*protocol.Command // requests that the broker sent
	ended   bool
}

var _ remoting.Conn = (*wire)(nil)

func dial(h remoting.Handler) *wire {
	w := &wire{id: connIDs.Add(1) + 1<<40, h: h, done: make(chan struct{}), waiting: map[int32]chan *protocol.Command{}}
	h.Opened(w)
	return w
}

func (w *wire) ID() uint64 { return w.id }
func (w *wire) RemoteAddr() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, 1}), uint16(w.id))
}
func (w *wire) LocalAddr() netip.AddrPort { return netip.MustParseAddrPort("10.0.0.2:10911") }
func (w *wire) Done() <-chan struct{}     { return w.done }

func (w *wire) Value() any {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.value
}

func (w *wire) SetValue(v any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.value = v
}

// Close ends the connection, from either side.
func (w *wire) Close(reason remoting.CloseReason) {
	w.mu.Lock()
	ended := w.ended
	w.ended = true
	w.mu.Unlock()
	if !ended {
		close(w.done)
		w.h.Closed(w, reason)
	}
}

func (w *wire) closed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// travel is what the other side gets of a frame.
func travel(c *protocol.Command) *protocol.Command {
	got := &protocol.Command{}
	if err := protocol.DecodeFrame(protocol.AppendFrame(nil, c)[4:], got); err != nil {
		panic(err)
	}
	return got
}

func (w *wire) Reply(req *protocol.Command, r *remoting.Reply) {
	if req.IsOneway() {
		return
	}
	got := travel(&protocol.Command{Code: int32(r.Code), Opaque: req.Opaque, Flag: protocol.FlagResponse, Remark: r.Remark, Header: r.Header, Ext: r.Ext, Body: r.Body})
	w.mu.Lock()
	defer w.mu.Unlock()
	if ch := w.waiting[req.Opaque]; ch != nil {
		delete(w.waiting, req.Opaque)
		ch <- got
	}
}

func (w *wire) BeginReply() *remoting.BodyBuffer { return remoting.NewBodyBuffer(w.Reply) }

func (w *wire) Oneway(cmd *protocol.Command) error {
	got := travel(cmd).Clone()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return errDead
	}
	w.pushed = append(w.pushed, got)
	return nil
}

func (w *wire) Invoke(context.Context, *protocol.Command) (*protocol.Command, error) {
	return nil, errors.New("nobody answers here")
}

// takePushed returns what the broker sent since the last call.
func (w *wire) takePushed() []*protocol.Command {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pushed
	w.pushed = nil
	return p
}

// burst serves requests as those of one read, and waits for the replies. dead says that none will come. While one waits for a
// timer, the clock is moved a little.
func (w *wire) burst(clk *clock.Fake, dead func() bool, reqs ...*protocol.Command) ([]*protocol.Command, error) {
	replies := make([]chan *protocol.Command, len(reqs))
	got := make([]*protocol.Command, len(reqs))
	served := make([]*protocol.Command, len(reqs))
	w.mu.Lock()
	for i, r := range reqs {
		w.opaque++
		r.Opaque, replies[i] = w.opaque, make(chan *protocol.Command, 1)
		w.waiting[r.Opaque] = replies[i]
		served[i] = travel(r)
	}
	w.mu.Unlock()
	w.h.ServeBurst(w, served)
	give := time.NewTimer(patience)
	defer give.Stop()
	nudge := time.NewTicker(10 * time.Millisecond)
	defer nudge.Stop()
	for i := range reqs {
		for ended := false; got[i] == nil; {
			select {
			case got[i] = <-replies[i]:
			case <-nudge.C:
				if ended {
					return got, errDead
				}
				ended = dead() // one more turn for a reply that is on its way
				clk.Advance(2 * time.Millisecond)
			case <-give.C:
				return got, fmt.Errorf("request %d is not answered", reqs[i].Code)
			}
		}
	}
	return got, nil
}
