package broker

import "github.com/seedmq/seedmq/remoting"

func (b *Broker) lockRoutes() []remoting.Route { return nil }
