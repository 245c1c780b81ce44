package assign

import (
	"maps"
	"strings"
	"sync"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/configfile"
	"github.com/seedmq/seedmq/store/fs"
)

// Mode is how a group asks for the messages of a topic.
type Mode = protocol.SetMessageRequestModeRequestBody

// Modes is the table of those that were set (config/messageRequestMode.json). Others have the broker's default.
type Modes struct {
	file *configfile.Writer

	mu     sync.RWMutex
	topics map[string]map[string]Mode // topic → group
}

// NewModes returns an empty table that is kept at path.
func NewModes(disk fs.FS, path string) *Modes {
	m := &Modes{topics: map[string]map[string]Mode{}}
	m.file = configfile.NewWriter(disk, path, m.fileBody)
	return m
}

// Load reads the table. Call it once, before use. After configfile.ErrCorrupt the table is empty and can be used.
func (m *Modes) Load() error {
	var f protocol.MessageRequestModeWrapper
	if _, err := m.file.Load(&f); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.MessageRequestModeMap != nil {
		m.topics = f.MessageRequestModeMap
	}
	return nil
}

// Set notes a mode, and returns when it is on disk. After an error it holds until a restart, and Save tries again. Strings are copied.
func (m *Modes) Set(mode Mode) error {
	mode.Topic, mode.ConsumerGroup, mode.Mode = strings.Clone(mode.Topic), strings.Clone(mode.ConsumerGroup), strings.Clone(mode.Mode)
	m.mu.Lock()
	groups := m.topics[mode.Topic]
	if groups == nil {
		groups = map[string]Mode{}
		m.topics[mode.Topic] = groups
	}
	groups[mode.ConsumerGroup] = mode
	m.mu.Unlock()
	return m.file.Save()
}

// Get is the mode that was set for a topic and group.
func (m *Modes) Get(topic, group string) (Mode, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	mode, ok := m.topics[topic][group]
	return mode, ok
}

// All is a copy of the table, as GET_ALL_MESSAGE_REQUEST_MODE tells it.
func (m *Modes) All() protocol.MessageRequestModeWrapper {
	m.mu.RLock()
	defer m.mu.RUnlock()
	all := make(map[string]map[string]Mode, len(m.topics))
	for topic, groups := range m.topics {
		all[topic] = maps.Clone(groups)
	}
	return protocol.MessageRequestModeWrapper{MessageRequestModeMap: all}
}

// Save writes what could not be written before.
func (m *Modes) Save() error {
	if !m.file.Dirty() {
		return nil
	}
	return m.file.Flush()
}

func (m *Modes) fileBody() any {
	all := m.All()
	return &all
}
