package mqadmin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/seedmq/seedmq/client/admin"
	"github.com/seedmq/seedmq/remoting/protocol"
)

func queryCommands() []*command {
	cluster := optCluster("cluster", "cluster name or light queue parent topic")
	body := option{short: "f", long: "bodyFormat", arg: true, help: "character set: print the body as text too"}
	group := option{short: "g", long: "consumerGroup", arg: true, help: "consumer group"}
	client := option{short: "d", long: "clientId", arg: true, help: "with -g: make this consumer handle the message now"}
	return []*command{
		{name: "queryMsgById", class: "QueryMsgByIdSubCommand", short: "Print messages by the broker's or the client's id", json: true, run: queryMsgByID,
			options: []option{optTopic("topic name"), {short: "i", long: "msgId", arg: true, required: true, help: "message ids, comma separated"}, group, client,
				{short: "s", long: "sendMessage", arg: true, help: "true: send the message again"}, {short: "u", long: "unitName", arg: true, help: "unit name for that"},
				body, cluster}},
		{name: "queryMsgByKey", class: "QueryMsgByKeySubCommand", short: "List messages by key", json: true, run: queryMsgByKey,
			options: []option{optTopic("topic name"), {short: "k", long: "msgKey", arg: true, required: true, help: "key"},
				{short: "b", long: "beginTimestamp", arg: true, help: "stored at or after, in ms"}, {short: "e", long: "endTimestamp", arg: true, help: "stored at or before, in ms"},
				{short: "m", long: "maxNum", arg: true, help: "at most so many, default 64"}, cluster}},
		{name: "queryMsgByUniqueKey", class: "QueryMsgByUniqueKeySubCommand", short: "Print a message by the client's id", json: true, run: queryMsgByUniqueKey,
			options: []option{{short: "i", long: "msgId", arg: true, required: true, help: "message id"}, group, client, optTopic("topic name"),
				{short: "a", long: "showAll", help: "all hits, at most 32"}, cluster}},
		{name: "queryMsgByOffset", class: "QueryMsgByOffsetSubCommand", short: "Print the message at an offset of a queue", json: true, run: queryMsgByOffset,
			options: []option{optTopic("topic name"), {short: "b", long: "brokerName", arg: true, required: true, help: "broker name"},
				{short: "i", long: "queueId", arg: true, required: true, help: "queue id"}, {short: "o", long: "offset", arg: true, required: true, help: "offset"}, body}},
	}
}

// detail says how a message's block is printed.
type detail struct {
	offsetID  bool   // with the OffsetID line
	charset   string // "" prints no body
	separated bool   // each track on a line of its own
	suffix    string // of the body's file name
}

func printDetail(ctx context.Context, c *call, m *admin.Message, d detail) error {
	path, err := saveBody(c.env.TempDir, m, d.suffix)
	if err != nil {
		return err
	}
	line := func(label string, v any) { c.printf("%-20s %v\n", label, v) }
	if d.offsetID {
		line("OffsetID:", m.OffsetID())
	}
	line("Topic:", m.Topic)
	line("Tags:", "["+javaString(m.Properties[protocol.PropertyTags])+"]")
	line("Keys:", "["+javaString(m.Properties[protocol.PropertyKeys])+"]")
	line("Queue ID:", m.QueueID)
	line("Queue Offset:", m.QueueOffset)
	line("CommitLog Offset:", m.CommitLogOffset)
	line("Reconsume Times:", m.ReconsumeTimes)
	line("Born Timestamp:", c.dateTimeMillis(m.BornTimestamp))
	line("Store Timestamp:", c.dateTimeMillis(m.StoreTimestamp))
	line("Born Host:", m.BornHost)
	line("Store Host:", m.StoreHost)
	line("System Flag:", m.SysFlag)
	line("Properties:", javaMap(m.Properties))
	line("Message Body Path:", path)
	if d.charset != "" {
		text, err := decodeText(m.Body, d.charset)
		if err != nil {
			return err
		}
		line("Message Body:", text)
	}
	printTracks(ctx, c, m, d.separated)
	return nil
}

