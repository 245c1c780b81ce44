//go:build crash

package crash

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seedmq/seedmq/tools/harness"
)

// damage are ways in which a file can be spoiled between a kill and a start.
var damage = []struct {
	name string
	do   func(path string, rng *rand.Rand) error
}{
	{"emptied", func(path string, _ *rand.Rand) error { return os.Truncate(path, 0) }},
	{"halved", func(path string, _ *rand.Rand) error {
		i, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, i.Size()/2)
	}},
	{"noise", func(path string, rng *rand.Rand) error {
		i, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, noise(rng, i.Size()), 0o600)
	}},
	{"removed", func(path string, _ *rand.Rand) error { return os.Remove(path) }},
}

func noise(rng *rand.Rand, n int64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

const damageConf = smallFiles + "flushConsumerOffsetInterval=200\n"

// firstOffset and lastOffset are what group committed: the backup of the table has the first.
const (
	group       = "crash-check" // made by its first pull
	firstOffset = 100
	lastOffset  = 200
)

// killedStore makes a store of several files of each kind that was killed under load. The checkpoint has seen a part of it.
func killedStore(t *testing.T, dir string) *Book {
	s := newServer(t, dir, damageConf)
	book := NewBook()
	s.start()
	s.createTopic()
	s.loadUntil(book, "base", func() bool { return book.Acked() >= 12000 })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := ReadAll(ctx, s.addr(), topic, queues); err != nil {
		t.Fatal(err)
	}
	for i, off := range []int64{firstOffset, lastOffset} {
		if err := CommitOffset(ctx, s.addr(), group, topic, 1, off); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, 20*time.Second, func() string {
			files := []string{"consumerOffset.json", "consumerOffset.json.bak"}
			for _, f := range files[:1+i] {
				if b, err := os.ReadFile(filepath.Join(dir, "config", f)); err != nil || !bytes.Contains(b, []byte(group)) {
					return fmt.Sprintf("%s: %s %v", f, b, err)
				}
			}
			return ""
		})
	}
	harness.Eventually(t, 30*time.Second, func() string {
		if checkpointAt(dir) > 8<<20 {
			return ""
		}
		return "the checkpoint does not move"
	})
	tail := book.Acked() + 3000
	s.loadUntil(book, "tail", func() bool { return book.Acked() >= tail })
	s.proc.Kill()
	return book
}

// checkpointAt is the log position below which a killed store's queues are whole. What lies behind is read at the start.
func checkpointAt(dir string) int64 {
	b, err := os.ReadFile(filepath.Join(dir, "checkpoint"))
	if err != nil || len(b) < 48 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b[40:]))
}

// loadUntil sends until enough says so.
func (s *server) loadUntil(book *Book, run string, enough func() bool) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !enough() && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	Load(ctx, book, s.addr(), topic, queues, 4, 8, run)
	cancel()
	<-done
}

// filesOf lists the files below dir.
func filesOf(t *testing.T, dir string) (files []string) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			files = append(files, rel)
		}
		return err
	})
	if err != nil || len(files) < 10 {
		t.Fatalf("files of the store: %v %v", files, err)
	}
	return files
}

func copyStore(t *testing.T, from string) (to string) {
	to = filepath.Join(t.TempDir(), "store")
	if out, err := exec.Command("cp", "-a", "--sparse=always", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v %s", err, out)
	}
	return to
}

// Any one file of a store may be spoiled: the broker starts by itself and serves everything that is intact in the log.
func TestDamagedFiles(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base")
	book := killedStore(t, base)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, file := range filesOf(t, base) {
		for _, d := range damage {
			t.Run(file+" "+d.name, func(t *testing.T) {
				dir := copyStore(t, base)
				if err := d.do(filepath.Join(dir, file), rng); err != nil {
					t.Fatal(err)
				}
				startDamaged(t, dir, file, book)
			})
		}
	}
}

// maxLines is how much a broker may say about one damaged file.
const maxLines = 12

func startDamaged(t *testing.T, dir, file string, book *Book) {
	c := newServer(t, dir, damageConf)
	c.start()
	inLog := strings.Contains(file, "commitlog")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n, err := CheckDamaged(ctx, book, c.addr(), topic, queues, inLog)
	if err != nil {
		t.Fatalf("%v\nserver:\n%s", err, c.proc.Output())
	}
	if !inLog && n < book.Acked() {
		t.Errorf("%d messages of %d", n, book.Acked())
	}
	if inLog && n < book.Acked()/2 {
		t.Errorf("%d messages of %d, though one log file of many was spoiled", n, book.Acked())
	}
	off, ok, err := QueryOffset(ctx, c.addr(), group, topic, 1)
	want := off == lastOffset || off == firstOffset && strings.HasPrefix(file, "config/consumerOffset.json")
	if err != nil || !ok || !want {
		t.Errorf("consumer offset %d, %v, %v", off, ok, err)
	}
	if lines := strings.Count(c.proc.Output(), " level="); lines > maxLines {
		t.Errorf("%d lines of log", lines)
	}
	c.sendsAndStops()
}

// sendsAndStops sees that the server takes messages and ends well.
func (s *server) sendsAndStops() {
	s.t.Helper()
	more, begin := NewBook(), time.Now()
	s.loadUntil(more, "more", func() bool { return more.Acked() > 20 || time.Since(begin) > 10*time.Second })
	if more.Acked() == 0 {
		s.t.Errorf("takes no messages: %v", more.Errors())
	}
	if err := s.proc.Stop(s.t, 10*time.Second); err != nil {
		s.t.Errorf("stop: %v", err)
	}
	if s.t.Failed() {
		s.t.Logf("server:\n%s", s.proc.Output())
	}
}

