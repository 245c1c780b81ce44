package broker

import "github.com/seedmq/seedmq/remoting"

func (b *Broker) clientRoutes() []remoting.Route { return nil }
