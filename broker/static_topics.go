package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/fs"
)

// Static topics: logical queues that are made of pieces of queues on several brokers. They are left out; docs/compat.md says why.

const noStaticTopics = "static topics are not available in this version: a logical queue is pieces of queues on several brokers, and every offset would have to be translated; " +
	"make a topic with as many queues as it may ever need"

// warnStaticTopics says which static topics a store has that another broker had before.
func (b *Broker) warnStaticTopics() {
	names, err := readStaticTopics(b.o.FS, b.o.Store.StorePathRootDir+"/config/topicQueueMapping.json")
	if err != nil {
		b.log.Warnf("whether there are static topics is not known: %v", err)
	}
	if len(names) > 0 {
		b.log.Warnf("these are static topics, which are served as if they were not: queues and offsets are those of this broker alone: %s", strings.Join(names, ", "))
	}
}

// readStaticTopics lists the topics in Java's table of static topics, in order; none where it has no file.
func readStaticTopics(f fs.FS, name string) ([]string, error) {
	b, err := fs.ReadFile(f, name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if b, err = protocol.NormalizeJSON(b); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var file struct {
		Topics map[string]json.RawMessage `json:"topicQueueMappingInfoMap"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return slices.Sorted(maps.Keys(file.Topics)), nil
}