// A part of the log's middle is noise: every record before and behind it stays where it is, and the noise is put aside.
func TestHoleInTheLog(t *testing.T) {
	const hole = 4096
	base := filepath.Join(t.TempDir(), "base")
	book := killedStore(t, base)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	whole := newServer(t, copyStore(t, base), damageConf)
	whole.start()
	want, err := ReadAll(ctx, whole.addr(), topic, queues)
	if err != nil || len(want) < book.Acked() {
		t.Fatalf("%d messages of %d, %v", len(want), book.Acked(), err)
	}
	whole.proc.Kill()
	var end int64
	for _, m := range want {
		end = max(end, m.Phys+m.Size)
	}
	read := checkpointAt(base)
	for n := range 8 {
		at := rng.Int64N(read - hole)
		if n%2 == 1 {
			at = read + rng.Int64N(end-hole-read)
		}
		const size = 4 << 20
		if at%size > size-hole {
			at -= hole
		}
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			dir := copyStore(t, base)
			f, err := os.OpenFile(filepath.Join(dir, "commitlog", fmt.Sprintf("%020d", at-at%size)), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt(noise(rng, hole), at%size); err != nil {
				t.Fatal(err)
			}
			f.Close()
			checkHole(t, ctx, dir, want, at, at+hole, at >= read)
		})
	}
}

func checkHole(t *testing.T, ctx context.Context, dir string, want map[Place]Stored, from, to int64, read bool) {
	s := newServer(t, dir, damageConf)
	for _, how := range []string{"after the damage", "after another kill"} {
		s.start()
		got, err := ReadAll(ctx, s.addr(), topic, queues)
		if err != nil {
			t.Fatalf("%s: %v\n%s", how, err, s.proc.Output())
		}
		lost := 0
		for at, m := range want {
			switch touched := m.Phys < to && m.Phys+m.Size > from; {
			case got[at] == m:
			case !touched:
				t.Errorf("%s: %v at log position %d is whole, but there is %.40q", how, at, m.Phys, got[at].Body)
			default:
				lost++
			}
		}
		if t.Failed() {
			t.Fatalf("%s: the hole is %d to %d\n%s", how, from, to, s.proc.Output())
		}
		if how == "after the damage" {
			t.Logf("%d messages lost in %d to %d; the server says:\n%s", lost, from, to, logOf(s.proc.Output()))
			if lines := strings.Count(s.proc.Output(), " level="); lines > maxLines {
				t.Errorf("%d lines of log", lines)
			}
			if aside, err := os.ReadDir(filepath.Join(dir, "torn")); read && (err != nil || len(aside) != 1) {
				t.Errorf("put aside: %v, %v", aside, err)
			}
		}
		s.proc.Kill()
	}
}

func logOf(output string) string {
	var b strings.Builder
	for _, line := range strings.Split(output, "\n") {
		if strings.Contains(line, " level=") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// Tables whose backups are spoiled too are made again from what the log proves.
func TestLostTables(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base")
	book := killedStore(t, base)
	rng := rand.New(rand.NewPCG(3, 4))
	for _, d := range damage {
		t.Run("all tables "+d.name, func(t *testing.T) {
			dir := copyStore(t, base)
			config := filepath.Join(dir, "config")
			list, err := os.ReadDir(config)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range list {
				if err := d.do(filepath.Join(config, i.Name()), rng); err != nil {
					t.Fatal(err)
				}
			}
			s := newServer(t, dir, damageConf)
			s.start()
			if n := s.check(book.Snapshot()); n < book.Acked() {
				t.Errorf("%d messages of %d", n, book.Acked())
			}
			if out := s.admin("topicStatus", "-t", topic); strings.Count(out, "broker-a") != queues {
				t.Errorf("the topic does not come back with its %d queues:\n%s", queues, out)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if off, ok, err := QueryOffset(ctx, s.addr(), group, topic, 1); err != nil || ok && off != 0 {
				t.Errorf("consumer offset %d, %v, though no table has one: %v", off, ok, err)
			}
			s.sendsAndStops()
		})
	}
	t.Run("offsets behind the end", func(t *testing.T) {
		dir := copyStore(t, base)
		name := filepath.Join(dir, "config", "consumerOffset.json")
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		far := bytes.ReplaceAll(b, []byte(fmt.Sprint(lastOffset)), []byte("200000000"))
		if err := os.WriteFile(name, far, 0o600); err != nil || bytes.Equal(far, b) {
			t.Fatalf("%v\n%s", err, b)
		}
		s := newServer(t, dir, damageConf)
		s.start()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		all, err := ReadAll(ctx, s.addr(), topic, queues)
		if err != nil {
			t.Fatal(err)
		}
		var end int64
		for at := range all {
			if at.Queue == 1 {
				end = max(end, at.Offset+1)
			}
		}
		if off, ok, err := QueryOffset(ctx, s.addr(), group, topic, 1); err != nil || !ok || off != end {
			t.Errorf("consumer offset %d, %v, %v; the queue ends at %d", off, ok, err, end)
		}
		s.sendsAndStops()
	})
}
