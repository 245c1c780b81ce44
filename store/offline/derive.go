package offline

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/consumequeue"
	"github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/index"
)

// derived is what queue and index must hold of a record.
type derived struct {
	queued   bool
	unit     consumequeue.Unit
	level    int     // of a delayed message whose unit keeps the time of delivery; else 0
	indexed  bool    // keys are to be looked at
	keys     []int32 // hashes, in the index's order
	tagged   bool    // the last of keys is the tag's, which Java keeps since 5.5.0 only
	scrapped bool    // belongs to a topic that was deleted since
	lights   []place // in light queues
	inner    inner   // what a record of a batch queue says of itself
}

// deriver makes them. dropped says up to where records belong to deleted topics, as our file deletedTopics has it.
type deriver struct {
	dropped map[string]int64
	delays  map[int]int64 // ms by level, as far as known
}

func newDeriver(o Options) (*deriver, error) {
	d := &deriver{dropped: map[string]int64{}, delays: map[int]int64{}}
	for i, delay := range o.DelayLevels {
		d.delays[i+1] = delay.Milliseconds()
	}
	b, err := fs.ReadFile(o.FS, o.path("deletedTopics"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, line := range strings.Split(string(b), "\n") {
		var at int64
		var topic string
		if n, _ := fmt.Sscanf(line, "%d %s", &at, &topic); n == 2 {
			d.dropped[topic] = at
		}
	}
	return d, nil
}

func (d *deriver) derive(v *protocol.MessageView, out *derived) {
	*out = derived{keys: out.keys[:0], lights: out.lights[:0]}
	d.deriveLights(v, out)
	if v.PhysicalOffset < d.dropped[v.Topic] {
		out.scrapped = true
		return
	}
	kind := v.SysFlag & protocol.SysFlagTransactionMask
	out.queued = kind == protocol.SysFlagTransactionNot || kind == protocol.SysFlagTransactionCommit
	out.indexed = kind != protocol.SysFlagTransactionRollback
	var tags, keys, uniq, delay string
	protocol.EachProperty(v.Properties, func(name, value string) bool {
		switch name {
		case protocol.PropertyTags:
			tags = value
		case protocol.PropertyKeys:
			keys = value
		case protocol.PropertyUniqKey:
			uniq = value
		case protocol.PropertyDelay:
			delay = value
		case protocol.PropertyInnerNum:
			out.inner.num = value
		case protocol.PropertyInnerBase:
			out.inner.base = value
		}
		return true
	})
	out.unit = consumequeue.Unit{PhysicalOffset: v.PhysicalOffset, Size: v.Size}
	if tags != "" {
		out.unit.TagsCode = protocol.TagsCode(tags)
	}
	if level, err := strconv.Atoi(delay); err == nil && level > 0 && v.Topic == protocol.TopicSchedule {
		out.level = level
		out.unit.TagsCode = v.StoreTimestamp // and the level's delay
	}
	if !out.indexed {
		return
	}
	if uniq != "" {
		out.keys = append(out.keys, index.KeyHash(v.Topic, uniq))
	}
	for _, word := range strings.Split(keys, " ") {
		if word != "" {
			out.keys = append(out.keys, index.KeyHash(v.Topic, word))
		}
	}
	if tags != "" {
		out.keys, out.tagged = append(out.keys, index.TagHash(v.Topic, tags)), true
	}
}

// fits says that u is d's unit. The delay of a level that is not known yet is learnt from its first message.
func (d *deriver) fits(want *derived, u consumequeue.Unit) bool {
	if want.level == 0 {
		return u == want.unit
	}
	if u.PhysicalOffset != want.unit.PhysicalOffset || u.Size != want.unit.Size {
		return false
	}
	delay := u.TagsCode - want.unit.TagsCode
	if known, ok := d.delays[want.level]; ok {
		return delay == known
	}
	if delay < 0 || delay > 366*24*time.Hour.Milliseconds() {
		return false
	}
	d.delays[want.level] = delay
	return true
}
