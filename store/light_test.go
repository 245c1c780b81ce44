package store_test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
)

// light makes a message that enters light queues.
func light(topic, body string, queues ...string) *store.Message {
	m := msg(topic, 0, body)
	m.Properties = protocol.AppendProperty(nil, protocol.PropertyInnerMultiDispatch, strings.Join(queues, ","))
	m.Tags = "tag"
	m.Properties = protocol.AppendProperty(m.Properties, protocol.PropertyTags, m.Tags)
	return m
}

// rebuild kills the store and has all queues made again.
func (e *env) rebuild() {
	e.t.Helper()
	e.mem.Kill()
	_ = e.s.Close()
	e.mem = e.mem.Reboot()
	e.o.FS = e.mem
	for _, dir := range []string{"consumequeue", "batchconsumequeue", "consumequeue.snapshot", "checkpoint"} {
		if err := e.mem.RemoveAll("/s/" + dir); err != nil {
			e.t.Fatal(err)
		}
	}
	e.open()
}

func TestLightQueues(t *testing.T) {
	e := batchEnv(t)
	r := e.send(light("T", "0", "%LMQ%a"), light("U", "1", "%LMQ%a", "%LMQ%b"), msg("T", 0, "2"), light("T", "3", "%LMQ%b"),
		batch("B", 0, "x", "y"), msg("%LMQ%a", 0, "4"), light("T", "5", "%LMQ%a"))
	if r[0].QueueOffset != 0 || r[1].QueueOffset != 0 || r[2].QueueOffset != 1 || r[5].QueueOffset != 2 || r[6].QueueOffset != 3 {
		t.Fatalf("%+v", r)
	}
	for _, again := range []func(){func() {}, e.reopen, e.rebuild} {
		again()
		for name, want := range map[string]string{"%LMQ%a": "[0 1 4 5]", "%LMQ%b": "[1 3]", "T": "[0 2 3 5]", "U": "[1]"} {
			if got, res := e.get(get(name, 0, 0)); fmt.Sprint(got) != want || res.NextBeginOffset != res.MaxOffset {
				t.Fatalf("%s: %v, want %s, %+v", name, got, want, res)
			}
		}
		views, _ := e.views(get("%LMQ%b", 0, 0))
		if got, _ := views[0].Property(protocol.PropertyInnerMultiQueueOffset); got != "1,0" {
			t.Fatalf("offsets %q", got)
		}
		units, err := e.s.QueueUnits("%LMQ%a", 0, 1, 1)
		if err != nil || units[0].TagsCode != protocol.TagsCode("tag") || units[0].PhysicalOffset != r[1].PhysicalOffset {
			t.Fatalf("%+v, %v", units, err)
		}
	}
	if e.s.LightQueues() != 2 || !e.s.HasLightQueue("%LMQ%b") || e.s.HasLightQueue("%LMQ%c") {
		t.Fatalf("%d light queues", e.s.LightQueues())
	}
	for i := range 200 { // offsets of more digits; several rounds of the dispatcher
		e.send(light("T", fmt.Sprint(i), "%LMQ%a", "%LMQ%c"))
	}
	e.rebuild()
	if _, max, _ := e.s.QueueRange("%LMQ%a", 0); max != 204 {
		t.Fatalf("%d messages", max)
	}
	views, _ := e.views(get("%LMQ%c", 0, 199))
	if got, _ := views[0].Property(protocol.PropertyInnerMultiQueueOffset); got != "203,199" {
		t.Fatalf("offsets %q", got)
	}
}

// Messages that enter no light queues carry no offsets of them, whoever wrote some.
func TestLightQueuesOfOthers(t *testing.T) {
	e := batchEnv(t)
	forged := func(m *store.Message) *store.Message {
		m.Properties = protocol.AppendProperty(m.Properties, protocol.PropertyInnerMultiQueueOffset, "7")
		return m
	}
	half := forged(light("T", "prepared", "%LMQ%a"))
	half.SysFlag = protocol.SysFlagTransactionPrepared
	e.send(forged(light("%RETRY%g", "retry", "%LMQ%a")), forged(light("%DLQ%g", "dead", "%LMQ%a")), half, forged(light("T", "bad", "no")),
		forged(light("%LMQ%x", "light", "%LMQ%a")), forged(msg("T", 0, "none")), forged(light("T", "good", "%LMQ%a")))
	for _, again := range []func(){func() {}, e.rebuild} {
		again()
		views, res := e.views(get("%LMQ%a", 0, 0))
		if len(views) != 1 || res.MaxOffset != 1 || string(views[0].Body) != "good" {
			t.Fatalf("%d messages, %+v", len(views), res)
		}
		if got, _ := views[0].Property(protocol.PropertyInnerMultiQueueOffset); got != "0" {
			t.Fatalf("offset %q", got)
		}
		for _, topic := range []string{"%RETRY%g", "%DLQ%g", "T", "%LMQ%x"} {
			views, _ := e.views(get(topic, 0, 0))
			for _, v := range views {
				if got, _ := v.Property(protocol.PropertyInnerMultiQueueOffset); got != "" && string(v.Body) != "good" {
					t.Errorf("%s %s has offsets %q", topic, v.Body, got)
				}
			}
		}
	}
}

