package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/internal/fixture"
)

func batchEnv(t *testing.T) *env {
	return newEnv(t, func(o *store.Options) {
		o.BatchFileUnits, o.Light = 4, true
		o.BatchTopic = func(topic string) bool { return strings.HasPrefix(topic, "B") }
	})
}

// batch makes a batch; tags has the tag of each message.
func batch(topic string, queue int32, tags ...string) *store.Message {
	m := msg(topic, queue, "")
	for i, tag := range tags {
		m.Body = protocol.AppendBatchEntry(m.Body, &protocol.BatchEntry{Flag: int32(i), Body: []byte(fmt.Sprint(tag, i)), Properties: "TAGS\x01" + tag + "\x02"})
	}
	m.SysFlag, m.Inner = protocol.SysFlagInnerBatch|protocol.SysFlagNeedUnwrap, int32(len(tags))
	m.UniqKey = "U" + strings.Join(tags, "")
	m.Properties = protocol.AppendProperty(nil, protocol.PropertyUniqKey, m.UniqKey)
	return m
}

// views decodes what a Get found.
func (e *env) views(r store.GetRequest) ([]protocol.MessageView, store.GetResult) {
	e.t.Helper()
	b, res := e.s.Get(&r, nil)
	var out []protocol.MessageView
	for len(b) > 0 {
		var v protocol.MessageView
		n, err := protocol.DecodeMessage(b, &v)
		if err != nil || v.CheckBody() != nil {
			e.t.Fatal(err, v.CheckBody())
		}
		out, b = append(out, v), b[n:]
	}
	return out, res
}

func TestBatchQueueOffsets(t *testing.T) {
	e := batchEnv(t)
	r := e.send(batch("B", 1, "a", "b", "c"), msg("T", 1, "other"), msg("B", 1, "single"), batch("B", 1, "d"), batch("B", 0, "e", "f"))
	for i, want := range []int64{0, 0, 3, 4, 0} {
		if r[i].QueueOffset != want {
			t.Fatalf("message %d has offset %d, want %d", i, r[i].QueueOffset, want)
		}
	}
	for range 2 { // before and after a restart
		views, res := e.views(get("B", 1, 0))
		if res.Status != store.GetFound || res.Count != 5 || res.MaxOffset != 5 || res.NextBeginOffset != 5 || len(views) != 3 {
			t.Fatalf("%+v, %d records", res, len(views))
		}
		for i, want := range []string{"3 0", " ", "1 4"} {
			num, _ := views[i].Property(protocol.PropertyInnerNum)
			base, _ := views[i].Property(protocol.PropertyInnerBase)
			if num+" "+base != want || i != 1 && base != fmt.Sprint(views[i].QueueOffset) {
				t.Fatalf("record %d: INNER_NUM %s, INNER_BASE %s, offset %d", i, num, base, views[i].QueueOffset)
			}
		}
		if views[1].SysFlag != 0 || string(views[1].Body) != "single" {
			t.Fatalf("single message: %+v", views[1])
		}
		for offset, want := range []struct{ next, count int64 }{{3, 3}, {3, 3}, {3, 3}, {4, 1}, {5, 1}} { // in the middle: the whole record
			r := get("B", 1, int64(offset))
			r.MaxCount = 1
			if views, res := e.views(r); res.NextBeginOffset != want.next || int64(res.Count) != want.count || len(views) != 1 {
				t.Fatalf("get at %d: %+v, %d records", offset, res, len(views))
			}
		}
		for offset, want := range map[int64]store.GetStatus{5: store.GetOffsetOverflowOne, 6: store.GetOffsetOverflowBadly} {
			if _, res := e.views(get("B", 1, offset)); res.Status != want {
				t.Fatalf("get at %d: %+v", offset, res)
			}
		}
		units, err := e.s.QueueUnits("B", 1, 1, 3)
		if err != nil || len(units) != 3 || units[0] != units[1] || units[2].PhysicalOffset != r[2].PhysicalOffset {
			t.Fatalf("%v, %v", units, err)
		}
		if got := e.s.Queues("B"); !slices.Equal(got, []int32{0, 1}) || !slices.Contains(e.s.Topics(), "B") {
			t.Fatalf("queues %v, topics %v", got, e.s.Topics())
		}
		e.reopen()
	}
	if r := e.send(batch("B", 1, "g", "h")); r[0].QueueOffset != 5 {
		t.Fatalf("offset %d after a restart", r[0].QueueOffset)
	}
}

