package main

import (
	"context"
	"fmt"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/tools/bench"
)

// endToEnd measures from send to arrival at a long poll, and beside it the same traffic through a bare relay: what the
// machine allows at that moment.
func endToEnd(ctx context.Context, e *env) (out []line, err error) {
	err = e.with(ctx, "", func(s *server, _ time.Duration) error {
		var runs []figures
		for i := range e.rounds + 1 {
			f, err := e.e2e(ctx, s.addr())
			if err != nil {
				return err
			}
			if i > 0 { // the first one is cold; its errors count
				runs = append(runs, f)
			} else if f.errors > 0 {
				out = append(out, errorLine("end to end, cold", f.errors))
			}
		}
		p50, p99 := column(runs, func(f *figures) float64 { return f.p50 }), column(runs, func(f *figures) float64 { return f.p99 })
		out = append(out, line{work: "end to end at 2,000/s: p50", ours: millis(p50), bar: "≤ 0.2 ms", met: judge(p50 <= .2)},
			line{work: "end to end at 2,000/s: p99", ours: millis(p99), bar: "≤ 2 ms", met: judge(p99 <= 2)},
			errorLine("end to end", errorsOf(runs)))
		return nil
	})
	return out, err
}

func (e *env) e2e(ctx context.Context, addr string) (figures, error) {
	r, err := bench.Run(ctx, bench.Config{Mode: "e2e", Brokers: []string{addr}, Topics: 1, TopicPrefix: "E2E", Queues: queues, Groups: 1, GroupPrefix: "E2E",
		Create: true, Conns: 2, Window: 256, Size: bodySize, Batch: 1, Rate: 2000, Duration: e.secs, UniqueKey: true, Filter: "*", Poll: 15 * time.Second}, clock.Real{}, nil)
	if err != nil {
		return figures{}, err
	}
	f := figures{rate: r.Rate, p50: r.P50, p99: r.P99}
	for _, x := range r.Errors {
		f.errors += x.Count
	}
	return f, nil
}

// connections compares the rate of sends over one connection and over 1,000 with as many requests in flight.
func connections(ctx context.Context, e *env) (out []line, err error) {
	n := e.scaled(1000)
	const each = 4
	err = e.with(ctx, "", func(s *server, _ time.Duration) error {
		if err := s.createTopics(ctx, "conn", 1); err != nil {
			return err
		}
		var one, many []figures
		for range e.rounds {
			l := sending{addr: s.addr(), conns: 1, window: n * each, prefix: "conn", topics: 1, time: e.secs, uniqueKeys: true}
			f, err := l.run(ctx)
			if err != nil {
				return err
			}
			one = append(one, f)
			l.conns, l.window = n, each
			if f, err = l.run(ctx); err != nil {
				return err
			}
			many = append(many, f)
		}
		rate := func(f *figures) float64 { return f.rate }
		fall := 1 - column(many, rate)/column(one, rate)
		out = append(out, line{work: fmt.Sprintf("connections 1 × %d → %d × %d: rate falls", n*each, n, each),
			ours: fmt.Sprintf("%.0f %% (%s → %s)", fall*100, perSecond(column(one, rate)), perSecond(column(many, rate))), bar: "≤ 30 %", met: judge(fall <= .3)},
			errorLine("these", errorsOf(append(one, many...))))
		return nil
	})
	return out, err
}

// coldConsumer measures sends alone, and beside a consumer whose data is not in the page cache.
func coldConsumer(ctx context.Context, e *env) (out []line, err error) {
	err = e.with(ctx, "", func(s *server, _ time.Duration) error {
		if err := s.createTopics(ctx, "cold", 1); err != nil {
			return err
		}
		if err := s.createTopics(ctx, "beside", 1); err != nil {
			return err
		}
		fill := sending{addr: s.addr(), conns: loadConns, window: loadWindow, prefix: "cold", topics: 1, time: 5 * time.Minute,
			messages: int64(e.scaled(2_000_000)), uniqueKeys: true}
		if _, err := fill.run(ctx); err != nil {
			return err
		}
		for _, rate := range []float64{20_000, 0} {
			lines, err := e.besideCold(ctx, s, rate)
			if err != nil {
				return err
			}
			out = append(out, lines...)
		}
		return nil
	})
	return out, err
}

func (e *env) besideCold(ctx context.Context, s *server, rate float64) ([]line, error) {
	var alone, beside, pulled []figures
	for range e.rounds {
		l := sending{addr: s.addr(), conns: loadConns, window: loadWindow, prefix: "beside", topics: 1, time: e.secs, rate: rate, uniqueKeys: true}
		f, err := l.run(ctx)
		if err != nil {
			return nil, err
		}
		alone = append(alone, f)
		files, err := s.storeFiles()
		if err != nil {
			return nil, err
		}
		if err := dropCached(files); err != nil {
			return nil, err
		}
		p := pulling{addr: s.addr(), topic: topicName("cold", 0), conns: queues, batch: 32, time: e.secs}
		got := make(chan figures, 1)
		failed := make(chan error, 1)
		go func() {
			f, err := p.run(ctx)
			failed <- err
			got <- f
		}()
		if f, err = l.run(ctx); err != nil {
			return nil, err
		}
		beside = append(beside, f)
		if err := <-failed; err != nil {
			return nil, err
		}
		pulled = append(pulled, <-got)
	}
	p99 := func(f *figures) float64 { return f.p99 }
	all := func(f *figures) float64 { return f.rate }
	times := column(beside, p99) / column(alone, p99)
	work := "as fast as it goes"
	if rate > 0 {
		work = perSecond(rate)
	}
	return []line{{work: fmt.Sprintf("sends, %s, beside a consumer of cold data (%s): p99", work, perSecond(column(pulled, all))),
		ours: fmt.Sprintf("%.1f × (%s → %s; %s → %s)", times, millis(column(alone, p99)), millis(column(beside, p99)), perSecond(column(alone, all)), perSecond(column(beside, all))),
		bar:  "≤ 2 ×", met: judge(times <= 2)},
		errorLine("these", errorsOf(alone)+errorsOf(beside)+errorsOf(pulled))}, nil
}
