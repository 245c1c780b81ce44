package inspect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/store/fs"
	"github.com/seedmq/seedmq/store/internal/fixture"
)

// The files of batch queues that Java wrote are printed whole, from an offset on, and with what is damaged.
func TestBatchQueue(t *testing.T) {
	dir := fixture.Unpack(t, fixture.Queues, "batchconsumequeue/")
	second := filepath.Join(dir, "batchconsumequeue", "Batches", "0", "00000000000000000460")
	text := print(t, fs.OS{}, second, options)
	want(t, text, "batch consume queue, 460 bytes", "30 to 30: position ", "31 to 32: position ", "tags code 0, stored 2026-11-30 20:21:35.", "10 units with 30 messages, 0 damaged ones")
	last := filepath.Join(filepath.Dir(second), "00000000000000001840")
	want(t, print(t, fs.OS{}, last, options), "ends at 135", "5 units with 15 messages")

	few := options
	few.From, few.Limit = 33, 2
	if text := print(t, fs.OS{}, second, few); strings.Count(text, ": position ") != 2 || !strings.Contains(text, "\n33 to 35: ") {
		t.Fatal(text)
	}
	f, err := os.OpenFile(second, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 46), 46*4); err != nil {
		t.Fatal(err)
	}
	f.Close()
	want(t, print(t, fs.OS{}, second, options), "DAMAGED: position ", "4 units with 10 messages, 5 damaged ones")
}
