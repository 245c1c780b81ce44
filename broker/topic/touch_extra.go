package topic

import "github.com/seedmq/seedmq/remoting/protocol"

// Touch moves the data version although no topic changed: NameServers look at a registration only when the version is new, and
// the broker's permission, which goes into what is registered, is none of the topics'.
func (t *Table) Touch() error {
	return t.change(func(map[string]*Entry) []string { return []string{protocol.TopicSchedule} })
}

// SetAutoCreate says from now on whether topics are made from TBW102 on their first send (autoCreateTopicEnable).
func (t *Table) SetAutoCreate(on bool) error {
	t.autoCreate.Store(on)
	if !on {
		return nil
	}
	s := t.o.Settings
	_, err := t.Ensure(config(protocol.DefaultTopic, s.DefaultQueues, protocol.PermInherit|protocol.PermRead|protocol.PermWrite))
	return err
}
