package timer

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/broker/delay"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
)

// unpack puts a store of Apache RocketMQ 5.5.0 into a new folder.
func unpack(t *testing.T, name string) (dir string) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "store", "testdata", name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, strings.TrimPrefix(strings.TrimPrefix(h.Name, "./"), name+"/"))
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := os.Create(path)
		if err == nil {
			_, err = io.Copy(out, r)
			err = errors.Join(err, out.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// javaRig is a service on a real store, driven step by step.
type javaRig struct {
	t   *testing.T
	dir string
	clk *clock.Fake
	st  *store.Store
	s   *Service
}

func (r *javaRig) open() {
	r.t.Helper()
	var err error
	arrived := func(batch []store.Arrival) {
		if r.s != nil {
			r.s.Notify(batch)
		}
	}
	r.s = nil
	if r.st, err = store.Open(store.Options{Root: r.dir, CommitLogFileSize: 262_144, QueueFileUnits: 300, NoPrepare: true, Clock: r.clk,
		FileReservedTime: 1000 * time.Hour, OnArrival: arrived}); err != nil {
		r.t.Fatal(err)
	}
	r.s = New(Options{Source: r.st, Sink: delay.NewStoreSink(r.st), FS: fs.OS{}, Root: r.dir, Clock: r.clk})
	if err := r.s.begin(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *javaRig) close() {
	r.t.Helper()
	r.s.started = true
	if err := errors.Join(r.s.Close(), r.st.Close()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *javaRig) end(topic string) (n int64) {
	for _, q := range r.st.Queues(topic) {
		_, hi, _ := r.st.QueueRange(topic, q)
		n += hi
	}
	return n
}

// until runs the service up to a time.
func (r *javaRig) until(ms int64) {
	r.t.Helper()
	for {
		r.s.land()
		next, pending := r.s.step()
		if r.s.saves.busy {
			snap := <-r.s.saves.todo
			r.s.flushOne(snap)
			r.s.saved(snap)
		}
		if at := time.UnixMilli(ms); !pending || next.After(at) {
			if !r.clk.Now().Before(at) {
				return
			}
			next = at
		}
		if next.After(r.clk.Now()) {
			r.clk.Set(next)
		}
	}
}

// Times of the fixture's timed messages: one waits 68 h and rolls after 48, one is recalled, in the slot of 1796052489 s.
const (
	fixtureEnd     = 1796048980_000
	fixtureRecalls = 1796052489_000
	fixtureRolls   = 1796221689_000
)

// A store of Java's goes on where it stood: what waits comes at its time, what was recalled does not, nothing comes twice. In between
// it is closed and opened, so that what we wrote is read as well.
func TestJavaStoreGoesOn(t *testing.T) {
	r := &javaRig{t: t, dir: unpack(t, "a-clean"), clk: clock.NewFake(time.UnixMilli(fixtureEnd))}
	r.open()
	if f := r.s.Figures(); f.OffsetBehind != 0 || f.Waiting != 1 || r.s.Metrics().TimingCount["GoldenTimer"].Count != 1 {
		t.Fatalf("%+v %+v", f, r.s.Metrics())
	}
	delivered := r.end("GoldenTimer")
	revived := r.end("rmq_sys_REVIVE_LOG_GoldenCluster")
	r.until(fixtureEnd + 60_000)
	r.close()
	r.clk.Set(time.UnixMilli(fixtureRecalls - 60_000))
	r.open()
	r.until(fixtureRecalls + 60_000)
	if n := r.end("GoldenTimer"); n != delivered {
		t.Fatalf("%d messages of GoldenTimer, want %d: the recalled one came", n, delivered)
	}
	if n := r.end("rmq_sys_REVIVE_LOG_GoldenCluster"); n != revived {
		t.Fatalf("%d records of the revive topic came again", n-revived)
	}
	r.close()
	r.clk.Set(time.UnixMilli(fixtureRolls - 5000))
	r.open()
	rolled := r.end(protocol.TopicTimer)
	r.until(fixtureRolls + 5000)
	wait(t, "the message is stored anew", func() bool { return r.end(protocol.TopicTimer) == rolled+1 })
	r.until(fixtureRolls + 6000)
	out := r.dueOf(rolled)
	r.close()
	r.clk.Set(time.UnixMilli(out - 5000))
	r.open()
	r.until(out)
	if n := r.end("GoldenTimer"); n != delivered {
		t.Fatal("early")
	}
	r.until(out + 2000)
	wait(t, "the message comes", func() bool { return r.end("GoldenTimer") == delivered+1 })
	if f := r.s.Figures(); f.Waiting > 0 || f.Lost > 0 {
		t.Fatalf("%+v", f)
	}
	r.close()
}

// dueOf is TIMER_OUT_MS of a record of the timer topic.
func (r *javaRig) dueOf(offset int64) int64 {
	r.t.Helper()
	units, err := r.st.QueueUnits(protocol.TopicTimer, 0, offset, 1)
	if err != nil {
		r.t.Fatal(err)
	}
	rec, err := r.st.Record(units[0].PhysicalOffset, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	var p parcel
	if err := p.open(rec); err != nil {
		r.t.Fatal(err)
	}
	return p.out
}

// After a kill of Java's broker, what its wheel and log lack is found.
func TestJavaStoreAfterAKill(t *testing.T) {
	r := &javaRig{t: t, dir: unpack(t, "b-kill9"), clk: clock.NewFake(time.UnixMilli(fixtureEnd + 120_000))}
	r.open()
	r.until(fixtureEnd + 130_000)
	if f := r.s.Figures(); f.OffsetBehind != 0 || f.Waiting != 1 || f.Lost != 0 {
		t.Fatalf("%+v", f)
	}
	r.close()
}

func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}
