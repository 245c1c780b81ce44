package admin

import (
	"context"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// SetRequestMode sets, on the broker at addr, how a group asks for the messages of a topic.
func (c *Client) SetRequestMode(ctx context.Context, addr string, m *protocol.SetMessageRequestModeRequestBody) error {
	body, err := protocol.MarshalFast(m)
	if err != nil {
		return err
	}
	_, err = c.broker(ctx, addr, request{code: protocol.ReqSetMessageRequestMode, body: body})
	return err
}
