package topic

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// ErrNoTemplate: the topic is not there and may not be made from the default topic that the sender named.
var ErrNoTemplate = errors.New("topic: not there, and not to be created")

// CreateRequest is what a send says of a topic that is not there.
type CreateRequest struct {
	Topic        string
	DefaultTopic string // template that the sender names, as a rule TBW102
	Queues       int32  // what the sender would like
	SysFlag      int32
}

// CreateOnSend returns the topic, made from the template when it is not there: as many queues as the sender likes but not more
// than the template has, and the template's permission without the inherit bit. It is ErrNoTemplate when the template is
// not there, may not be inherited, or when topics are not to be created. The strings of r are copied.
func (t *Table) CreateOnSend(r CreateRequest) (*Entry, error) {
	if e := t.Get(r.Topic); e != nil {
		return e, nil
	}
	template := t.Get(r.DefaultTopic)
	switch {
	case template == nil:
		return nil, fmt.Errorf("%w: the default topic %q is not there", ErrNoTemplate, r.DefaultTopic)
	case r.DefaultTopic == protocol.DefaultTopic && !t.autoCreate.Load():
		return nil, fmt.Errorf("%w: autoCreateTopicEnable is false", ErrNoTemplate)
	case template.Config.Perm&protocol.PermInherit == 0:
		return nil, fmt.Errorf("%w: the permission of the default topic %s is %s, without X", ErrNoTemplate,
			r.DefaultTopic, protocol.PermString(template.Config.Perm))
	}
	c := protocol.NewTopicConfig(strings.Clone(r.Topic))
	queues := max(1, min(r.Queues, template.Config.WriteQueueNums))
	c.ReadQueueNums, c.WriteQueueNums = queues, queues
	c.Perm = template.Config.Perm &^ protocol.PermInherit
	c.TopicFilterType = template.Config.TopicFilterType
	c.TopicSysFlag = r.SysFlag
	return t.Ensure(c)
}
