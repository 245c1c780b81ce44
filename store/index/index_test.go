package index

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/internal/fixture"
)

const (
	testSlots   = 16
	testEntries = 50
	startMs     = 1_700_000_000_123
)

func openTest(t testing.TB, f fs.FS, crashed bool) *Index {
	t.Helper()
	i, err := Open(Options{FS: f, Dir: "/s/index", Slots: testSlots, Entries: testEntries, AfterCrash: crashed,
		Clock: clock.NewFake(time.UnixMilli(startMs)), Location: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// message n of a log in which every record has 100 bytes, and comes 700 ms after the one before.
func message(n int64) []Entry {
	var out []Entry
	for k := range 1 + n%3 {
		out = append(out, Entry{Hash: int32((n*31 + k*7) % 40), PhysicalOffset: n * 100, StoreTimestamp: startMs + n*700})
	}
	return out
}

func put(t testing.TB, i *Index, from, to int64) {
	t.Helper()
	for n := from; n < to; n++ {
		check(t, i.Put(message(n)))
	}
}

// twin is what Query must find for a hash among messages [from, to): newest first.
func twin(from, to int64, hash int32, limit int, begin, end int64) []int64 {
	var out []int64
	for n := to - 1; n >= from && len(out) < limit; n-- {
		for _, e := range message(n) {
			if e.Hash == hash && e.StoreTimestamp >= begin && e.StoreTimestamp <= end {
				out = append(out, e.PhysicalOffset)
				break
			}
		}
	}
	return out
}

// wantMessages wants every hash of messages [from, to) to be found, and nothing else.
func wantMessages(t testing.TB, i *Index, from, to int64) {
	t.Helper()
	for hash := range int32(40) {
		got, err := i.Query(nil, hash, math.MaxInt32, 0, math.MaxInt64)
		check(t, err)
		if want := twin(from, to, hash, math.MaxInt32, 0, math.MaxInt64); !slices.Equal(got, want) {
			t.Fatalf("hash %d of messages [%d, %d): %v, want %v", hash, from, to, got, want)
		}
	}
}

func TestPutQueryReopen(t *testing.T) {
	m := fs.NewMem(nil)
	i := openTest(t, m, false)
	for n := int64(0); n < 200; n++ {
		put(t, i, n, n+1)
		if n%50 == 20 {
			check(t, i.Flush())
		}
		if n%11 == 0 {
			wantMessages(t, i, 0, n+1)
		}
	}
	check(t, i.Put(message(150))) // dispatched again
	wantMessages(t, i, 0, 200)
	if ms, phys := i.LastUpdate(); ms != startMs+199*700 || phys != 19_900 || i.EndPhys() != 19_901 {
		t.Fatal(ms, phys, i.EndPhys())
	}
	check(t, i.Close())
	list, err := m.List("/s/index")
	check(t, err)
	if len(list) != 9 || list[0].Name != "20231114221320123" || list[1].Name != "20231114221320124" { // the clock stands still
		t.Fatalf("%+v", list)
	}
	for _, f := range list {
		if f.Size != 40+4*testSlots+20*testEntries {
			t.Fatalf("%+v", f)
		}
	}
	i = openTest(t, m, false)
	wantMessages(t, i, 0, 200)
	put(t, i, 200, 230)
	wantMessages(t, i, 0, 230)
	check(t, i.Flush())
	check(t, i.Flush()) // idle: slots leave memory
	for _, p := range i.mu.files[len(i.mu.files)-1].pages {
		if p != nil {
			t.Fatal("an idle index has slots in memory")
		}
	}
	wantMessages(t, i, 0, 230)
	put(t, i, 230, 240)
	wantMessages(t, i, 0, 240)
}

func TestQueryWindow(t *testing.T) {
	i := openTest(t, fs.NewMem(nil), false)
	put(t, i, 0, 150)
	for range 2000 {
		hash, limit := rand.Int32N(40), 1+rand.IntN(5)
		begin := startMs + rand.Int64N(120_000) - 5000
		end := begin + rand.Int64N(60_000)
		got, err := i.Query([]int64{-7}, hash, limit, begin, end)
		check(t, err)
		// Entries keep whole seconds, so the window is as much wider; what it must have is in it, in order.
		wide := twin(0, 150, hash, math.MaxInt32, begin-999, end+999)
		must := twin(0, 150, hash, limit, begin, end)
		if got[0] != -7 || len(got)-1 > limit || !subsequence(got[1:], wide) {
			t.Fatalf("%v of %v", got, wide)
		}
		if len(got)-1 < limit && !subsequence(must, got[1:]) {
			t.Fatalf("%v lacks some of %v", got, must)
		}
	}
	if got, err := i.Query(nil, -1, 5, 0, math.MaxInt64); got != nil || err != nil {
		t.Fatal(got, err)
	}
}

func subsequence(small, large []int64) bool {
	for _, n := range large {
		if len(small) > 0 && small[0] == n {
			small = small[1:]
		}
	}
	return len(small) == 0
}

func TestDeleteBefore(t *testing.T) {
	m := fs.NewMem(nil)
	i := openTest(t, m, false)
	put(t, i, 0, 200)
	check(t, i.DeleteBefore(10_000))
	h := i.Headers()
	if h[0].EndPhyOffset < 10_000 || h[0].BeginPhyOffset > 10_000 {
		t.Fatalf("%+v", h[0])
	}
	first := h[0].BeginPhyOffset/100 + 1 // the record at the boundary may be split
	for hash := range int32(40) {
		got, err := i.Query(nil, hash, math.MaxInt32, 0, math.MaxInt64)
		check(t, err)
		if !subsequence(twin(first, 200, hash, math.MaxInt32, 0, math.MaxInt64), got) {
			t.Fatalf("hash %d: %v", hash, got)
		}
	}
	check(t, i.DeleteBefore(math.MaxInt64))
	if list, _ := m.List("/s/index"); len(list) != 1 {
		t.Fatalf("%d files: the last one stays", len(list))
	}
	check(t, i.Close())
}

func TestTruncateTo(t *testing.T) {
	for _, flush := range []bool{false, true} {
		for n := int64(0); n <= 100; n++ {
			m := fs.NewMem(nil)
			i := openTest(t, m, false)
			put(t, i, 0, 100)
			if flush {
				check(t, i.Flush())
				check(t, i.Flush())
			}
			check(t, i.TruncateTo(n*100))
			wantMessages(t, i, 0, n)
			if end := i.EndPhys(); n == 0 && end != 0 || n > 0 && end != (n-1)*100+1 {
				t.Fatal(n, i.EndPhys())
			}
			check(t, i.Close())
			i = openTest(t, m, n%2 == 0)
			if n%2 == 0 {
				if end := i.EndPhys(); end != max(n-1, 0)*100 {
					t.Fatalf("after a crash with %d messages the end is %d", n, end)
				}
				put(t, i, max(n-1, 0), n)
			}
			wantMessages(t, i, 0, n)
			put(t, i, n, 120)
			wantMessages(t, i, 0, 120)
		}
	}
}

// TestCrash stops at every operation of a run, keeps what a disk might keep, and dispatches again what recovery says is
// missing.
func TestCrash(t *testing.T) {
	run := func(m *fs.Mem) (synced int64) {
		i, err := Open(Options{FS: m, Dir: "/s/index", Slots: testSlots, Entries: testEntries, Clock: clock.NewFake(time.UnixMilli(startMs)), Location: time.UTC})
		for n := int64(0); n < 120 && err == nil; n++ {
			if err = i.Put(message(n)); err == nil && n%25 == 24 {
				if err = i.Flush(); err == nil {
					synced = n + 1
				}
			}
		}
		return synced
	}
	dry := fs.NewMem(nil)
	run(dry)
	for stop := int64(1); stop <= dry.Ops(); stop++ {
		for seed := range uint64(4) {
			m := fs.NewMem(nil)
			m.SetHook(func(op fs.Op) fs.Fault { return fs.Fault{Kill: op.N == stop, Short: op.Len / 3} })
			synced := run(m)
			after := m.Crash(seed)
			if seed == 0 {
				after = m.Reboot()
			}
			i := openTest(t, after, true)
			from := i.EndPhys()
			if need := i.Report().RebuildFrom; need < from {
				t.Fatalf("rebuild from %d, but the end is %d", need, from)
			}
			if from < (synced-1)*100 {
				t.Fatalf("stop %d seed %d: synced up to message %d, the index ends at %d: %+v", stop, seed, synced, from, i.Report())
			}
			put(t, i, 0, 130)
			for n := range int64(130) {
				for _, e := range message(n) {
					if got, err := i.Query(nil, e.Hash, 1000, 0, math.MaxInt64); err != nil || !slices.Contains(got, n*100) {
						t.Fatalf("stop %d seed %d: message %d is missing: %v", stop, seed, n, err)
					}
				}
			}
			check(t, i.Close())
			openTest(t, after, false)
		}
	}
}

func TestDamage(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"emptied": func(b []byte) []byte { return nil },
		"halved":  func(b []byte) []byte { return b[:len(b)/2] },
		"noise": func(b []byte) []byte {
			r := rand.New(rand.NewPCG(1, 2))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			return b
		},
	} {
		for _, crashed := range []bool{false, true} {
			for k := range 4 {
				m := fs.NewMem(nil)
				i := openTest(t, m, false)
				put(t, i, 0, 90)
				check(t, i.Close())
				list, err := m.List("/s/index")
				check(t, err)
				file := "/s/index/" + list[k].Name
				b, err := fs.ReadFile(m, file)
				check(t, err)
				f, err := m.Create(file)
				check(t, err)
				_, err = f.WriteAt(damage(b), 0)
				check(t, err)

				i = openTest(t, m, crashed)
				r := i.Report()
				if len(r.Damaged) != len(list)-k || r.Damaged[0].File != file || r.RebuildFrom != i.EndPhys() {
					t.Fatalf("%s %d: %+v", name, k, r)
				}
				put(t, i, r.RebuildFrom/100, 90)
				for hash := range int32(40) {
					got, err := i.Query(nil, hash, 1000, 0, math.MaxInt64)
					check(t, err)
					if want := twin(0, 90, hash, 1000, 0, math.MaxInt64); !slices.Equal(slices.Compact(got), want) {
						t.Fatalf("%s %d hash %d: %v, want %v", name, k, hash, got, want)
					}
				}
				aside, err := m.List("/s/bad/index")
				if name != "emptied" && (err != nil || len(aside) != len(list)-k) {
					t.Fatalf("%s %d: put aside: %v %v", name, k, aside, err)
				}
			}
		}
	}
}

func TestFullDisk(t *testing.T) {
	m := fs.NewMem(nil)
	i := openTest(t, m, false)
	put(t, i, 0, 20)
	m.SetHook(func(fs.Op) fs.Fault { return fs.Fault{Err: syscall.ENOSPC} })
	if err := i.Flush(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	n := int64(20)
	for ; ; n++ {
		if err := i.Put(message(n)); err != nil {
			if !errors.Is(err, syscall.ENOSPC) || n > 100 {
				t.Fatal(n, err)
			}
			break
		}
	}
	m.SetHook(nil)
	put(t, i, n-3, 60)
	check(t, i.Close())
	i = openTest(t, m, false)
	for hash := range int32(40) {
		got, err := i.Query(nil, hash, 1000, 0, math.MaxInt64)
		check(t, err)
		if want := twin(0, 60, hash, 1000, 0, math.MaxInt64); !slices.Equal(slices.Compact(got), want) {
			t.Fatalf("hash %d: %v, want %v", hash, got, want)
		}
	}
}

func TestIgnoresOthers(t *testing.T) {
	m := fs.NewMem(nil)
	check(t, m.MkdirAll("/s/index/x"))
	_, err := m.Create("/s/index/2023")
	check(t, err)
	if got := openTest(t, m, false).Report().Ignored; !reflect.DeepEqual(got, []string{"/s/index/2023", "/s/index/x"}) {
		t.Fatal(got)
	}
}

// TestGolden: the index of a Java broker says here what it says there, and the same messages give the same bytes.
func TestGolden(t *testing.T) {
	for _, name := range []string{fixture.Clean, fixture.Kill9} {
		d := fixture.ReadDump(t, name)
		dir := fixture.Unpack(t, name, "index/")
		for fileName, want := range d.Index {
			i, err := Open(Options{FS: fs.OS{}, Dir: dir + "/index", Slots: fixture.IndexSlots, Entries: fixture.IndexEntries})
			check(t, err)
			h := i.Headers()[0]
			if h != (Header{want.BeginTimestamp, want.EndTimestamp, want.BeginPhyOffset, want.EndPhyOffset, want.HashSlotCount, want.IndexCount}) {
				t.Fatalf("%s: %+v", name, h)
			}
			f := i.mu.files[0]
			for _, e := range want.Entries[1:] {
				r, err := f.entry(int32(e[0]))
				if err != nil || r != (Record{int32(e[1]), e[2], int32(e[3]), int32(e[4])}) {
					t.Fatalf("%s: entry %d is %+v, %v", name, e[0], r, err)
				}
			}
			for slot, entry := range want.Slots {
				n, err := strconv.Atoi(slot)
				check(t, err)
				if got, err := i.newest(f, int32(n)); err != nil || got != entry {
					t.Fatalf("%s: slot %s is %d, %v", name, slot, got, err)
				}
			}
			check(t, i.Close())
			compareRebuilt(t, d, dir+"/index/"+fileName)
		}
	}
}

// compareRebuilt puts the messages of a recorded log and wants the file that Java made of them.
func compareRebuilt(t *testing.T, d fixture.Dump, golden string) {
	m := fs.NewMem(nil)
	i, err := Open(Options{FS: m, Dir: "/index", Slots: fixture.IndexSlots, Entries: fixture.IndexEntries})
	check(t, err)
	for _, r := range d.Records {
		if r.SysFlag&0xc == 0xc {
			continue // rolled back
		}
		props := map[string]string{}
		for _, p := range strings.Split(r.Properties, "\x02") {
			k, v, _ := strings.Cut(p, "\x01")
			props[k] = v
		}
		var keys []Entry
		add := func(hash int32) { keys = append(keys, Entry{hash, r.PhysicalOffset, r.StoreTimestamp}) }
		if k := props["UNIQ_KEY"]; k != "" {
			add(KeyHash(r.Topic, k))
		}
		for _, k := range strings.Split(props["KEYS"], " ") {
			if k != "" {
				add(KeyHash(r.Topic, k))
			}
		}
		if k := props["TAGS"]; k != "" {
			add(TagHash(r.Topic, k))
		}
		check(t, i.Put(keys))
	}
	check(t, i.Close())
	list, err := m.List("/index")
	check(t, err)
	got, err := fs.ReadFile(m, "/index/"+list[0].Name)
	check(t, err)
	want, err := os.ReadFile(golden)
	check(t, err)
	for n := range want {
		if got[n] != want[n] {
			t.Fatalf("%s: byte %d differs from Java's: %x, want %x", golden, n, got[n], want[n])
		}
	}
}

// FuzzOpen: whatever a file holds, opening it does not panic, what is accepted can be queried, and a second start after
// a crash finds what the first one left.
func FuzzOpen(f *testing.F) {
	m := fs.NewMem(nil)
	i := openTest(f, m, false)
	put(f, i, 0, 20)
	check(f, i.Close())
	good, err := fs.ReadFile(m, "/s/index/20231114221320123")
	check(f, err)
	f.Add(good, false)
	f.Add(good, true)
	f.Add(good[:len(good)-1], true)
	f.Add(make([]byte, len(good)), true)
	f.Fuzz(func(t *testing.T, b []byte, crashed bool) {
		m := fs.NewMem(nil)
		check(t, m.MkdirAll("/s/index"))
		file, err := m.Create("/s/index/20231114221320123")
		check(t, err)
		_, err = file.WriteAt(b, 0)
		check(t, err)
		i := openTest(t, m, crashed)
		for hash := range int32(40) {
			if _, err := i.Query(nil, hash, 100, 0, math.MaxInt64); err != nil {
				t.Fatal(err)
			}
		}
		if !crashed {
			return
		}
		before := i.EndPhys()
		check(t, i.Close())
		if again := openTest(t, m, true); again.EndPhys() > before || again.Report().Damaged != nil {
			t.Fatalf("ends at %d, then at %d; %+v", before, again.EndPhys(), again.Report())
		}
	})
}

func BenchmarkPut(b *testing.B) {
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			i, err := Open(Options{FS: fs.OS{}, Dir: b.TempDir()})
			check(b, err)
			r := rand.New(rand.NewPCG(1, 1))
			entries := make([]Entry, batch)
			var phys int64
			b.ReportAllocs()
			for n := 0; n < b.N; n += batch {
				for k := range entries {
					phys += 1000
					entries[k] = Entry{Hash: int32(r.Uint32() >> 1), PhysicalOffset: phys, StoreTimestamp: startMs + phys/1000}
				}
				if err := i.Put(entries); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			check(b, i.Close())
		})
	}
}

// A file that a kill left without an entry says where it goes on: Java reads it, too.
func TestNewFileHasItsHeader(t *testing.T) {
	m := fs.NewMem(nil)
	i := openTest(t, m, false)
	put(t, i, 0, 100)
	list, err := m.List("/s/index")
	check(t, err)
	end := int64(-1)
	for n, info := range list {
		b, err := fs.ReadFile(m, "/s/index/"+info.Name)
		check(t, err)
		h := DecodeHeader(b)
		if n > 0 && (h.BeginPhyOffset < end || h.BeginTimestamp <= 0 || h.IndexCount < 1) {
			t.Errorf("header of file %d: %+v, the one before ends at %d", n, h, end)
		}
		end = h.EndPhyOffset
	}
	if len(list) < 4 || end < 9000 {
		t.Errorf("%d files, the end is %d", len(list), end)
	}
}
