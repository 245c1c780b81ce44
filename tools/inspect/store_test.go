package inspect

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	storefs "github.com/seedmq/seedmq/store/fs"
)

// javaStore unpacks the store that Apache RocketMQ 5.5.0 closed, without its large timer wheel.
func javaStore(t *testing.T) string {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "store", "testdata", "a-clean.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, strings.TrimPrefix(h.Name, "a-clean/"))
		if h.Typeflag != tar.TypeReg || strings.HasSuffix(name, "timerwheel") {
			continue
		}
		b, err := io.ReadAll(r)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o755)); err == nil {
			err = os.WriteFile(name, b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// mqstore runs the program; answer is what a user types, "-" for nobody there.
func mqstore(t *testing.T, answer string, wantCode int, wantText string, args ...string) {
	t.Helper()
	var out bytes.Buffer
	e := Env{Args: args, Stdout: &out, Stderr: &out, Version: "v1"}
	if answer != "-" {
		e.Stdin = strings.NewReader(answer)
	}
	if code := Main(e); code != wantCode || !strings.Contains(out.String(), wantText) {
		t.Errorf("mqstore %s: code %d, want %d with %q\n%s", strings.Join(args, " "), code, wantCode, wantText, out.String())
	}
}

func TestMqstore(t *testing.T) {
	dir := javaStore(t)
	mqstore(t, "-", ExitGood, "523 records", "check", dir)
	mqstore(t, "-", ExitGood, "GoldenNormal/0 offset 0", "print", "--limit", "1", filepath.Join(dir, "commitlog"))
	mqstore(t, "-", ExitGood, "1193 entries in 508 slots, 0 damaged", "print", "--limit", "1", filepath.Join(dir, "index"))
	mqstore(t, "-", ExitNoVerdict, "say --yes", "rebuild", dir)
	mqstore(t, "n\n", ExitNoVerdict, "nothing was changed", "rebuild", dir)
	mqstore(t, "", ExitNoVerdict, "nothing was changed", "cut", dir, "--at", "276")

	if err := os.RemoveAll(filepath.Join(dir, "consumequeue", "GoldenFill")); err != nil {
		t.Fatal(err)
	}
	mqstore(t, "-", ExitRepairable, "GoldenFill/0 is not there", "check", dir)
	mqstore(t, "yes\n", ExitGood, "35 queues", "rebuild", dir, "--queues")
	mqstore(t, "-", ExitGood, "nothing to do", "check", dir)

	mqstore(t, "-", ExitNoVerdict, "but at 276 and 534", "cut", dir, "--at", "300", "--yes")
	mqstore(t, "-", ExitGood, "the log goes from 0 to 534", "cut", dir, "--at", "534", "--yes")
	mqstore(t, "-", ExitGood, "2 records from 0 to 534", "check", dir)

	f, err := os.OpenFile(filepath.Join(dir, "commitlog", "00000000000000000000"), os.O_RDWR, 0)
	if err == nil {
		_, err = f.WriteAt([]byte("noise"), 100)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	mqstore(t, "-", ExitLost, "topic, queue or offset of 1 messages changed", "check", dir)

	held, err := storefs.OS{}.Lock(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	mqstore(t, "-", ExitNoVerdict, "locked by another process", "check", dir)
	mqstore(t, "-", ExitNoVerdict, "locked by another process", "cut", dir, "--at", "0", "--yes")
}

func TestMqstoreMistakes(t *testing.T) {
	dir := t.TempDir()
	mqstore(t, "-", ExitNoVerdict, "no store here", "check", dir)
	mqstore(t, "-", ExitNoVerdict, "no such file", "check", filepath.Join(dir, "none"))
	mqstore(t, "-", ExitNoVerdict, "arg", "check")
	mqstore(t, "-", ExitNoVerdict, "unknown flag", "check", dir, "--nonsense")
	mqstore(t, "-", ExitNoVerdict, `"at" not set`, "cut", dir, "--yes")
	mqstore(t, "-", ExitNoVerdict, "go together", "check", dir, "--index-slots", "5")
	mqstore(t, "-", ExitNoVerdict, "is no delay", "check", dir, "--delay-levels", "1s 107000d")
	mqstore(t, "-", ExitNoVerdict, "unknown command", "repair", dir)
	mqstore(t, "-", ExitGood, "Exit codes", "--help")
	mqstore(t, "-", ExitGood, "v1", "--version")
}
