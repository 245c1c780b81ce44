package broker

// UPDATE_BROKER_CONFIG 25, GET_BROKER_CONFIG 26: as Java's AdminBrokerProcessor.
//
// Different from Java: an allow list decides which keys may change. Paths, addresses, ports and commands never do, whoever asks
// (CVE-2023-33246); an unknown key is refused with the nearest known one, where Java takes no notice; and either all keys of a
// request are taken or none.

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
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
	if b.txn != nil {
		b.txn.SettingsChanged()
	}
	if b.store != nil && limitsOf(&old.Store) != limitsOf(&now.Store) {
		if err := b.store.SetLimits(limitsOf(&now.Store)); err != nil { // of a file that was read again; updates are checked before
			b.log.Errorf("limits of the store stay as they are: %v", err)
		}
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

// limitsOf are the store's limits that may change while the broker runs.
func limitsOf(c *conf.Store) store.Limits {
	ratio := func(percent int) float64 { return float64(percent) / 100 }
	return store.Limits{MaxMessageSize: c.MaxMessageSize, FileReservedTime: clock.Span(c.FileReservedTime, time.Hour), DeleteWhen: c.DeleteWhen,
		DiskMaxUsedRatio: ratio(c.DiskMaxUsedSpaceRatio), DiskForcibleRatio: ratio(c.DiskSpaceCleanForciblyRatio),
		DiskWarningRatio: ratio(c.DiskSpaceWarningLevelRatio), KeepUnexpired: !c.CleanFileForciblyEnable}
}

// checkLimits refuses values that the store would not take, before they are saved.
func checkLimits(body []byte) error {
	entries, err := conf.ParseText(body)
	if err != nil {
		return nil // Update says so
	}
	var l store.Limits
	for _, e := range entries {
		value := strings.TrimSpace(e.Value)
		n, _ := strconv.Atoi(value) // Update refuses what is no number
		switch e.Key {
		case "deleteWhen":
			l.DeleteWhen = cmp.Or(value, "none")
		case "maxMessageSize":
			l.MaxMessageSize = cmp.Or(n, -1)
		case "fileReservedTime":
			l.FileReservedTime = clock.Span(n, time.Hour)
		}
	}
	if err := l.Check(); err != nil {
		return refuse(protocol.RespInvalidParameter, "%v", err)
	}
	return nil
}

// updateConfig changes keys.
func (b *Broker) updateConfig(c *call, _ *none) (*remoting.Reply, error) {
	if len(c.req.Body) == 0 {
		return ok()
	}
	if err := checkLimits(c.req.Body); err != nil {
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
	if u.BlackListed() || slices.ContainsFunc(u.Refused, func(r conf.Refusal) bool { return strings.Contains(r.Reason, "changed remotely") }) {
		return refuse(protocol.RespNoPermission, "%s", u.Remark())
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
