// Package cronx turns the hours of deleteWhen into a schedule. It is the only package that knows robfig/cron.
//
// A Schedule is immutable and safe for concurrent use. Run owns no goroutine: it runs on the caller's.
package cronx

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/seedmq/seedmq/conf/clock"
)

// Schedule fires at the full hour of some hours of the day, local time.
type Schedule struct {
	hours []int
	sched cron.Schedule
}

// ParseHours reads hours of the day separated by ';', such as "04" or "04;16".
func ParseHours(list string) (*Schedule, error) {
	var hours []int
	for part := range strings.SplitSeq(list, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		h, err := strconv.Atoi(part)
		if err != nil || h < 0 || h > 23 {
			return nil, fmt.Errorf("hours %q: %q is not an hour from 00 to 23", list, part)
		}
		if !slices.Contains(hours, h) {
			hours = append(hours, h)
		}
	}
	if len(hours) == 0 {
		return nil, fmt.Errorf("hours %q: no hour given", list)
	}
	slices.Sort(hours)
	words := make([]string, len(hours))
	for i, h := range hours {
		words[i] = strconv.Itoa(h)
	}
	s, err := cron.ParseStandard("0 " + strings.Join(words, ",") + " * * *")
	if err != nil {
		return nil, fmt.Errorf("hours %q: %w", list, err)
	}
	return &Schedule{hours: hours, sched: s}, nil
}

// Next is the first firing after t.
func (s *Schedule) Next(t time.Time) time.Time { return s.sched.Next(t) }

// Due reports whether t lies in one of the hours: RocketMQ deletes during the whole hour, not once.
func (s *Schedule) Due(t time.Time) bool { return slices.Contains(s.hours, t.Hour()) }

// Run calls fn at every firing until ctx ends. fn is never called concurrently; firings missed while it ran are skipped.
func (s *Schedule) Run(ctx context.Context, c clock.Clock, fn func(ctx context.Context)) {
	t := c.NewTimer(s.wait(c))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C():
			fn(ctx)
			t.Reset(s.wait(c))
		}
	}
}

func (s *Schedule) wait(c clock.Clock) time.Duration {
	now := c.Now()
	return s.Next(now).Sub(now)
}
