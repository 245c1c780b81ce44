package storetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seedmq/seedmq/store/fs"
)

// damages are what is done to a file between kill and start.
var damages = map[string]func(b []byte, rng *rand.Rand) []byte{
	"emptied": func(b []byte, _ *rand.Rand) []byte { return nil },
	"halved":  func(b []byte, _ *rand.Rand) []byte { return b[:len(b)/2] },
	"noise": func(b []byte, rng *rand.Rand) []byte {
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	},
	"zeros": func(b []byte, _ *rand.Rand) []byte { return make([]byte, len(b)) },
	"noise in the middle": func(b []byte, rng *rand.Rand) []byte {
		for i := len(b) / 3; i < len(b)/3+min(len(b)/4, 700); i++ {
			b[i] = byte(rng.Uint32())
		}
		return b
	},
}

// files lists all files below dir.
func files(f fs.FS, dir string) (out []string) {
	list, err := f.List(dir)
	if err != nil {
		panic(err)
	}
	for _, i := range list {
		name := filepath.Join(dir, i.Name)
		if i.Dir {
			out = append(out, files(f, name)...)
		} else {
			out = append(out, name)
		}
	}
	return out
}

func replace(f fs.FS, name string, content []byte) error {
	file, err := f.Create(name)
	if err != nil {
		return err
	}
	if _, err = file.WriteAt(content, 0); err != nil {
		return err
	}
	return file.Close()
}

// Every file of a killed store is damaged in every way: it opens by itself and serves what is intact in the log.
func TestDamagedFiles(t *testing.T) {
	first, last := seeds()
	for seed := first; seed < last; seed++ {
		for how := range damages {
			t.Run(fmt.Sprintf("%s/%d", how, seed), func(t *testing.T) {
				t.Parallel()
				for i := 0; ; i++ {
					name, err := damageOne(t, seed, how, i)
					if err != nil {
						t.Errorf("%s %s: %v", name, how, err)
					}
					if name == "" {
						break
					}
				}
			})
		}
	}
}

// damageOne damages file number i of a store that was killed; "" if there are not as many.
func damageOne(t *testing.T, seed uint64, how string, i int) (name string, err error) {
	b, log := newBench(t, seed, false)
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, log)
		}
	}()
	if err := b.Open(); err != nil {
		return "", err
	}
	if err := b.Play(steps); err != nil {
		return "", err
	}
	b.Crash(seed, true)
	names := files(b.FS, Root)
	if i >= len(names) {
		return "", nil
	}
	name = names[i]
	before, err := fs.ReadFile(b.FS, name)
	if err != nil {
		return name, err
	}
	after := damages[how](bytes.Clone(before), rand.New(rand.NewPCG(seed, uint64(i))))
	if err := replace(b.FS, name, after); err != nil {
		return name, err
	}
	b.keepIntact(name, before, after)
	if strings.Contains(name, "queueRetention") {
		b.loseHides()
	}
	for range 2 {
		if err := b.Open(); err != nil {
			return name, fmt.Errorf("open: %w", err)
		}
		if err := b.Check(); err != nil {
			return name, err
		}
		if err := b.Play(2); err != nil {
			return name, fmt.Errorf("send: %w", err)
		}
		if err := b.Check(); err != nil {
			return name, fmt.Errorf("sent: %w", err)
		}
		if err := b.Store.Close(); err != nil {
			return name, fmt.Errorf("close: %w", err)
		}
	}
	return name, nil
}

// keepIntact takes off Acked what was damaged in the log.
func (b *Bench) keepIntact(name string, before, after []byte) {
	var start int64
	if n, _ := fmt.Sscanf(name, Root+"/commitlog/%020d", &start); n != 1 {
		return
	}
	after = append(bytes.Clone(after), make([]byte, len(before)-len(after))...)
	var keep []Sent
	b.Hurt = map[string]bool{}
	for _, s := range b.Acked {
		from := s.Result.PhysicalOffset - start
		to := from + int64(s.Result.Size)
		if from < 0 || from >= int64(len(before)) || bytes.Equal(before[from:to], after[from:to]) {
			keep = append(keep, s)
		} else {
			b.Hurt[s.Body] = true
		}
	}
	b.Acked = keep
}
