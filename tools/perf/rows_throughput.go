package main

import (
	"context"
	"fmt"
	"strconv"
)

// duel is one kind of load that all servers get.
type duel struct {
	work   string
	mode   string
	args   []string
	topic  string // of the round; a pull reads what a send left there
	fig    func(*figures) float64
	show   func(float64) string
	bar    string
	passes func(ours, java, limit float64) bool
}

func rateOf(f *figures) float64 { return f.rate }
func p50Of(f *figures) float64  { return f.p50 }
func p99Of(f *figures) float64  { return f.p99 }

// atLeast and atMost pass where the other side was not measured.
func atLeast(times float64, of func(java, limit float64) float64) func(ours, java, limit float64) bool {
	return func(ours, java, limit float64) bool { return ours >= times*of(java, limit) }
}

func atMost(times float64, of func(java, limit float64) float64) func(ours, java, limit float64) bool {
	return func(ours, java, limit float64) bool {
		o := of(java, limit)
		return o == 0 || ours <= times*o
	}
}

func ofJava(java, _ float64) float64   { return java }
func ofLimit(_, limit float64) float64 { return limit }

func both(a, b func(ours, java, limit float64) bool) func(ours, java, limit float64) bool {
	return func(ours, java, limit float64) bool { return a(ours, java, limit) && b(ours, java, limit) }
}

func send(conns, window int) []string {
	return []string{"-conns", strconv.Itoa(conns), "-window", strconv.Itoa(window)}
}

func throughput(ctx context.Context, e *env) ([]line, error) {
	return e.duels(ctx, "ASYNC_FLUSH", []duel{
		{"sends, 8 × 64", "send", send(8, 64), "S", rateOf, perSecond, "≥ 9 × Java, ≥ 60 % of limit", both(atLeast(9, ofJava), atLeast(.6, ofLimit))},
		{"its p99", "", nil, "S", p99Of, millis, "≤ Java / 6", atMost(1.0/6, ofJava)},
		{"sends, 1 × 1: p50", "send", send(1, 1), "T", p50Of, millis, "≤ 1.6 × limit", atMost(1.6, ofLimit)},
		{"sends, 50 × 16", "send", send(50, 16), "U", rateOf, perSecond, "≥ 60 % of limit", atLeast(.6, ofLimit)},
		{"reads, 8 × 32 messages", "pull", []string{"-batch", "32"}, "S", rateOf, perSecond, "≥ 75 % of limit", atLeast(.75, ofLimit)},
	})
}

func throughputSync(ctx context.Context, e *env) ([]line, error) {
	return e.duels(ctx, "SYNC_FLUSH", []duel{
		{"sync flush, sends, 8 × 64", "send", send(8, 64), "S", rateOf, perSecond, "≥ 4 × Java, ≥ 80 % of limit", both(atLeast(4, ofJava), atLeast(.8, ofLimit))},
		{"sync flush, 1 × 1: p50", "send", send(1, 1), "T", p50Of, millis, "≤ 1.15 × limit", atMost(1.15, ofLimit)},
	})
}

// duels runs every duel against every server in turn, round by round, after a round that warms up. A duel without mode shows
// another figure of the one before.
func (e *env) duels(ctx context.Context, flush string, ds []duel) ([]line, error) {
	if e.peers.load == "" {
		return []line{{work: "throughput (" + flush + ")", ours: "not measured: no -shared folder"}}, nil
	}
	c, err := newContest(ctx, e, flush)
	if err != nil {
		return nil, err
	}
	defer c.close()
	results := make([]map[string][]figures, len(ds))
	var wrong int64
	for round := range e.rounds + 1 {
		for i, d := range ds {
			if d.mode == "" {
				results[i] = results[i-1]
				continue
			}
			if results[i] == nil {
				results[i] = map[string][]figures{}
			}
			for who := range c.ports {
				f, err := c.load(ctx, who, d.mode, append([]string{"-topic", fmt.Sprint(d.topic, round)}, d.args...)...)
				if err != nil {
					return nil, err
				}
				if who == "ours" {
					wrong += f.errors // the cold round counts for errors
				}
				if round > 0 {
					results[i][who] = append(results[i][who], f)
				}
			}
		}
	}
	var out []line
	for i, d := range ds {
		m := func(who string) float64 { return column(results[i][who], d.fig) }
		ours, java, limit := m("ours"), m("java"), m("limit")
		out = append(out, line{work: d.work, ours: d.show(ours), java: d.show(java), limit: d.show(limit),
			overJava: ratio(ours, java), overLimit: ratio(ours, limit), bar: d.bar, met: judge(d.passes(ours, java, limit))})
	}
	return append(out, errorLine("these, the cold round included", wrong)), nil
}