func TestLightQueuesOff(t *testing.T) {
	e := newEnv(t, nil)
	e.send(light("T", "0", "%LMQ%a"))
	for range 2 {
		if _, _, ok := e.s.QueueRange("%LMQ%a", 0); ok {
			t.Fatal("a light queue was made")
		}
		e.rebuild()
	}
}

// What a failed write took is given again.
func TestLightQueuesAfterFailedWrite(t *testing.T) {
	e := batchEnv(t)
	e.send(light("T", "0", "%LMQ%a"))
	fail := true
	e.mem.SetHook(func(op fs.Op) fs.Fault {
		if fail && op.Kind == fs.OpWrite {
			return fs.Fault{Err: syscall.ENOSPC, Short: op.Len / 2}
		}
		return fs.Fault{}
	})
	b := e.s.NewBatch()
	for _, m := range []*store.Message{light("T", "lost", "%LMQ%a"), batch("B", 0, "a", "b"), light("T", "lost", "%LMQ%a")} {
		if err := b.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.s.Append(b); err == nil {
		t.Fatal("written to a full disk")
	}
	if err := e.s.Append(b); err == nil {
		t.Fatal("the batch was taken again")
	}
	fail = false
	e.until("room", func() bool { return e.s.Writable() == nil })
	if r := e.send(light("T", "1", "%LMQ%a"), batch("B", 0, "c")); r[0].QueueOffset != 1 || r[1].QueueOffset != 0 {
		t.Fatalf("%+v", r)
	}
	e.rebuild()
	if got, res := e.get(get("%LMQ%a", 0, 0)); fmt.Sprint(got) != "[0 1]" || res.MaxOffset != 2 {
		t.Fatalf("%v, %+v", got, res)
	}
}

// A deleted topic's messages stay in the light queues; a deleted light queue does not come back.
func TestLightQueuesAndDeletedTopics(t *testing.T) {
	e := batchEnv(t)
	e.send(light("T", "0", "%LMQ%a", "%LMQ%b"), light("U", "1", "%LMQ%a", "%LMQ%b"))
	for _, topic := range []string{"T", "%LMQ%b"} {
		if err := e.s.DeleteTopic(topic); err != nil {
			t.Fatal(err)
		}
	}
	for _, again := range []func(){func() {}, e.rebuild} {
		again()
		if got, _ := e.get(get("%LMQ%a", 0, 0)); fmt.Sprint(got) != "[0 1]" {
			t.Fatalf("%v", got)
		}
		if slices.Contains(e.s.Topics(), "%LMQ%b") || slices.Contains(e.s.Topics(), "T") {
			t.Fatalf("topics %v", e.s.Topics())
		}
	}
	if r := e.send(light("U", "2", "%LMQ%b")); r[0].QueueOffset != 1 {
		t.Fatalf("%+v", r)
	}
	if got, _ := e.get(get("%LMQ%b", 0, 0)); fmt.Sprint(got) != "[2]" {
		t.Fatalf("%v", got)
	}
}

func TestCheckLightNames(t *testing.T) {
	for list, good := range map[string]bool{
		"%LMQ%a": true, "%LMQ%a,%LMQ%b": true, "%LMQ%$parent$lite": true,
		"": false, "a": false, "%LMQ%": false, "%LMQ%a,": false, ",%LMQ%a": false, "%LMQ%a,%LMQ%a": false, "%LMQ%a/b": false, "%LMQ%..": true,
		"%LMQ%a, %LMQ%b": false, "%lmq%a": false, "%LMQ%" + strings.Repeat("x", 251): false, "%LMQ%" + strings.Repeat("x", 250): true, "%LMQ%a\x00": false,
	} {
		if err := store.CheckLightNames(list); (err == nil) != good {
			t.Errorf("%.40q: %v", list, err)
		}
	}
}
