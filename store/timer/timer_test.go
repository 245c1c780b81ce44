package timer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store/fs"
)

const root = "/s"

type env struct {
	t    *testing.T
	disk *fs.Mem
	f    *Files
	st   State
}

func newEnv(t *testing.T) *env {
	e := &env{t: t, disk: fs.NewMem(nil)}
	e.open()
	return e
}

func (e *env) open() {
	e.t.Helper()
	var err error
	if e.f, e.st, err = Open(Options{FS: e.disk, Root: root, LogFileSize: 52*10 + 40, Tick: time.Second}); err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) add(due, phys int64, magic int32) {
	e.t.Helper()
	u := Unit{Magic: magic, WriteTime: base, Delay: int32(due - base), Phys: phys, Size: 100, TopicHash: 7}
	if err := e.f.Add(&u); err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) save(read, queue int64) {
	e.t.Helper()
	if err := e.f.Write(); err != nil {
		e.t.Fatal(err)
	}
	e.f.Done(read)
	s := e.f.Take(protocol.TimerCheckpoint{LastReadTimeMs: read, LastTimerQueueOffset: queue, MasterTimerQueueOffset: queue})
	err := e.f.Flush(s)
	e.f.Flushed(s)
	if err != nil {
		e.t.Fatal(err)
	}
}

// slot lists the log positions of a slot's messages, newest first.
func (e *env) slot(ms int64) (phys []int64) {
	e.t.Helper()
	if err := e.f.Walk(ms, 0, func(_ int64, u *Unit) { phys = append(phys, u.Phys) }); err != nil {
		e.t.Fatal(err)
	}
	return phys
}

func (e *env) want(ms int64, phys ...int64) {
	e.t.Helper()
	got := e.slot(ms)
	if len(got) != len(phys) {
		e.t.Fatalf("slot %d has %v, want %v", ms, got, phys)
	}
	for i := range got {
		if got[i] != phys[i] {
			e.t.Fatalf("slot %d has %v, want %v", ms, got, phys)
		}
	}
}

const base = 1_700_000_000_000