func TestBatchQueueTimes(t *testing.T) {
	e := batchEnv(t)
	start := e.clock.Now().UnixMilli()
	for range 10 {
		e.send(batch("B", 0, "a", "b"))
		e.clock.Advance(10 * time.Millisecond)
	}
	for _, c := range []struct {
		ms    int64
		b     store.Boundary
		first int64
	}{{-5, store.Lower, 0}, {0, store.Lower, 0}, {1, store.Lower, 2}, {50, store.Lower, 10}, {90, store.Lower, 18}, {91, store.Lower, 20},
		{-5, store.Upper, 0}, {0, store.Upper, 1}, {55, store.Upper, 11}, {1000, store.Upper, 19}} {
		if got, err := e.s.OffsetByTime("B", 0, start+c.ms, c.b); err != nil || got != c.first {
			t.Errorf("%d ms, boundary %d: %d, %v, want %d", c.ms, c.b, got, err, c.first)
		}
	}
	for _, c := range []struct{ offset, ms, next int64 }{{0, 0, 0}, {1, 0, 1}, {0, 50, 10}, {11, 50, 11}, {9, 50, 10}, {3, 91, 20}, {20, 91, 20}} {
		if next, cold := e.s.SkipOlder("B", 0, c.offset, start+c.ms, false); next != c.next || cold {
			t.Errorf("what is not older than %d ms from %d on: %d, %v, want %d", c.ms, c.offset, next, cold, c.next)
		}
	}
	if units, err := e.s.QueueUnits("B", 0, 3, 100); err != nil || len(units) != 17 || units[0] == units[1] || units[1] != units[2] {
		t.Errorf("%d units, %v", len(units), err)
	}
	if _, err := e.s.OffsetByTime("B", 7, start, store.Lower); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a queue that is not there: %v", err)
	}
}

// wantTag is a filter as the broker's.
type wantTag string

func (f wantTag) MatchTagsCode(code int64) bool { return code == protocol.TagsCode(string(f)) }
func (f wantTag) MatchRecord(rec []byte) bool {
	var v protocol.MessageView
	_, err := protocol.DecodeMessage(rec, &v)
	tags, _ := v.Property(protocol.PropertyTags)
	return err == nil && tags == string(f) && !store.IsInnerBatch(v.SysFlag)
}

// A batch is given to whoever wants one of its messages: Java looks at the tags of the batch, which has none.
func TestBatchQueueFilter(t *testing.T) {
	e := batchEnv(t)
	e.send(batch("B", 0, "x", "y"), batch("B", 0, "z"), batch("B", 0, "y", "y"), batch("B", 0, "z", "z"))
	r := get("B", 0, 0)
	r.Filter = wantTag("y")
	views, res := e.views(r)
	if len(views) != 2 || views[0].QueueOffset != 0 || views[1].QueueOffset != 3 || res.Count != 4 || res.NextBeginOffset != 7 {
		t.Fatalf("%+v, %d records", res, len(views))
	}
	r.Offset = 1 // what lies before is not asked about
	if views, res := e.views(r); len(views) != 2 || views[0].QueueOffset != 0 || res.Count != 4 {
		t.Fatalf("%+v, %d records", res, len(views))
	}
	r.Filter = wantTag("x")
	if views, res := e.views(r); len(views) != 0 || res.Status != store.GetNoMatched || res.NextBeginOffset != 7 {
		t.Fatalf("%+v, %d records", res, len(views))
	}
	r.Offset, r.Filter = 5, wantTag("y")
	if views, res := e.views(r); len(views) != 0 || res.Status != store.GetNoMatched || res.NextBeginOffset != 7 {
		t.Fatalf("%+v, %d records", res, len(views))
	}
}

