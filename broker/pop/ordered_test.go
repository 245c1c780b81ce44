package pop

import (
	"errors"
	"testing"
	"time"

	"github.com/seedmq/seedmq/store/fs"
)

func TestOrdered(t *testing.T) {
	b := newBench(t)
	b.sends(6)
	take := func(attempt string) ([]got, Taken, Lists) {
		return b.take(Take{Topic: "T", Ordered: true, Max: 3, Invisible: 30_000, AttemptID: attempt})
	}
	list, res, lists := take("one")
	b.wantBodies("first", list, "0 1 2 ")
	if string(lists.Counts) != "0 0 0" || res.Rest != 3 {
		t.Fatalf("%s, %+v", lists.Counts, res)
	}
	if _, res, _ = take("two"); res.Status != Blocked || res.FreeAt != b.clk.Now().UnixMilli()+30_000 {
		t.Fatalf("%+v", res)
	}
	again, _, lists := take("one") // the same attempt gets the same messages
	b.wantBodies("repeated attempt", again, "0 1 2 ")
	if string(lists.Counts) != "0 0 0" {
		t.Fatalf("%s", lists.Counts)
	}
	b.mustAck(again[0])
	if at := b.committed("T", 0); at != 1 {
		t.Fatalf("committed %d", at)
	}
	b.mustAck(again[2])
	b.kill()
	if at := b.committed("T", 0); at != 1 {
		t.Fatalf("committed %d after a kill", at)
	}
	if _, res, _ = take("three"); res.Status != Blocked {
		t.Fatalf("after a kill: %+v", res)
	}
	b.step(31 * time.Second)
	late, _, lists := take("four")
	b.wantBodies("after its time, in order", late, "1 2 3 ")
	if string(lists.Counts) != "0 qo0%1 1;0 qo0%2 1;0 0 0" {
		t.Fatalf("%s", lists.Counts)
	}
	if err := b.ack(again[1].r); err != nil || b.committed("T", 0) != 1 { // of the pop before: ignored
		t.Fatalf("%v, committed %d", err, b.committed("T", 0))
	}
	b.released.Store(0)
	b.mustAck(late...)
	if at := b.committed("T", 0); at != 4 || b.released.Load() != 1 {
		t.Fatalf("committed %d, released %d", at, b.released.Load())
	}
	if err := b.ack(late[0].r); err != nil {
		t.Fatalf("ack twice: %v", err)
	}
	wrong := late[0].r
	wrong.Offset, wrong.Handle.Offset = 5, 5
	if err := b.ack(wrong); !errors.Is(err, ErrOffset) {
		t.Fatalf("ack of what was not popped: %v", err)
	}
}

func TestOrderedChange(t *testing.T) {
	b := newBench(t)
	b.sends(3)
	take := func() ([]got, Taken) {
		list, res, _ := b.take(Take{Topic: "T", Ordered: true, Max: 2, Invisible: 60_000})
		return list, res
	}
	list, _ := take()
	b.step(time.Second)
	b.mustAck(list[0])
	r, err := b.change(list[1].r, 2*time.Second)
	if err != nil || r.Handle.PopTime != list[1].r.Handle.PopTime || r.Handle.Invisible != 3000 {
		t.Fatalf("%+v %v", r, err)
	}
	if _, res := take(); res.Status != Blocked || res.FreeAt != b.clk.Now().UnixMilli()+2000 || b.s.FreeAt("T", "G", 0, "") != res.FreeAt {
		t.Fatalf("%+v", res)
	}
	if b.s.Available("T", "G", 0, true, "") {
		t.Fatal("available while blocked")
	}
	b.step(2 * time.Second)
	if !b.s.Available("T", "G", 0, true, "") {
		t.Fatal("not available")
	}
	list, _ = take()
	b.wantBodies("after the change", list, "1 2 ")
}

// TestOrderedFile: the table goes through consumerOrderInfo.json at a clean stop, and Java's is read.
func TestOrderedFile(t *testing.T) {
	b := newBench(t)
	b.sends(4)
	list, _, _ := b.take(Take{Topic: "T", Ordered: true, Max: 2})
	b.mustAck(list[0])
	b.stop()
	b.open()
	if _, res, _ := b.take(Take{Topic: "T", Ordered: true}); res.Status != Blocked {
		t.Fatalf("%+v", res)
	}
	b.mustAck(list[1])
	list, _, _ = b.take(Take{Topic: "T", Ordered: true})
	b.wantBodies("goes on", list, "2 3 ")

	b.stop()
	text := `{"orderInfoCount":1,"orderedConsumptionLevel":"QUEUE","table":{"T@J":{0:{"cm":1,"i":60000,"l":1800000000000,"o":[0,1,3],"oc":{1:2},"ot":{3:1800000100000},"popTime":1800000000000}},
		"bad":{0:{}},"T@K":{1:{"o":[]}}}}`
	f, err := b.disk.Create("/s/config/consumerOrderInfo.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		t.Fatal(err)
	}
	f.Close()
	b.open()
	if _, res, _ := b.take(Take{Topic: "T", Group: "J", Ordered: true}); res.Status != Blocked || res.FreeAt != 1800000100000 {
		t.Fatalf("%+v", res)
	}
	b.s.orders.Mark()
	if err := b.s.Save(); err != nil {
		t.Fatal(err)
	}
	out, err := fs.ReadFile(b.disk, "/s/config/consumerOrderInfo.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"orderInfoCount"`, `"T@J"`, `"popTime"`} {
		if !containsText(out, want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
}

// TestOrderedFileAndJournal: queues that only the file has, and those that only the journal has, are not taken for each other.
func TestOrderedFileAndJournal(t *testing.T) {
	b := newBench(t)
	b.sends(4)
	b.take(Take{Topic: "T", Group: "O", Ordered: true, Max: 2})
	b.stop()
	b.open()
	b.take(Take{Topic: "T", Group: "A", Max: 3})
	for range 2 {
		b.kill()
		if _, res, _ := b.take(Take{Topic: "T", Group: "O", Ordered: true}); res.Status != Blocked {
			t.Fatalf("%+v", res)
		}
		if next, _ := b.s.Next("T", "A", 0); next != 3 {
			t.Fatalf("A stands at %d", next)
		}
	}
}
