package remoting

import (
	"errors"
	"fmt"
	"time"
)

// Errors of calls. Test with errors.Is.
var (
	// ErrClosed: the connection, client or server is closed. A request that failed with it may or may not have been served.
	ErrClosed = errors.New("remoting: connection closed")
	// ErrFrameTooBig: the frame would exceed Limits.MaxFrame and was not sent.
	ErrFrameTooBig = errors.New("remoting: frame too big")
	// ErrTooManyPending: Limits.MaxPending calls wait on the connection; nothing was sent.
	ErrTooManyPending = errors.New("remoting: too many calls wait for a reply")
	// ErrTimeout is what a *TimeoutError is.
	ErrTimeout = errors.New("remoting: timeout")
	// ErrConnect is what a *ConnectError is.
	ErrConnect = errors.New("remoting: connect failed")
)

// ConnectError says why no connection to Addr could be made. Nothing was sent.
type ConnectError struct {
	Addr string
	Err  error
}

func (e *ConnectError) Error() string {
	return fmt.Sprintf("remoting: connect to %s: %v", e.Addr, e.Err)
}

// Unwrap makes it both ErrConnect and its cause.
func (e *ConnectError) Unwrap() []error { return []error{ErrConnect, e.Err} }

// TimeoutError says that no reply came in time. The request may have been served.
type TimeoutError struct {
	Addr string
	Code int32
	Wait time.Duration
	Err  error // the context's
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("remoting: request %d to %s: no reply in %v", e.Code, e.Addr, e.Wait)
}

// Unwrap makes it both ErrTimeout and the context's error.
func (e *TimeoutError) Unwrap() []error { return []error{ErrTimeout, e.Err} }

// String names the reason in lower case words.
func (r CloseReason) String() string {
	names := [...]string{"by peer", "idle", "bad frame", "slow peer", "overload", "shutdown", "by handler", "i/o error"}
	if int(r) < len(names) {
		return names[r]
	}
	return "unknown"
}
