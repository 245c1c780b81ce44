package timer

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/seedmq/seedmq/store/fs"
)

// Killed at any write, and with any loss of what was not synced, the service finds everything that waits: nothing is lost, nothing
// recalled comes, nothing is early, and repeats are few.
func TestKilledAtEveryWrite(t *testing.T) {
	step := int64(12)
	if testing.Short() || raceEnabled {
		step = 3
	}
	for _, power := range []bool{false, true} {
		for stop := int64(1); ; stop += 1 + stop/step {
			if done := killedAt(t, stop, power); done {
				break
			}
			if t.Failed() {
				t.Fatalf("stopped at operation %d, power cut %v", stop, power)
			}
		}
	}
}

func killedAt(t *testing.T, stop int64, power bool) (done bool) {
	r := newRig(t)
	r.o.RollSlots = 20
	r.o.LogFileSize = 52 * 12
	hit := false
	r.disk = fs.NewMem(nil)
	r.disk.SetHook(func(op fs.Op) fs.Fault {
		if op.N == stop {
			hit = true
			return fs.Fault{Kill: true, Short: op.Len / 2}
		}
		return fs.Fault{}
	})
	due, recalled := map[string]int64{}, map[string]bool{}
	rng := rand.New(rand.NewPCG(uint64(stop), 7))
	live := r.tryOpen() == nil
	for i := range 60 {
		id := strconv.Itoa(i)
		if r.s == nil || r.s.files == nil {
			break
		}
		due[id] = r.after(id, time.Duration(rng.IntN(60_000))*time.Millisecond+time.Millisecond)
		if i%5 == 4 && due[id] > r.clk.Now().UnixMilli()+2000 {
			r.recall(id, due[id], i%2 == 0)
			recalled[id] = true
		}
		if live && !hit {
			r.pass(time.Duration(rng.IntN(1500)) * time.Millisecond)
		}
	}
	if power {
		r.disk = r.disk.Crash(uint64(stop))
	} else {
		r.kill()
	}
	r.clk.Advance(time.Duration(rng.IntN(3000)) * time.Millisecond)
	r.open()
	r.pass(3 * time.Minute)
	r.check(due, recalled)
	r.close()
	return !hit
}

// check compares what was delivered with what was asked for.
func (r *rig) check(due map[string]int64, recalled map[string]bool) {
	r.t.Helper()
	seen := map[string]int{}
	for _, d := range r.got() {
		id := string(d.m.Body)
		if seen[id]++; d.at < due[id] {
			r.t.Errorf("%s came at %d, asked for %d", id, d.at, due[id])
		}
		if recalled[id] {
			r.t.Errorf("%s was recalled and came", id)
		}
	}
	for id := range due {
		if seen[id] == 0 && !recalled[id] {
			r.t.Errorf("%s is lost (due %d)", id, due[id])
		}
	}
	if extra := len(r.got()) - len(seen); extra > len(due)/10 {
		r.t.Errorf("%d repeats", extra)
	}
}

// A long random run with kills, clean stops and clock steps.
func TestRandomRun(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	r := newRig(t)
	r.o.RollSlots = 50
	r.open()
	due, recalled := map[string]int64{}, map[string]bool{}
	for i := range 3000 {
		id := fmt.Sprint(i)
		due[id] = r.after(id, time.Duration(1+rng.IntN(200_000))*time.Millisecond)
		if left := due[id] - r.clk.Now().UnixMilli(); rng.IntN(4) == 0 && left > 1000 {
			r.recall(id, due[id], rng.IntN(2) == 0)
			recalled[id] = true
		}
		switch rng.IntN(100) {
		case 0:
			r.kill()
			r.clk.Advance(time.Duration(rng.IntN(20_000)) * time.Millisecond)
			r.open()
		case 1, 2:
			r.close()
			r.clk.Advance(time.Duration(rng.IntN(20_000)) * time.Millisecond)
			r.open()
		case 3:
			r.clk.Set(r.clk.Now().Add(-time.Duration(rng.IntN(3000)) * time.Millisecond))
		}
		r.pass(time.Duration(rng.IntN(300)) * time.Millisecond)
	}
	r.pass(10 * time.Minute)
	r.check(due, recalled)
	r.close()
}
