package broker

import "github.com/seedmq/seedmq/remoting"

func (b *Broker) sendRoutes() []remoting.Route { return nil }
