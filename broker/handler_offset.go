package broker

import "github.com/seedmq/seedmq/remoting"

func (b *Broker) offsetRoutes() []remoting.Route { return nil }
