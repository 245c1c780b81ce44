// Package proc is what the server programs share: flags, the host's environment, signals, and exit statuses. It is the only
// package that reads the environment.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/seedmq/seedmq/conf"
	"github.com/seedmq/seedmq/conf/clock"
	"github.com/seedmq/seedmq/conf/xlog"
)

// Version is stamped by the Makefile.
var Version = "devel"

// Exit statuses, as RocketMQ's programs end.
const (
	ExitOK        = 0
	ExitUsage     = 1
	ExitBadConfig = 253 // -3: a configuration that cannot work
	ExitFailed    = 255 // -1: anything else, such as a port in use
)

// stopTimeout bounds a clean stop, stopGrace the time that services then get to give up.
const (
	stopTimeout = 4500 * time.Millisecond
	stopGrace   = 500 * time.Millisecond
)

// HostEnv reads what the defaults of conf take from the host.
func HostEnv() conf.Env {
	e := conf.Env{Namesrv: os.Getenv("NAMESRV_ADDR"), IP: LocalIP()}
	e.Home, _ = os.UserHomeDir()
	e.Hostname, _ = os.Hostname()
	return e
}

// LocalIP is the address that clients are told by default: the first IPv4 address of an interface that is up, no loopback
// and no link-local one, preferring those not 192.168.x.x as RocketMQ does; 127.0.0.1 when there is none.
func LocalIP() string {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return "127.0.0.1"
	}
	best := "127.0.0.1"
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.To4() == nil || n.IP.IsLoopback() || n.IP.IsLinkLocalUnicast() {
			continue
		}
		if ip := n.IP.To4(); ip[0] == 192 && ip[1] == 168 {
			if best == "127.0.0.1" {
				best = ip.String()
			}
			continue
		}
		return n.IP.String()
	}
	return best
}

// Service is a part of a process with a clean end.
type Service interface {
	Close(ctx context.Context) error
}

// Signals are SIGINT, SIGTERM and SIGHUP from the moment on that NotifySignals was called.
type Signals chan os.Signal

// NotifySignals takes the signals over. Call it before anything is started: a signal that comes during the start is then
// handled by Wait, instead of ending the process half way.
func NotifySignals() Signals {
	sig := make(Signals, 4)
	signal.Notify(sig, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	return sig
}

// Wait blocks until SIGINT or SIGTERM, runs reload on every SIGHUP (nil: ignored), then closes the services in order, within
// five seconds in all. A second signal ends the wait at once. It returns the exit status.
func (sig Signals) Wait(log *xlog.Logger, reload func(), services ...Service) int {
	for s := range sig {
		if s != syscall.SIGHUP {
			log.Infof("stopping: %v", s)
			break
		}
		if reload != nil {
			reload()
		}
	}
	return stop(log, sig, services)
}

// Stop closes services that were started before something else failed.
func Stop(log *xlog.Logger, services ...Service) {
	stop(log, nil, services)
}

func stop(log *xlog.Logger, sig Signals, services []Service) int {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	late, cancelLate := context.WithTimeout(context.Background(), stopTimeout+stopGrace)
	defer cancelLate()
	done := make(chan int, 1)
	go func() {
		status := ExitOK
		for _, s := range services {
			if err := s.Close(ctx); err != nil {
				log.Errorf("stop: %v", err)
				status = ExitFailed
			}
		}
		done <- status
	}()
	for {
		select {
		case status := <-done:
			return status
		case s := <-sig:
			if s != syscall.SIGHUP {
				log.Errorf("stop: second signal, ending at once")
				return ExitFailed
			}
		case <-late.Done():
			log.Errorf("stop: not done after %v, ending anyway", stopTimeout+stopGrace)
			return ExitFailed
		}
	}
}

// Logger makes the process logger on w.
func Logger(w io.Writer, level string) (*xlog.Logger, error) {
	log, err := xlog.New(w, level)
	if err != nil {
		return nil, fmt.Errorf("--logLevel: %w", err)
	}
	return log, nil
}

// ErrRefused: the configuration asks for something that is not available, and that a start must not leave out.
var ErrRefused = errors.New("not started")

// LoadConfig reads the configuration file (path "" = none) over the defaults and logs its problems. Without error the process
// may go on.
func LoadConfig[T any](log *xlog.Logger, defaults T, path string, override map[string]string) (*conf.Live[T], error) {
	live, problems, err := conf.Start(defaults, path, override)
	if err != nil {
		return nil, err
	}
	var refused error
	for _, p := range problems {
		if p.Refuse {
			refused = errors.Join(refused, fmt.Errorf("%w: %s", ErrRefused, p))
			continue
		}
		log.Warnf("%s", p)
	}
	return live, refused
}

// Reload reads the configuration file again and logs what came of it.
func Reload[T any](log *xlog.Logger, live *conf.Live[T]) {
	r, err := live.Reload()
	if err != nil {
		log.Warnf("configuration not reloaded: %v", err)
		return
	}
	for _, p := range r.Problems {
		log.Warnf("%s", p)
	}
	for _, c := range r.Changed {
		log.Infof("configuration: %s changed from %q to %q", c.Key, c.Old, c.New)
	}
	for _, c := range r.NeedsRestart {
		log.Warnf("configuration: %s is %q in the file, and stays %q until a restart", c.Key, c.New, c.Old)
	}
}

// ItemPrefix is what RocketMQ's console logger puts before a line of -p and -m.
func ItemPrefix(c clock.Clock) string {
	return c.Now().Format("2006-01-02 15:04:05") + " INFO main - "
}
