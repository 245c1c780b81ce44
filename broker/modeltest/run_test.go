package modeltest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// steps is the length of a run.
const steps = 180

// step is one thing that happens, and how often.
type step struct {
	weight int
	do     func(*world) error
}

var script = []step{
	{30, (*world).sends},
	{8, (*world).recall},
	{12, (*world).endOne},
	{6, func(w *world) error { return w.answerChecks(false) }},
	{8, (*world).back},
	{8, (*world).commitOffset},
	{4, (*world).pullOne},
	{3, (*world).resetOffset},
	{2, (*world).purge},
	{10, (*world).popAny},
	{8, (*world).ackSome},
	{3, (*world).changeOne},
	{2, (*world).saved},
	{6, func(w *world) error { return w.pass(time.Duration(1+w.rng.IntN(2000)) * time.Millisecond) }},
	{8, func(w *world) error { return w.pass(time.Duration(1+w.rng.IntN(30_000)) * time.Millisecond) }},
	{1, func(w *world) error { return w.pass(time.Duration(1+w.rng.IntN(200)) * time.Second) }},
	{6, func(w *world) error { _, err := w.expect(); return err }},
	{1, (*world).restart},
	{1, (*world).kill},
	{2, func(w *world) error { w.arm(1 + w.rng.Int64N(60)); return nil }},
}

// run plays a seed.
func run(seed uint64, all bool) (err error) {
	w := newWorld(seed)
	defer func() {
		if err != nil {
			err = errors.New(w.report(err, all))
		}
	}()
	if err := w.start(); err != nil {
		return err
	}
	defer func() {
		if e := w.stop(); err == nil && e != nil {
			err = fmt.Errorf("last stop: %w", e)
		}
	}()
	if err := w.makeTopics(); err != nil {
		return err
	}
	total := 0
	for _, s := range script {
		total += s.weight
	}
	for range steps {
		if err := w.alive(w.pick(total)(w)); err != nil {
			return err
		}
	}
	w.disk.SetHook(nil)
	if err := w.drain(); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	if err := w.popRest(); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	if all {
		fmt.Fprintln(os.Stderr, strings.Join(w.trace, "\n"))
	}
	return nil
}

func (w *world) makeTopics() error {
	for _, t := range allTopics {
		if _, err := w.must(w.producer, protocol.ReqUpdateAndCreateTopic, &protocol.UpdateAndCreateTopicRequestHeader{Topic: t, DefaultTopic: protocol.DefaultTopic,
			ReadQueueNums: queues, WriteQueueNums: queues, Perm: 6, TopicFilterType: "SINGLE_TAG"}, nil); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) pick(total int) func(*world) error {
	n := w.rng.IntN(total)
	for _, s := range script {
		if n -= s.weight; n < 0 {
			return s.do
		}
	}
	panic("no step")
}

// alive starts a broker that died meanwhile again, after which an error of its death does not count.
func (w *world) alive(err error) error {
	var bad wrong
	if errors.As(err, &bad) || !w.killed.Load() {
		return err
	}
	return w.kill()
}

// TestModel plays the seeds that failed once, and then new ones for SEEDMQ_MODEL_SECONDS (1).
func TestModel(t *testing.T) {
	if one := os.Getenv("SEEDMQ_MODEL_SEED"); one != "" {
		seed, err := strconv.ParseUint(one, 10, 64)
		if err == nil {
			err = run(seed, testing.Verbose())
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	seconds, err := strconv.Atoi(os.Getenv("SEEDMQ_MODEL_SECONDS"))
	if err != nil {
		seconds = 1
	}
	seeds := make(chan uint64)
	var runs atomic.Int64
	var failed atomic.Bool
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := range seeds {
				if err := run(seed, false); err != nil {
					t.Error(err)
					failed.Store(true)
				}
				runs.Add(1)
			}
		})
	}
	for _, seed := range kept(t) {
		seeds <- seed
	}
	first := uint64(time.Now().UnixNano())
	t.Logf("first seed %d", first)
	for seed, end := first, time.Now().Add(time.Duration(seconds)*time.Second); time.Now().Before(end) && !failed.Load(); seed++ {
		seeds <- seed
	}
	close(seeds)
	workers.Wait()
	t.Logf("%d runs", runs.Load())
}

// kept are the seeds of testdata/seeds.
func kept(t *testing.T) (out []uint64) {
	f, err := os.Open("testdata/seeds")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		word, _, _ := strings.Cut(lines.Text(), " ")
		if word == "" || word == "#" {
			continue
		}
		seed, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, seed)
	}
	return out
}
