package broker

// UPDATE_BROKER_CONFIG 25, GET_BROKER_CONFIG 26: as Java's AdminBrokerProcessor.
//
// Different from Java: an allow list decides which keys may change. Paths, addresses, ports and commands never do, whoever asks
// (CVE-2023-33246); an unknown key is refused with the nearest known one, where Java takes no notice; and either all keys of a
// request are taken or none.

import (
	"errors"
	"slices"
	"strings"

	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// UseConfig makes the broker follow and update the configuration of its process, which has a file. Call it between New and Start;
// without it, changes last until the broker stops.
func (b *Broker) UseConfig(l *conf.Live[conf.BrokerProcess]) {
	b.admin.config = l
	b.admin.changeAt.Store(b.clk.Now().UnixMilli())
	l.Watch(b.configChanged)
}

// configChanged takes a new configuration over.
func (b *Broker) configChanged(old, now *conf.BrokerProcess) {
	b.admin.changes.Add(1)
	b.admin.changeAt.Store(b.clk.Now().UnixMilli())
	b.change(func(s *settings) {
		ip := s.BrokerIP1
		s.Broker, s.Store = now.Broker, now.Store
		if s.BrokerIP1 == "" {
			s.BrokerIP1 = ip
		}
	})
	if old.Broker.BrokerPermission != now.Broker.BrokerPermission {
		if err := b.topics.Touch(); err != nil { // clients are told through the routes
			b.log.Errorf("brokerPermission is %d now, but the NameServers are not told: %v", now.Broker.BrokerPermission, err)
		}
	}
}

// updateConfig changes keys.
func (b *Broker) updateConfig(c *call, _ *none) (*remoting.Reply, error) {
	if len(c.req.Body) == 0 {
		return ok()
	}
	changes, err := b.admin.config.Update(c.req.Body)
	if err != nil {
		b.log.Warnf("change of the configuration refused, asked by %s: %v", c.who(), err)
		return nil, configRefusal(err)
	}
	for _, ch := range changes {
		b.log.Infof("configuration: %s is %q instead of %q, by %s", ch.Key, ch.New, ch.Old, c.who())
	}
	return ok()
}

// configRefusal gives NO_PERMISSION for keys that nobody may change remotely, and INVALID_PARAMETER for the others.
func configRefusal(err error) error {
	var u *conf.UpdateError
	if !errors.As(err, &u) {
		return refuse(protocol.RespSystemError, "%v", err)
	}
	if slices.ContainsFunc(u.Refused, func(r conf.Refusal) bool { return r.BlackListed || strings.Contains(r.Reason, "changed remotely") }) {
		return refuse(protocol.RespNoPermission, "%v", u)
	}
	return refuse(protocol.RespInvalidParameter, "%v", u)
}

// getConfig tells all keys.
func (b *Broker) getConfig(*call, *none) (*remoting.Reply, error) {
	version, err := protocol.MarshalFast(&protocol.DataVersion{Counter: b.admin.changes.Load(), Timestamp: b.admin.changeAt.Load()})
	if err != nil {
		return nil, err
	}
	return &remoting.Reply{Header: &protocol.GetBrokerConfigResponseHeader{Version: string(version)}, Body: []byte(b.admin.config.Text())}, nil
}
