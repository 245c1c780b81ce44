package pop

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
)

func containsText(b []byte, s string) bool { return bytes.Contains(b, []byte(s)) }

func TestHandle(t *testing.T) {
	h, err := ParseHandle("0 1796049243149 10000 4 1 broker-g 0 7")
	want := Handle{0, 1796049243149, 10000, 4, RetryV1, "broker-g", 0, 7}
	if err != nil || h != want || string(h.Append(nil)) != "0 1796049243149 10000 4 1 broker-g 0 7" {
		t.Fatalf("%+v %v", h, err)
	}
	for _, s := range []string{"", " ", "1 2 3 4 0 b", "1 2 3 4 0 b 1 2 3", "x 2 3 4 0 b 1 2", "1 2 3 4 3 b 1 2", "-1 2 3 4 0 b 1 2", "1 2 3 4 0 b 4294967296 2", "1 2 3 4 0 b 1 "} {
		if h, err := ParseHandle(s); err == nil {
			t.Errorf("%q: %+v", s, h)
		}
	}
}

func TestTopics(t *testing.T) {
	for _, c := range []struct {
		topic string
		mark  Mark
	}{{"T", Normal}, {"%RETRY%G_T", RetryV1}, {"%RETRY%G+T", RetryV2}} {
		if MarkOf(c.topic) != c.mark || RealTopic("T", "G", c.mark) != c.topic || NormalTopic(c.topic, "G") != "T" {
			t.Errorf("%+v: %d %s %s", c, MarkOf(c.topic), RealTopic("T", "G", c.mark), NormalTopic(c.topic, "G"))
		}
	}
}

// TestJavasRecords: bodies that Apache RocketMQ 5.5.0 stored.
func TestJavasRecords(t *testing.T) {
	text := `{"bm":0,"bn":"broker-g","c":"G","d":[0,1,2],"it":60000,"n":3,"pt":1796048894602,"q":1,"ro":0,"so":0,"t":"GoldenPop"}`
	c, err := DecodeCheckpoint([]byte(text))
	if err != nil || string(c.Append(nil)) != text || c.index(2) != 2 || c.index(3) != -1 || c.ReviveTime() != 1796048954602 {
		t.Fatalf("%+v %v\n%s", c, err, c.Append(nil))
	}
	if k := string(c.uniqKey(nil)); k != "GoldenPop@1@0@G@1796048894602@broker-g@ck" {
		t.Fatal(k)
	}
	text = `{"ao":1,"bn":"broker-g","c":"G","pt":1796048894602,"q":0,"so":0,"t":"GoldenPop"}`
	a, err := DecodeAck([]byte(text), false)
	if err != nil || string(a.Append(nil)) != text || string(a.uniqKey(nil)) != "GoldenPop@0@1@G@1796048894602@broker-g@ack" {
		t.Fatalf("%+v %v\n%s", a, err, a.Append(nil))
	}
	text = `{"ao":-1,"aol":[4,6],"bn":"b","c":"G","pt":5,"q":0,"so":3,"t":"T"}`
	if a, err = DecodeAck([]byte(text), true); err != nil || string(a.Append(nil)) != text {
		t.Fatalf("%+v %v\n%s", a, err, a.Append(nil))
	}
	long := `{"ackOffset":-1,"ackOffsetList":[4,6],"brokerName":"b","consumerGroup":"G","popTime":5,"queueId":0,"startOffset":3,"topic":"T"}`
	if b, err := DecodeAck([]byte(long), true); err != nil || !reflect.DeepEqual(a, b) {
		t.Fatalf("%+v %v", b, err)
	}
	old := `{"bm":5,"c":"G","it":1,"n":3,"pt":2,"q":1,"so":7,"t":"T"}` // without offsets
	if c, err = DecodeCheckpoint([]byte(old)); err != nil || c.offset(2) != 9 || c.Bits != 5 || c.open() != 1 {
		t.Fatalf("%+v %v", c, err)
	}
}

