package main

import (
	"context"
	"fmt"
	"time"
)

const (
	overJavaBar = 5
	coldRounds  = 2 // that count for errors only: Java's compiler needs some seconds

	popMessages = 400_000
	sqlMessages = 1_000_000
	smallBody   = 100 // bytes
	tinyBody    = 32
	fillWindow  = 16
	fillTries   = 10
)

// service is one kind of work that both brokers get. prepare may be nil.
type service struct {
	work    string
	conf    string
	prepare func(ctx context.Context, s *server, round int) error
	run     func(ctx context.Context, s *server, round int) (figures, error)
}

// beside measures ours and Java's in turn, each round, and judges the ratio of the rates.
func (e *env) beside(ctx context.Context, v *service) ([]line, error) {
	c, err := newPair(ctx, e, v.conf)
	if err != nil {
		return nil, err
	}
	defer c.close()
	results := map[*server][]figures{}
	var wrong int64
	for round := range coldRounds + e.rounds {
		for _, s := range []*server{c.ours, c.java} {
			if s == nil {
				continue
			}
			f, err := v.once(ctx, s, round)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.dir, err)
			}
			if s == c.ours {
				wrong += f.errors
			}
			if round >= coldRounds {
				results[s] = append(results[s], f)
			}
		}
	}
	ours, java := column(results[c.ours], rateOf), column(results[c.java], rateOf)
	out := []line{{work: v.work, ours: rateAndCost(results[c.ours]), java: rateAndCost(results[c.java]), overJava: ratio(ours, java),
		bar: fmt.Sprintf("≥ %d × Java", overJavaBar), met: judge(ours >= overJavaBar*java)}}
	return append(out, errorLine("these, cold rounds included (Java's: "+fmt.Sprint(errorsOf(results[c.java]))+")", wrong)), nil
}

// once is one round of one server.
func (v *service) once(ctx context.Context, s *server, round int) (f figures, err error) {
	if v.prepare != nil {
		if err := v.prepare(ctx, s, round); err != nil {
			return f, err
		}
	}
	before, err := s.broker.processorTime()
	if err != nil {
		return f, err
	}
	if f, err = v.run(ctx, s, round); err != nil {
		return f, err
	}
	after, err := s.broker.processorTime()
	if f.count > 0 {
		f.cpu = float64((after - before).Nanoseconds()) / 1e3 / float64(f.count)
	}
	return f, err
}

// rateAndCost shows the rate, and the processor time of the broker for one message.
func rateAndCost(fs []figures) string {
	if len(fs) == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%.3g µs)", perSecond(column(fs, rateOf)), column(fs, func(f *figures) float64 { return f.cpu }))
}

