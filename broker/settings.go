package broker

import (
	"encoding/json"
	"net/netip"
	"strconv"

	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// settings is the configuration at one time, with what requests need of it made ready. Immutable: a change makes a new one.
type settings struct {
	conf.Broker
	Store conf.Store

	self       netip.AddrPort // brokerIP1:listenPort, the address in message ids
	selfHex    []byte         // the same as the first digits of a message id
	sendSuffix []byte         // properties that the broker adds to every message
	replyHead  string         // JSON of a reply to a send, up to the log position in the message id
	replyTail  string         // and from the quote before MSG_REGION on
}

// settings returns the configuration of now.
func (b *Broker) settings() *settings { return b.current.Load() }

// change makes new settings from the present ones. It is how UPDATE_BROKER_CONFIG applies keys that may change while running.
func (b *Broker) change(edit func(s *settings)) {
	b.settingsMu.Lock()
	defer b.settingsMu.Unlock()
	s := *b.current.Load()
	edit(&s)
	s.derive()
	b.current.Store(&s)
}

// derive fills what follows from the configuration.
func (s *settings) derive() {
	s.selfHex = protocol.AppendOffsetMsgID(nil, s.self, 0)
	s.selfHex = s.selfHex[:len(s.selfHex)-physHexLen]
	s.replyHead = `"msgId":"` + string(s.selfHex)
	region, _ := json.Marshal(s.RegionID)
	s.replyTail = `","MSG_REGION":` + string(region) + `,"TRACE_ON":"` + strconv.FormatBool(s.TraceOn) + `"`
	s.sendSuffix = protocol.AppendProperty(nil, protocol.PropertyMsgRegion, s.RegionID)
	s.sendSuffix = protocol.AppendProperty(s.sendSuffix, protocol.PropertyTraceSwitch, strconv.FormatBool(s.TraceOn))
	s.sendSuffix = protocol.AppendProperty(s.sendSuffix, protocol.PropertyCluster, s.BrokerClusterName)
}

// physHexLen is how many digits of a message id are the log position.
const physHexLen = 16

// appendMsgID is protocol.AppendOffsetMsgID for a message stored here.
func (s *settings) appendMsgID(dst []byte, phys int64) []byte {
	return protocol.AppendHex(append(dst, s.selfHex...), uint64(phys))
}
