package broker

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/broker/group"
	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
)

// TestErrorsToCodes is the table of what clients are told.
func TestErrorsToCodes(t *testing.T) {
	for _, x := range []struct {
		err   error
		code  protocol.ResponseCode
		words string
	}{
		{refuse(protocol.RespNoPermission, "no %d", 5), 16, "no 5"},
		{fmt.Errorf("wrapped: %w", refuse(protocol.RespNoPermission, "no")), 16, "no"},
		{&protocol.FieldError{Field: "queueId", Reason: "missing"}, 1, "queueId: missing"},
		{protocol.CheckTopic(""), 29, "is blank"},
		{fmt.Errorf("x: %w", topic.ErrNoTemplate), 17, "x"},
		{fmt.Errorf("x: %w", group.ErrNotFound), 26, "x"},
		{fmt.Errorf("body: %w", store.ErrMessageTooLarge), 13, "body"},
		{store.ErrFlushTimeout, 10, "the message is stored"},
		{store.ErrDiskFull, 14, "diskMaxUsedSpaceRatio"},
		{fmt.Errorf("write failed: %w", store.ErrReadOnly), 14, "write failed"},
		{store.ErrClosed, 14, "starting or stopping"},
		{store.ErrNotFound, 22, "not found"},
		{errors.New("anything else"), 1, "anything else"},
		{overload("%d of %d", 3, 3), 2, "[OVERLOAD]system busy, start flow control for a while: 3 of 3"},
	} {
		if r := refusal(x.err); r.Code != x.code || !strings.Contains(r.Remark, x.words) {
			t.Errorf("%v: code %d %q, want %d ...%s...", x.err, r.Code, r.Remark, x.code, x.words)
		}
	}
}

func TestGuardAnswers(t *testing.T) {
	b := startQuiet(t)
	c := &countingConn{}
	func() {
		defer b.guard(c, func() *protocol.Command { return &protocol.Command{} })
		panic("a bug")
	}()
	if c.bad == nil || c.bad.Code != protocol.RespSystemError || !strings.Contains(c.bad.Remark, "panicked") {
		t.Fatalf("%+v", c.bad)
	}
}
