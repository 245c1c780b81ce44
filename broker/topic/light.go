package topic

import (
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// lightEntry is the topic of a light queue, nil for any other name: one queue that may be read and written. As in Java it is in
// no table and no NameServer knows it.
func lightEntry(name string) *Entry {
	if !protocol.IsLMQ(name) {
		return nil
	}
	return &Entry{Config: config(strings.Clone(name), 1, protocol.PermRead|protocol.PermWrite), Light: true}
}
