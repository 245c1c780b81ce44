package broker

import "github.com/seedmq/seedmq/remoting"

func (b *Broker) pullRoutes() []remoting.Route { return nil }