func printTracks(ctx context.Context, c *call, m *admin.Message, separated bool) {
	tracks, err := c.admin.Tracks(ctx, m)
	switch {
	case err != nil:
		c.trace(err)
		return
	case len(tracks) == 0:
		c.printf("\n\nWARN: No Consumer")
		return
	}
	c.printf("\n\n")
	for _, t := range tracks {
		c.printf("%s", trackText(t))
		if separated {
			c.printf("\n")
		}
	}
}

// saveBody writes the body to a file named after the message, where Java's tool writes it, and returns the path.
func saveBody(dir string, m *admin.Message, suffix string) (string, error) {
	dir = filepath.Join(dir, "rocketmq", "msgbodys")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	name := filepath.Base(filepath.Clean("/" + m.ID())) // the id is the sender's text: it must not leave the folder
	path := filepath.Join(dir, name+suffix)
	return path, os.WriteFile(path, m.Body, 0o644)
}

func noMessage(err error) error {
	if errors.Is(err, admin.ErrNoMessage) {
		return clientError(protocol.RespNoMessage, "query message by key finished, but no message.")
	}
	return err
}

func queryMsgByID(ctx context.Context, c *call) error {
	topic := c.str("t")
	var ids []string
	for _, id := range strings.Split(c.str("i"), ",") {
		if id = strings.TrimSpace(id); id != "" {
			ids = append(ids, id)
		}
	}
	var found []*admin.Message
	for _, id := range ids {
		if err := queryOneID(ctx, c, topic, id, &found); err != nil {
			return err
		}
	}
	if c.asJSON {
		return printMessagesJSON(c, found)
	}
	return nil
}

func queryOneID(ctx context.Context, c *call, topic, id string, found *[]*admin.Message) error {
	switch {
	case c.has("g") && c.has("d"):
		return pushToConsumer(ctx, c, topic, id, "this %s client is not push consumer ,not support direct push \n")
	case c.has("s") && !c.isTrue("s", false):
		return nil
	case c.has("s"):
		return resend(ctx, c, topic, id)
	}
	m, err := c.admin.ViewByID(ctx, topic, id)
	if err != nil {
		return noMessage(err)
	}
	if c.asJSON {
		*found = append(*found, m)
		return nil
	}
	return printDetail(ctx, c, m, detail{offsetID: true, charset: c.str("f"), separated: true})
}

// pushToConsumer makes one consumer handle one message. Failures are printed and survived: more ids may follow.
func pushToConsumer(ctx context.Context, c *call, topic, id, refusal string) error {
	group, client := c.str("g"), c.str("d")
	info, err := c.admin.RunningInfo(ctx, group, client, false, "")
	if err != nil {
		c.trace(err)
		return nil
	}
	if !isPush(info) {
		c.printf(refusal, client)
		c.failed = true
		return nil
	}
	m, err := c.admin.ViewByID(ctx, topic, id)
	if err != nil {
		c.trace(noMessage(err))
		return nil
	}
	r, err := c.admin.ConsumeDirectly(ctx, m.StoreHost.String(), group, client, m.Topic, m.OffsetID())
	if err != nil {
		c.trace(err)
		return nil
	}
	c.printf("%s", directText(r))
	return nil
}

func resend(ctx context.Context, c *call, topic, id string) error {
	m, err := c.admin.ViewByID(ctx, topic, id)
	if errors.Is(err, admin.ErrNoMessage) {
		c.printf("no message. msgId=%s", id)
		c.failed = true
		return nil
	}
	if err != nil {
		c.trace(err)
		return nil
	}
	if c.has("u") {
		c.warn("unit names are not supported yet: the message is sent without one")
	}
	c.printf("prepare resend msg. originalMsgId=%s", id)
	out := &admin.Outgoing{Topic: m.Topic, Group: "ReSendMsgById", Body: m.Body, Properties: m.Properties}
	r, err := sendTo(ctx, c, out, "", -1)
	if err != nil {
		c.trace(err)
		return nil
	}
	c.printf("%s", sendResultText(r))
	return nil
}

