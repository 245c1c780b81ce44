package main

import (
	"context"
	"fmt"
	"time"
)

// bigStore fills 10 GB and measures clean and other stops and starts on it.
func bigStore(ctx context.Context, e *env) (out []line, err error) {
	const record = bodySize + 240 // roughly
	messages := int64(10e9 * e.size / record)
	err = e.with(ctx, "", func(s *server, _ time.Duration) error {
		if err := s.createTopics(ctx, "big", 1); err != nil {
			return err
		}
		fill := sending{addr: s.addr(), conns: loadConns, window: loadWindow, prefix: "big", topics: 1, time: 10 * time.Minute, messages: messages, uniqueKeys: true}
		f, err := fill.run(ctx)
		if err != nil {
			return err
		}
		size := fmt.Sprintf("%.1f GB", float64(messages*record)/1e9)
		out = append(out, line{work: "filling " + size, ours: perSecond(f.rate) + ", p99 " + millis(f.p99)}, errorLine("filling "+size, f.errors))
		stopped, err := s.stopBroker()
		if err != nil {
			return err
		}
		out = append(out, timeLine("clean stop right after filling "+size, stopped, time.Second))
		for _, cold := range []bool{false, true} {
			took, err := s.startOn(ctx, cold)
			if err != nil {
				return err
			}
			out = append(out, timeLine("start after a clean stop, "+size+cacheState(cold), took, time.Second))
			more := fill
			more.time, more.messages = e.secs, 0
			if f, err = more.run(ctx); err != nil {
				return err
			}
			out = append(out, errorLine("sends right after a start", f.errors))
			if err := s.killBroker(); err != nil {
				return err
			}
			if took, err = s.startOn(ctx, cold); err != nil {
				return err
			}
			out = append(out, timeLine("start after kill -9 under load, "+size+cacheState(cold), took, 10*time.Second))
			if took, err = s.stopBroker(); err != nil {
				return err
			}
			out = append(out, timeLine("clean stop, "+size, took, time.Second))
		}
		return nil
	})
	return out, err
}

func cacheState(cold bool) string {
	if cold {
		return ", not in the page cache"
	}
	return ""
}

// startOn starts the broker, cold: after dropping its files from the page cache.
func (s *server) startOn(ctx context.Context, cold bool) (time.Duration, error) {
	if cold {
		files, err := s.storeFiles()
		if err != nil {
			return 0, err
		}
		if err := dropCached(files); err != nil {
			return 0, err
		}
	}
	return s.start(ctx)
}

// stops sends SIGTERM in the states in which a stop could take long.
func stops(ctx context.Context, e *env) (out []line, err error) {
	states := []struct {
		name, conf     string
		topics         int
		conns, windows int
		hold           bool
	}{
		{"sends 8 × 64", "", 1, 8, 64, false},
		{"sends 8 × 64, sync flush", "flushDiskType=SYNC_FLUSH", 1, 8, 64, false},
		{"sends on 1,000 connections", "", 1, e.scaled(1000), 4, false},
		{"first use of 80,000 queues", "", e.scaled(10_000), 8, 64, false},
		{"held pulls, sends 8 × 64", "", 1, 8, 64, true},
	}
	for _, st := range states {
		err := e.with(ctx, st.conf, func(s *server, _ time.Duration) error {
			if err := s.createTopics(ctx, "stop", st.topics); err != nil {
				return err
			}
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			if st.hold {
				if err := s.hold(ctx, "stop", e.scaled(500)); err != nil {
					return err
				}
			}
			load := sending{addr: s.addr(), conns: st.conns, window: st.windows, prefix: "stop", topics: st.topics, time: time.Minute, uniqueKeys: true}
			ended := make(chan error, 1)
			go func() {
				_, err := load.run(ctx)
				ended <- err
			}()
			if err := settle(ctx, 3*time.Second); err != nil {
				return err
			}
			took, err := s.stopBroker()
			cancel()
			if e := <-ended; err == nil {
				err = e
			}
			out = append(out, timeLine("SIGTERM under "+st.name, took, 5*time.Second))
			return err
		})
		if err != nil {
			return out, fmt.Errorf("%s: %w", st.name, err)
		}
	}
	return out, nil
}
