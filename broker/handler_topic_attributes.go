package broker

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seedmq/seedmq/broker/topic"
	"github.com/seedmq/seedmq/remoting/protocol"
)

// attribute is what may be set on a topic or group.
type attribute struct {
	fixed    bool     // only when the topic is made
	words    []string // what the value may be; nil: a number or anything
	number   bool
	low, top int64
}

const maxInt64 = 1<<63 - 1

// topicAttributes are those of Java 5.5, and ours.
var topicAttributes = map[string]attribute{
	"queue.type":            {fixed: true, words: []string{"SimpleCQ", "BatchCQ"}},
	"cleanup.policy":        {fixed: true, words: []string{"DELETE", "COMPACTION"}},
	"message.type":          {words: []string{"UNSPECIFIED", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED", "LITE", "PRIORITY"}},
	"reserve.time":          {number: true, low: -1, top: maxInt64},
	"lite.topic.expiration": {number: true, low: -1, top: 30},

	topic.AttributeRetentionMs:       {number: true, low: 1, top: maxInt64},
	topic.AttributeRetentionBytes:    {number: true, low: 1, top: maxInt64},
	topic.AttributeRetentionMessages: {number: true, low: 1, top: maxInt64},
	topic.AttributeMessageTTLMs:      {number: true, low: 1, top: maxInt64},
}

// checkLimits refuses limits where messages belong to the broker, which would lose what it needs.
func (b *Broker) checkLimits(t *protocol.TopicConfig) error {
	for _, key := range slices.Sorted(maps.Keys(t.Attributes)) {
		if topic.IsLimit(key) && b.isSystemTopic(t.TopicName) {
			return refuse(protocol.RespInvalidParameter, "The topic[%s] is conflict with system topic: %s cannot be set", t.TopicName, key)
		}
	}
	return nil
}

// groupAttributes are those of Java 5.5; their values mean nothing here yet.
var groupAttributes = map[string]attribute{
	"priority.factor": {}, "lite.bind.topic": {}, "lite.sub.model": {}, "lite.sub.reset.offset.exclusive": {},
	"lite.sub.reset.offset.unsubscribe": {}, "lite.sub.client.quota": {}, "lite.sub.client.max.event.cnt": {}, "lite.sub.wildcard": {},
}

// parseAttributes reads "+key=value,-key2". The keys keep their sign.
func parseAttributes(text string) (map[string]string, error) {
	out := map[string]string{}
	if text == "" {
		return out, nil
	}
	bad := func(format string, a ...any) error { return refuse(protocol.RespSystemError, format, a...) }
	for _, item := range strings.Split(text, ",") {
		key, value, isSet := strings.Cut(item, "=")
		switch {
		case isSet && !strings.HasPrefix(key, "+"):
			return nil, bad("add/alter attribute format is wrong: %s", clip(key))
		case !isSet && !strings.HasPrefix(key, "-"):
			return nil, bad("delete attribute format is wrong: %s", clip(key))
		}
		if _, twice := out[key]; twice {
			return nil, bad("key duplication: %s", clip(key))
		}
		out[strings.Clone(key)] = strings.Clone(value)
	}
	return out, nil
}

// alterAttributes applies changes, whose keys begin with + or -, to the attributes now and returns the result. The errors' words are
// Java's.
func alterAttributes(known map[string]attribute, create bool, now, changes map[string]string) (map[string]string, error) {
	bad := func(format string, a ...any) error { return refuse(protocol.RespSystemError, format, a...) }
	out := maps.Clone(now)
	if out == nil {
		out = map[string]string{}
	}
	for _, signed := range slices.Sorted(maps.Keys(changes)) {
		value := changes[signed]
		if len(signed) < 2 || signed[0] != '+' && signed[0] != '-' {
			return nil, bad("wrong format key: %s", clip(signed))
		}
		key, add := signed[1:], signed[0] == '+'
		a, isKnown := known[key]
		_, set := out[key]
		_, both := changes["+"+key]
		switch {
		case !isKnown:
			return nil, bad("unsupported key: %s", clip(key))
		case create && !add:
			return nil, bad("only add attribute is supported while creating topic. key: %s", key)
		case !add && both:
			return nil, bad("key duplication: %s", key)
		case !create && a.fixed:
			return nil, bad("attempt to update an unchangeable attribute. key: %s", key)
		case !add && !set:
			return nil, bad("attempt to delete a nonexistent key: %s", key)
		case !add:
			delete(out, key)
			continue
		}
		if err := a.check(key, value); err != nil {
			return nil, err
		}
		out[key] = value
	}
	return out, nil
}

func (a *attribute) check(key, value string) error {
	if a.words != nil && !slices.Contains(a.words, value) {
		return refuse(protocol.RespSystemError, "value of %s is not in set: [%s]", key, strings.Join(a.words, ", "))
	}
	if a.number {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < a.low || n > a.top {
			return refuse(protocol.RespSystemError, "value of %s is not in range(%d, %d)", key, a.low, a.top)
		}
	}
	return nil
}
