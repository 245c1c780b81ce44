package mqadmin

import (
	"context"
	"fmt"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// optPreview is ours: what the command would do is printed, and not done.
var optPreview = option{long: "preview", help: "print what would be done, and how many messages that concerns; do nothing", hidden: true}

// moveRow is a line of a preview.
type moveRow struct {
	Topic     string `json:"topic"`
	Broker    string `json:"broker"`
	QueueID   int32  `json:"queueId"`
	Oldest    int64  `json:"oldest"`
	End       int64  `json:"end"`
	Committed int64  `json:"committed"` // -1: none
	Target    int64  `json:"target"`
	Again     int64  `json:"again"`
	Skipped   int64  `json:"skipped"`
}

// previewReset prints what a reset to a time, or of one queue to an offset, would do.
func previewReset(ctx context.Context, c *call, at int64) error {
	group, topic := c.str("g"), c.str("t")
	if !c.has("b") || !c.has("q") {
		moves, err := c.admin.PreviewReset(ctx, topic, group, at)
		if err != nil {
			return err
		}
		return c.printMoves(moves)
	}
	queue, err := c.int32("q", 0)
	if err != nil {
		return err
	}
	name, err := c.admin.BrokerAt(ctx, c.str("b"))
	if err != nil {
		return err
	}
	m, err := c.admin.PreviewQueue(ctx, c.str("b"), group, protocol.MessageQueue{Topic: topic, BrokerName: name, QueueID: queue}, at)
	if err != nil {
		return err
	}
	if m.Target, err = c.int64("o", m.Target); err != nil {
		return err
	}
	return c.printMoves([]admin.Move{m})
}

func (c *call) printMoves(moves []admin.Move) error {
	rows, again, skipped := make([]moveRow, 0, len(moves)), int64(0), int64(0)
	for _, m := range moves {
		rows = append(rows, moveRow{m.Queue.Topic, m.Queue.BrokerName, m.Queue.QueueID, m.Begin, m.End, m.Committed, m.Target, m.Again(), m.Skipped()})
		again, skipped = again+m.Again(), skipped+m.Skipped()
	}
	if c.asJSON {
		return c.printJSON(rows)
	}
	c.printf("%-24s  %-20s  %4s  %10s  %10s  %10s  %10s  %10s  %10s\n", "#Topic", "#Broker", "#QID", "#Oldest", "#End", "#Committed", "#Target", "#Again", "#Skipped")
	for _, r := range rows {
		committed := "-"
		if r.Committed >= 0 {
			committed = fmt.Sprint(r.Committed)
		}
		c.printf("%-24s  %-20s  %4d  %10d  %10d  %10s  %10d  %10d  %10d\n", r.Topic, r.Broker, r.QueueID, r.Oldest, r.End, committed, r.Target, r.Again, r.Skipped)
	}
	c.printf("Total: %d messages would be consumed again, %d skipped. Nothing is changed.\n", again, skipped)
	return nil
}
