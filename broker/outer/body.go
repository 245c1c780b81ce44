package outer

import (
	"encoding/json"
	"hash/crc32"
	"maps"
	"reflect"
	"sync"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// table is the topic table at one moment, as NameServers are told it.
type table struct {
	topics     map[string]protocol.TopicConfig
	version    protocol.DataVersion
	permission int32
	body       *body // all of it; nil: nothing was told
}

func (t *table) equal(o table) bool {
	return o.body != nil && t.version == o.version && t.permission == o.permission
}

func (t *table) versionJSON() []byte {
	b, err := json.Marshal(t.version)
	if err != nil {
		panic("outer: encoding numbers failed: " + err.Error())
	}
	return b
}

// body is an encoded RegisterBrokerBody.
type body struct {
	bytes      []byte
	crc        int32
	compressed bool
}

// incrementalMax is how many changed topics are still told alone.
const incrementalMax = 100

// bodies encodes the table once for all NameServers.
type bodies struct {
	o       *Options
	mapping protocol.DataVersion // of static topics, of which there are none

	mu   sync.Mutex
	last table
}

func newBodies(o *Options) *bodies {
	return &bodies{o: o, mapping: protocol.DataVersion{Timestamp: clock.Millis(o.Clock)}}
}

// current is the table as of now.
func (b *bodies) current() table {
	b.mu.Lock()
	defer b.mu.Unlock()
	topics, version := b.o.Topics()
	t := table{topics: topics, version: version, permission: b.o.Permission()}
	if t.equal(b.last) {
		return b.last
	}
	t.body = b.encode(topics, &t)
	b.last = t
	return t
}

// difference encodes the topics that are in now but not the same in old. It is not ok when topics are gone, when the
// permission changed, when there was nothing before, or when too much changed: then all topics are to be told.
func (b *bodies) difference(old, now table) (*body, bool) {
	if old.body == nil || old.permission != now.permission {
		return nil, false
	}
	changed := map[string]protocol.TopicConfig{}
	for name, c := range now.topics {
		if was, ok := old.topics[name]; !ok || !reflect.DeepEqual(was, c) {
			changed[name] = c
		}
	}
	for name := range old.topics {
		if _, ok := now.topics[name]; !ok {
			return nil, false
		}
	}
	if len(changed) == 0 || len(changed) > incrementalMax {
		return nil, false
	}
	return b.encode(changed, &now), true
}

func (b *bodies) encode(topics map[string]protocol.TopicConfig, t *table) *body {
	rb := protocol.RegisterBrokerBody{FilterServerList: []string{}}
	rb.TopicConfigSerializeWrapper.TopicConfigTable = restrict(topics, t.permission)
	rb.TopicConfigSerializeWrapper.DataVersion = t.version
	rb.TopicConfigSerializeWrapper.MappingDataVersion = b.mapping
	out := &body{compressed: b.o.Compress}
	var err error
	out.bytes, err = rb.Encode(out.compressed)
	if err != nil { // strings and numbers only: cannot fail
		panic("outer: encoding topics failed: " + err.Error())
	}
	out.crc = int32(crc32.ChecksumIEEE(out.bytes) & 0x7fffffff)
	return out
}

// restrict takes from the topics what the broker as a whole may not do.
func restrict(topics map[string]protocol.TopicConfig, permission int32) map[string]protocol.TopicConfig {
	const rw = protocol.PermRead | protocol.PermWrite
	if permission&rw == rw {
		return topics
	}
	out := maps.Clone(topics)
	for name, c := range out {
		c.Perm &= permission
		out[name] = c
	}
	return out
}
