package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// machine is one line about where and when the figures were taken.
func machine() string {
	var u unix.Utsname
	kernel := "?"
	if unix.Uname(&u) == nil {
		kernel = unix.ByteSliceToString(u.Release[:])
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		load = []byte("?")
	}
	return fmt.Sprintf("%s, %d CPUs (%s), Linux %s, %s, load %s", time.Now().Format("2006-01-02"), runtime.NumCPU(), cpuModel(), kernel,
		runtime.Version(), strings.Fields(string(load))[0])
}

func cpuModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "?"
	}
	for l := range bytes.Lines(b) {
		if k, v, ok := strings.Cut(string(l), ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return runtime.GOARCH
}

// dropCached takes the files out of the page cache, after writing them out.
func dropCached(files []string) error {
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		if err = unix.Fdatasync(int(f.Fd())); err == nil {
			err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		}
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
