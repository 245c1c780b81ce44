package broker

import (
	"errors"

	"github.com/seedmq/seedmq/broker/outer"
)

// ErrNoRegistrar: the broker was started without NameServers, and stays without until a restart.
var ErrNoRegistrar = errors.New("broker: started without NameServers, restart it to register")

// SetNameServers replaces the NameServers by those of a namesrvAddr text, at once. Call it after Start.
func (b *Broker) SetNameServers(text string) error {
	list, err := outer.ParseNameServers(text)
	if err != nil {
		return err
	}
	if b.registrar == nil {
		return ErrNoRegistrar
	}
	b.registrar.SetNameServers(list)
	return nil
}