func FuzzHandle(f *testing.F) {
	for _, s := range []string{"0 1796049243149 10000 4 1 broker-g 0 7", "0 1 2 999 0 b 3", "", "a b c d e f g h", "1 2 3 4 0  1 2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseHandle(s)
		if err != nil {
			return
		}
		again, err := ParseHandle(string(h.Append(nil)))
		if err != nil || again != h {
			t.Fatalf("%q: %+v became %+v, %v", s, h, again, err)
		}
	})
}

func FuzzCheckpoint(f *testing.F) {
	f.Add([]byte(`{"bm":0,"bn":"broker-g","c":"G","d":[0,1,2],"it":60000,"n":3,"pt":1796048894602,"q":1,"ro":0,"so":0,"t":"GoldenPop"}`))
	f.Add([]byte(`{"bm":-1,"c":"\"","it":1,"n":32,"pt":2,"q":1,"so":7,"t":"\u00e4","rp":"3"}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := DecodeCheckpoint(b)
		if err != nil {
			return
		}
		for i := range int(c.Count) {
			if c.offset(i) < c.StartOffset || c.index(c.offset(i)) < 0 {
				t.Fatalf("%+v: message %d", c, i)
			}
		}
		again, err := DecodeCheckpoint(c.Append(nil))
		if err != nil || again.key() != c.key() || again.Count != c.Count {
			t.Fatalf("%+v became %+v, %v", c, again, err)
		}
	})
}

func FuzzAck(f *testing.F) {
	f.Add([]byte(`{"ao":1,"bn":"broker-g","c":"G","pt":1796048894602,"q":0,"so":0,"t":"GoldenPop"}`), false)
	f.Add([]byte(`{"ao":-1,"aol":[4,6],"bn":"b","c":"G","pt":5,"q":0,"so":3,"t":"T"}`), true)
	f.Fuzz(func(t *testing.T, b []byte, batch bool) {
		a, err := DecodeAck(b, batch)
		if err != nil || len(a.Offsets) == 0 {
			return
		}
		again, err := DecodeAck(a.Append(nil), a.batch())
		if err != nil || again.key("b") != a.key("b") || !reflect.DeepEqual(again.Offsets, a.Offsets) {
			t.Fatalf("%+v became %+v, %v", a, again, err)
		}
	})
}

// FuzzJournal: any file is read without a panic, and what was read can be written and read again.
func FuzzJournal(f *testing.F) {
	var e entries
	q := newQueue(queueKey{"T", "G", 1}, 7)
	p := &point{reviveQueue: 1, next: 9}
	p.StartOffset, p.PopTime, p.Invisible, p.Count, p.Diffs = 5, 100, 1000, 2, []int32{0, 3}
	e.queue(q)
	e.point(q, p)
	p.Bits = 1
	e.of(entryBits, q, p)
	e.of(entryStored, q, p)
	e.next(q, 12)
	e.order(q, 4, encodeOrder(newOrder(nil, "a", 1, 2, 3, []int64{4, 5})))
	e.revived(3, 17)
	e.of(entryGone, q, p)
	e.forget(q)
	e.swept(q)
	f.Add(append([]byte(journalMagic+"\x00\x00\x00\x00\x00\x00\x00\x01"), e.b...))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &replayed{queues: map[uint64]*queue{}, offsets: map[*queue]int64{}, revived: map[int32]int64{}}
		if _, err := eachEntry(data, r.declare); err != nil {
			return
		}
		_, _ = eachEntry(data, func(kind byte, f *fields) { r.apply(kind, f, "b") })
		for _, q := range r.queues {
			for id, p := range q.points {
				if p.Count > MaxTake || p.gone || id != p.id() {
					t.Fatalf("%+v", p)
				}
			}
		}
	})
}

func TestUniqKeyOfBatch(t *testing.T) {
	a := Ack{Offsets: []int64{1, 2}, Topic: "T", Group: "G", PopTime: 9, Broker: "b"}
	if k := string(a.uniqKey(nil)); k != "T@0@-1@G@9@b@ack" {
		t.Fatal(k)
	}
	var v protocol.PropertyView
	v.Parse("UNIQ_KEY\x01" + string(a.uniqKey(nil)) + "\x02")
	if v.UniqKey == "" {
		t.Fatal("no key")
	}
}
