//go:build peers

package e2e

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/tools/harness"
)

// queuesConf has small files, light queues, and a table of light queues' offsets that is soon on disk.
const queuesConf = exchangeConf + "mapperFileSizeBatchConsumeQueue=460\nenableLmq=true\nenableMultiDispatch=true\n"

const (
	batchTopic  = "Batches"
	lightParent = "LightParent"
	lightGroup  = "%LMQ%group"
)

// queuesBook is what a store with batches and light queues must hold, whoever wrote it.
type queuesBook struct {
	t       *testing.T
	n       int
	batches []string            // bodies by queue offset
	bases   []int64             // where records begin
	times   []int64             // when the batches were sent, ms
	lights  map[string][]string // bodies by offset of each light queue
	commits int64
}

var lightNames = []string{"%LMQ%a", "%LMQ%b", "%LMQ%c"}

func createQueuesTopics(t *testing.T, s *harness.Server) {
	t.Helper()
	w := mustDial(t, s.Broker)
	for topic, attributes := range map[string]string{batchTopic: "+queue.type=BatchCQ", lightParent: ""} {
		if _, err := w.success(protocol.ReqUpdateAndCreateTopic, &protocol.UpdateAndCreateTopicRequestHeader{Topic: topic, DefaultTopic: protocol.DefaultTopic,
			ReadQueueNums: 2, WriteQueueNums: 2, Perm: 6, TopicFilterType: "SINGLE_TAG", Attributes: attributes}, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// fill sends batches of 1 to 5 messages, and messages for 1 to 3 light queues.
func (b *queuesBook) fill(s *harness.Server, rounds int) {
	b.t.Helper()
	w := mustDial(b.t, s.Broker)
	for range rounds {
		var body []byte
		base := int64(len(b.batches))
		for i := range 1 + b.n%5 {
			text := fmt.Sprintf("batch %d member %d", b.n, i)
			body = protocol.AppendBatchEntry(body, &protocol.BatchEntry{Flag: int32(i), Body: []byte(text), Properties: "TAGS\x01t\x02KEYS\x01k" + fmt.Sprint(b.n)})
			b.batches = append(b.batches, text)
		}
		b.bases, b.times = append(b.bases, base), append(b.times, time.Now().UnixMilli())
		uniq := fmt.Sprint("UNIQ", b.n)
		reply, err := w.success(protocol.ReqSendBatchMessage, &protocol.SendMessageV2RequestHeader{ProducerGroup: "P", Topic: batchTopic,
			DefaultTopic: protocol.DefaultTopic, DefaultTopicQueueNums: 4, BornTimestamp: time.Now().UnixMilli(), ReconsumeTimes: protocol.Some(int32(0)),
			Properties: string(protocol.Properties{protocol.PropertyUniqKey: uniq, "WAIT": "true"}.Encode()), UnitMode: protocol.Some(false), Batch: protocol.Some(true)}, body)
		var h protocol.SendMessageResponseHeader
		if err == nil {
			err = h.DecodeExt(reply.Ext)
		}
		if err != nil || h.QueueOffset != base || h.BatchUniqID != uniq || strings.Contains(h.MsgID, ",") {
			b.t.Fatalf("batch %d: %+v, %v", b.n, h, err)
		}
		b.alone(w)
		names := lightNames[b.n%3:]
		text := fmt.Sprint("light ", b.n)
		for _, name := range names {
			b.lights[name] = append(b.lights[name], text)
		}
		if _, err := w.send(lightParent, int32(b.n%2), text, protocol.Properties{protocol.PropertyUniqKey: "L" + uniq, protocol.PropertyTags: "t",
			protocol.PropertyInnerMultiDispatch: strings.Join(names, ",")}); err != nil {
			b.t.Fatal(err)
		}
		b.n++
		time.Sleep(2 * time.Millisecond) // so that their store times differ
	}
	b.commits++
	if err := w.commit(lightNames[0], lightGroup, 0, b.commits); err != nil {
		b.t.Fatal(err)
	}
}

// alone sends what is stored as a record for each message: a single one, and a batch as clients before 5.0 make it.
func (b *queuesBook) alone(w *wire) {
	b.t.Helper()
	var texts []string
	for i := range b.n % 4 {
		texts = append(texts, fmt.Sprintf("alone %d of %d", i, b.n))
	}
	base := int64(len(b.batches))
	for i, text := range texts {
		b.batches = append(b.batches, text)
		b.bases, b.times = append(b.bases, base+int64(i)), append(b.times, time.Now().UnixMilli())
	}
	var h *protocol.SendMessageResponseHeader
	var err error
	switch len(texts) {
	case 0:
		return
	case 1:
		h, err = w.send(batchTopic, 0, texts[0], protocol.Properties{protocol.PropertyUniqKey: fmt.Sprint("ALONE", b.n)})
	default:
		var body []byte
		for i, text := range texts {
			body = protocol.AppendBatchEntry(body, &protocol.BatchEntry{Body: []byte(text), Properties: fmt.Sprintf("UNIQ_KEY\x01OLD%d.%d\x02", b.n, i)})
		}
		var reply *protocol.Command
		reply, err = w.success(protocol.ReqSendBatchMessage, &protocol.SendMessageV2RequestHeader{ProducerGroup: "P", Topic: batchTopic,
			DefaultTopic: protocol.DefaultTopic, DefaultTopicQueueNums: 4, BornTimestamp: time.Now().UnixMilli(), ReconsumeTimes: protocol.Some(int32(0)),
			Properties: "WAIT\x01true\x02", UnitMode: protocol.Some(false), Batch: protocol.Some(true)}, body)
		if h = new(protocol.SendMessageResponseHeader); err == nil {
			err = h.DecodeExt(reply.Ext)
		}
	}
	if err != nil || h.QueueOffset != base || h.BatchUniqID != "" || strings.Count(h.MsgID, ",") != len(texts)-1 {
		b.t.Fatalf("%v at %d: %+v, %v", texts, base, h, err)
	}
	time.Sleep(2 * time.Millisecond)
}

// rawPull pulls as Java's client of 5.5.0 does, which takes batches apart by itself.
func rawPull(w *wire, topic string, queue int32, offset int64) ([]protocol.MessageView, *protocol.PullMessageResponseHeader, error) {
	w.opaque++
	cmd := protocol.NewRequest(int32(protocol.ReqPullMessage), &protocol.PullMessageRequestHeader{ConsumerGroup: "ExchangeReader", Topic: topic, QueueID: queue,
		QueueOffset: offset, MaxMsgNums: 32, SysFlag: protocol.PullFlagSubscription, Subscription: "*", ExpressionType: "TAG",
		MaxMsgBytes: protocol.Some(int32(math.MaxInt32))}, nil)
	cmd.Opaque, cmd.Language, cmd.Version = w.opaque, protocol.LanguageJava, protocol.VersionV5_5_0
	if err := w.conn.SetDeadline(time.Now().Add(wireTimeout)); err != nil {
		return nil, nil, err
	}
	if _, err := w.conn.Write(protocol.AppendFrame(nil, cmd)); err != nil {
		return nil, nil, err
	}
	reply, err := w.read()
	for err == nil && (!reply.IsResponse() || reply.Opaque != cmd.Opaque) {
		reply, err = w.read()
	}
	if err != nil {
		return nil, nil, err
	}
	var h protocol.PullMessageResponseHeader
	if err := h.DecodeExt(reply.Ext); err != nil {
		return nil, nil, fmt.Errorf("%w: %d %s", err, reply.Code, reply.Remark)
	}
	if protocol.ResponseCode(reply.Code) != protocol.RespSuccess {
		return nil, &h, nil
	}
	list, err := records(reply.Body)
	return list, &h, err
}

// check compares what a broker serves with the book.
func (b *queuesBook) check(s *harness.Server) {
	b.t.Helper()
	b.checkAs(s, false)
}

func (b *queuesBook) checkAs(s *harness.Server, java bool) {
	b.t.Helper()
	w := mustDial(b.t, s.Broker)
	harness.Eventually(b.t, 20*time.Second, func() string {
		if _, end := queueEnd(b.t, w, batchTopic, 0); end != int64(len(b.batches)) {
			return fmt.Sprintf("batches end at %d, want %d", end, len(b.batches))
		}
		for name, want := range b.lights {
			if _, end := queueEnd(b.t, w, name, 0); end != int64(len(want)) {
				return fmt.Sprintf("%s ends at %d, want %d", name, end, len(want))
			}
		}
		return ""
	})
	b.checkBatches(w, java)
	for name, want := range b.lights {
		var got []string
		for at := int64(0); at < int64(len(want)); {
			list, h, err := rawPull(w, name, 0, at)
			if err != nil || h.NextBeginOffset <= at {
				b.t.Fatalf("%s at %d: %+v, %v", name, at, h, err)
			}
			for i := range list {
				got = append(got, string(list[i].Body))
			}
			at = h.NextBeginOffset
		}
		if !slices.Equal(got, want) {
			b.t.Fatalf("%s has %q\nwant %q", name, got, want)
		}
	}
	if got, err := w.committed(lightNames[0], lightGroup, 0); err != nil || got != b.commits {
		b.t.Fatalf("offset of %s: %d, %v, want %d", lightGroup, got, err, b.commits)
	}
}

func (b *queuesBook) checkBatches(w *wire, java bool) {
	b.t.Helper()
	var got []string
	var bases []int64
	for at := int64(0); at < int64(len(b.batches)); {
		list, h, err := rawPull(w, batchTopic, 0, at)
		if err != nil || h.NextBeginOffset <= at {
			b.t.Fatalf("batches at %d: %+v, %v", at, h, err)
		}
		for i := range list {
			v := &list[i]
			base, _ := v.Property(protocol.PropertyInnerBase)
			if v.SysFlag&0xC0 == 0 && base == "" {
				bases, got = append(bases, v.QueueOffset), append(got, string(v.Body))
				continue
			}
			if v.SysFlag&0xC0 != 0xC0 || base != fmt.Sprint(v.QueueOffset) {
				b.t.Fatalf("batch at %d: %+v", at, v)
			}
			bases = append(bases, v.QueueOffset)
			r := protocol.NewBatchReader(v.Body)
			for e := (protocol.BatchEntry{}); r.Next(&e); {
				got = append(got, string(e.Body))
			}
		}
		at = h.NextBeginOffset
	}
	if !slices.Equal(got, b.batches) || !slices.Equal(bases, b.bases) {
		b.t.Fatalf("batches: %q at %v\nwant %q at %v", got, bases, b.batches, b.bases)
	}
	middle := len(b.bases) / 2
	for !strings.HasPrefix(b.batches[b.bases[middle]], "batch ") {
		middle++
	}
	var number int
	if _, err := fmt.Sscanf(b.batches[b.bases[middle]], "batch %d", &number); err != nil {
		b.t.Fatal(err)
	}
	reply, err := w.success(protocol.ReqSearchOffsetByTimestamp, &protocol.SearchOffsetByTimestampRequestHeader{Topic: batchTopic, Timestamp: b.times[middle]}, nil)
	var h protocol.SearchOffsetByTimestampResponseHeader
	if err == nil {
		err = h.DecodeExt(reply.Ext)
	}
	// Java gives the last record of a file when that was stored at the time or before, though others of the time come before it.
	if err != nil || h.Offset != b.bases[middle] && !(java && slices.Contains(b.bases[middle-1:middle+5], h.Offset)) {
		b.t.Fatalf("first batch since %d: %d, %v, want %d", b.times[middle], h.Offset, err, b.bases[middle])
	}
	if list, err := w.query(batchTopic, fmt.Sprint("UNIQ", number), true); err != nil || len(list) != 1 || list[0].QueueOffset != b.bases[middle] {
		b.t.Fatalf("query of batch %d: %+v, %v", middle, list, err)
	}
}

// A store with batches and light queues goes from Java's broker to ours and back, also after kills, and after ours has made
// the queues again.
func TestQueuesExchange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ns := harness.Namesrv(t)
	java := func() *harness.Server { return harness.JavaBrokerOf(t, harness.Java5, dir, ns.Namesrv, queuesConf) }
	ours := func() *harness.Server { return harness.Broker(t, dir, ns.Namesrv, queuesConf) }
	b := &queuesBook{t: t, lights: map[string][]string{}}

	s := java()
	createQueuesTopics(t, s)
	b.fill(s, 40)
	b.checkAs(s, true)
	stop(t, s)

	s = ours()
	b.check(s)
	b.fill(s, 30)
	b.check(s)
	stop(t, s)

	s = java()
	b.checkAs(s, true)
	b.fill(s, 25)
	b.checkAs(s, true)
	time.Sleep(1500 * time.Millisecond) // until the offsets are on disk
	s.Proc.Kill()

	s = ours()
	b.check(s)
	b.fill(s, 25)
	b.check(s)
	time.Sleep(1500 * time.Millisecond)
	s.Proc.Kill()

	s = java()
	b.checkAs(s, true)
	b.fill(s, 5)
	stop(t, s)

	for _, name := range []string{"batchconsumequeue", "consumequeue", "checkpoint"} { // ours makes them again, as Java would have
		if err := os.RemoveAll(filepath.Join(dir, "store", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "store", "abort"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s = ours()
	b.check(s)
	stop(t, s)

	s = java()
	b.checkAs(s, true)
}

// Java's clients see single messages, with offsets of their own, whatever their age.
func TestJavaQueues(t *testing.T) {
	for _, release := range []string{harness.Java5, harness.Java4} {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			ns := harness.Namesrv(t)
			s := harness.Broker(t, t.TempDir(), ns.Namesrv, "enableLmq=true\nenableMultiDispatch=true\n")
			createQueuesTopics(t, s)
			for _, scenario := range []string{"batch", "light"} {
				p := harness.StartJava(t, release, "Queues", scenario, s.Namesrv)
				if !p.Ended(2*time.Minute) || !strings.Contains(p.Output(), "OK "+scenario) {
					t.Fatalf("%s with client %s:\n%s", scenario, release, p.Output())
				}
			}
		})
	}
}
