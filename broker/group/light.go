package group

import (
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// lightEntry is a group with the name of a light queue, nil for any other name. As in Java it is in no table and has the settings
// of a new group.
func lightEntry(name string) *Entry {
	if !protocol.IsLMQ(name) {
		return nil
	}
	return &Entry{Config: protocol.NewSubscriptionGroupConfig(strings.Clone(name))}
}