func queryMsgByKey(ctx context.Context, c *call) error {
	begin, err := c.int64("b", 0)
	if err != nil {
		return err
	}
	end, err := c.int64("e", math.MaxInt64)
	if err != nil {
		return err
	}
	limit, err := c.int32("m", 64)
	if err != nil {
		return err
	}
	topic, key := c.str("t"), c.str("k")
	msgs, err := c.admin.QueryByKey(ctx, topic, key, limit, begin, end)
	if err != nil {
		return noMessage(err)
	}
	if c.asJSON {
		return printMessagesJSON(c, msgs)
	}
	c.printf("%-50s %4s %40s %-200s\n", "#Message ID", "#QID", "#Offset", "#IndexKey")
	for _, m := range msgs {
		const hour = 3600000
		index := fmt.Sprintf("%d@%s@K@%s@%s@%d", m.StoreTimestamp/hour*hour, topic, key, m.ID(), m.CommitLogOffset)
		c.printf("%-50s %4d %40d %-200s\n", m.ID(), m.QueueID, m.QueueOffset, index)
	}
	return nil
}

func queryMsgByUniqueKey(ctx context.Context, c *call) error {
	topic, id := c.str("t"), c.str("i")
	if c.has("g") && c.has("d") {
		return pushToConsumer(ctx, c, topic, id, "get consumer info failed or this %s client is not push consumer, not support direct push \n")
	}
	msgs, err := c.admin.QueryByUniqueKey(ctx, topic, id)
	if err != nil {
		return noMessage(err)
	}
	if !c.has("a") {
		msgs = msgs[:1]
	}
	if c.asJSON {
		return printMessagesJSON(c, msgs)
	}
	for i, m := range msgs {
		d := detail{}
		if i > 0 {
			d.suffix = fmt.Sprintf("_%d", i)
		}
		if err := printDetail(ctx, c, m, d); err != nil {
			return err
		}
	}
	return nil
}

func queryMsgByOffset(ctx context.Context, c *call) error {
	queue, err := c.int32("i", 0)
	if err != nil {
		return err
	}
	offset, err := c.int64("o", 0)
	if err != nil {
		return err
	}
	q := protocol.MessageQueue{Topic: c.str("t"), BrokerName: c.str("b"), QueueID: queue}
	route, err := c.admin.Route(ctx, q.Topic)
	if err != nil {
		return err
	}
	addr, err := admin.MasterOf(route, q.BrokerName)
	if err != nil {
		return err
	}
	r, err := c.admin.Pull(ctx, addr, admin.PullRequest{Queue: q, Offset: offset, Max: 1})
	switch {
	case err != nil:
		return err
	case c.asJSON:
		return printMessagesJSON(c, r.Messages)
	case len(r.Messages) == 0:
		return nil
	}
	return printDetail(ctx, c, r.Messages[0], detail{offsetID: true, charset: c.str("f"), separated: true})
}

// messageJSON is a message for -o json.
type messageJSON struct {
	ID              string            `json:"msgId"`
	OffsetID        string            `json:"offsetMsgId"`
	Topic           string            `json:"topic"`
	Broker          string            `json:"broker,omitempty"`
	QueueID         int32             `json:"queueId"`
	QueueOffset     int64             `json:"queueOffset"`
	CommitLogOffset int64             `json:"commitLogOffset"`
	StoreSize       int32             `json:"storeSize"`
	SysFlag         int32             `json:"sysFlag"`
	ReconsumeTimes  int32             `json:"reconsumeTimes"`
	BornTimestamp   int64             `json:"bornTimestamp"`
	BornHost        string            `json:"bornHost"`
	StoreTimestamp  int64             `json:"storeTimestamp"`
	StoreHost       string            `json:"storeHost"`
	Properties      map[string]string `json:"properties"`
	Body            []byte            `json:"body"` // base64
}

func printMessagesJSON(c *call, msgs []*admin.Message) error {
	out := make([]messageJSON, 0, len(msgs))
	for _, m := range msgs {
		out = append(out, messageJSON{m.ID(), m.OffsetID(), m.Topic, m.BrokerName, m.QueueID, m.QueueOffset, m.CommitLogOffset, m.StoreSize, m.SysFlag,
			m.ReconsumeTimes, m.BornTimestamp, m.BornHost.String(), m.StoreTimestamp, m.StoreHost.String(), m.Properties, m.Body})
	}
	return c.printJSON(out)
}
