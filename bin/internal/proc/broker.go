package proc

import (
	"maps"

	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/conf/xlog"
)

// LoadBroker is LoadConfig for a broker. Masters have the id 0 whatever the file says; what cannot work is an error (see
// conf.BrokerProcess.Validate).
func LoadBroker(log *xlog.Logger, defaults conf.BrokerProcess, path string, override map[string]string) (*conf.Live[conf.BrokerProcess], error) {
	live, err := LoadConfig(log, defaults, path, override)
	if err != nil {
		return nil, err
	}
	if p := live.Get(); p.Store.BrokerRole != "SLAVE" && p.Broker.BrokerID != 0 {
		log.Warnf("brokerId is 0 and not %d: brokerRole=%s", p.Broker.BrokerID, p.Store.BrokerRole)
		override = maps.Clone(override)
		if override == nil {
			override = map[string]string{}
		}
		override["brokerId"] = "0"
		if live, _, err = conf.Start(defaults, path, override); err != nil {
			return nil, err
		}
	}
	return live, live.Get().Validate()
}
