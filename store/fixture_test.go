package store_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/conf/xlog"
	"github.com/seedmq/seedmq/remoting/protocol"
	"github.com/seedmq/seedmq/store"
	"github.com/seedmq/seedmq/store/fs"
)

// The fixtures were written by Apache RocketMQ 5.5.0; the manifests say what it serves from them.

type manifest struct {
	Queues []struct {
		Topic                string
		QueueID              int32 `json:"queueId"`
		MinOffset, MaxOffset int64
	}
	Messages []struct {
		Topic                                             string
		QueueID                                           int32 `json:"queueId"`
		QueueOffset, CommitLogOffset                      int64
		StoreSize, Flag, SysFlag, BodyCRC, ReconsumeTimes int32
		BornTimestamp, StoreTimestamp                     int64
		PreparedTransactionOffset                         int64
		BornHost, OffsetMsgID, BodySha256                 string
		Properties                                        map[string]string
	}
}

func gunzip(t *testing.T, name string) io.Reader {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// unpack puts a fixture's store into m as /s, without the timer wheel, which is large.
func unpack(t *testing.T, m *fs.Mem, name string) {
	t.Helper()
	r := tar.NewReader(gunzip(t, name+".tar.gz"))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := "/s/" + strings.TrimPrefix(h.Name, name+"/")
		if h.Typeflag != tar.TypeReg || strings.HasSuffix(path, "/timerwheel") {
			continue
		}
		b, err := io.ReadAll(r)
		if err == nil {
			err = m.MkdirAll(filepath.Dir(path))
		}
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.Create(path)
		if err == nil {
			_, err = f.WriteAt(b, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}

func openFixture(t *testing.T, name string, change ...func(*store.Options)) (*env, *manifest) {
	t.Helper()
	e := &env{t: t, mem: fs.NewMem(nil)}
	unpack(t, e.mem, name)
	e.o = store.Options{Root: "/s", FS: e.mem, CommitLogFileSize: 262144, QueueFileUnits: 300, IndexEnabled: true,
		IndexSlots: 1000, IndexEntries: 4000, NoPrepare: true, CheckCRCOnRecover: true}
	for _, c := range change {
		c(&e.o)
	}
	e.open()
	var m manifest
	file := map[string]string{"a-clean": "a-clean.manifest.json.gz", "b-kill9": "b-kill9.after-recovery.manifest.json.gz"}[name]
	if err := json.NewDecoder(gunzip(t, file)).Decode(&m); err != nil {
		t.Fatal(err)
	}
	return e, &m
}

func TestFixtures(t *testing.T) {
	for _, name := range []string{"a-clean", "b-kill9"} {
		t.Run(name, func(t *testing.T) {
			e, m := openFixture(t, name)
			e.checkManifest(m)
			r := e.send(msg("GoldenNormal", 0, "ours"))
			if _, max, _ := e.s.QueueRange("GoldenNormal", 0); r[0].QueueOffset != max-1 {
				t.Fatalf("%+v, max %d", r, max)
			}
			e.reopen()
			e.checkManifest(m)
		})
	}
}

func (e *env) checkManifest(m *manifest) {
	t := e.t
	t.Helper()
	if len(m.Messages) < 500 {
		t.Fatalf("only %d messages in the manifest", len(m.Messages))
	}
	for _, q := range m.Queues {
		if min, max, ok := e.s.QueueRange(q.Topic, q.QueueID); q.MaxOffset > 0 && (!ok || min != q.MinOffset || max < q.MaxOffset) {
			t.Errorf("queue %s/%d: %d to %d, want %d to %d", q.Topic, q.QueueID, min, max, q.MinOffset, q.MaxOffset)
		}
	}
	for i := range m.Messages {
		w := &m.Messages[i]
		r := get(w.Topic, w.QueueID, w.QueueOffset)
		r.MaxCount = 1
		b, res := e.s.Get(&r, nil)
		var v protocol.MessageView
		if n, err := protocol.DecodeMessage(b, &v); res.Status != store.GetFound || err != nil || n != len(b) {
			t.Errorf("%s/%d offset %d: %+v, %v", w.Topic, w.QueueID, w.QueueOffset, res, err)
			continue
		}
		// The client that wrote the manifest clears the bit of what it has decompressed.
		got := fmt.Sprintln(v.PhysicalOffset, v.QueueOffset, v.Size, v.Flag, v.SysFlag&^protocol.SysFlagCompressed, v.BodyCRC, v.ReconsumeTimes, v.BornTimestamp, v.StoreTimestamp, v.PreparedTransactionOffset, "/"+v.BornHost.String(), v.OffsetMsgID())
		want := fmt.Sprintln(w.CommitLogOffset, w.QueueOffset, w.StoreSize, w.Flag, w.SysFlag, w.BodyCRC, w.ReconsumeTimes, w.BornTimestamp, w.StoreTimestamp, w.PreparedTransactionOffset, w.BornHost, w.OffsetMsgID)
		if got != want {
			t.Errorf("%s/%d offset %d:\ngot  %swant %s", w.Topic, w.QueueID, w.QueueOffset, got, want)
		}
		sum := sha256.Sum256(v.Body)
		if v.SysFlag&protocol.SysFlagCompressed == 0 && hex.EncodeToString(sum[:]) != w.BodySha256 {
			t.Errorf("%s/%d offset %d: body differs", w.Topic, w.QueueID, w.QueueOffset)
		}
		props := protocol.ParseProperties(v.Properties)
		for _, added := range []string{"MAX_OFFSET", "MIN_OFFSET"} { // by the client that wrote the manifest
			delete(w.Properties, added)
		}
		if !maps.Equal(map[string]string(props), w.Properties) {
			t.Errorf("%s/%d offset %d: properties %v, want %v", w.Topic, w.QueueID, w.QueueOffset, props, w.Properties)
		}
	}
}

// units lists everything that the queues say.
func (e *env) units() map[string][]store.QueueUnit {
	e.t.Helper()
	out := map[string][]store.QueueUnit{}
	for _, topic := range e.s.Topics() {
		for _, id := range e.s.Queues(topic) {
			from, to, _ := e.s.QueueRange(topic, id)
			for from < to {
				u, err := e.s.QueueUnits(topic, id, from, int(to-from))
				if err != nil {
					e.t.Fatal(err)
				}
				key := fmt.Sprintf("%s/%d", topic, id)
				out[key] = append(out[key], u...)
				from += int64(len(u))
			}
		}
	}
	return out
}

// Queues made again from the log alone are those that Java wrote.
func TestFixtureQueuesAreRebuilt(t *testing.T) {
	e, m := openFixture(t, "a-clean")
	want := e.units()
	if err := e.s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"consumequeue", "index", "checkpoint"} {
		if err := e.mem.RemoveAll("/s/" + name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.mem.Create("/s/abort"); err != nil {
		t.Fatal(err)
	}
	e.open()
	e.checkManifest(m)
	if got := e.units(); !maps.EqualFunc(got, want, slices.Equal) {
		for q := range want {
			if !slices.Equal(got[q], want[q]) {
				t.Errorf("queue %s: %v\nwant %v", q, got[q], want[q])
			}
		}
	}
}

// Whatever is configured, a store keeps the file sizes that it was made with, and says so once.
func TestOtherSizesAreKept(t *testing.T) {
	for _, name := range []string{"a-clean", "b-kill9"} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			e, m := openFixture(t, name, func(o *store.Options) {
				o.CommitLogFileSize, o.QueueFileUnits, o.IndexSlots, o.IndexEntries = 0, 0, 0, 0
				o.Log, _ = xlog.New(&log, "warn")
			})
			e.checkManifest(m)
			n := e.fill(2)
			e.reopen()
			if _, max, _ := e.s.QueueRange("A", 0); max != int64(n) {
				t.Fatalf("%d messages of %d", max, n)
			}
			for _, file := range e.logFiles() {
				if i, err := e.mem.Stat("/s/commitlog/" + file); err != nil || i.Size != 262144 {
					t.Fatalf("%s: %+v, %v", file, i, err)
				}
			}
			if n := strings.Count(log.String(), "mappedFileSizeCommitLog 262144 instead of 1073741824"); n != 2 {
				t.Fatalf("%d warnings of two starts:\n%s", n, log.String())
			}
			if _, err := e.mem.List("/s/bad"); err == nil {
				t.Fatal("something was put aside")
			}
		})
	}
}

func TestMixedSizesAreRefusedUntouched(t *testing.T) {
	m := fs.NewMem(nil)
	unpack(t, m, "a-clean")
	f, err := m.Create("/s/commitlog/00000000000002621440")
	if err == nil {
		err = errors.Join(f.Truncate(5000), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	changed := false
	m.SetHook(func(op fs.Op) fs.Fault { changed = true; return fs.Fault{} })
	if _, err := store.Open(store.Options{Root: "/s", FS: m, NoPrepare: true}); !errors.Is(err, store.ErrUnsupported) || changed {
		t.Errorf("%v, changed %v", err, changed)
	}
}

func TestForeignStoresAreRefused(t *testing.T) {
	for _, path := range []string{"/s/dledger-n0/data/x", "/s/consumequeue/CURRENT", "/s/consumequeue/000012.sst"} {
		m := fs.NewMem(nil)
		if err := m.MkdirAll(filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Create(path); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(store.Options{Root: "/s", FS: m, NoPrepare: true}); !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
