package store

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/consumequeue"
	"github.com/seedmq/seedmq/store/fs"
)

func TestParseBatchTopics(t *testing.T) {
	got, err := parseBatchTopics([]byte(`{"dataVersion":{},"topicConfigTable":{"B":{"attributes":{"queue.type":"BatchCQ"}},"S":{"attributes":{"queue.type":"SimpleCQ"}},"N":{}}}`))
	if err != nil || len(got) != 3 || !got["B"] || got["S"] || got["N"] {
		t.Fatalf("%v, %v", got, err)
	}
	if _, err := parseBatchTopics([]byte(`{"topicConfigTable":[1`)); err == nil {
		t.Fatal("read something")
	}
}

// FuzzBatchTopics: no topics.json makes it panic.
func FuzzBatchTopics(f *testing.F) {
	f.Add([]byte(`{"topicConfigTable":{"B":{"attributes":{"queue.type":"BatchCQ"}}}}`))
	f.Add([]byte(`{"topicConfigTable":{1:{attributes:null}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		known, err := parseBatchTopics(b)
		if err == nil && known == nil {
			t.Fatal("no answer")
		}
	})
}

// FuzzLateProperties: what Append makes of any properties is a record, and the queues that are made again from it are those
// that it went to.
func FuzzLateProperties(f *testing.F) {
	f.Add("INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b\x02INNER_MULTI_QUEUE_OFFSET\x019,9\x02", "T")
	f.Add("INNER_NUM\x013\x02INNER_BASE\x017\x02", "B")
	f.Add("INNER_MULTI_DISPATCH\x01%LMQ%a,a", "%RETRY%g")
	f.Fuzz(func(t *testing.T, props, topic string) {
		s, err := Open(Options{Root: "/s", FS: fs.NewMem(nil), Clock: clock.NewFake(clock.Real{}.Now()), CommitLogFileSize: 1 << 20, Light: true, NoPrepare: true,
			StoreHost: netip.MustParseAddrPort("127.0.0.1:1"), BatchTopic: func(topic string) bool { return strings.HasPrefix(topic, "B") }})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		b := s.NewBatch()
		if err := b.Add(&Message{Topic: topic, Properties: []byte(props), Body: []byte("x")}); err != nil {
			return
		}
		if err := s.Append(b); err != nil {
			t.Fatal(err)
		}
		rec, err := s.Record(b.Result(0).PhysicalOffset, nil)
		if !consumequeue.TopicFits(topic) {
			return // reads as damage
		}
		if err != nil {
			t.Fatal(err)
		}
		var v protocol.MessageView
		if n, err := protocol.DecodeMessage(rec, &v); err != nil || n != len(rec) {
			t.Fatal(err)
		}
		var r record
		if err := parseRecord(rec, &r); err != nil {
			t.Fatal(err)
		}
		e, _ := s.entryOf(&r, nil)
		wrote := bytes.Contains(r.properties, []byte(protocol.PropertyInnerMultiQueueOffset+"\x01"))
		if lights := s.appendLights(nil, &r, &e); len(lights) > 0 && !wrote || len(lights) != len(b.late.lights) {
			t.Fatalf("%d light queues from the record, %d from the message", len(lights), len(b.late.lights))
		}
	})
}