func TestFormats(t *testing.T) {
	e := newEnv(t)
	for i := range int64(12) {
		e.add(base+5000, i, MagicDefault)
	}
	e.add(base+5000, 12, MagicDefault|MagicDelete)
	e.save(base, 13)
	first, err := fs.ReadFile(e.disk, root+"/timerlog/00000000000000000000")
	if err != nil || len(first) != 560 {
		t.Fatal(len(first), err)
	}
	// 560 bytes hold 10 units: 40 are left, less than a unit and a blank.
	blank := first[10*52:]
	if binary.BigEndian.Uint32(blank) != 40 || binary.BigEndian.Uint32(blank[12:]) != blankMagic || binary.BigEndian.Uint64(blank[4:]) != 0 {
		t.Fatalf("blank % x", blank[:16])
	}
	wheel, err := fs.ReadFile(e.disk, root+"/timerwheel")
	if err != nil || len(wheel) != 38_707_200 {
		t.Fatal(len(wheel), err)
	}
	tick := int64(base+5000) / 1000
	slot := wheel[tick%Slots*32:][:32]
	want := binary.BigEndian.AppendUint64(nil, uint64(tick))
	want = binary.BigEndian.AppendUint64(want, 0)
	want = binary.BigEndian.AppendUint64(want, 560+2*52)
	want = binary.BigEndian.AppendUint32(want, 11)
	want = binary.BigEndian.AppendUint32(want, 0)
	if !bytes.Equal(slot, want) {
		t.Fatalf("slot % x, want % x", slot, want)
	}
	check, err := fs.ReadFile(e.disk, root+"/config/timercheck")
	if err != nil || len(check) != CheckSize {
		t.Fatal(len(check), err)
	}
	if c, err := DecodeCheck(check); err != nil || c.LastReadTimeMs != base || c.LastTimerLogFlushPos != 560+3*52 || c.LastTimerQueueOffset != 13 {
		t.Fatal(c, err)
	}
	if e.f.Num() != 11 || e.f.Used() != 1 {
		t.Fatal(e.f.Num(), e.f.Used())
	}
	e.want(base+5999, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
}

func TestReopen(t *testing.T) {
	e := newEnv(t)
	if !e.st.Lost || e.st.Known {
		t.Fatalf("%+v", e.st)
	}
	e.add(base+5000, 1, MagicDefault)
	e.add(base+6000, 2, MagicDefault)
	e.save(base, 2)
	e.add(base+5000, 3, MagicDefault) // written, not flushed
	e.add(base+90_000, 4, MagicRoll|MagicDefault)
	if err := e.f.Write(); err != nil {
		t.Fatal(err)
	}
	e.disk = e.disk.Reboot()
	e.open()
	if e.st.Lost || !e.st.Known || e.st.TailLost || e.st.Last.Phys != 4 {
		t.Fatalf("%+v", e.st)
	}
	e.want(base+5000, 3, 1)
	e.want(base+6000, 2)
	e.want(base+90_000, 4)
	e.save(base+6000, 4)
	e.want(base + 5000)
	if e.f.Num() != 2 {
		t.Fatal(e.f.Num())
	}
	e.open()
	e.want(base + 5000) // was delivered: the log has it still
	e.want(base+6000, 2)
}

func TestDamage(t *testing.T) {
	for name, damage := range map[string]func(e *env){
		"no wheel":      func(e *env) { e.must(e.disk.Remove(root + "/timerwheel")) },
		"short wheel":   func(e *env) { e.truncate("/timerwheel", 100) },
		"wrong wheel":   func(e *env) { e.scribble("/timerwheel", (base+5000)/1000%Slots*32, 3) },
		"foreign wheel": func(e *env) { e.scribble("/timerwheel", (base+5000)/1000%Slots*32+23, 52) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			for i := range int64(30) {
				e.add(base+5000+i%3*1000, i, MagicDefault)
			}
			e.save(base, 30)
			damage(e)
			e.open()
			if e.st.Lost || e.f.Num() != 30 {
				t.Fatalf("%+v, %d messages", e.st, e.f.Num())
			}
			e.want(base+5000, 27, 24, 21, 18, 15, 12, 9, 6, 3, 0)
			e.save(base, 30)
			e.open()
			e.want(base+6000, 28, 25, 22, 19, 16, 13, 10, 7, 4, 1)
		})
	}
	e := newEnv(t)
	for i := range int64(30) {
		e.add(base+5000, i, MagicDefault)
	}
	e.save(base, 30)
	e.scribble("/timerlog/00000000000000000000", 52*5, 0xff) // outside of what an opening scans
	e.open()
	if n := len(e.slot(base + 5000)); n != 29 {
		t.Fatalf("%d units of a broken chain", n)
	}
	e.must(e.disk.RemoveAll(root + "/timerlog"))
	e.open()
	if !e.st.Lost || !e.st.Known || e.f.Used() != 0 {
		t.Fatalf("%+v", e.st)
	}
}

// A log that lost its end is cut there, and nothing of what came after is taken for units later.
func TestTailLost(t *testing.T) {
	e := newEnv(t)
	for i := range int64(8) {
		e.add(base+5000, i, MagicDefault)
	}
	e.save(base, 8)
	e.scribble("/timerlog/00000000000000000000", 52*5, 0xff)
	e.open()
	if !e.st.TailLost || e.st.Last.Phys != 4 || e.f.LogEnd() != 5*52 {
		t.Fatalf("%+v %d", e.st, e.f.LogEnd())
	}
	e.want(base+5000, 4, 3, 2, 1, 0)
	e.add(base+5000, 100, MagicDefault)
	e.save(base, 6)
	e.open()
	e.want(base+5000, 100, 4, 3, 2, 1, 0)
}

func TestRoundTheWheel(t *testing.T) {
	e := newEnv(t)
	e.add(base+5000, 1, MagicDefault)
	u := Unit{Magic: 1, WriteTime: base + Slots*1000, Delay: 5000, Phys: 2, Size: 9}
	if err := e.f.Add(&u); !errors.Is(err, ErrTaken) {
		t.Fatal(err)
	}
	e.f.Rewind(base + 6000)
	if err := e.f.Add(&u); err != nil {
		t.Fatal(err)
	}
	e.want(base + 5000)
	e.want(base+5000+Slots*1000, 2)
	if e.f.Num() != 1 || e.f.Used() != 1 || u.Previous != -1 {
		t.Fatal(e.f.Num(), e.f.Used(), u.Previous)
	}
}

