package inspect

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func run(args ...string) (string, error) {
	var out bytes.Buffer
	c := Command()
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(args)
	err := c.Execute()
	return out.String(), err
}

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("config/topics.json", `{"topicConfigTable":{"T":{"perm":6}}}`)
	write("consumequeue/T/0/00000000000000000000", string(make([]byte, 11))+"\x09"+string(make([]byte, 28)))
	write("rocksdbstore/000004.log", "x")
	out, err := run("--utc", "--limit", "5", dir)
	if err != nil || !strings.Contains(out, `"perm": 6`) || !strings.Contains(out, "0: position 0, 9 bytes") || strings.Contains(out, "rocksdb") {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, bad := range []string{filepath.Join(dir, "none"), filepath.Join(dir, "rocksdbstore"), filepath.Join(dir, "rocksdbstore/000004.log")} {
		if _, err := run(bad); err == nil || !strings.Contains(err.Error(), bad) {
			t.Fatalf("%s: %v", bad, err)
		}
	}
}
