package bench

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Config says what to do. Defaults are those of the flags (see cli.go); Validate reports all mistakes at once.
type Config struct {
	Mode        string   // send, consume or e2e
	Brokers     []string // host:port; empty: all masters that the NameServers know
	NameServers []string
	Cluster     string // only the masters of this cluster; "" is all

	Topics      int    // number of topics
	TopicPrefix string // they are called prefix0, prefix1, ...
	Queues      int    // queues of each topic on each broker
	Groups      int    // consumer groups: each consumes everything
	GroupPrefix string
	Create      bool // create topics and groups first

	Conns    int           // connections
	Window   int           // requests in flight on a connection; consume has one for each queue
	Size     int           // body bytes
	Batch    int           // messages in one request: of a send, at most of a pull
	Rate     float64       // messages a second over all connections; 0 is no limit
	Duration time.Duration // how long
	Messages int64         // stop after so many; 0 is no limit
	Warmup   time.Duration // not counted
	Interval time.Duration // between progress lines; 0 prints none

	OneWay    bool // send without asking for replies
	UniqueKey bool // each message has a UNIQ_KEY, as real clients send it
	Keys      int  // each message has a KEYS property with one of so many values; 0 is none
	Tags      []string
	Binary    bool // binary headers instead of JSON

	FromEnd bool          // consume: begin at the end of each queue instead of at its beginning
	Follow  bool          // consume: wait for more at the end of the queues instead of ending
	Filter  string        // consume: subscription expression
	Poll    time.Duration // how long the broker may hold a pull
	JSON    bool          // the result as JSON
}

// Limits of what a Config may ask for, against slips of the finger.
const (
	maxConns  = 10000
	maxTopics = 1000000
	maxWindow = 1 << 20
)

// Validate reports every mistake in c.
func (c *Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, a...))
		}
	}
	check(c.Mode == "send" || c.Mode == "consume" || c.Mode == "e2e", "mode %q is none of send, consume, e2e", c.Mode)
	check(len(c.Brokers) > 0 || len(c.NameServers) > 0, "no server is given: use -b BROKER or -n NAMESERVER")
	check(c.Topics >= 1 && c.Topics <= maxTopics, "topics: %d is not in 1..%d", c.Topics, maxTopics)
	check(c.TopicPrefix != "", "topic: the name is empty")
	check(c.Queues >= 1 && c.Queues <= 1024, "queues: %d is not in 1..1024", c.Queues)
	check(c.Groups >= 1 && c.Groups <= 10000, "groups: %d is not in 1..10000", c.Groups)
	check(c.Conns >= 1 && c.Conns <= maxConns, "conns: %d is not in 1..%d", c.Conns, maxConns)
	check(c.Window >= 1 && c.Window <= maxWindow, "window: %d is not in 1..%d", c.Window, maxWindow)
	check(c.Size >= 0 && c.Size <= 16<<20, "size: %d is not in 0..%d", c.Size, 16<<20)
	check(c.Batch >= 1 && c.Batch <= 10000, "batch: %d is not in 1..10000", c.Batch)
	check(c.Rate >= 0, "rate: %g is negative", c.Rate)
	check(c.Duration > 0, "duration: %v is not positive", c.Duration)
	check(c.Keys >= 0 && c.Keys <= 1e9, "keys: %d is not in 0..10^9", c.Keys)
	check(c.Mode != "e2e" || c.Rate > 0, "rate: e2e needs one")
	check(c.Mode != "e2e" || c.Size >= stampSize, "size: e2e needs %d bytes for the time", stampSize)
	check(c.Mode != "e2e" || c.Batch == 1, "batch: e2e sends single messages")
	for _, t := range c.Tags {
		check(t != "" && !strings.ContainsAny(t, "\x01\x02|"), "tag %q is empty or has a separator", t)
	}
	return errors.Join(errs...)
}

func (c *Config) topic(i int) string {
	if c.Topics == 1 {
		return c.TopicPrefix
	}
	return fmt.Sprintf("%s%d", c.TopicPrefix, i)
}

func (c *Config) group(i int) string {
	if c.Groups == 1 {
		return c.GroupPrefix
	}
	return fmt.Sprintf("%s%d", c.GroupPrefix, i)
}
