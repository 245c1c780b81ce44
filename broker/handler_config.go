package broker

// UPDATE_BROKER_CONFIG 25, GET_BROKER_CONFIG 26: as Java's AdminBrokerProcessor.
//
// Different from Java: an allow list decides which keys may change. Paths, addresses, ports and commands never do, whoever asks
// (CVE-2023-33246); an unknown key is refused with the nearest known one, where Java takes no notice; and either all keys of a
// request are taken or none.

import (
	"errors"
	"slices"
	"strconv"
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
	if o, n := &old.Store, &now.Store; o.DeleteWhen != n.DeleteWhen || o.FileReservedTime != n.FileReservedTime || o.DiskMaxUsedSpaceRatio != n.DiskMaxUsedSpaceRatio ||
		o.DiskSpaceCleanForciblyRatio != n.DiskSpaceCleanForciblyRatio || o.DiskSpaceWarningLevelRatio != n.DiskSpaceWarningLevelRatio {
		b.log.Warnf("changes of %s take effect at the next start", strings.Join(atStart, ", ")) // the file was read again
	}
	if err := b.applyToTables(&old.Broker, &now.Broker); err != nil {
		b.log.Errorf("a change of the configuration is not applied in full: %v", err)
	}
}

// applyToTables tells the tables what they read of the configuration.
func (b *Broker) applyToTables(old, now *conf.Broker) error {
	b.groups.SetAutoCreate(now.AutoCreateSubscriptionGroup)
	var errs []error
	if old.AutoCreateTopicEnable != now.AutoCreateTopicEnable {
		errs = append(errs, b.topics.SetAutoCreate(now.AutoCreateTopicEnable))
	}
	if e := b.topics.Get(protocol.DefaultTopic); e != nil && old.DefaultTopicQueueNums != now.DefaultTopicQueueNums {
		c := e.Config.Clone()
		c.ReadQueueNums, c.WriteQueueNums = int32(now.DefaultTopicQueueNums), int32(now.DefaultTopicQueueNums)
		errs = append(errs, b.topics.Update(c))
	}
	if old.BrokerPermission != now.BrokerPermission { // clients are told through the routes
		errs = append(errs, b.topics.Touch())
	}
	return errors.Join(errs...)
}

// atStart are keys of the store, which reads them when it is opened.
var atStart = []string{"deleteWhen", "fileReservedTime", "diskMaxUsedSpaceRatio", "diskSpaceCleanForciblyRatio", "diskSpaceWarningLevelRatio"}

// checkAtStart refuses changes that would be taken and saved, but have no effect while the broker runs.
func (b *Broker) checkAtStart(body []byte) error {
	entries, err := conf.ParseText(body)
	if err != nil {
		return nil // Update says so
	}
	for _, e := range entries {
		if slices.Contains(atStart, e.Key) {
			return refuse(protocol.RespNoPermission, "%s takes effect at start only: set it in the configuration file and restart", e.Key)
		}
		if n, err := strconv.Atoi(strings.TrimSpace(e.Value)); e.Key == "maxMessageSize" && err == nil && n > b.o.Store.MaxMessageSize {
			return refuse(protocol.RespNoPermission, "maxMessageSize can be raised above %d at start only: set it in the configuration file and restart", b.o.Store.MaxMessageSize)
		}
	}
	return nil
}

// updateConfig changes keys.
func (b *Broker) updateConfig(c *call, _ *none) (*remoting.Reply, error) {
	if len(c.req.Body) == 0 {
		return ok()
	}
	if err := b.checkAtStart(c.req.Body); err != nil {
		return nil, err
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
