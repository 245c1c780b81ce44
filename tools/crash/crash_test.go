//go:build crash

package crash

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seedmq/seedmq/tools/harness"
)

func TestMain(m *testing.M) {
	code := m.Run()
	harness.Cleanup()
	os.Exit(code)
}

const (
	topic  = "Crash"
	queues = 4
	// startLimit is how long a broker may take to serve after a crash.
	startLimit = 20 * time.Second
	// smallFiles makes the store roll often.
	smallFiles = "mappedFileSizeCommitLog=4194304\nmappedFileSizeConsumeQueue=20000\nmaxHashSlotNum=5000\nmaxIndexNum=20000\n"
)

// rounds is the number of kills of a test; CRASH_ROUNDS overrides it.
func rounds(def int) int {
	if n, err := strconv.Atoi(os.Getenv("CRASH_ROUNDS")); err == nil {
		return n
	}
	return def
}

// server runs mqserver on one data folder again and again, always on the same ports.
type server struct {
	t          *testing.T
	data, conf string
	ns, port   int
	proc       *harness.Process
}

func newServer(t *testing.T, data, conf string) *server {
	s := &server{t: t, data: data, ns: harness.Ports(t), port: harness.Ports(t)}
	s.conf = filepath.Join(t.TempDir(), "broker.conf")
	if err := os.WriteFile(s.conf, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *server) addr() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// start runs the server and returns how long it took until it listened.
func (s *server) start() time.Duration {
	s.t.Helper()
	bin := filepath.Join(harness.Bin(s.t), "mqserver") // the first call builds it
	begin := time.Now()
	s.proc = harness.Start(s.t, "mqserver", bin, "--data", s.data, "--config", s.conf,
		"--namesrv-port", fmt.Sprint(s.ns), "--broker-port", fmt.Sprint(s.port))
	s.proc.WaitPort(s.t, s.port)
	took := time.Since(begin)
	if took > startLimit {
		s.t.Errorf("start took %v", took)
	}
	return took
}

// refused runs the server where it must not start. err is nil when it ended well, or did not end.
func (s *server) refused() (out string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	b, err := exec.CommandContext(ctx, filepath.Join(harness.Bin(s.t), "mqserver"), "--data", s.data, "--config", s.conf,
		"--namesrv-port", fmt.Sprint(s.ns), "--broker-port", fmt.Sprint(s.port)).CombinedOutput()
	if ctx.Err() != nil {
		return "still runs: " + string(b), nil
	}
	return string(b), err
}

func (s *server) admin(args ...string) string {
	out, _ := harness.Admin(s.t, &harness.Server{Namesrv: fmt.Sprintf("127.0.0.1:%d", s.ns), Broker: s.addr()}, args...)
	return out
}

func (s *server) createTopic() { s.createTopicNamed(topic) }

func (s *server) createTopicNamed(name string) {
	s.t.Helper()
	harness.Eventually(s.t, 10*time.Second, func() string {
		out := s.admin("updateTopic", "-b", s.addr(), "-t", name, "-r", fmt.Sprint(queues), "-w", fmt.Sprint(queues))
		if strings.Contains(out, "success") {
			return ""
		}
		return out
	})
}

func (s *server) check(book *Book) int { return s.checkTopic(book, topic) }

func (s *server) checkTopic(book *Book, name string) int {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	n, err := Check(ctx, book, s.addr(), name, queues)
	if err != nil {
		s.t.Fatalf("%v\nerrors of the load: %v\nserver:\n%s", err, book.Errors(), s.proc.Output())
	}
	return n
}

// roundsPerTopic is how many kills see the same topic, which is checked after each of them; all are checked at the end.
const roundsPerTopic = 10

// kill -9 at random moments under load loses nothing that was acknowledged.
func killRounds(t *testing.T, flush string) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	s := newServer(t, t.TempDir(), smallFiles+"flushDiskType="+flush+"\n")
	var books []*Book
	name := func(i int) string { return fmt.Sprint(topic, i) }
	var slowest time.Duration
	n := rounds(100)
	for round := range n {
		slowest = max(slowest, s.start())
		now := round / roundsPerTopic
		if last := len(books) - 1; last >= 0 {
			s.checkTopic(books[last], name(last))
		}
		if now == len(books) {
			books = append(books, NewBook())
			s.createTopicNamed(name(now))
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			Load(ctx, books[now], s.addr(), name(now), queues, 4, 8, fmt.Sprintf("r%d", round))
		}()
		time.Sleep(time.Duration(20+rng.IntN(230)) * time.Millisecond)
		s.proc.Kill()
		cancel()
		<-done
	}
	all := func() (messages int) {
		for i, b := range books {
			messages += s.checkTopic(b, name(i))
		}
		return messages
	}
	slowest = max(slowest, s.start())
	messages := all()
	if err := s.proc.Stop(t, 10*time.Second); err != nil {
		t.Errorf("clean stop: %v", err)
	}
	s.start()
	if again := all(); again != messages {
		t.Errorf("%d messages after the clean stop, %d before", again, messages)
	}
	t.Logf("%d rounds, %d messages in the store, slowest start %v", n, messages, slowest)
	if messages < 10*n {
		t.Errorf("too little load: %d messages", messages)
	}
}

