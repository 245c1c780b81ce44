package store_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
)

// FuzzRecover changes bytes of a killed store's log. It opens without an error, serves only records that add up, can be
// appended to, and after a clean stop serves the same again.
func FuzzRecover(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0})
	f.Add([]byte{0, 4, 0xFF, 1, 0, 7, 3, 200, 1, 15, 255, 9})
	f.Fuzz(func(t *testing.T, changes []byte) {
		mem := fs.NewMem(nil)
		o := store.Options{Root: "/s", FS: mem, Clock: clock.NewFake(now), CommitLogFileSize: 2048, QueueFileUnits: 10, IndexEnabled: true,
			IndexSlots: 10, IndexEntries: 50, StoreHost: netip.MustParseAddrPort("127.0.0.1:1"), NoPrepare: true, CheckCRCOnRecover: true}
		e := &env{t: t, mem: mem, o: o}
		e.open()
		for i := range 20 {
			e.send(msg("A", int32(i%2), fmt.Sprintf("%d-%0*d", i, i*9, 0)))
		}
		mem.Kill()
		_ = e.s.Close()
		mem = mem.Reboot()
		e.mem, e.o.FS = mem, mem
		list, err := mem.List("/s/commitlog")
		if err != nil {
			t.Fatal(err)
		}
		for ; len(changes) >= 3; changes = changes[3:] {
			at := int64(binary.BigEndian.Uint16(changes))
			file, err := mem.OpenFile("/s/commitlog/"+list[int(at/2048)%len(list)].Name, 2, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.WriteAt(changes[2:3], at%2048); err != nil {
				t.Fatal(err)
			}
			file.Close()
		}
		e.open()
		e.send(msg("B", 0, "after"))
		first := e.everything()
		e.reopen()
		if second := e.everything(); fmt.Sprint(first) != fmt.Sprint(second) {
			t.Fatalf("first %v\nthen %v", first, second)
		}
	})
}

// everything lists all messages that the store serves, as "topic/queue offset at position".
func (e *env) everything() (out []string) {
	e.t.Helper()
	for _, topic := range e.s.Topics() {
		for _, id := range e.s.Queues(topic) {
			at, end, _ := e.s.QueueRange(topic, id)
			for at < end {
				b, res := e.s.Get(&store.GetRequest{Topic: topic, QueueID: id, Offset: at, MaxCount: 32, MaxBytes: 1 << 20}, nil)
				if res.NextBeginOffset <= at {
					e.t.Fatalf("%s/%d at %d: %+v", topic, id, at, res)
				}
				at = res.NextBeginOffset
				for len(b) > 0 {
					var v protocol.MessageView
					n, err := protocol.DecodeMessage(b, &v)
					if err != nil {
						e.t.Fatal(err)
					}
					out = append(out, fmt.Sprintf("%s/%d %d at %d", topic, id, v.QueueOffset, v.PhysicalOffset))
					b = b[n:]
				}
			}
		}
	}
	return out
}

// tagFilter keeps messages with an even tags code whose body is long enough.
type tagFilter struct{ min int }

func (f tagFilter) MatchTagsCode(code int64) bool { return code%2 == 0 }
func (f tagFilter) MatchRecord(rec []byte) bool {
	var v protocol.MessageView
	_, err := protocol.DecodeMessage(rec, &v)
	return err == nil && len(v.Body) >= f.min
}

// Get against a slice of what was sent, for random requests.
func TestGetAgainstModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	e := newEnv(t, nil)
	type sent struct {
		body string
		code int64
		size int
	}
	var model []sent
	for i := range 300 {
		m := msg("A", 0, fmt.Sprintf("%d|%0*d", i, rng.IntN(200), 0))
		m.Tags = string(rune('a' + rng.IntN(26)))
		r := e.send(m, msg("B", 0, "between"))
		if rng.IntN(3) == 0 {
			e.send(msg("B", 0, "more"))
		}
		model = append(model, sent{string(m.Body), protocol.TagsCode(m.Tags), int(r[0].Size)})
	}
	for range 2000 {
		r := get("A", 0, rng.Int64N(302)-1)
		r.MaxCount, r.MaxBytes = 1+rng.IntN(40), 1+rng.IntN(8000)
		minBody := 0
		if rng.IntN(2) == 0 {
			minBody = rng.IntN(100)
			r.Filter = tagFilter{minBody}
		}
		var want []string
		bytes, next := 0, r.Offset
		for ; next >= 0 && next < 300; next++ {
			s := model[next]
			if r.Filter != nil && s.code%2 != 0 {
				continue
			}
			if len(want) > 0 && (len(want) >= r.MaxCount || bytes+s.size > r.MaxBytes) {
				break
			}
			if r.Filter == nil || len(s.body) >= minBody {
				want = append(want, s.body)
				bytes += s.size
			}
		}
		got, res := e.get(r)
		if r.Filter != nil {
			// What a filter drops only after it was read counts against the limits: fewer may come, but nothing is skipped.
			if len(got) > len(want) || fmt.Sprint(got) != fmt.Sprint(want[:len(got)]) {
				t.Fatalf("%+v: %d messages, want a beginning of %d", r, len(got), len(want))
			}
			continue
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || len(want) > 0 && res.NextBeginOffset != next || res.Bytes != bytes || res.Count != len(want) {
			t.Fatalf("%+v: %d messages, next %d; want %d, next %d", r, len(got), res.NextBeginOffset, len(want), next)
		}
	}
}
