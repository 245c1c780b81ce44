package broker

import (
	"github.com/seedmq/seedmq/broker/outer"
)

// makeRegistrar makes the part that keeps the NameServers informed.
func (b *Broker) makeRegistrar() {
	_ = outer.Options{}
}