func TestKillSyncFlush(t *testing.T)  { killRounds(t, "SYNC_FLUSH") }
func TestKillAsyncFlush(t *testing.T) { killRounds(t, "ASYNC_FLUSH") }

// A full disk: sends are refused in time and with a reason, reads go on, and sends go on by themselves.
func TestFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=96m"); err != nil {
		t.Fatalf("mount a small disk (needs root): %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, bytes.Repeat([]byte("x"), 48<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	// Nothing is old enough to be deleted, and nothing may be deleted by force: only room can help.
	s := newServer(t, filepath.Join(dir, "store"), smallFiles+"cleanFileForciblyEnable=false\n")
	book := NewBook()
	s.start()
	s.createTopic()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	go Load(ctx, book, s.addr(), topic, queues, 4, 8, "full")
	harness.Eventually(t, 50*time.Second, func() string {
		for e := range book.Errors() {
			if strings.HasPrefix(e, "14 ") && strings.Contains(strings.ToLower(e), "disk") {
				return ""
			}
		}
		return fmt.Sprintf("no refusal that speaks of the disk: %v, %d acknowledged", book.Errors(), book.Acked())
	})
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil || st.Bavail == 0 {
		t.Errorf("the file system itself was full: %d blocks free (%v)", st.Bavail, err)
	}
	full := book.Acked()
	s.check(book.Snapshot())
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, 15*time.Second, func() string {
		if book.Acked() > full {
			return ""
		}
		return "sends do not go on after there is room"
	})
	cancel()
	s.proc.Kill()
	s.start()
	s.check(book.Snapshot())
}

// Two processes never have one store, and a store of an unknown kind is refused and left alone.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	s := newServer(t, dir, smallFiles)
	s.start()
	s.createTopic()
	second := newServer(t, dir, smallFiles)
	out, err := second.refused()
	if err == nil || !strings.Contains(string(out), "lock") {
		t.Errorf("a second process on the store: %v\n%s", err, out)
	}
	if !strings.Contains(s.admin("topicList"), topic) {
		t.Error("the first process was disturbed")
	}
	if err := s.proc.Stop(t, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	cq := filepath.Join(dir, "consumequeue")
	if err := os.MkdirAll(cq, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{"CURRENT": "MANIFEST-000004\n", "MANIFEST-000004": "rocksdb", "000008.sst": "sst"} {
		if err := os.WriteFile(filepath.Join(cq, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, dir)
	out, err = second.refused()
	if err == nil || !strings.Contains(string(out), "RocksDB") {
		t.Errorf("a RocksDB consume queue: %v\n%s", err, out)
	}
	if after := tree(t, dir); after != before {
		t.Errorf("the refused store was touched:\n%s\n%s", before, after)
	}
}

// tree lists the files of a folder with their sizes.
func tree(t *testing.T, dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			i, _ := d.Info()
			fmt.Fprintf(&b, "%s %d\n", path, i.Size())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