// fill makes a topic with n messages or some more. A busy Java broker refuses a few, which are sent again.
func (s *server) fill(ctx context.Context, prefix string, n, size int, v *varied) error {
	if err := s.createTopics(ctx, prefix, 1); err != nil {
		return err
	}
	for range fillTries {
		there, err := stored(s.addr(), topicName(prefix, 0))
		if err != nil || there >= int64(n) {
			return err
		}
		l := sending{addr: s.addr(), conns: loadConns, window: fillWindow, prefix: prefix, topics: 1, time: 5 * time.Minute,
			messages: max(int64(n)-there, loadConns), uniqueKeys: true, size: size, varied: v}
		if _, err := l.run(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %s cannot be filled", s.name, prefix)
}

// transactions are measured with two sizes: with the larger one, memory that the page cache touches first decides.
func transactions(ctx context.Context, e *env) (out []line, err error) {
	for _, size := range []int{smallBody, bodySize} {
		lines, err := e.beside(ctx, &service{work: fmt.Sprintf("transactions of %d bytes, 8 × 64", size),
			prepare: func(ctx context.Context, s *server, round int) error {
				return s.createTopics(ctx, fmt.Sprint("txn", round), 1)
			},
			run: func(ctx context.Context, s *server, round int) (figures, error) {
				l := transacting{addr: s.addr(), topic: topicName(fmt.Sprint("txn", round), 0), conns: loadConns, window: loadWindow, size: size, time: e.secs}
				return l.run(ctx)
			}})
		out = append(out, lines...)
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func pops(ctx context.Context, e *env) ([]line, error) {
	n := e.scaled(popMessages) / queues * queues
	return e.beside(ctx, &service{work: "pop and ack, 8 × 32 messages",
		prepare: func(ctx context.Context, s *server, round int) error {
			return s.fill(ctx, fmt.Sprint("pop", round), n, bodySize, nil)
		},
		run: func(ctx context.Context, s *server, round int) (figures, error) {
			topic := topicName(fmt.Sprint("pop", round), 0)
			there, err := stored(s.addr(), topic)
			if err != nil {
				return figures{}, err
			}
			l := popping{addr: s.addr(), topic: topic, broker: s.name, conns: loadConns, batch: 32, messages: there, time: e.secs}
			return l.run(ctx)
		}})
}

// sqlFilter gives each 100th message of each queue the price that is asked for. Of the larger messages there are more than the broker maps
// at a time, of the smaller ones less.
func sqlFilter(ctx context.Context, e *env) (out []line, err error) {
	for _, size := range []int{tinyBody, smallBody} {
		lines, err := e.sqlFilterOf(ctx, size)
		out = append(out, lines...)
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func (e *env) sqlFilterOf(ctx context.Context, size int) ([]line, error) {
	n := e.scaled(sqlMessages) / (100 * queues) * (100 * queues)
	price := &varied{name: "price", digits: 2, value: func(n int64) int { return int(n / queues % 100) }}
	return e.beside(ctx, &service{work: fmt.Sprintf("SQL filter that selects 1 %% of %d messages of %d bytes, 8 pulls, messages looked at", n, size), conf: "enablePropertyFilter=true",
		prepare: func(ctx context.Context, s *server, round int) error {
			if round > 0 {
				return nil
			}
			return s.fill(ctx, "sql", n, size, price)
		},
		run: func(ctx context.Context, s *server, _ int) (figures, error) {
			l := pulling{addr: s.addr(), topic: topicName("sql", 0), conns: queues, batch: 32, time: e.secs, sql: "price > 98"}
			f, err := l.run(ctx)
			if got := float64(l.selected.Load()) / float64(f.count); err == nil && (got < .009 || got > .011) {
				return f, fmt.Errorf("the filter selected %.2f %%", got*100)
			}
			return f, err
		}})
}

const (
	timerMessages = 1_000_000
	timersBar     = 300 << 20
	timersFall    = .05
	timerPairs    = 4 // short loads of each broker in a round: the difference is smaller than what a machine's pages cost by chance

	// unmapped is after how long the store has given up mappings of the log that nobody reads.
	unmapped = 50 * time.Second
)

// timers compares a broker with a million pending messages with one that has as many ordinary ones.
func timers(ctx context.Context, e *env) (out []line, err error) {
	n := e.scaled(timerMessages)
	due := &varied{name: "TIMER_DELAY_MS", digits: 8, value: func(n int64) int { return 7_200_000 + int(n*7919%80_000_000) }}
	err = e.with(ctx, "", func(with *server, _ time.Duration) error {
		without, err := newServer(e.bin, e.dir, "without", "")
		if err != nil {
			return err
		}
		defer without.close()
		if _, err := without.start(ctx); err != nil {
			return err
		}
		if err := with.createTopics(ctx, "timed", 1); err != nil {
			return err
		}
		l := sending{addr: with.addr(), conns: loadConns, window: loadWindow, prefix: "timed", topics: 1, time: 5 * time.Minute, messages: int64(n), uniqueKeys: true,
			size: smallBody, varied: due}
		f, err := l.run(ctx)
		if err != nil {
			return err
		}
		out = append(out, errorLine(fmt.Sprintf("sending %d timers, %s", n, perSecond(f.rate)), f.errors))
		if err := without.fill(ctx, "timed", n, smallBody, nil); err != nil {
			return err
		}
		if err := with.inWheel(ctx); err != nil {
			return err
		}
		first, err := with.broker.resident()
		if err != nil {
			return err
		}
		if err := settle(ctx, unmapped); err != nil {
			return err
		}
		mem, err := with.broker.resident()
		if err != nil {
			return err
		}
		out = append(out, memoryLine(fmt.Sprintf("resident, %d timers pending (right after they came, with the log mapped: %s)", n, megabytes(first)), mem, timersBar))
		lines, err := e.slowedBy(ctx, with, without)
		out = append(out, lines...)
		return err
	})
	return out, err
}

// inWheel waits until the broker has taken all timers that were sent into its wheel.
func (s *server) inWheel(ctx context.Context) error {
	for {
		info, err := s.admin.RuntimeInfo(ctx, s.addr())
		if err != nil {
			return err
		}
		if info["timerOffsetBehind"] == "0" {
			return nil
		}
		if err := settle(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// slowedBy sends to both in turn, many times, small messages.
func (e *env) slowedBy(ctx context.Context, with, without *server) ([]line, error) {
	results := map[*server][]figures{}
	for _, s := range []*server{with, without} {
		if err := s.createTopics(ctx, "plain", 1); err != nil {
			return nil, err
		}
	}
	for i := range timerPairs * (e.rounds + 1) {
		pair := []*server{with, without}
		if i%2 == 1 {
			pair[0], pair[1] = pair[1], pair[0]
		}
		for _, s := range pair {
			l := sending{addr: s.addr(), conns: loadConns, window: loadWindow, prefix: "plain", topics: 1, time: e.secs / timerPairs, uniqueKeys: true, size: smallBody}
			v := service{run: func(ctx context.Context, _ *server, _ int) (figures, error) { return l.run(ctx) }}
			f, err := v.once(ctx, s, i)
			if err != nil {
				return nil, err
			}
			if i >= timerPairs {
				results[s] = append(results[s], f)
			}
		}
	}
	a, b := results[with], results[without]
	fall := 1 - column(a, rateOf)/column(b, rateOf)
	return []line{{work: fmt.Sprintf("sends of %d bytes beside them, 8 × 64: rate falls", smallBody), ours: fmt.Sprintf("%.1f %%: %s → %s", fall*100, rateAndCost(b), rateAndCost(a)),
		bar: "≤ 5 %", met: judge(fall <= timersFall)}, errorLine("these", errorsOf(append(a, b...)))}, nil
}
