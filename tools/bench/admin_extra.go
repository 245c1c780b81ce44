package bench

import (
	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/conf/clock"
)

// Admin is a client for the set-up of a run: one connection for each request, no pool, no retries.
func Admin(nameServers []string, clk clock.Clock) *admin.Client {
	return admin.New(new(direct), admin.Options{NameServers: nameServers, Clock: clk})
}
