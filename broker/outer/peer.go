package outer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// AnswerError is a NameServer's refusal.
type AnswerError struct {
	Request protocol.RequestCode
	Code    protocol.ResponseCode
	Remark  string
}

func (e *AnswerError) Error() string {
	return fmt.Sprintf("request %d: answer %d %s", e.Request, e.Code, e.Remark)
}

var errLost = errors.New("connection lost")

// peer is one NameServer.
type peer struct {
	r       *Registrar
	addr    string
	changed chan struct{}   // topics changed
	ctx     context.Context // ends with stop, or with the registrar
	stop    context.CancelFunc
	done    chan struct{} // closed when loop has ended

	// Owned by loop, and by leave once loop has ended.
	conn  Conn
	known table // what the NameServer was told last, by this connection
	pause time.Duration

	mu struct {
		sync.Mutex
		registered bool
		err        error
	}
}

func newPeer(r *Registrar, addr string) *peer {
	p := &peer{r: r, addr: addr, changed: make(chan struct{}, 1), done: make(chan struct{})}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

func (p *peer) state() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return State{NameServer: p.addr, Registered: p.mu.registered, Err: p.mu.err}
}

func (p *peer) note(err error) {
	p.mu.Lock()
	was := p.mu.registered
	p.mu.registered, p.mu.err = err == nil, err
	p.mu.Unlock()
	switch {
	case err != nil && was:
		p.r.o.Log.Warnf("NameServer %s: %v", p.addr, err)
	case err != nil:
		p.r.o.Log.Limited(p.r.o.Clock, "outer "+p.addr, time.Minute).Warnf("NameServer %s: %v", p.addr, err)
	case !was:
		p.r.o.Log.Infof("registered with NameServer %s", p.addr)
	}
}

// loop is the state machine of the package comment.
func (p *peer) loop(ctx context.Context) {
	defer close(p.done)
	defer context.AfterFunc(ctx, p.stop)()
	timer := p.r.o.Clock.NewTimer(p.r.o.Period)
	defer timer.Stop()
	all := true // the next registration tells everything
	for {
		err := p.register(p.ctx, all)
		if p.ctx.Err() != nil {
			return
		}
		p.note(err)
		rearm(timer, p.waitAfter(err))
		if all = p.await(timer, err == nil); p.ctx.Err() != nil {
			return
		}
	}
}

// await sleeps until there is something to tell, and says whether it is everything. Changes are waited for only after a
// success: otherwise everything is told anyway, once the NameServer answers.
func (p *peer) await(timer clock.Timer, changes bool) (all bool) {
	var lost <-chan struct{}
	if p.conn != nil {
		lost = p.conn.Done()
	}
	var changed <-chan struct{}
	if changes {
		changed = p.changed
	}
	select {
	case <-p.ctx.Done():
	case <-lost:
		p.drop()
		p.note(errLost)
	case <-timer.C():
	case <-changed:
		return false
	}
	return true
}

// waitAfter is the period, or a growing pause after an error.
func (p *peer) waitAfter(err error) time.Duration {
	if err == nil {
		p.pause = 0
		return p.r.o.Period
	}
	p.pause = min(max(2*p.pause, minBackoff), maxBackoff)
	return p.pause
}

// rearm sets a timer that may have fired unseen.
func rearm(t clock.Timer, d time.Duration) {
	t.Stop()
	select {
	case <-t.C():
	default:
	}
	t.Reset(d)
}

// drop forgets the connection and what was said on it.
func (p *peer) drop() {
	if p.conn != nil {
		p.r.o.Transport.Disconnect(p.conn)
	}
	p.conn, p.known = nil, table{}
}