func TestBatchQueueRefuses(t *testing.T) {
	e := batchEnv(t)
	e.send(msg("T", 0, "x"))
	b := e.s.NewBatch()
	if err := b.Add(batch("T", 0, "a")); !errors.Is(err, store.ErrQueueType) {
		t.Errorf("a batch for a topic of single messages: %v", err)
	}
	huge := batch("B", 0, "a")
	huge.Inner = 1 << 15
	if err := b.Add(huge); !errors.Is(err, store.ErrMessageTooLarge) {
		t.Errorf("32,768 messages: %v", err)
	}
	long := batch("B", 0, "a")
	long.Properties = protocol.AppendProperty(long.Properties, "x", strings.Repeat("y", 32740))
	if err := b.Add(long); !errors.Is(err, store.ErrMessageTooLarge) {
		t.Errorf("properties without room for the store's own: %v", err)
	}
	if b.Len() != 0 {
		t.Fatalf("%d messages were added", b.Len())
	}
}

// Files of batch queues go with the log's, and a queue of which nothing is left goes on counting.
func TestBatchQueueExpires(t *testing.T) {
	e := batchEnv(t)
	for range 40 {
		e.send(batch("B", 0, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "b"))
	}
	e.send(msg("T", 0, strings.Repeat("x", 2000)), msg("T", 0, strings.Repeat("x", 2000)))
	e.clock.Advance(100 * time.Hour)
	if err := e.s.DeleteExpired(); err != nil {
		t.Fatal(err)
	}
	e.until("the log's files and the queue's are gone", func() bool {
		min, max, _ := e.s.QueueRange("B", 0)
		return e.s.Status().MinPhys > 0 && min > 40 && max == 80 && len(e.batchFiles("B/0")) < 7
	})
	min, max, _ := e.s.QueueRange("B", 0)
	if min == 0 || max != 80 {
		t.Fatalf("%d to %d", min, max)
	}
	if min < max {
		if views, _ := e.views(get("B", 0, min)); len(views) == 0 || views[0].QueueOffset != min {
			t.Fatalf("nothing at %d", min)
		}
	}
	e.reopen()
	if got, _, _ := e.s.QueueRange("B", 0); got != min {
		t.Fatalf("begins at %d, and after a restart at %d", min, got)
	}
	if r := e.send(batch("B", 0, "c")); r[0].QueueOffset != 80 {
		t.Fatalf("goes on at %d", r[0].QueueOffset)
	}
}

func (e *env) batchFiles(queue string) []fs.Info {
	list, _ := e.mem.List("/s/batchconsumequeue/" + queue) // none when it is not there
	return list
}

func TestBatchTopicIsDeleted(t *testing.T) {
	e := batchEnv(t)
	e.send(batch("B", 0, "a", "b"), batch("B2", 0, "c"))
	e.clock.Advance(2 * time.Second)
	if err := e.s.DeleteTopic("B"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, _, ok := e.s.QueueRange("B", 0); ok || len(e.batchFiles("B")) != 0 {
			t.Fatal("it is still there")
		}
		if _, max, _ := e.s.QueueRange("B2", 0); max != 1 {
			t.Fatal("the other one is gone")
		}
		if err := e.s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := e.mem.RemoveAll("/s/batchconsumequeue"); err != nil { // made again from the log, without what was deleted
			t.Fatal(err)
		}
		if err := e.mem.Remove("/s/checkpoint"); err != nil {
			t.Fatal(err)
		}
		f, err := e.mem.Create("/s/abort")
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		e.open()
	}
	if r := e.send(batch("B", 0, "d")); r[0].QueueOffset != 0 {
		t.Fatalf("made anew it begins at %d", r[0].QueueOffset)
	}
}

