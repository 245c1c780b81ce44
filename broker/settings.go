package broker

import (
	"net/netip"

	"github.com/seedmq/seedmq/conf"
)

// settings is the configuration at one time. Immutable: a change makes a new one.
type settings struct {
	conf.Broker
	Store conf.Store
	// self is brokerIP1:listenPort, the address in message ids.
	self netip.AddrPort
}

// Settings returns the configuration of now.
func (b *Broker) settings() *settings { return b.current.Load() }

// change makes new settings from the present ones. It is how UPDATE_BROKER_CONFIG applies keys that may change while running.
func (b *Broker) change(edit func(s *settings)) {
	b.settingsMu.Lock()
	defer b.settingsMu.Unlock()
	s := *b.current.Load()
	edit(&s)
	b.current.Store(&s)
}
