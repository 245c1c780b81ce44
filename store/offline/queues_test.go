package offline

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seedmq/seedmq/store/internal/fixture"
)

// A store with batches and light queues that Java wrote is good, and what is done to it is found and put right.
func TestQueuesOfJava(t *testing.T) {
	dir := unpack(t, fixture.Queues)
	before := digest(t, dir)
	wantState(t, dir, Good, "1 batch queue", "nothing to do")
	same(t, digest(t, dir), before)

	batches := filepath.Join("batchconsumequeue", "Batches", "0", "00000000000000000460")
	light := filepath.Join("consumequeue", "%LMQ%c", "0", "00000000000000000000")
	for _, c := range []struct {
		name string
		do   func(dir string)
		text string
	}{
		{"batches gone", func(dir string) { must(t, os.RemoveAll(filepath.Join(dir, "batchconsumequeue"))) }, "batch queue Batches/0 is not there, the log has 45 of its records"},
		{"a file gone", func(dir string) { must(t, os.Remove(filepath.Join(dir, batches))) }, "batch queue Batches/0: 10 records of the log have no unit"},
		{"zeros", func(dir string) { poke(t, filepath.Join(dir, batches), 92, make([]byte, 92)) }, "batch queue Batches/0: 2 units are damaged"},
		{"another count", func(dir string) { poke(t, filepath.Join(dir, batches), 36, []byte{0, 3}) }, "batch queue Batches/0: 1 units differ from the log"},
		{"another time", func(dir string) { poke(t, filepath.Join(dir, batches), 20, []byte{0, 0, 0, 0}) }, "batch queue Batches/0: 1 units differ from the log"},
		{"cut", func(dir string) { must(t, os.Truncate(filepath.Join(dir, batches), 200)) }, "file 00000000000000000460 has 200 bytes"},
		{"a light queue gone", func(dir string) { must(t, os.RemoveAll(filepath.Join(dir, "consumequeue", "%LMQ%b"))) }, "%LMQ%b/0 is not there, the log has 30 of its messages"},
		{"a light unit", func(dir string) { poke(t, filepath.Join(dir, light), 47, []byte{1}) }, "%LMQ%c/0: 1 units differ from the log"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := unpack(t, fixture.Queues)
			c.do(dir)
			wantState(t, dir, Repairable, c.text)
			if _, err := Rebuild(Options{Root: dir, BatchFileUnits: 10}, What{Queues: true}); err != nil {
				t.Fatal(err)
			}
			wantState(t, dir, Good)
			same(t, only(digest(t, dir), "batchconsumequeue"), only(before, "batchconsumequeue"))
			same(t, only(digest(t, dir), filepath.Join("consumequeue", "%LMQ%c")), only(before, filepath.Join("consumequeue", "%LMQ%c")))
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// only keeps the files below a folder.
func only(files map[string]string, dir string) map[string]string {
	out := map[string]string{}
	for name, content := range files {
		if len(name) > len(dir) && name[:len(dir)] == dir {
			out[name] = content
		}
	}
	return out
}
