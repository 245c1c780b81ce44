package broker

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/seedmq/seedmq/broker/outer"
	"github.com/seedmq/seedmq/remoting"
)

// nameServers carries the registrar's calls.
type nameServers struct{ client *remoting.Client }

func (t nameServers) Connect(ctx context.Context, addr string) (outer.Conn, error) {
	c, err := t.client.Conn(ctx, addr)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (t nameServers) Disconnect(c outer.Conn) {
	if c, ok := c.(remoting.Conn); ok {
		c.Close(remoting.ClosedByHandler)
	}
}

// makeRegistrar makes the part that keeps the NameServers informed; none without namesrvAddr.
func (b *Broker) makeRegistrar() error {
	c := &b.o.Broker
	list, err := outer.ParseNameServers(c.NamesrvAddr)
	if err != nil || len(list) == 0 {
		return err
	}
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	b.outer = remoting.NewClient(remoting.ClientOptions{Common: remoting.Common{Clock: b.clk, Logger: b.log}})
	ha := c.BrokerIP2
	if ha == "" {
		ha = c.BrokerIP1
	}
	self := net.JoinHostPort(c.BrokerIP1, strconv.Itoa(int(b.Self().Port()))) // as configured: a name stays a name
	port := b.o.Store.HAListenPort
	if port == 0 {
		port = int(b.Self().Port()) + 1
	}
	b.registrar = outer.New(outer.Options{
		Identity: outer.Identity{Cluster: c.BrokerClusterName, Name: c.BrokerName, ID: c.BrokerID, Addr: self,
			HAAddr: net.JoinHostPort(ha, strconv.Itoa(port))},
		NameServers: list, Transport: nameServers{b.outer}, Topics: b.topics.Snapshot,
		Permission: func() int32 { return int32(b.settings().BrokerPermission) },
		Period:     ms(c.RegisterNameServerPeriod), Timeout: ms(c.RegisterBrokerTimeoutMills),
		Force: c.ForceRegister, Compress: c.CompressedRegister,
		Clock: b.clk, Log: b.log})
	return nil
}