func TestExpire(t *testing.T) {
	e := newEnv(t)
	for i := range int64(35) {
		e.add(base+int64(i%2)*100_000, i, MagicDefault)
	}
	e.save(base+1000, 35)
	lost, err := e.f.Expire(20)
	if err != nil || lost != 10 {
		t.Fatal(lost, err)
	}
	if _, err := e.disk.Stat(root + "/timerlog/00000000000000000560"); err == nil {
		t.Fatal("the second file is there")
	}
	e.want(base+100_000, 33, 31, 29, 27, 25, 23, 21)
	e.save(base+1000, 35)
	e.open()
	e.want(base+100_000, 33, 31, 29, 27, 25, 23, 21)
}

func TestFlushFails(t *testing.T) {
	e := newEnv(t)
	e.add(base+5000, 1, MagicDefault)
	e.must(e.f.Write())
	e.disk.SetHook(func(op fs.Op) fs.Fault {
		if op.Kind == fs.OpSync {
			return fs.Fault{Err: errors.New("broken")}
		}
		return fs.Fault{}
	})
	s := e.f.Take(protocol.TimerCheckpoint{LastReadTimeMs: base})
	if e.f.Flush(s) == nil {
		t.Fatal("no error")
	}
	e.f.Flushed(s)
	e.disk.SetHook(nil)
	e.save(base, 1)
	e.disk = e.disk.Crash(3)
	e.open()
	e.want(base+5000, 1)
}

func (e *env) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) truncate(name string, size int64) {
	f, err := e.disk.OpenFile(root+name, 2, 0)
	e.must(err)
	e.must(errors.Join(f.Truncate(size), f.Close()))
}

func (e *env) scribble(name string, off int64, b byte) {
	f, err := e.disk.OpenFile(root+name, 2, 0)
	e.must(err)
	_, err = f.WriteAt([]byte{b}, off)
	e.must(errors.Join(err, f.Close()))
}

func FuzzUnit(f *testing.F) {
	u := Unit{Previous: -1, Magic: 5, WriteTime: base, Delay: 1000, Phys: 9, Size: 8, TopicHash: -3}
	f.Add(u.Append(nil))
	f.Add(appendBlank(nil, 60))
	f.Add(make([]byte, UnitSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		var u Unit
		if u.Decode(b, 1<<40) == nil && (len(b) < UnitSize || !bytes.Equal(u.Append(nil)[:44], b[:44])) {
			t.Fatalf("%+v from % x", u, b)
		}
	})
}

func FuzzCheck(f *testing.F) {
	c := protocol.TimerCheckpoint{LastReadTimeMs: base, LastTimerLogFlushPos: 52}
	f.Add(c.Append(nil))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := DecodeCheck(b); err == nil && !bytes.Equal(c.Append(nil), b[:checkUsed]) {
			t.Fatal(c)
		}
	})
}

// Whatever a page of the wheel says, reading it does not fail in any other way than with ErrCorrupt, and what is taken can be read.
func FuzzWheelPage(f *testing.F) {
	w := newWheel(time.Second)
	w.put(base, Slot{0, 52, 2})
	page, _ := w.at(base)
	f.Add(w.page[page][:], int(page))
	f.Add(make([]byte, pageSize), 0)
	f.Fuzz(func(t *testing.T, b []byte, page int) {
		if len(b) > pageSize || page < 0 || page >= pages {
			return
		}
		w := newWheel(time.Second)
		err := w.readPage(page, append(bytes.Clone(b), make([]byte, pageSize-len(b))...))
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		w.each(func(ms int64, s Slot) {
			if got, ok := w.get(ms); !ok || got != s {
				t.Fatal(ms, s, got)
			}
		})
	})
}

// A damaged log of any content is opened, and ends where its units do.
func FuzzLog(f *testing.F) {
	u := Unit{Previous: -1, Magic: 1, WriteTime: base, Delay: 1000, Phys: 9, Size: 8}
	f.Add(u.Append(nil))
	f.Add(append(u.Append(nil), appendBlank(nil, 508)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		disk := fs.NewMem(nil)
		file, err := openSized(disk, root+"/timerlog/00000000000000000000", 560)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteAt(b[:min(len(b), 560)], 0); err != nil {
			t.Fatal(err)
		}
		check := checkFile{fs: disk, name: root + "/config/timercheck"}
		if err := check.write(protocol.TimerCheckpoint{LastReadTimeMs: base}); err != nil {
			t.Fatal(err)
		}
		fl, _, err := Open(Options{FS: disk, Root: root, Tick: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		end := fl.LogEnd()
		fl, _, err = Open(Options{FS: disk, Root: root, Tick: time.Second})
		if err != nil || fl.LogEnd() != end {
			t.Fatal(end, fl.LogEnd(), err)
		}
	})
}