// register connects when needed and tells the NameServer all topics, or what changed since it was told.
func (p *peer) register(ctx context.Context, all bool) error {
	ctx, cancel := context.WithTimeout(ctx, p.r.o.Timeout)
	defer cancel()
	if p.conn == nil {
		conn, err := p.r.o.Transport.Connect(ctx, p.addr)
		if err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		p.conn = conn
	}
	select { // changes up to here are in the table that is read next
	case <-p.changed:
	default:
	}
	now := p.r.bodies.current()
	switch same := now.equal(p.known); {
	case same && !all:
		return nil
	case same && !p.r.o.Force:
		known, err := p.upToDate(ctx, now)
		if err != nil || known {
			return p.failed(err)
		}
	}
	body := now.body
	if part, ok := p.r.bodies.difference(p.known, now); ok && !all {
		body = part
	}
	h, err := p.tell(ctx, body)
	if err != nil {
		return p.failed(err)
	}
	p.known = now
	if p.r.o.Registered != nil {
		p.r.o.Registered(p.addr, h)
	}
	return nil
}

// failed forgets after an error what the NameServer was told, since it may or may not have got the message. The
// connection is dropped as well, unless the NameServer answered on it: a closed one takes the broker out of the routes.
func (p *peer) failed(err error) error {
	var answer *AnswerError
	switch {
	case errors.As(err, &answer):
		p.known = table{}
	case err != nil:
		p.drop()
	}
	return err
}

// tell sends REGISTER_BROKER.
func (p *peer) tell(ctx context.Context, b *body) (h protocol.RegisterBrokerResponseHeader, err error) {
	id := &p.r.o.Identity
	reply, err := p.call(ctx, protocol.ReqRegisterBroker, &protocol.RegisterBrokerRequestHeader{
		BrokerName: id.Name, BrokerAddr: id.Addr, ClusterName: id.Cluster, HaServerAddr: id.HAAddr, BrokerID: id.ID,
		EnableActingMaster: protocol.Some(false), Compressed: protocol.Some(b.compressed), BodyCRC32: protocol.Some(b.crc),
	}, b.bytes)
	if err != nil {
		return h, err
	}
	if err := h.DecodeExt(reply.Ext); err != nil {
		return h, fmt.Errorf("register: %w", err)
	}
	return h, nil
}

// upToDate asks whether the NameServer has the newest version of the topics; asking keeps the broker alive there.
func (p *peer) upToDate(ctx context.Context, now table) (bool, error) {
	id := &p.r.o.Identity
	reply, err := p.call(ctx, protocol.ReqQueryDataVersion, &protocol.QueryDataVersionRequestHeader{
		BrokerName: id.Name, BrokerAddr: id.Addr, ClusterName: id.Cluster, BrokerID: id.ID,
	}, now.versionJSON())
	var answer *AnswerError
	if errors.As(err, &answer) { // one that cannot say is told
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var h protocol.QueryDataVersionResponseHeader
	if err := h.DecodeExt(reply.Ext); err != nil {
		return false, fmt.Errorf("query data version: %w", err)
	}
	return !h.Changed, nil
}

// leave sends UNREGISTER_BROKER if there is a connection, and closes it. The loop must have ended.
func (p *peer) leave(ctx context.Context) error {
	<-p.done
	if p.conn == nil {
		return nil
	}
	defer p.drop()
	id := &p.r.o.Identity
	_, err := p.call(ctx, protocol.ReqUnregisterBroker, &protocol.UnregisterBrokerRequestHeader{
		BrokerName: id.Name, BrokerAddr: id.Addr, ClusterName: id.Cluster, BrokerID: id.ID,
	}, nil)
	if err != nil {
		return fmt.Errorf("unregister from NameServer %s: %w", p.addr, err)
	}
	return nil
}

// call sends a request and turns every reply code but SUCCESS into an error.
func (p *peer) call(ctx context.Context, code protocol.RequestCode, h protocol.HeaderEncoder, body []byte) (*protocol.Command, error) {
	reply, err := p.conn.Invoke(ctx, protocol.NewRequest(int32(code), h, body))
	if err != nil {
		return nil, fmt.Errorf("request %d: %w", code, err)
	}
	if reply.Code != int32(protocol.RespSuccess) {
		return nil, &AnswerError{Request: code, Code: protocol.ResponseCode(reply.Code), Remark: reply.Remark}
	}
	return reply, nil
}
