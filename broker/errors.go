package broker

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/seedmq/seedmq/broker/group"
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// Refusal is an answer that is not a success: the code that Java gives, and a remark that says what is wrong, with the numbers,
// and what to do.
type Refusal struct {
	Code   protocol.ResponseCode
	Remark string
	// Forbidden is, with NO_PERMISSION for a pull, the kind of prohibition (forbiddenType of the reply).
	Forbidden int
}

func (r *Refusal) Error() string { return r.Remark }

// refuse makes a Refusal.
func refuse(code protocol.ResponseCode, format string, a ...any) *Refusal {
	return &Refusal{Code: code, Remark: fmt.Sprintf(format, a...)}
}

// refusal maps any error to what the client is told. It is the only place that does.
func refusal(err error) *Refusal {
	var r *Refusal
	var field *protocol.FieldError
	var name *protocol.NameError
	switch {
	case errors.As(err, &r):
		return r
	case errors.As(err, &field):
		return &Refusal{Code: protocol.RespSystemError, Remark: field.Error()} // as Java, whose header decoder throws
	case errors.As(err, &name):
		return &Refusal{Code: protocol.RespInvalidParameter, Remark: name.Error()}
	case errors.Is(err, topic.ErrNoTemplate):
		return &Refusal{Code: protocol.RespTopicNotExist, Remark: err.Error()}
	case errors.Is(err, group.ErrNotFound):
		return &Refusal{Code: protocol.RespSubscriptionGroupNotExist, Remark: err.Error()}
	}
	return storeRefusal(err)
}

// storeRefusal maps the store's errors.
func storeRefusal(err error) *Refusal {
	switch {
	case errors.Is(err, store.ErrMessageTooLarge):
		return &Refusal{Code: protocol.RespMessageIllegal, Remark: err.Error()}
	case errors.Is(err, store.ErrFlushTimeout):
		return &Refusal{Code: protocol.RespFlushDiskTimeout, Remark: "the message is stored, but the disk did not confirm it in time (syncFlushTimeout): " + err.Error()}
	case errors.Is(err, store.ErrDiskFull):
		return &Refusal{Code: protocol.RespServiceNotAvailable, Remark: "the disk is full; sends go on by themselves once there is room (diskMaxUsedSpaceRatio, fileReservedTime): " + err.Error()}
	case errors.Is(err, store.ErrReadOnly):
		return &Refusal{Code: protocol.RespServiceNotAvailable, Remark: "the broker takes no messages: " + err.Error()}
	case errors.Is(err, store.ErrClosed):
		return &Refusal{Code: protocol.RespServiceNotAvailable, Remark: "the broker is starting or stopping: " + err.Error()}
	case errors.Is(err, store.ErrNotFound):
		return &Refusal{Code: protocol.RespQueryNotFound, Remark: err.Error()}
	}
	return &Refusal{Code: protocol.RespSystemError, Remark: err.Error()}
}

// fail answers req with err.
func fail(c remoting.Conn, req *protocol.Command, err error) {
	r := refusal(err)
	c.Reply(req, &remoting.Reply{Code: r.Code, Remark: r.Remark})
}

// done answers req: with err, or with success and a header that may be nil.
func done(c remoting.Conn, req *protocol.Command, h protocol.HeaderEncoder, body []byte, err error) {
	if err != nil {
		fail(c, req, err)
		return
	}
	c.Reply(req, &remoting.Reply{Header: h, Body: body})
}

// guard is deferred by work that goes on outside of a handler: a panic is our bug, costs this request only, and is answered.
func (b *Broker) guard(c remoting.Conn, req func() *protocol.Command) {
	if p := recover(); p != nil {
		b.log.Errorf("request of %s panicked: %v\n%s", c.RemoteAddr(), p, debug.Stack())
		fail(c, req(), refuse(protocol.RespSystemError, "internal error: the request panicked, see the broker's log"))
	}
}
