package topic

import (
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

func TestLimits(t *testing.T) {
	for _, x := range []struct {
		attributes map[string]string
		want       Limits
		wrong      string
	}{
		{nil, Limits{}, ""},
		{map[string]string{"message.type": "FIFO"}, Limits{}, ""},
		{map[string]string{"retention.ms": "1500", "retention.bytes": "10", "retention.messages": "3", "message.ttl.ms": "7"},
			Limits{1500 * time.Millisecond, 10, 3, 7 * time.Millisecond}, ""},
		{map[string]string{"retention.ms": "9223372036854775807"}, Limits{Age: 100 * 365 * 24 * time.Hour}, ""},
		{map[string]string{"retention.bytes": "-1", "retention.messages": "3"}, Limits{Messages: 3}, `retention.bytes is "-1"`},
		{map[string]string{"message.ttl.ms": "1h"}, Limits{}, `message.ttl.ms is "1h"`},
		{map[string]string{"retention.ms": "0"}, Limits{}, `retention.ms is "0"`},
	} {
		got, err := limitsOf(&protocol.TopicConfig{TopicName: "T", Attributes: x.attributes})
		if got != x.want || (err == nil) != (x.wrong == "") || err != nil && !strings.Contains(err.Error(), x.wrong) {
			t.Errorf("%v: %+v, %v", x.attributes, got, err)
		}
	}
	for _, key := range []string{AttributeRetentionMs, AttributeRetentionBytes, AttributeRetentionMessages, AttributeMessageTTLMs} {
		if !IsLimit(key) {
			t.Error(key)
		}
	}
	if IsLimit("reserve.time") {
		t.Error("reserve.time is Java's")
	}
}
