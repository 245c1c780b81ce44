package broker

import (
	"fmt"
	"slices"

	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// routes is the table of everything that the broker serves. Each handler file offers its rows; a code that two of them
// name, or that protocol does not know, is a mistake that New reports.
func (b *Broker) routes() ([]remoting.Route, error) {
	table := slices.Concat(
		b.sendRoutes(),
		b.txnRoutes(),
		b.replyRoutes(),
		b.pullRoutes(),
		b.popRoutes(),
		b.clientRoutes(),
		b.offsetRoutes(),
		b.lockRoutes(),
		b.assignmentRoutes(),
		b.timerRoutes(),
		b.adminRoutes(),
	)
	seen := make(map[protocol.RequestCode]bool, len(table))
	for _, r := range table {
		if seen[r.Code] {
			return nil, fmt.Errorf("broker: request code %d has two handlers", r.Code)
		}
		seen[r.Code] = true
	}
	return table, nil
}
