// Package xlog is the logger that every part is handed. It is the only package that knows logrus.
package xlog

import (
	"io"
	"sync"
	"time"

	"github.com/seedmq/seedmq/conf/clock"
	"github.com/sirupsen/logrus"
)

// Logger writes log lines. The zero value and nil drop everything. Safe for concurrent use.
type Logger struct {
	e       *logrus.Entry
	limited *limiter
}

// New returns a logger that writes text lines of level ("debug", "info", "warn", "error") and above to w.
func New(w io.Writer, level string) (*Logger, error) {
	l := logrus.New()
	l.SetOutput(w)
	l.SetFormatter(&logrus.TextFormatter{FullTimestamp: true, TimestampFormat: "2006-01-02 15:04:05.000", DisableColors: true})
	lv, err := logrus.ParseLevel(level)
	if err != nil {
		return nil, err
	}
	l.SetLevel(lv)
	return &Logger{e: logrus.NewEntry(l), limited: &limiter{next: map[string]time.Time{}}}, nil
}

// Discard drops everything.
func Discard() *Logger { return &Logger{} }

// With returns a logger that adds key=value to each line.
func (l *Logger) With(key string, value any) *Logger {
	if l == nil || l.e == nil {
		return l
	}
	return &Logger{e: l.e.WithField(key, value), limited: l.limited}
}

// Debugf, Infof, Warnf and Errorf write one line.
func (l *Logger) Debugf(format string, a ...any) {
	if l != nil && l.e != nil {
		l.e.Debugf(format, a...)
	}
}

// Infof writes one line.
func (l *Logger) Infof(format string, a ...any) {
	if l != nil && l.e != nil {
		l.e.Infof(format, a...)
	}
}

// Warnf writes one line.
func (l *Logger) Warnf(format string, a ...any) {
	if l != nil && l.e != nil {
		l.e.Warnf(format, a...)
	}
}

// Errorf writes one line.
func (l *Logger) Errorf(format string, a ...any) {
	if l != nil && l.e != nil {
		l.e.Errorf(format, a...)
	}
}

// Limited returns l if nothing was written under key during the last every, and a dropping logger otherwise.
// Use it for lines that a peer can provoke.
func (l *Logger) Limited(c clock.Clock, key string, every time.Duration) *Logger {
	if l == nil || l.e == nil || l.limited.ok(c.Now(), key, every) {
		return l
	}
	return Discard()
}

type limiter struct {
	mu   sync.Mutex
	next map[string]time.Time
}

const limiterMaxKeys = 1024

func (m *limiter) ok(now time.Time, key string, every time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Before(m.next[key]) {
		return false
	}
	if len(m.next) >= limiterMaxKeys {
		clear(m.next)
	}
	m.next[key] = now.Add(every)
	return true
}