// The queues of a store that Java wrote are served, and made again from its log they are the same, byte for byte.
func TestQueuesOfJava(t *testing.T) {
	dir := fixture.Unpack(t, fixture.Queues, "")
	queues := func() map[string]string {
		out := map[string]string{}
		for _, pattern := range []string{"batchconsumequeue/*/*/*", "consumequeue/*/*/*"} {
			names, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				b, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				out[name[len(dir):]] = string(b)
			}
		}
		return out
	}
	before := queues()
	if len(before) != 11 {
		t.Fatalf("%d files", len(before))
	}
	for _, again := range []bool{false, true} {
		if again {
			for _, name := range []string{"batchconsumequeue", "consumequeue", "checkpoint"} {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "abort"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := store.Open(store.Options{Root: dir, QueueFileUnits: 30, BatchFileUnits: 10, NoPrepare: true})
		if err != nil {
			t.Fatal(err)
		}
		e := &env{t: t, s: s}
		at, n := int64(0), 0
		for at < 135 {
			views, res := e.views(get("Batches", 0, at))
			n += len(views)
			if res.NextBeginOffset <= at {
				t.Fatalf("%+v", res)
			}
			at = res.NextBeginOffset
		}
		for name, want := range map[string]int64{"%LMQ%a": 15, "%LMQ%b": 30, "%LMQ%c": 45} {
			if min, max, ok := s.QueueRange(name, 0); min != 0 || max != want || !ok {
				t.Errorf("%s: %d to %d", name, min, max)
			}
			r := get(name, 0, 0)
			r.MaxCount = 100
			if _, res := e.views(r); int64(res.Count) != want {
				t.Errorf("%s: %+v", name, res)
			}
		}
		if err := s.Close(); err != nil || n != 45 {
			t.Fatalf("%d records, %v", n, err)
		}
		after := queues()
		for name, want := range before {
			if after[name] != want {
				t.Errorf("again %v: %s differs", again, name)
			}
		}
		if len(after) != len(before) {
			t.Errorf("%d files, want %d", len(after), len(before))
		}
	}
}

// A raised first offset stays over restarts and queues made again, and keeps records whole.
func TestBatchQueueIsRaised(t *testing.T) {
	e := batchEnv(t)
	for range 10 {
		e.send(batch("B", 0, "a", "b", "c"))
	}
	hidden, err := e.s.Raise([]store.QueueMin{{Topic: "B", QueueID: 0, Offset: 13}})
	if err != nil || len(hidden) != 1 || hidden[0] != 12 {
		t.Fatalf("%v, %v", hidden, err)
	}
	for _, again := range []func(){func() {}, e.reopen, e.rebuild} {
		again()
		if min, max, _ := e.s.QueueRange("B", 0); min != 12 || max != 30 {
			t.Fatalf("%d to %d", min, max)
		}
		if _, res := e.views(get("B", 0, 11)); res.Status != store.GetOffsetTooSmall || res.NextBeginOffset != 12 {
			t.Fatalf("%+v", res)
		}
	}
	if hidden, err := e.s.Raise([]store.QueueMin{{Topic: "B", QueueID: 0, Offset: 1 << 40}}); err != nil || hidden[0] != 18 {
		t.Fatalf("%v, %v", hidden, err)
	}
	if r := e.send(batch("B", 0, "x")); r[0].QueueOffset != 30 {
		t.Fatalf("%+v", r)
	}
	if views, res := e.views(get("B", 0, 30)); len(views) != 1 || res.MinOffset != 30 {
		t.Fatalf("%+v", res)
	}
	if _, err := e.s.Raise([]store.QueueMin{{Topic: "B", QueueID: 5, Offset: 1}}); !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
}
