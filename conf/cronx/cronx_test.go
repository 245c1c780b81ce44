package cronx_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/cronx"
)

func TestParseHours(t *testing.T) {
	at := time.Date(2026, 1, 5, 10, 30, 0, 0, time.Local)
	for list, want := range map[string]string{
		"04":       "2026-01-06 04:00",
		"04;16":    "2026-01-05 16:00",
		" 23 ; 4;": "2026-01-05 23:00",
		"10":       "2026-01-06 10:00",
	} {
		s, err := cronx.ParseHours(list)
		if err != nil {
			t.Errorf("ParseHours(%q): %v", list, err)
			continue
		}
		if got := s.Next(at).Format("2006-01-02 15:04"); got != want {
			t.Errorf("ParseHours(%q).Next = %s, want %s", list, got, want)
		}
	}
	for _, bad := range []string{"", ";", "24", "-1", "4am", "04,16"} {
		if s, err := cronx.ParseHours(bad); err == nil {
			t.Errorf("ParseHours(%q) = %v, want an error", bad, s)
		}
	}
}

func TestDueIsTheWholeHour(t *testing.T) {
	s, err := cronx.ParseHours("04;16")
	if err != nil {
		t.Fatal(err)
	}
	for hour := range 24 {
		at := time.Date(2026, 1, 5, hour, 59, 59, 0, time.Local)
		if got, want := s.Due(at), hour == 4 || hour == 16; got != want {
			t.Errorf("Due(%v) = %v, want %v", at, got, want)
		}
	}
}

func TestRunFiresOnTheClock(t *testing.T) {
	s, err := cronx.ParseHours("04")
	if err != nil {
		t.Fatal(err)
	}
	c := clock.NewFake(time.Date(2026, 1, 5, 3, 0, 0, 0, time.Local))
	ctx, cancel := context.WithCancel(t.Context())
	fired, ended := make(chan time.Time), make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx, c, func(context.Context) { fired <- c.Now() })
	}()
	for day := 5; day <= 6; day++ {
		for c.Timers() == 0 {
			runtime.Gosched()
		}
		c.Set(time.Date(2026, 1, day, 4, 0, 0, 0, time.Local))
		if at := <-fired; at.Day() != day || at.Hour() != 4 {
			t.Fatalf("fired at %v, want 04:00 of day %d", at, day)
		}
	}
	cancel()
	<-ended
}
