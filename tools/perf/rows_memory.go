package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	idleBar    = 40 << 20
	topicsBar  = 400 << 20
	queuesBar  = 1 << 30
	startBar   = 5 * time.Second
	manyStart  = 10 * time.Second // of settling before an idle process is measured
	perQueue   = 2                // messages that make a queue a used one
	loadConns  = 8
	loadWindow = 64
)

// memoryLine is a line about resident memory.
func memoryLine(work string, got, bar int64) line {
	return line{work: work, ours: megabytes(got), bar: "≤ " + megabytes(bar), met: judge(got <= bar)}
}

func timeLine(work string, got, bar time.Duration) line {
	return line{work: work, ours: got.Round(time.Millisecond).String(), bar: "≤ " + bar.String(), met: judge(got <= bar)}
}

func errorLine(work string, n int64) line {
	return line{work: work + ": errors", ours: fmt.Sprint(n), bar: "0", met: judge(n == 0)}
}

// settle waits until caches had time to shrink.
func settle(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// idle measures a start on nothing.
func idle(ctx context.Context, e *env) (out []line, err error) {
	var starts []float64
	for range e.rounds {
		err = e.with(ctx, "", func(s *server, took time.Duration) error {
			starts = append(starts, took.Seconds())
			if err := settle(ctx, time.Second); err != nil {
				return err
			}
			if len(starts) < e.rounds {
				return nil
			}
			mem, err := s.broker.resident()
			if err != nil {
				return err
			}
			ns, err := s.namesrv.resident()
			out = append(out, memoryLine("resident, idle (NameServer: "+megabytes(ns)+")", mem, idleBar))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return append(out, timeLine("start, empty store, until registered", time.Duration(median(starts)*1e9), 100*time.Millisecond)), nil
}

// use makes topics and sends perQueue messages to each of their queues.
func (e *env) use(ctx context.Context, s *server, prefix string, topics int) (figures, error) {
	if err := s.createTopics(ctx, prefix, topics); err != nil {
		return figures{}, err
	}
	l := sending{addr: s.addr(), conns: loadConns, window: loadWindow, prefix: prefix, topics: topics, time: 5 * time.Minute,
		messages: int64(topics * queues * perQueue), uniqueKeys: true}
	return l.run(ctx)
}

// manyTopics compares the rate of sends to one topic and to 10,000, which are used for the first time meanwhile.
func manyTopics(ctx context.Context, e *env) (out []line, err error) {
	topics := e.scaled(10_000)
	err = e.with(ctx, "", func(s *server, _ time.Duration) error {
		if err := s.createTopics(ctx, "one", 1); err != nil {
			return err
		}
		if err := s.createTopics(ctx, "many", topics); err != nil {
			return err
		}
		l := sending{addr: s.addr(), conns: loadConns, window: loadWindow, topics: 1, prefix: "one", time: e.secs, uniqueKeys: true}
		var one, many []figures
		for i := range e.rounds + 1 {
			l.prefix, l.topics = "one", 1
			f1, err := l.run(ctx)
			if err != nil {
				return err
			}
			l.prefix, l.topics = "many", topics
			f2, err := l.run(ctx)
			if err != nil {
				return err
			}
			if i == 0 { // the queues' files are made now
				work := fmt.Sprintf("sends while %d queues are used for the first time: p99", topics*queues)
				out = append(out, line{work: work, ours: millis(f2.p99) + ", " + perSecond(f2.rate)})
				if err := s.broker.quiet(ctx); err != nil {
					return err
				}
				continue
			}
			one, many = append(one, f1), append(many, f2)
		}
		rate := func(f *figures) float64 { return f.rate }
		fall := 1 - column(many, rate)/column(one, rate)
		out = append(out, line{work: fmt.Sprintf("topics 1 → %d, 8 × 64: rate falls", topics),
			ours: fmt.Sprintf("%.0f %% (%s → %s)", fall*100, perSecond(column(one, rate)), perSecond(column(many, rate))), bar: "≤ 30 %", met: judge(fall <= .3)})
		out = append(out, errorLine("these", errorsOf(append(one, many...))))
		if err := errors.Join(settle(ctx, manyStart), s.broker.quiet(ctx)); err != nil {
			return err
		}
		mem, err := s.broker.resident()
		out = append(out, memoryLine(fmt.Sprintf("resident, %d topics × 8 queues used", topics), mem, topicsBar))
		return err
	})
	return out, err
}

// manyQueues fills 100,000 queues and starts with them, after a clean stop and after a crash.
func manyQueues(ctx context.Context, e *env) (out []line, err error) {
	topics := e.scaled(12_500)
	n := topics * queues
	err = e.with(ctx, "", func(s *server, _ time.Duration) error {
		f, err := e.use(ctx, s, "used", topics)
		if err != nil {
			return err
		}
		if err := errors.Join(settle(ctx, manyStart), s.broker.quiet(ctx)); err != nil {
			return err
		}
		mem, err := s.broker.resident()
		if err != nil {
			return err
		}
		out = append(out, memoryLine(fmt.Sprintf("resident, %d queues used, then idle", n), mem, queuesBar), errorLine("filling them", f.errors))
		stopped, err := s.stopBroker()
		if err != nil {
			return err
		}
		clean, err := s.start(ctx)
		if err != nil {
			return err
		}
		if mem, err = s.broker.resident(); err != nil {
			return err
		}
		if err := s.killBroker(); err != nil {
			return err
		}
		crashed, err := s.start(ctx)
		out = append(out, timeLine(fmt.Sprintf("stop with %d queues", n), stopped, 5*time.Second),
			timeLine("start with them, clean ("+megabytes(mem)+" then)", clean, startBar), timeLine("start with them, after kill -9", crashed, startBar))
		return err
	})
	return out, err
}
